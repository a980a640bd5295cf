"""Chooses which hypothesis was first. Local faults outrank distributed symptoms; then collective state, absence, order.

Pure: hypotheses and facts in, a choice with its reasons out. Writes no prose beyond reasons.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..model import Line, Role, Verdict
from ..read.blocks import key_of
from .collectives import Collectives, Suspicion, suspect
from .facts import ANY_EXCEPTION, EXIT, LOST_PEER, UNREACHABLE, WAITED, Facts
from .hypotheses import Hypothesis
from .launchers import FIRST_TO_END
from .signs import ended_while_standing_still, structural, without_errors
from .who import initiating_ranks

_CLOCK_SLACK_S = 1.5
# Exit codes of a kill and of crashes in native code.
_KILLED, _CRASHED = (-9, 137), (-11, 139, -7, 135, -4, 132)


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
    pool = [*hypotheses, *structural(facts, hypotheses, collectives, suspicion)]
    if not pool:
        return None
    waited_until = _first_timeout(pool, collectives)
    explained = _explained(pool)
    order = sorted(pool, key=lambda h: (_class(facts, h, pool, explained, waited_until), _when(facts, h, pool), h.failure, h.detail))
    root = order[0]
    if (stall := ended_while_standing_still(facts, root)) is not None:
        order.insert(0, stall)
        root = stall
    ranks = initiating_ranks(facts, root, pool, collectives)
    verdict = _verdict(root, ranks)
    choice = Choice(root, ranks, verdict, suspicion=suspicion)
    choice.reasons = _reasons(facts, choice, pool, collectives, suspicion)
    for h in order[1:]:
        same = h.role is Role.INITIATING and h.strength == "direct" and not _follows(h, root) and h.kind == "finding"
        (choice.rivals if same and not set(h.ranks) & set(root.ranks) else choice.after).append(h)
    return choice


def choose_without_errors(facts: Facts) -> Choice | None:
    """What progress alone shows where no line is an error: a rank far slower than its peers, or a job that stands still."""
    root = without_errors(facts)
    return None if root is None else Choice(root, root.named, _verdict(root, root.named), list(root.reasons))


def _first_timeout(pool: list[Hypothesis], collectives: Collectives) -> Line | None:
    """The line at which the first waiting rank gave up."""
    lines = [w.line for w in collectives.waits] + [f.line for h in pool if h.tells == WAITED for f in h.findings]
    dated = [x for x in lines if x.time_s is not None]
    if dated:
        return min(dated, key=lambda x: (x.time_s or 0, x.file, x.number))
    return min(lines, key=lambda x: (x.file, x.number)) if lines else None


def _explained(pool: list[Hypothesis]) -> dict[int, set[str]]:
    """For each hypothesis which failures of the pool say that they explain it."""
    return {id(h): {o.failure for o in pool if o is not h and h.failure in o.page.explains} for h in pool}


def _class(facts: Facts, h: Hypothesis, pool: list[Hypothesis], explained: dict[int, set[str]], waited_until: Line | None) -> int:
    """How near to the root a hypothesis can be: small is near."""
    late = waited_until is not None and h.kind == "finding" and h.tells != WAITED and _is_after(facts, h, waited_until)
    early = waited_until is not None and _is_before(facts, h, waited_until)
    if h.kind in ("behind", "diverged", "left"):
        return 20
    if h.kind == "split":
        return 9
    if h.kind == "stacks":
        return 21
    if h.kind in ("late", "counts"):
        return 32
    if h.kind == "absent":
        return 45
    if h.role is Role.INITIATING:
        if h.tells == ANY_EXCEPTION:
            base = 25 if late else 12
        elif h.strength == "direct":
            base = 22 if late else 11 if _tells_who_is_missing(h) or _reported_later(facts, h, pool, explained[id(h)]) else 10
            if not late and h.tells == UNREACHABLE and _raised_before(facts, h, pool):
                base = 14
            if _follows_an_exit(facts, h):
                base = 64
        elif h.strength == "probable":
            base = 42 if late else 30
            if h.page.scope == "job" and not early and any(o.tells == WAITED and o.strength == "direct" for o in pool):
                # Whoever ended the job from outside did so after ranks had waited for a whole timeout.
                base = 46
            if h.page.scope == "job" and _ended_by_the_launcher(facts, h):
                base = 65
            if _never_kills(facts, h, pool):
                base = 59
        else:
            base = 55
        return base
    explainers = explained[id(h)]
    if h.role is Role.SYMPTOM:
        base = 50
        if h.strength in ("probable", "symptom"):
            base += 3
        if h.tells == EXIT and h.strength == "symptom":
            base += -3 if early or any(_waited_for_it(h, o) for o in pool if o.tells == WAITED) else 4
        if late or any(_ended_after(facts, h, o) for o in pool):
            base += 10
        if h.tells == EXIT and not h.ranks:
            base += 1
        if _only_counts_seconds(h) and any(_names_who_ended(o) for o in pool):
            return 84
        if h.tells == EXIT and any(_ended_by_the_launcher(facts, o) and not _is_after(facts, h, o.first()) for o in pool):
            return base
        if h.tells == EXIT and _is_told(facts, h, pool):
            base += 35
        likely = [o for o in pool if o.failure in explainers and not _follows_an_exit(facts, o) and not _waited_for_it(h, o)]
        if any(o.role is Role.SYMPTOM or o.role is Role.INITIATING and o.strength != "symptom" for o in likely):
            base += 12
        return base
    return 82 if _announces_a_lost_peer(facts, h, pool) else 80


def _announces_a_lost_peer(facts: Facts, h: Hypothesis, pool: list[Hypothesis]) -> bool:
    """Whether its lines only begin the traceback of a process that lost the connection to another, or come behind such a one."""
    begun: set[tuple[int, int]] = set()
    lost = [f for o in pool if o is not h and o.tells == LOST_PEER for f in o.findings]
    for f in lost:
        structure = facts.structures[f.line.file]
        raised, head = structure.raised.get(key_of(f.line)), structure.headed.get(f.line.number)
        if raised is not None:
            begun.add((f.line.file, raised.first.number))
        if head is not None:
            begun.add((f.line.file, head.number))
    said = [(f.line.file, f.line.number) for f in h.findings]
    first = {f.line.file: f.line.number for f in reversed(lost)}
    return bool(begun.intersection(said)) and all(x in begun or x[1] > first.get(x[0], x[1]) for x in said)


def _only_counts_seconds(h: Hypothesis) -> bool:
    """Whether its lines only say how long somebody has been waiting."""
    return h.kind == "finding" and h.strength == "symptom" and bool(h.findings) and all(f.captures.get("waited_s") for f in h.findings)


def _names_who_ended(h: Hypothesis) -> bool:
    """Whether a process that watches others reports which of them ended, or that one did."""
    return h.tells == EXIT or h.role is Role.COLLATERAL and any(f.captures.get("process") and f.strength == "direct" for f in h.findings)


def _reported_later(facts: Facts, h: Hypothesis, pool: list[Hypothesis], explainers: set[str]) -> bool:
    """Whether a fault of the host explains it: the kernel and the scheduler report those after the process that felt them."""
    for o in pool:
        if o.failure not in explainers or o.role is not Role.INITIATING or o.strength != "direct" or o.kind != "finding":
            continue
        if h.page.scope == "rank" and o.page.scope == "host" and not _is_before(facts, h, o.first()):
            return True
    return False


def _tells_who_is_missing(h: Hypothesis) -> bool:
    """Whether its lines only say which rank others wait for: a fault of a device or a host tells why, and comes first."""
    return h.kind == "finding" and bool(h.findings) and all(f.captures.get("absent") for f in h.findings)


def _raised_before(facts: Facts, h: Hypothesis, pool: list[Hypothesis]) -> bool:
    """Whether other ranks raised an exception of their own before these could not reach a peer: whoever ended does not listen."""
    return any(
        o.tells == ANY_EXCEPTION and o.strength == "direct" and o.ranks and h.ranks and not set(o.ranks) & set(h.ranks)
        and _is_after(facts, h, o.first())
        for o in pool
    )  # fmt: skip


def _ended_by_the_launcher(facts: Facts, h: Hypothesis) -> bool:
    """Whether the launcher said before that it ends what these lines call ended, or a process asked for that: then an exit came first."""
    ended = [f for f in h.findings if f.captures.get("step")]
    if not ended:
        return False
    asked = {f.line.file: f.line.number for f in reversed([*facts.reading.findings()]) if f.captures.get("ends_job")}
    if all(asked.get(f.line.file, f.line.number) < f.line.number for f in ended):
        return True
    said = {(f.line.file, f.captures["ended_step"]): f.line.number for f in facts.reading.findings() if f.captures.get("ended_step")}
    return all(said.get((f.line.file, f.captures["step"]), f.line.number) < f.line.number for f in ended)


def _follows_an_exit(facts: Facts, h: Hypothesis) -> bool:
    """Whether an exit that a launcher told of before explains it: a crash of a peer behind a kill, a restart whose peers had left."""
    if h.role is not Role.INITIATING or h.strength != "direct":
        return False
    first = h.first()
    if h.tells == LOST_PEER:
        return any(e.line.file == first.file and e.line.number < first.number for e in facts.own_failures())
    for f in h.findings:
        line = f.line
        if not any(e.in_order and e.code in _CRASHED for e in facts.launchers.between(line.file, line.number, line.number)):
            return False
    before = (e for e in facts.own_failures() if e.line.file == first.file and e.line.number < first.number)
    return any(e.in_order and e.code in _KILLED for e in before)


def _waited_for_it(exits: Hypothesis, other: Hypothesis) -> bool:
    """Whether all that waited for a peer name one that exited, and are none of those that did: then they wait because of its exit."""
    peers = {f.captures.get("peer", "") for f in other.findings}
    named = {int(p) for p in peers if p.isdigit()}
    return exits.tells == EXIT and len(named) == len(peers) and named <= set(exits.ranks) and not set(exits.ranks) & set(other.ranks)


def _ended_after(facts: Facts, other: Hypothesis, exits: Hypothesis) -> bool:
    """Whether clocks put `other`, a symptom nobody signed, behind the exit the launcher calls the first, which had a code of its own."""
    if exits.tells != EXIT or other.role is not Role.SYMPTOM or other.ranks or other.tells in (EXIT, WAITED, LOST_PEER):
        return False
    if other.first_time(facts) is None or exits.first_time(facts) is None or not _is_after(facts, other, exits.first()):
        return False
    return any(e.said == FIRST_TO_END and e.code is not None and 0 < e.code < 128 for e in facts.own_failures())


def _never_kills(facts: Facts, h: Hypothesis, pool: list[Hypothesis]) -> bool:
    """Whether unsigned lines only suggest a failure, and every exit that was seen is a SIGKILL, which that failure does not send."""
    if h.role is not Role.INITIATING or h.strength != "probable" or h.ranks:
        return False
    seen = facts.own_failures()
    exits = {o.failure for o in pool if o.tells == EXIT}
    return bool(seen) and all(e.code in _KILLED for e in seen) and not exits & set(h.page.explains)


def _is_told(facts: Facts, exits: Hypothesis, pool: list[Hypothesis]) -> bool:
    """Whether every process of these exits printed what ended it: then the exit itself explains nothing."""
    others = [h for h in pool if h.tells != EXIT and h.kind == "finding"]
    others = [h for h in others if not _follows_an_exit(facts, h) and not _never_kills(facts, h, pool)]
    others = [h for h in others if not _ended_after(facts, h, exits)]
    if any(e.said == FIRST_TO_END for e in facts.own_failures()):
        # The launcher says whose exit was the first: a peer that was lost explains the later ones only.
        others = [h for h in others if h.tells != LOST_PEER]
    speaking = {r for h in others for r in h.ranks}
    unsigned = max((len(h.nobody) for h in others), default=0)
    silent = [r for r in exits.ranks if r not in speaking]
    return len(silent) + (0 if exits.ranks else _deaths(exits)) <= unsigned


def _deaths(exits: Hypothesis) -> int:
    """How many deaths lines that nobody signs tell of: the runtime's words and the shell's are about the same one."""
    lines = {(f.line.file, f.line.number): f.line.text[f.start : f.start + 12] for f in exits.nobody}
    return max(Counter(lines.values()).values(), default=0)


def _is_after(facts: Facts, h: Hypothesis, other: Line) -> bool:
    """Whether a hypothesis began after a line: by time where both have comparable ones, else by place in one input."""
    mine, theirs = h.first_time(facts), facts.time_of(other)
    if mine is not None and theirs is not None and mine[1] == theirs[1]:
        return mine[0] > theirs[0] + _CLOCK_SLACK_S
    line = h.first()
    return line.file == other.file and line.number > other.number


def _is_before(facts: Facts, h: Hypothesis, other: Line) -> bool:
    """Whether a hypothesis began before a line, by comparable times only."""
    mine, theirs = h.first_time(facts), facts.time_of(other)
    return mine is not None and theirs is not None and mine[1] == theirs[1] and mine[0] <= theirs[0]


def _when(facts: Facts, h: Hypothesis, pool: list[Hypothesis]) -> tuple[float, int, int]:
    """Sorts by time where every hypothesis of the pool has one, else by place."""
    first = h.first()
    times = [x.first_time(facts) for x in pool]
    mine = h.first_time(facts)
    if mine is not None and all(t is not None and t[1] == mine[1] for t in times):
        return (mine[0], first.file, first.number)
    return (0.0, first.file, first.number)


def _follows(h: Hypothesis, root: Hypothesis) -> bool:
    return h.failure in root.page.explains or h.failure == root.failure


def _verdict(root: Hypothesis, ranks: tuple[int, ...] | None) -> Verdict:
    if root.role in (Role.SYMPTOM, Role.COLLATERAL) or root.strength == "symptom":
        return Verdict.UNDETERMINED
    if root.kind in ("absent", "late", "counts", "slow") or root.strength == "probable" or _more_than_all_came(root):
        return Verdict.PROBABLE
    return Verdict.ESTABLISHED


def _more_than_all_came(root: Hypothesis) -> bool:
    """Whether every line of it counts at least as many members as there are: who came before a restart was counted, nobody is missing."""
    counts = [(f.captures.get("joined", ""), f.captures.get("world", "")) for f in root.findings]
    return bool(counts) and all(came.isdigit() and size.isdigit() and int(came) >= int(size) for came, size in counts)


def _reasons(facts: Facts, choice: Choice, pool: list[Hypothesis], collectives: Collectives, suspicion: Suspicion | None) -> list[str]:
    """Why this one was first, strongest first."""
    root = choice.root
    out = list(root.reasons)
    others = [h for h in pool if h is not root]
    if root.role is Role.INITIATING and root.kind == "finding" and others:
        downstream = sorted({h.failure for h in others if _follows(h, root) or h.role is not Role.INITIATING})
        if downstream:
            out.append(f"a fault of its own explains the other reports ({', '.join(downstream[:4])})")
    if _more_than_all_came(root):
        out.append("more members were counted than there are, so those of an earlier attempt still count")
    first_timeout = _first_timeout(pool, collectives)
    if first_timeout is not None and root.kind == "finding" and root.tells != WAITED and not _is_after(facts, root, first_timeout):
        out.append("it came before the first rank gave up waiting")
    if choice.ranks:
        exits = [e for e in facts.own_failures() if e.rank in choice.ranks]
        if exits:
            e = exits[0]
            out.append(f"the launcher saw rank {e.rank} end by itself" + (f" with exit code {e.code}" if e.code is not None else ""))
    if root.role is Role.SYMPTOM:
        out.append("no line shows what caused it")
    return out
