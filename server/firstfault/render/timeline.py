"""What a plot of the timeline needs: rows, marks and where in time each mark stands. Knows no pixel and no colour.

A line without a time of its own happened between its timed neighbours in the same file, if both are known: it gets that span and
stands in it by its line number. Behind the last time it keeps only its order. The plot tells the three apart.
"""

from __future__ import annotations

import bisect
import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..model import Report, TimelineEntry

KINDS = ("initiating", "collateral", "context", "progress", "start", "exit")
MOST_RANKS = 8192
_STAMP = re.compile(r"(?:(?:(\d{4})-)?(\d\d)-(\d\d)T)?(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\Z")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the plot: a rank, or what no rank was told for (`rank` is None), on a host if one is known."""

    label: str
    rank: int | None
    host: str | None
    initiating: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark, in milliseconds since the plot's start: where it is drawn, and the span in which it happened (equal if its line says when).

    All three are None where only the order is known.
    """

    row: int
    at_ms: int | None
    low_ms: int | None
    high_ms: int | None
    entry: TimelineEntry

    @property
    def exact(self) -> bool:
        """Whether the line itself says when it was printed."""
        return self.at_ms is not None and self.low_ms == self.high_ms


@dataclass(frozen=True, slots=True)
class Plot:
    """Rows from top to bottom and marks in their order. `clock` is date, no-year, time-of-day or none; `start` a stamp of that form."""

    rows: tuple[Row, ...]
    marks: tuple[Mark, ...]
    clock: str
    start: str
    start_ms: int


@dataclass(frozen=True, slots=True)
class Story:
    """Marks that say the same: the row of the table that a screen reader reads instead of the plot."""

    kind: str
    failure: str | None
    says: str
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    count: int
    first: TimelineEntry
    times: tuple[str, ...]


def plot_of(report: Report) -> Plot:
    """The plot of a report's timeline."""
    rows, index = _rows(report)
    clock = _clock(report)
    placed = _place(report, clock)
    first = min((at[1] for at in placed if at), default=0)
    marks = []
    for e, at in zip(report.timeline, placed, strict=True):
        here, low, high = (t - first for t in at) if at else (None, None, None)
        marks.append(Mark(index[_row_key(e)], here, low, high, e))
    marks.sort(key=_order)
    return Plot(rows, tuple(marks), clock, _stamp(first, clock), first)


def plot_json(plot: Plot) -> dict[str, Any]:
    """The plot for the script that draws it: texts once in tables, marks as short lists."""
    files, says, failures = _Table(), _Table(), _Table()
    marks = []
    for m in plot.marks:
        e = m.entry
        kind = KINDS.index(e.kind if e.kind in KINDS else "context")
        marks.append([m.row, kind, m.at_ms, m.low_ms, m.high_ms, files.of(e.file), e.line, failures.of(e.failure or ""), says.of(e.says)])
    return {
        "rows": [[r.label, r.rank, r.host or "", int(r.initiating)] for r in plot.rows],
        "marks": marks,
        "kinds": list(KINDS),
        "files": files.texts,
        "says": says.texts,
        "failures": failures.texts,
        "clock": plot.clock,
        "start": plot.start_ms,
    }


def stories(plot: Plot) -> list[Story]:
    """The marks grouped by what they say, in the order of their first one."""
    groups: dict[tuple[str, str | None, str], list[Mark]] = {}
    for m in plot.marks:
        groups.setdefault((m.entry.kind, m.entry.failure, m.entry.says), []).append(m)
    out = []
    for (kind, failure, says), marks in groups.items():
        ranks = tuple(sorted({m.entry.rank for m in marks if m.entry.rank is not None}))
        hosts = tuple(sorted({m.entry.host for m in marks if m.entry.host}))
        times = sorted({m.entry.time for m in marks if m.entry.time})
        out.append(Story(kind, failure, says, ranks, hosts, len(marks), marks[0].entry, tuple(dict.fromkeys((*times[:1], *times[-1:])))))
    return out


class _Table:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._of: dict[str, int] = {}

    def of(self, text: str) -> int:
        if text not in self._of:
            self._of[text] = len(self.texts)
            self.texts.append(text)
        return self._of[text]


def _row_key(e: TimelineEntry) -> int | str:
    return e.rank if e.rank is not None else e.host or ""


def _rows(report: Report) -> tuple[tuple[Row, ...], dict[int | str, int]]:
    """A row for every rank that is known or must exist, then one for each host and one for what neither was told for."""
    main = report.incidents[0].initiating if report.incidents else None
    first = set(main.ranks or ()) if main else set()
    ranks = {e.rank for e in report.timeline if e.rank is not None} | first
    ranks |= {r for x in report.inputs for r in x.ranks}
    ranks |= set(range(min(report.job.world_size or 0, MOST_RANKS)))
    host_of: dict[int, str] = {}
    for e in report.timeline:
        if e.rank is not None and e.host:
            host_of.setdefault(e.rank, e.host)
    if main and len(first) == 1 and len(main.hosts) == 1:
        host_of.setdefault(next(iter(first)), main.hosts[0])
    rows = [Row(f"rank {r}", r, host_of.get(r), r in first) for r in sorted(ranks)]
    keys: list[int | str] = list(sorted(ranks))
    others = {_row_key(e) for e in report.timeline if e.rank is None}
    for host in sorted(str(o) for o in others if o):
        rows.append(Row(host, None, host, False))
        keys.append(host)
    if "" in others:
        rows.append(Row("no rank given", None, None, False))
        keys.append("")
    return tuple(rows), {k: i for i, k in enumerate(keys)}


def _clock(report: Report) -> str:
    """The fullest form of time that the report has."""
    forms = {_form(t) for t in _stamps(report)}
    return next((f for f in ("date", "no-year", "time-of-day") if f in forms), "none")


def _stamps(report: Report) -> Iterable[str]:
    yield from (e.time for e in report.timeline if e.time)
    if report.job.last_progress and report.job.last_progress.time:
        yield report.job.last_progress.time


def _form(stamp: str) -> str:
    m = _STAMP.match(stamp)
    return "none" if not m else "date" if m[1] else "no-year" if m[2] else "time-of-day"


_LEAP_YEAR = 2000


def _ms(stamp: str | None, clock: str) -> int | None:
    """A stamp in milliseconds since 1970 (year 2000 where none is known) or since midnight; None in another form than the plot's."""
    m = _STAMP.match(stamp or "")
    if not m or _form(stamp or "") != clock:
        return None
    hour, minute, second = int(m[4]), int(m[5]), int(m[6])
    day = 0
    if clock != "time-of-day":
        try:
            day = (dt.date(int(m[1] or _LEAP_YEAR), int(m[2]), int(m[3])) - dt.date(1970, 1, 1)).days
        except ValueError:
            return None
    return ((day * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + int((m[7] or "0").ljust(3, "0")[:3])


def _stamp(ms: int, clock: str) -> str:
    if clock == "none":
        return ""
    seconds = ms // 1000
    text = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{ms % 1000:03d}"
    if clock == "time-of-day":
        return text
    day = dt.date(1970, 1, 1) + dt.timedelta(days=seconds // 86400)
    return f"{day:%m-%d}T{text}" if clock == "no-year" else f"{day:%Y-%m-%d}T{text}"


def _place(report: Report, clock: str) -> list[tuple[int, int, int] | None]:
    """Where each entry stands, from when and until when, in milliseconds; None where only its order is known."""
    anchors: dict[str, dict[int, int]] = {}
    own = [_ms(e.time, clock) for e in report.timeline]
    for e, at in zip(report.timeline, own, strict=True):
        if at is not None:
            anchors.setdefault(e.file, {}).setdefault(e.line, at)
    last = report.job.last_progress
    if last and (at := _ms(last.time, clock)) is not None:
        anchors.setdefault(last.file, {}).setdefault(last.line, at)
    lines = {file: sorted(a) for file, a in anchors.items()}
    out: list[tuple[int, int, int] | None] = []
    for e, at in zip(report.timeline, own, strict=True):
        known = lines.get(e.file, [])
        behind = bisect.bisect_left(known, e.line)
        if at is not None:
            out.append((at, at, at))
        elif behind in (0, len(known)):
            out.append(None)
        else:
            before, after = known[behind - 1], known[behind]
            low = anchors[e.file][before]
            high = max(low, anchors[e.file][after])
            out.append((low + (high - low) * (e.line - before) // (after - before), low, high))
    return out


def _order(m: Mark) -> tuple[bool, int, str, int, int, int, str]:
    kind = KINDS.index(m.entry.kind) if m.entry.kind in KINDS else len(KINDS)
    return (m.at_ms is None, m.at_ms or 0, m.entry.file, m.entry.line, m.row, kind, m.entry.failure or "")
