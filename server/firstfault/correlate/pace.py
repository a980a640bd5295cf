"""What the pace of steps shows: ranks that are slow or behind, a job that stands still. Blames nobody and reads no line."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ..model import Line
from .progress import ProgressFacts, Step

SLOW_S = 0.05
STALL_STEPS = 20
STALL_S = 900.0
# Nobody leaves a job that says nothing at all for so long: what stands behind it was appended.
LONGEST_SILENCE_S = 86_400.0


def slow_ranks(facts: ProgressFacts) -> tuple[tuple[int, ...], float, list[Line]] | None:
    """Ranks whose step, or a part of it, takes at least three times as long as the median of their peers: (ranks, ratio, their lines).

    In a synchronous job every rank's whole step takes as long as the slowest one's; then only the parts tell.
    """
    times: dict[str, dict[int, list[float]]] = {}
    lines: dict[int, Line] = {}
    for s in facts.steps:
        if s.rank is None:
            continue
        lines[s.rank] = s.line
        for name, seconds in (*s.parts_s.items(), *((("", s.seconds),) if s.seconds else ())):
            times.setdefault(name, {}).setdefault(s.rank, []).append(seconds)
    for _, by_rank in sorted(times.items()):
        if len(by_rank) < 3:
            continue
        typical = {rank: statistics.median(t) for rank, t in by_rank.items()}
        middle = statistics.median(typical.values())
        slow = sorted(r for r, t in typical.items() if middle > 0 and t >= 3 * middle)
        if slow and len(slow) * 3 <= len(typical) + 1 and max(typical.values()) >= SLOW_S:
            return tuple(slow), max(typical[r] for r in slow) / middle, [lines[r] for r in slow]
    return None


def lagging_ranks(facts: ProgressFacts) -> tuple[tuple[int, ...], int, list[Line]] | None:
    """The few ranks whose last step is below that of all others: (ranks, the others' last step, their last lines), or `None`.

    Counts only where every rank prints its steps, and most of them stopped at the same one.
    """
    last: dict[int, Step] = {}
    for s in facts.steps:
        if s.rank is not None and s.step is not None and not s.bar:
            last[s.rank] = s
    if len(last) < 3:
        return None
    reached = [s.step or 0 for s in last.values()]
    most = max(set(reached), key=lambda step: (reached.count(step), step))
    behind = sorted(r for r, s in last.items() if (s.step or 0) < most)
    if not behind or len(behind) * 2 >= len(last) or any((s.step or 0) > most for s in last.values()):
        return None
    return tuple(behind), most, [last[r].line for r in behind]


def find_stall(facts: ProgressFacts, samples: Sequence[Line]) -> tuple[Step, Line, float] | None:
    """Progress that simply stopped while other lines went on: (last step, last line, seconds between), or `None`.

    `samples` are the sampled lines of all inputs in order. A stall is twenty step times and fifteen minutes without a step.
    """
    last = facts.last()
    if last is None or facts.finished is not None or last.total == last.step:
        return None
    later = [x for x in samples if x.file == last.line.file and x.number > last.line.number and x.time_s is not None and not x.time_of_day]
    if not later:
        return None
    start = last.line.time_s if last.line.time_s is not None and not last.line.time_of_day else later[0].time_s
    end, before = later[-1], start or 0.0
    for i, line in enumerate(later):
        if (line.time_s or 0.0) - before > LONGEST_SILENCE_S:
            if i == 0:
                return None
            end = later[i - 1]
            break
        before = max(before, line.time_s or 0.0)
    gap = (end.time_s or 0.0) - (start or 0.0)
    seconds = [s.seconds for s in facts.steps if s.seconds]
    usual = statistics.median(seconds) if seconds else usual_gap_s(facts)
    if gap < STALL_S or (usual is not None and gap < STALL_STEPS * usual):
        return None
    return last, end, gap


def usual_gap_s(facts: ProgressFacts) -> float | None:
    times = [s.line.time_s for s in facts.steps if s.line.time_s is not None and not s.bar]
    gaps = [b - a for a, b in zip(times, times[1:], strict=False) if b > a]
    return statistics.median(gaps) if gaps else None
