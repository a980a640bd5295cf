"""The timeline that led to a verdict: what happened when, per rank. Decides nothing."""

from __future__ import annotations

import bisect
from collections import Counter

from ..model import Finding, Line, Role, TimelineEntry
from ..read.clock import write_time
from .blame import Choice
from .facts import Facts
from .incident import last_words

MOST_ENTRIES = 2000
MOST_ALIKE = 3
MOST_EXITS = 200


def build_timeline(facts: Facts, choice: Choice | None) -> list[TimelineEntry]:
    """Starts, findings, the last progress of each rank and exits, in order of time; empty where nothing is blamed.

    A line without a time stands where the lines before it in its input stand. Of alike marks of one rank the first few are kept.
    """
    if choice is None:
        return []
    clock = _Clock(facts)
    entries: list[tuple[tuple[float, int, int], TimelineEntry]] = []
    own = {id(f) for f in choice.root.findings}
    alike: Counter[tuple[str, int | None, str | None]] = Counter()

    def add(line: Line, kind: str, rank: int | None, failure: str | None, says: str) -> None:
        alike[kind, rank, failure] += 1
        if kind in ("collateral", "context") and alike[kind, rank, failure] > MOST_ALIKE:
            return
        time = None if line.time_s is None else write_time(line.time_s, line.time_of_day)
        host = line.origin.host or (facts.ranks.host_of.get(rank) if rank is not None else None)
        entry = TimelineEntry(facts.reading.files[line.file].name, line.number, rank, host, time, kind, failure, says)
        entries.append(((clock.of(line), line.file, line.number), entry))

    for attempts in facts.attempts:
        for attempt in attempts:
            if attempt.start is not None and len(attempts) > 1:
                add(attempt.start, "start", None, None, f"attempt {attempt.index + 1} began")
    for f in facts.reading.findings():
        if f.role is not Role.CONTEXT:
            for rank in facts.ranks_of(f) or (None,):
                add(f.line, _kind(f, own), rank, f.failure, facts.library.page(f.failure).title)
    if choice.root.kind == "absent":
        # The lines are those of the ranks that waited; the absent ones are marked where they were last heard.
        steps = {(s.line.file, s.line.number): s.step for s in facts.progress.steps if s.step is not None}
        for line in last_words(facts, choice.ranks or ()):
            number = steps.get((line.file, line.number))
            says = "the last sign of this rank" + ("" if number is None else f", step {number}")
            add(line, "initiating", facts.ranks.of_line(line), choice.root.failure, says)
    else:
        for line in choice.root.lines:
            add(line, "initiating", facts.ranks.of_line(line), choice.root.failure, choice.root.page.title)
    for rank, step in {s.rank: s for s in facts.progress.steps if s.step is not None}.items():
        add(step.line, "progress", rank, None, f"step {step.step}")
    for e in facts.launchers.exits[:MOST_EXITS]:
        add(e.line, "exit", e.rank, None, f"exit code {e.code}" if e.code is not None else "exit")
    entries.sort(key=lambda pair: (pair[0], pair[1].kind, pair[1].rank if pair[1].rank is not None else -1, pair[1].failure or ""))
    return [e for _, e in entries[:MOST_ENTRIES]]


def _kind(f: Finding, own: set[int]) -> str:
    if id(f) in own:
        return "initiating"
    return "context" if f.strength == "context" else "collateral"


class _Clock:
    """The time of every line, its own or that of the last line before it in its input that has one."""

    def __init__(self, facts: Facts) -> None:
        self._known: dict[int, tuple[list[int], list[float]]] = {}
        for f in facts.reading.files:
            dated = sorted((x.number, x.time_s) for x in (*f.lines, *f.samples) if x.time_s is not None and not x.time_of_day)
            self._known[f.index] = [n for n, _ in dated], [t for _, t in dated]

    def of(self, line: Line) -> float:
        if line.time_s is not None and not line.time_of_day:
            return line.time_s
        numbers, times = self._known[line.file]
        at = bisect.bisect_right(numbers, line.number) - 1
        return times[max(at, 0)] if times else 0.0
