"""The command line: diagnose, explain, list. Imports no protocol library and loads what it needs when it needs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import __version__
from .errors import FirstFaultError


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Exit status: 0 no failure found, 1 a failure was diagnosed, 2 wrong usage or unreadable input."""
    args = _parser().parse_args(argv)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except FirstFaultError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="firstfault", description="Find the rank that failed first, and why.")
    parser.add_argument("--version", action="version", version=f"firstfault {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    diagnose = commands.add_parser("diagnose", help="diagnose logs: files, folders, or - for standard input")
    diagnose.add_argument("paths", nargs="+", metavar="PATH")
    diagnose.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    diagnose.add_argument("--why", action="store_true", help="show the timeline that led to the verdict")
    diagnose.set_defaults(run=_diagnose)
    explain = commands.add_parser("explain", help="print the page of a failure")
    explain.add_argument("id", metavar="ID")
    explain.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    explain.set_defaults(run=_explain)
    listing = commands.add_parser("list", help="list every failure that is known")
    listing.add_argument("--tag")
    listing.add_argument("--layer")
    listing.add_argument("--stack")
    listing.set_defaults(run=_list)
    return parser


def _diagnose(args: argparse.Namespace) -> int:
    from .diagnose import diagnose

    report = diagnose(args.paths).report
    if args.format == "json":
        from .report import to_json

        sys.stdout.write(to_json(report))
    elif args.format == "markdown":
        from .render.markdown import report_markdown

        sys.stdout.write(report_markdown(report) + "\n")
    else:
        from rich.console import Console

        from .render.text import print_report

        print_report(report, Console(soft_wrap=True, highlight=False), why=args.why)
    return 1 if any(i.severity == "error" for i in report.incidents) else 0


def _explain(args: argparse.Namespace) -> int:
    from .knowledge.library import load_library

    page = load_library().page(args.id)
    if args.format == "json":
        import json

        sys.stdout.write(json.dumps({"id": page.id, "title": page.title, "layer": page.layer, "markdown": page.markdown}, indent=1) + "\n")
    elif args.format == "markdown":
        sys.stdout.write(page.markdown)
    else:
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(page.markdown))
    return 0


def _list(args: argparse.Namespace) -> int:
    from .knowledge.library import load_library

    pages = load_library().pages.values()
    for page in pages:
        if (args.tag and args.tag not in page.tags) or (args.layer and args.layer != page.layer) or (args.stack and args.stack not in page.stacks):
            continue
        print(f"{page.id:<34}{page.layer:<14}{page.title}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
