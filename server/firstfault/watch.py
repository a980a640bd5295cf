"""`firstfault watch`: follows logs on a terminal or in a script until it is stopped. Owns the clock; knows no log.

Where it stands is kept in the user's cache folder, so that watching a large log again costs what was added meanwhile.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from typing import TYPE_CHECKING

from .follow import Follower
from .read.cache import load_cached, store_cached

if TYPE_CHECKING:
    from .knowledge.library import Library
    from .model import Diagnosis

LOOK_EVERY_S = 2.0
# Looking may take this part of the time at most, so that a log that grows all the time keeps no core busy.
_REST_FACTOR = 3.0
_STORED_EVERY_BYTES = 64 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `firstfault watch`."""
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json: one report a line, at every change")
    parser.add_argument("--every", type=_seconds, default=LOOK_EVERY_S, metavar="SECONDS", help="how often to look")
    parser.add_argument("--until-failure", action="store_true", help="end as soon as a failure is diagnosed")
    parser.add_argument("--fresh", action="store_true", help="read from the beginning, whatever an earlier watch has read")


def watch(args: argparse.Namespace, library: Library) -> int:
    """Watch until stopped. Exit status: 1 when a failure stands in the last report, else 0."""
    name = _checkpoint_name(args.paths)
    checkpoint = None if args.fresh else load_cached(name)
    follower = Follower(args.paths, library=library, checkpoint=checkpoint)
    shown = _Shown(args.format)
    stored = 0
    try:
        while True:
            began_s = time.monotonic()
            given = follower.poll(now_s=began_s, told=shown.reading)
            if given is not None:
                shown.report(given, follower)
                if args.until_failure and _failed(given):
                    break
            shown.standing(follower)
            if follower.settled_bytes - stored >= _STORED_EVERY_BYTES:
                stored = follower.settled_bytes
                store_cached(name, follower.checkpoint())
            time.sleep(max(args.every, _REST_FACTOR * (time.monotonic() - began_s)))
    except KeyboardInterrupt:
        pass
    finally:
        shown.end()
        if follower.settled_bytes:
            store_cached(name, follower.checkpoint())
    return 1 if _failed(shown.last) else 0


class _Shown:
    """What the one who watches has been shown: a report when the verdict changes, and on a terminal a line of where the job stands."""

    def __init__(self, form: str) -> None:
        self.last: Diagnosis | None = None
        self._form = form
        self._verdict: object = ()
        self._told = ""
        self._line = sys.stderr.isatty() and form == "text"
        self._read_bytes = 0
        self._restarts = 0

    def reading(self, count: int) -> None:
        """Bytes were read; told while a first reading takes long."""
        before, self._read_bytes = self._read_bytes >> 26, self._read_bytes + count
        if self._read_bytes >> 26 != before:
            self._standing(f"read {self._read_bytes >> 20} MB")

    def report(self, diagnosis: Diagnosis, follower: Follower) -> None:
        """Show a report: every one as JSON, one with another verdict than before as text."""
        self.last = diagnosis
        report = diagnosis.report
        if self._form == "json":
            import json

            from .report import to_dict

            sys.stdout.write(json.dumps(to_dict(report), ensure_ascii=False) + "\n")
            sys.stdout.flush()
            return
        if follower.restarts > self._restarts:
            self._restarts = follower.restarts
            self._clear()
            print("a log was truncated or replaced: reading it from its beginning", file=sys.stderr)
        verdict = [(i.failure, i.severity, i.verdict, i.initiating.ranks, [(e.file, e.line) for e in i.evidence]) for i in report.incidents]
        if verdict == self._verdict or (not verdict and not self._verdict):
            return
        self._verdict = verdict
        self._clear()
        if not verdict:
            print("no failure any more")
            return
        from rich.console import Console

        from .render.text import print_report

        print_report(report, Console(soft_wrap=True, highlight=False))
        sys.stdout.flush()

    def standing(self, follower: Follower) -> None:
        """Show where the job stands."""
        waiting = follower.waiting_for
        if self.last is None:
            self._standing(f"waiting for {', '.join(waiting)}" if waiting else "nothing read yet")
            return
        report = self.last.report
        size = sum(i.bytes for i in report.inputs)
        progress = f"step {report.job.last_progress.step}" if report.job.last_progress else report.job.outcome
        self._standing(f"{progress} · {size / 1e6:.1f} MB in {len(report.inputs)} file{'s' if len(report.inputs) != 1 else ''}")

    def end(self) -> None:
        """Leave the terminal as it was found."""
        self._clear()

    def _standing(self, text: str) -> None:
        if self._line and text != self._told:
            self._told = text
            sys.stderr.write(f"\r\x1b[K{text[:120]}")
            sys.stderr.flush()

    def _clear(self) -> None:
        if self._line and self._told:
            self._told = ""
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _failed(diagnosis: Diagnosis | None) -> bool:
    return diagnosis is not None and any(i.severity == "error" for i in diagnosis.report.incidents)


def _checkpoint_name(paths: list[str]) -> str:
    key = "\0".join(sorted(os.path.abspath(path) for path in paths))
    return f"watch-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.05 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0.05 to 3600")
    return value
