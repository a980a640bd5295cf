"""Starts the server with the stand-in engine, the way `server/main.py` starts it with the real one."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "server")]

from fake_engine import FakeEngine, FakeLaunch  # noqa: E402

from firstfault.lsp.server import run  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(run(engine=FakeEngine(), launch=FakeLaunch()))
