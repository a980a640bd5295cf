"""Starts the language server from a plain Python: puts the bundled packages and the engine on the path, nothing else."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> int:
    """Run the server over standard input and output; a Python older than 3.10 gets one clear line and exit status 2."""
    if sys.version_info < (3, 10):
        sys.stderr.write("error: FirstFault needs Python 3.10 or newer, this is %d.%d (%s)\n" % (*sys.version_info[:2], sys.executable))
        return 2
    sys.path[:0] = [HERE, os.path.join(HERE, "bundled")]
    from firstfault.lsp.server import run

    return run()


if __name__ == "__main__":
    raise SystemExit(main())
