"""Hypotheses that no single line shows: a rank that is behind, absent, late or odd, a job that stands still.

Reads facts that other modules worked out and asks the pages which failure a sign shows; chooses nothing.
"""

from __future__ import annotations

from ..evidence.flight_recorder import compare
from ..model import Finding, Line, Role
from ..read.quick import quick
from .collectives import Collectives, Suspicion
from .communicators import split_communicator
from .facts import LOST_PEER, WAITED, Facts
from .hypotheses import Hypothesis
from .pace import find_stall, lagging_ranks, slow_ranks, usual_gap_s
from .ranks import ranks_in, write_ranks
from .stacks import odd_stacks, read_stacks

# allreduce.layer1.weight [ready ranks: 5, 1, 4]
_READY = quick(r"\[ready ranks: ?(\d+(?:, ?\d+)*)\]")
CANCEL_STALL_S = 20.0
CANCEL_STALL_STEPS = 50
SKIPS_IN_A_ROW = 8
_LINES_BETWEEN_SKIPS = 3


def without_errors(facts: Facts) -> Hypothesis | None:
    """What shows where no line is an error: a rank far slower than its peers, updates that are all skipped, a job that stands still."""
    slow = slow_ranks(facts.progress)
    if slow is not None:
        ranks, ratio, slow_lines = slow
        reason = f"its steps take {ratio:.1f} times as long as the median of its peers"
        if root := _shown(facts, "slow", ranks, tuple(slow_lines), "probable", reason):
            return root
    if skips := _skips_in_a_row(facts):
        reason = f"{len(skips)} updates in a row were thrown away"
        if root := _shown(facts, "skips", None, skips[:1], "probable", reason):
            return root
    stall = find_stall(facts.progress, [x for f in facts.reading.files for x in f.samples])
    if stall is not None:
        last, end, gap_s = stall
        reason = f"no step was printed in the last {gap_s / 60:.0f} minutes, while other lines went on"
        if root := _shown(facts, "stall", None, (last.line, end), "symptom", reason):
            return root
    if stopped := _stopped_for_nothing(facts):
        reason = f"the launcher stopped {len(stopped)} process{'es' if len(stopped) > 1 else ''}, which it does when another has failed"
        return _shown(facts, "stopped", ranks_not_stopped(facts), stopped, "symptom", reason)
    return None


def _stopped_for_nothing(facts: Facts) -> tuple[Line, ...]:
    """The lines at which a launcher stopped processes although no line says what had failed, and nothing went on behind them."""
    launchers = facts.launchers
    closed = [x for x in launchers.closed_pids.values() if facts.attempt_of(x) == facts.judged[x.file]]
    if not closed or launchers.ended_from_outside or facts.progress.finished or facts.progress.after(closed[-1], None):
        return ()
    return tuple(closed)


def ranks_not_stopped(facts: Facts) -> tuple[int, ...] | None:
    """The one rank whose process the launcher did not stop when it stopped all others: it had ended before."""
    closed = facts.launchers.closed_pids
    known = facts.ranks.by_pid
    left = {rank for pid, rank in known.items() if pid not in closed} - {known[pid] for pid in closed if pid in known}
    stopped = sum(pid in known for pid in closed)
    return tuple(left) if len(left) == 1 and stopped and stopped == len(closed) else None


def _skips_in_a_row(facts: Facts) -> tuple[Line, ...]:
    """The longest run of updates that were skipped with hardly a line between them, where it is too long to be chance."""
    longest: list[Line] = []
    run: list[Line] = []
    for f in facts.reading.findings():
        if not f.captures.get("skipped") or facts.attempt_of(f.line) != facts.judged[f.line.file]:
            continue
        if run and (f.line.file != run[-1].file or f.line.number - run[-1].number > _LINES_BETWEEN_SKIPS):
            run = []
        run.append(f.line)
        longest = max(longest, run, key=len)
    return tuple(longest) if len(longest) >= SKIPS_IN_A_ROW else ()


def ended_while_standing_still(facts: Facts, root: Hypothesis) -> Hypothesis | None:
    """A job that somebody ended from outside after it had stood still: then the standstill came first, and the end was the reaction."""
    if root.kind != "finding" or root.page.scope != "job" or root.role is not Role.INITIATING or root.strength != "probable":
        return None
    last = facts.progress.last()
    ended = root.first_time(facts)
    usual = usual_gap_s(facts.progress)
    if last is None or ended is None or ended[1] or last.line.time_s is None or last.line.time_of_day or usual is None:
        return None
    gap_s = ended[0] - last.line.time_s
    if gap_s < CANCEL_STALL_S or gap_s < CANCEL_STALL_STEPS * usual:
        return None
    lagging = lagging_ranks(facts.progress)
    reason = f"no step was printed in the {gap_s:.0f} s before the job was ended from outside, where a step took {usual:.2g} s"
    lines = tuple(lagging[2]) if lagging else (last.line,)
    return _shown(facts, "stall", lagging[0] if lagging else None, lines, "symptom", reason)


def structural(facts: Facts, hypotheses: list[Hypothesis], collectives: Collectives, suspicion: Suspicion | None) -> list[Hypothesis]:
    """Hypotheses that no single line shows: a rank behind, diverged, late or absent."""
    out: list[Hypothesis | None] = []
    if suspicion and suspicion.kind in ("behind", "diverged", "late"):
        strength = "direct" if suspicion.sure and suspicion.kind != "late" else "probable"
        out.append(_shown(facts, suspicion.kind, suspicion.ranks, suspicion.lines, strength, suspicion.reason))
    elif left := _left_early(facts, hypotheses):
        ranks, lines = left
        reason = f"rank {write_ranks(ranks)} ended its training while the others went on to the next collective"
        out.append(_shown(facts, "left", ranks, lines, "direct", reason))
    elif not (suspicion and suspicion.kind == "first") and (absent := absent_ranks(facts, hypotheses, collectives)):
        ranks, lines = absent
        verb = "reports" if len(ranks) == 1 else "report"
        reason = f"rank {write_ranks(ranks)} {verb} no timeout although every other rank does"
        out.append(_shown(facts, "absent", ranks, lines, "probable", reason))
    if stalled := _stalled_apart(facts, hypotheses):
        named, shown, several = stalled
        if several:
            reason = "some ranks wait in one operation while the others wait in another"
            out.append(_shown(facts, "diverged", named, shown, "probable", reason))
        elif named:
            reason = f"no list of the ranks that came has rank {write_ranks(named)}"
            out.append(_shown(facts, "absent", named, shown, "probable", reason))
    if launched := _launched_less(facts):
        ranks, lines, behind, most = launched
        reason = f"rank {write_ranks(ranks)} launched {behind} operations where most of the group launched {most}"
        out.append(_shown(facts, "behind", ranks, lines, "probable", reason))
    if counts := _uneven_counts(facts, hypotheses):
        ranks, lines = counts
        reason = f"rank {write_ranks(ranks)} has the fewest items and so was the first to run out"
        out.append(_shown(facts, "counts", ranks, lines, "probable", reason))
    if split := split_communicator(facts.reading):
        reason = f"ranks of one group of {split.size} started with different communicator ids and talk past each other"
        out.append(_shown(facts, "split", split.stale, split.lines, "direct", reason))
    if odd := odd_stacks(read_stacks(facts.reading)):
        stacks, waiting = odd
        ranks_of = [facts.ranks.by_pid.get(pid) for s in stacks for pid in s.pids]
        named = tuple(sorted(r for r in ranks_of if r is not None))
        reason = f"its stack is in {stacks[0].frames[0][0]}, while {waiting} processes wait in a collective"
        out.append(_shown(facts, "stacks", named or None, tuple(s.lines[0] for s in stacks), "direct", reason))
    out.append(_recorded(facts))
    return [h for h in out if h is not None]


def _recorded(facts: Facts) -> Hypothesis | None:
    """What the flight-recorder dumps among the inputs show."""
    by_name = {f.dump.name: f for f in facts.reading.files if f.dump is not None}
    found = compare([f.dump for f in by_name.values() if f.dump is not None]) if by_name else None
    if found is None:
        return None
    lines = tuple(by_name[dump.name].lines[call.index - 1] for dump, call in found.calls)
    shown = _shown(facts, found.kind, found.ranks, lines, "probable" if found.kind == "absent" else "direct", found.reason)
    if shown is not None:
        shown.op = found.op
    return shown


def _stalled_apart(facts: Facts, hypotheses: list[Hypothesis]) -> tuple[tuple[int, ...] | None, tuple[Line, ...], bool] | None:
    """What lists of the ranks that are ready for each stalled operation show: (ranks, lines, whether two operations share no rank)."""
    lists: list[frozenset[int]] = []
    lines: list[Line] = []
    if not any(h.tells == WAITED for h in hypotheses):
        return None
    for f in (f for f in facts.reading.findings() if f.captures.get("ready")):
        found = [frozenset(int(r) for r in m[1].split(",")) for m in _READY.finditer(f.line.text)]
        if found:
            lists += found
            lines.append(f.line)
    if not lists:
        return None
    sizes = sorted(set(lists), key=lambda ready: (-len(ready), sorted(ready)))
    apart = [ready for ready in sizes[1:] if not ready & sizes[0]]
    if apart:
        odd = tuple(sorted(frozenset().union(*apart)))
        return (odd if len(odd) < len(sizes[0]) else None), tuple(lines), True
    came = frozenset().union(*lists)
    size = facts.ranks.world_size or max(came)
    return tuple(r for r in range(size) if r not in came), tuple(lines), False


def _launched_less(facts: Facts) -> tuple[tuple[int, ...], tuple[Line, ...], int, int] | None:
    """Who is clearly behind in counts of launched operations: (ranks, the lines that say so, their count, that of most).

    A difference of one is what a snapshot of a job that runs well shows too.
    """
    found: list[tuple[tuple[int, ...], tuple[Line, ...], int, int]] = []
    for f in facts.reading.files:
        at = {x.line.number: x for x in f.findings if x.strength == "context" and (_tells_launched(x) or x.captures.get("member"))}
        for first in sorted(n for n in at if n - 1 not in at):
            groups: list[tuple[int, int, set[int], list[Line]]] = []
            number = first
            while (x := at.get(number)) is not None:
                if _tells_launched(x):
                    who = {int(x.captures["of_rank"])} if x.captures.get("of_rank") else set()
                    groups.append((int(x.captures.get("reached", "0")), int(x.captures.get("of_ranks", "1")), who, [x.line]))
                elif groups:
                    groups[-1][2].update(ranks_in(x.captures["member"]))
                    groups[-1][3].append(x.line)
                number += 1
            most, count = max(((g[0], sum(o[1] for o in groups if o[0] == g[0])) for g in groups), key=lambda x: x[1], default=(0, 0))
            low = [g for g in groups if g[0] < most - 1 and g[2]]
            if low and count * 2 > sum(g[1] for g in groups):
                ranks = tuple(sorted(set().union(*(g[2] for g in low))))
                found.append((ranks, tuple(x for g in low for x in g[3]), min(g[0] for g in low), most))
    return found[-1] if found else None


def _tells_launched(f: Finding) -> bool:
    return bool(f.captures.get("reached") or f.captures.get("unlaunched"))


def _uneven_counts(facts: Facts, hypotheses: list[Hypothesis]) -> tuple[tuple[int, ...], tuple[Line, ...]] | None:
    """The ranks with the fewest items where ranks print different counts and others waited: (ranks, their lines)."""
    if not any(h.tells in (WAITED, LOST_PEER) for h in hypotheses):
        return None
    counts: dict[int, tuple[int, Line]] = {}
    for f in facts.reading.findings():
        ranks = facts.ranks_of(f)
        if f.strength == "context" and f.captures.get("count", "").isdigit() and ranks and len(ranks) == 1:
            counts.setdefault(ranks[0], (int(f.captures["count"]), f.line))
    if len(counts) < 2:
        return None
    fewest = min(n for n, _ in counts.values())
    least = sorted(r for r, (n, _) in counts.items() if n == fewest)
    if len(least) * 2 > len(counts):
        return None
    return tuple(least), tuple(counts[r][1] for r in least)


def reporters(h: Hypothesis) -> dict[int, list[Finding]]:
    """The ranks that report to have waited for or lost another, with their findings; not those that a report calls absent."""
    said = {r: [f for f in findings if not f.captures.get("absent")] for r, findings in h.ranks.items()}
    return {r: findings for r, findings in said.items() if findings}


def absent_ranks(
    facts: Facts, hypotheses: list[Hypothesis], collectives: Collectives, any_report: bool = False
) -> tuple[tuple[int, ...], tuple[Line, ...]] | None:
    """The few ranks that do not complain where all others do: (ranks, the lines of those who wait).

    Only timeouts count, unless `any_report`: then lost connections do too.
    """
    victims: dict[int, Line] = {}
    for h in hypotheses:
        if h.tells in (WAITED, LOST_PEER):
            for rank, findings in reporters(h).items():
                victims.setdefault(rank, max(findings, key=lambda f: (f.strength == "direct", len(f.captures), -f.line.number)).line)
    for w in collectives.waits:
        if w.rank is not None:
            victims.setdefault(w.rank, w.line)
    if not victims and any(h.tells == WAITED and h.nobody for h in hypotheses):
        # Reports without a rank: then the ranks that failed by themselves are the ones that waited.
        reports = [f.line for h in hypotheses if h.tells == WAITED for f in h.nobody]
        for e in facts.own_failures():
            if e.rank is not None:
                victims.setdefault(e.rank, reports[0])
    if not any_report and not any(h.tells == WAITED and h.strength != "symptom" for h in hypotheses) and not collectives.waits:
        return None
    members = max((w.members or 0 for w in collectives.waits), default=0)
    size = facts.ranks.world_size or max(*facts.ranks.seen, *victims, -1, members - 1) + 1
    # A report that lost its prefix still says which rank of its group it is.
    unsigned = {w.claimed for w in collectives.waits if w.rank is None}
    absent = tuple(r for r in range(size) if r not in victims and r not in unsigned)
    few = len(absent) * 2 <= len(victims) or (len(absent) <= len(victims) and set(absent) <= facts.ranks.seen)
    if not absent or len(victims) < 2 or not few:
        # Of two ranks the other one is meant, if it is seen to live: by its own lines, or by progress that nobody signs.
        alive = absent and (absent[0] in facts.ranks.seen or any(s.rank is None for s in facts.progress.steps))
        if not (alive and len(victims) == 1 and size == 2):
            return None
    own = {r for h in hypotheses if h.role is Role.INITIATING for r in h.ranks}
    if own & set(absent):
        return None
    return absent, tuple(victims[r] for r in sorted(victims))[:3]


def _left_early(facts: Facts, hypotheses: list[Hypothesis]) -> tuple[tuple[int, ...], tuple[Line, ...]] | None:
    """The few ranks that said they had finished where all others waited for them or lost them: (ranks, the lines that say so)."""
    victims = {r for h in hypotheses if h.tells in (WAITED, LOST_PEER) for r in h.ranks}
    done = {r: line for r, line in facts.progress.finished_by.items() if r not in victims}
    own = {r for h in hypotheses if h.role is Role.INITIATING for r in h.ranks}
    if not done or not victims or len(done) > len(victims) or own & set(done) or victims & set(facts.progress.finished_by):
        return None
    return tuple(sorted(done)), tuple(done[r] for r in sorted(done))


def _shown(
    facts: Facts, sign: str, ranks: tuple[int, ...] | None, lines: tuple[Line, ...], strength: str, reason: str
) -> Hypothesis | None:
    """The hypothesis of the page that says it is shown by a sign."""
    page = facts.library.shown_by(sign)
    if page is None or not lines:
        return None
    return Hypothesis(page.id, page, strength=strength, named=ranks, lines=lines, reasons=[reason], kind=sign)
