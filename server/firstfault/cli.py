"""The command line. Imports no protocol library and loads what it needs when it needs it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import __version__
from .errors import FirstFaultError, InputError, PageError

if TYPE_CHECKING:
    from .knowledge.library import Library


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Exit status: 0 no failure found, 1 a failure was diagnosed, 2 wrong usage or unreadable input."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = _parser(words[0] if words else "").parse_args(words)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except FirstFaultError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader went away, as `head` does; what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser(command: str) -> argparse.ArgumentParser:
    """The parser; what only one command needs is loaded only where that is asked for, so that a diagnosis starts sooner."""
    parser = argparse.ArgumentParser(prog="firstfault", description="Find the rank that failed first, and why.")
    parser.add_argument("--version", action="version", version=f"firstfault {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument("--pages", action="append", default=[], metavar="DIR", help="a folder of your own pages, which add or override")
    formats = argparse.ArgumentParser(add_help=False)
    formats.add_argument("--format", choices=("text", "json", "markdown"), default="text")

    diagnose = commands.add_parser("diagnose", parents=[own], help="diagnose logs: files, folders, or - for standard input")
    diagnose.add_argument("paths", nargs="+", metavar="PATH")
    diagnose.add_argument("--format", choices=("text", "json", "markdown", "html"), default="text", help="html: one file for a browser")
    diagnose.add_argument("--redact", action="store_true", help="mask hosts, addresses, users, folders and keys in what is printed")
    diagnose.add_argument("--why", action="store_true", help="show the timeline that led to the verdict")
    diagnose.add_argument("--workers", type=_count, metavar="N", help="read with N processes; without it as many as are worth it")
    diagnose.add_argument("--scheduler", metavar="ADDRESS", help="read on the dask cluster of this scheduler, such as tcp://head:8786")
    diagnose.set_defaults(run=_diagnose)

    watching = commands.add_parser("watch", parents=[own], help="follow growing logs and tell when a job fails or stands still")
    if command == "watch":
        from . import watch

        watch.add_arguments(watching)
        watching.set_defaults(run=lambda args: watch.watch(args, _library(args)))

    explain = commands.add_parser("explain", parents=[own, formats], help="print the page of a failure")
    explain.add_argument("id", metavar="ID")
    explain.set_defaults(run=_explain)

    listing = commands.add_parser("list", parents=[own], help="list every failure that is known")
    listing.add_argument("--tag")
    listing.add_argument("--layer")
    listing.add_argument("--stack")
    listing.set_defaults(run=_list)

    search = commands.add_parser("search", parents=[own], help='find a failure by symptom: search "one rank at 100%% others idle"')
    search.add_argument("words", nargs="+", metavar="WORD")
    search.set_defaults(run=_search)

    new = commands.add_parser("new", help="write a page for a failure that a line of your log shows")
    new.add_argument("id", metavar="ID")
    new.add_argument("--from", dest="source", required=True, metavar="LOG:LINE")
    new.add_argument("--dir", default=".firstfault/pages", metavar="DIR")
    new.set_defaults(run=_new)

    check = commands.add_parser("check", parents=[own], help="run all pages against all their examples")
    check.add_argument("id", nargs="?", metavar="ID")
    check.add_argument("--index", metavar="README", help="write the index of the encyclopedia and the list of failures in a README")
    check.set_defaults(run=_check)

    fix = commands.add_parser("fix", help="set an environment variable, flag or timeout in a launch file")
    if command == "fix":
        from .launch import command as launching

        launching.add_arguments(fix)
        fix.set_defaults(run=launching.run)
    return parser


def _library(args: argparse.Namespace, *, tell: bool = True) -> Library:
    """The encyclopedia with the user's pages: those of the user's folder and of every --pages; `tell` of those that cannot be read."""
    from .knowledge.library import load_library
    from .read.cache import config_folder

    folders = [f for f in (config_folder() / "pages",) if f.is_dir()]
    for given in args.pages:
        if not Path(given).is_dir():
            raise InputError(
                f"no such folder: {given}", reason="--pages names a folder of Markdown pages", where=given, help="firstfault new makes one"
            )
        folders.append(Path(given))
    library = load_library(tuple(folders))
    for problem in library.problems if tell else ():
        print(problem, file=sys.stderr)
    return library


def _count(text: str) -> int:
    """A number of processes."""
    if not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 1024")
    return int(text)


def _diagnose(args: argparse.Namespace) -> int:
    from .diagnose import diagnose
    from .progress_bar import ProgressBar

    library = _library(args)
    with ProgressBar() as bar:
        report = diagnose(
            args.paths, library=library, progress=bar.bytes_read, inputs_done=bar.inputs_read,
            workers=args.workers, scheduler=args.scheduler,
        ).report  # fmt: skip
    if args.redact:
        from .render.redact import redact

        report = redact(report)
    if args.format == "json":
        from .report import to_json

        sys.stdout.write(to_json(report))
    elif args.format == "markdown":
        from .render.markdown import report_markdown

        sys.stdout.write(report_markdown(report) + "\n")
    elif args.format == "html":
        from .render.html import report_html

        # The document says that it is UTF-8, whatever the terminal's encoding.
        sys.stdout.buffer.write(report_html(report, host="file", pages=library).encode("utf-8"))
        sys.stdout.buffer.flush()
    else:
        from rich.console import Console

        from .render.text import print_report

        print_report(report, Console(soft_wrap=True, highlight=False), why=args.why)
    return 1 if any(i.severity == "error" for i in report.incidents) else 0


def _explain(args: argparse.Namespace) -> int:
    page = _library(args).page(args.id)
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
    shown = 0
    for page in _library(args).pages.values():
        wanted = (args.tag, page.tags), (args.layer, (page.layer,)), (args.stack, page.stacks)
        if all(w is None or w in have for w, have in wanted):
            print(f"{page.id:<34}{page.layer:<14}{page.title}")
            shown += 1
    if not shown:
        raise InputError("no failure has that tag, layer and stack", reason="nothing is left to list", help="firstfault list")
    return 0


def _search(args: argparse.Namespace) -> int:
    from .knowledge.search import search_pages

    words = " ".join(args.words)
    found = search_pages(_library(args), words)
    if not found:
        raise InputError(f"no page speaks of {words!r}", reason="none of the words is known", help="firstfault list shows every failure")
    for _, page in found:
        print(f"{page.id:<34}{page.title}")
    return 0


def _new(args: argparse.Namespace) -> int:
    from .knowledge.library import load_library
    from .knowledge.scaffold import propose_page

    source, _, number = args.source.rpartition(":")
    if not number.isdigit() or not source:
        raise InputError(
            "--from needs a log and a line", reason=f"{args.source!r} has no line number", help="e.g. --from slurm-81.out:1103"
        )
    try:
        lines = Path(source).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise InputError(f"cannot read {source}", reason=str(error), where=source, help="check the path") from error
    if not 1 <= int(number) <= len(lines):
        raise InputError(f"{source} has no line {number}", reason=f"it has {len(lines)} lines", where=args.source, help="count from 1")
    path = Path(args.dir) / f"{args.id}.md"
    if path.exists():
        raise PageError(f"{path} exists", reason="a page is never overwritten", where=str(path), help="choose another id or edit the page")
    text = propose_page(args.id, lines[int(number) - 1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {path}\nedit it, then run: firstfault check {args.id} --pages {args.dir}")
    if args.id in load_library().pages:
        print(f"it takes the place of the page {args.id} of the encyclopedia wherever --pages {args.dir} is given")
    return 0


def _check(args: argparse.Namespace) -> int:
    from .knowledge.check import check_pages, problem_of

    library = _library(args, tell=False)
    problems = [p for p in (problem_of(error, error.where) for error in library.problems) if args.id in (None, p.page)]
    if args.id and not problems:
        library.page(args.id)  # an unknown id is an error
    if args.id is None or args.id in library.pages:
        problems += check_pages(library, args.id)
    for problem in problems:
        print(problem)
    if args.index and not problems:
        _write_index(Path(args.index))
    pages = [p for p in library.pages.values() if args.id in (None, p.id)]
    print(f"{len(problems)} problems, {sum(len(p.fires) + len(p.silent) for p in pages)} examples, {len(pages)} pages")
    return 1 if problems else 0


def _write_index(readme: Path) -> None:
    from .knowledge.index import BEGIN, END, failures_block, index_page, with_block
    from .knowledge.library import ENCYCLOPEDIA, load_library

    library = load_library()
    try:
        before = readme.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {readme}", reason=str(error), where=str(readme), help="name the README of a checkout") from error
    folder = Path(os.path.relpath(ENCYCLOPEDIA, readme.resolve().parent)).as_posix()
    after = with_block(before, failures_block(library, folder))
    if after is None:
        help_text = f"add the lines {BEGIN} and {END}"
        raise InputError(f"{readme} has no place for the list", reason="its two marks are missing", where=str(readme), help=help_text)
    for path, text in ((readme, after), (ENCYCLOPEDIA / "README.md", index_page(library))):
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"wrote {path}")


if __name__ == "__main__":
    raise SystemExit(main())
