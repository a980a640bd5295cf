"""Chooses which hypothesis was first. Local faults outrank distributed symptoms; then collective state, absence, order.

Pure: hypotheses and facts in, a choice with its reasons out. Writes no prose beyond reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model import Line, Role, Verdict
from .collectives import Collectives, Suspicion, suspect
from .hypotheses import Facts, Hypothesis
from .ranks import write_ranks

GENERIC = "python-exception"
_WAITING = ("collective-timeout", "nccl-watchdog-hang")
_FOLLOWS_A_PEER = ("gloo-connection-closed", "nccl-remote-error", "store-connection-lost", "peer-heartbeat-lost")
_CLOCK_SLACK_S = 1.5


@dataclass(slots=True)
class Choice:
    """The hypothesis that was first, the ranks it names, how sure that is and why; the others are in `after`."""

    root: Hypothesis
    ranks: tuple[int, ...] | None
    verdict: Verdict
    reasons: list[str] = field(default_factory=list)
    after: list[Hypothesis] = field(default_factory=list)
    rivals: list[Hypothesis] = field(default_factory=list)
    suspicion: Suspicion | None = None


def choose(facts: Facts, hypotheses: list[Hypothesis], collectives: Collectives) -> Choice | None:
    """The choice, or `None` where there is nothing to blame."""
    suspicion = suspect(collectives, facts.ranks)
    pool = [*hypotheses, *_structural(facts, hypotheses, collectives, suspicion)]
    if not pool:
        return None
    waited_until = _first_timeout(pool, collectives)
    explained = _explained(pool)
    order = sorted(pool, key=lambda h: (_class(h, pool, explained, waited_until, suspicion), _when(h, pool), h.failure, h.detail))
    root = order[0]
    ranks = _ranks(facts, root, pool)
    verdict = _verdict(root, ranks)
    choice = Choice(root, ranks, verdict, suspicion=suspicion)
    choice.reasons = _reasons(facts, choice, pool, collectives, suspicion)
    for h in order[1:]:
        same = h.role is Role.INITIATING and h.strength == "direct" and not _follows(h, root) and h.kind == "finding"
        (choice.rivals if same and not set(h.ranks) & set(root.ranks) else choice.after).append(h)
    return choice


def _structural(facts: Facts, hypotheses: list[Hypothesis], collectives: Collectives, suspicion: Suspicion | None) -> list[Hypothesis]:
    """Hypotheses that no single line shows: a rank behind, diverged, late or absent."""
    out: list[Hypothesis] = []
    library = facts.library

    def add(failure: str, kind: str, ranks: tuple[int, ...] | None, lines: tuple[Line, ...], strength: str, reason: str) -> None:
        if failure in library.pages and lines:
            out.append(Hypothesis(failure, library.pages[failure], strength=strength, named=ranks, lines=lines, reasons=[reason], kind=kind))

    if suspicion and suspicion.lines:
        if suspicion.kind == "behind":
            add("rank-missing-collective", "behind", suspicion.ranks, suspicion.lines, "direct", suspicion.reason)
        elif suspicion.kind == "diverged":
            add("collective-mismatch", "diverged", suspicion.ranks, suspicion.lines, "direct", suspicion.reason)
        elif suspicion.kind == "late":
            add("rank-missing-collective", "late", suspicion.ranks, suspicion.lines, "probable", suspicion.reason)
    if not out and not (suspicion and suspicion.kind == "first"):
        absent = _absent(facts, hypotheses, collectives)
        if absent:
            ranks, lines = absent
            add(
                "rank-missing-collective", "absent", ranks, lines, "probable",
                f"rank {write_ranks(ranks)} reports no timeout although every other rank does",
            )  # fmt: skip
    return out


def _absent(facts: Facts, hypotheses: list[Hypothesis], collectives: Collectives) -> tuple[tuple[int, ...], tuple[Line, ...]] | None:
    """The few ranks that do not complain where all others do: (ranks, the lines of those who wait)."""
    victims: dict[int, Line] = {}
    for h in hypotheses:
        if h.failure in (*_WAITING, *_FOLLOWS_A_PEER):
            for rank, findings in h.ranks.items():
                victims.setdefault(rank, findings[0].line)
    for w in collectives.waits:
        if w.rank is not None:
            victims.setdefault(w.rank, w.line)
    if not any(h.failure in _WAITING for h in hypotheses) and not collectives.waits:
        return None
    size = facts.ranks.world_size or (max(facts.ranks.seen | set(victims), default=-1) + 1)
    absent = tuple(r for r in range(size) if r not in victims)
    if not absent or len(victims) < 2 or len(absent) * 2 > len(victims):
        if not (absent and len(victims) == 1 and size == 2 and absent[0] in facts.ranks.seen):
            return None
    own = {r for h in hypotheses if h.role is Role.INITIATING for r in h.ranks}
    if own & set(absent):
        return None
    return absent, tuple(victims[r] for r in sorted(victims))[:3]


def _first_timeout(pool: list[Hypothesis], collectives: Collectives) -> Line | None:
    """The line at which the first waiting rank gave up."""
    lines = [w.line for w in collectives.waits] + [f.line for h in pool if h.failure in _WAITING for f in h.findings]
    dated = [x for x in lines if x.time_s is not None]
    if dated:
        return min(dated, key=lambda x: (x.time_s or 0, x.file, x.number))
    return min(lines, key=lambda x: (x.file, x.number)) if lines else None


def _explained(pool: list[Hypothesis]) -> dict[int, set[str]]:
    """For each hypothesis which failures of the pool say that they explain it."""
    return {id(h): {o.failure for o in pool if o is not h and h.failure in o.page.explains} for h in pool}


def _class(h: Hypothesis, pool: list[Hypothesis], explained: dict[int, set[str]], waited_until: Line | None, suspicion: Suspicion | None) -> int:
    """How near to the root a hypothesis can be: small is near."""
    late = waited_until is not None and h.kind == "finding" and h.failure not in _WAITING and _is_after(h.first(), waited_until)
    if h.kind in ("behind", "diverged"):
        return 20
    if h.kind == "late":
        return 32
    if h.kind == "absent":
        return 45
    if h.role is Role.INITIATING:
        if h.failure == GENERIC:
            base = 25 if late else 12
        elif h.strength == "direct":
            base = 22 if late else 10
        elif h.strength == "probable":
            base = 42 if late else 30
        else:
            base = 55
        return base
    explainers = explained[id(h)]
    if h.role is Role.SYMPTOM:
        base = 50
        if h.strength in ("probable", "symptom"):
            base += 3
        if h.failure == "worker-exit-unexplained":
            base += 4
        if late:
            base += 10
        if any(o.role is Role.SYMPTOM or o.role is Role.INITIATING for o in pool if o.failure in explainers):
            base += 12
        return base
    return 80


def _is_after(line: Line, other: Line) -> bool:
    """Whether a line came after another: by time where both have comparable ones, else by place in one input."""
    if line.time_s is not None and other.time_s is not None and line.time_of_day == other.time_of_day:
        return line.time_s > other.time_s + _CLOCK_SLACK_S
    return line.file == other.file and line.number > other.number


def _when(h: Hypothesis, pool: list[Hypothesis]) -> tuple[float, int, int]:
    """Sorts by time where every hypothesis of the pool has one, else by place."""
    first = h.first()
    if all(x.time_s() is not None for x in pool):
        return (h.time_s() or 0.0, first.file, first.number)
    return (0.0, first.file, first.number)


def _follows(h: Hypothesis, root: Hypothesis) -> bool:
    return h.failure in root.page.explains or h.failure == root.failure


def _ranks(facts: Facts, root: Hypothesis, pool: list[Hypothesis]) -> tuple[int, ...] | None:
    """The global ranks that failed first; empty for every rank alike, `None` where the input cannot tell."""
    if root.kind != "finding":
        return root.named
    if root.page.scope == "job" and root.failure != GENERIC:
        return ()
    world = facts.ranks.world_size
    named = set(root.ranks)
    own = [e for e in facts.launchers.own_failures() if e.rank is not None]
    failing = {e.rank for e in own if e.rank is not None}
    if named and root.nobody and len(root.nobody) > len(named) and root.role is Role.INITIATING:
        named |= failing
    if not named and root.nobody:
        if len(failing) == 1:
            named = set(failing)
        elif len(failing) > 1:
            copies = len({(f.line.file, f.line.number) for f in root.nobody if f.strength == root.strength})
            if world is not None and len(failing) >= world:
                return ()
            if copies >= len(failing) or copies >= 3:
                named = set(failing) if world is not None and len(failing) < world else set()
                return tuple(sorted(named))
            roots = {e.rank for e in own if e.root and e.rank is not None}
            return None if len(roots) != 1 else tuple(sorted(r for r in roots))
    if not named:
        return None
    if world is not None and len(named) >= world and len(named) > 1:
        return ()
    return _first_ones(root, named)


def _first_ones(root: Hypothesis, named: set[int]) -> tuple[int, ...]:
    """Of several ranks with one failure only the first, where clocks say that the others came clearly later."""
    times = {}
    for r in named:
        dated = [f.line.time_s for f in root.ranks.get(r, []) if f.line.time_s is not None]
        if not dated:
            return tuple(sorted(named))
        times[r] = min(dated)
    earliest = min(times.values())
    return tuple(sorted(r for r, t in times.items() if t - earliest <= 5.0))


def _verdict(root: Hypothesis, ranks: tuple[int, ...] | None) -> Verdict:
    if root.role in (Role.SYMPTOM, Role.COLLATERAL) or root.strength == "symptom":
        return Verdict.UNDETERMINED
    if root.kind in ("absent", "late", "order") or root.strength == "probable":
        return Verdict.PROBABLE
    return Verdict.ESTABLISHED


def _reasons(facts: Facts, choice: Choice, pool: list[Hypothesis], collectives: Collectives, suspicion: Suspicion | None) -> list[str]:
    """Why this one was first, strongest first."""
    root = choice.root
    out = list(root.reasons)
    others = [h for h in pool if h is not root]
    if root.role is Role.INITIATING and root.kind == "finding" and others:
        downstream = sorted({h.failure for h in others if _follows(h, root) or h.role is not Role.INITIATING})
        if downstream:
            out.append(f"a fault of its own explains the other reports ({', '.join(downstream[:4])})")
    first_timeout = _first_timeout(pool, collectives)
    if first_timeout is not None and root.kind == "finding" and root.failure not in _WAITING and not _is_after(root.first(), first_timeout):
        out.append("it came before the first rank gave up waiting")
    if choice.ranks:
        exits = [e for e in facts.launchers.own_failures() if e.rank in choice.ranks]
        if exits:
            e = exits[0]
            out.append(f"the launcher saw rank {e.rank} end by itself" + (f" with exit code {e.code}" if e.code is not None else ""))
    if root.role is Role.SYMPTOM:
        out.append("no line shows what caused it")
    return out
