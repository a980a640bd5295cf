"""Chooses which hypothesis was first. Local faults outrank distributed symptoms; then collective state, absence, order.

Pure: hypotheses and facts in, a choice with its reasons out. Writes no prose beyond reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model import Line, Role, Verdict
from ..read.blocks import key_of
from .collectives import Collectives, Suspicion, suspect
from .communicators import split_communicator
from .hypotheses import ANY_EXCEPTION, EXIT, LOST_PEER, WAITED, Facts, Hypothesis
from .launchers import Exit
from .progress import find_stall, lagging_ranks, slow_ranks, usual_gap_s
from .ranks import write_ranks
from .stacks import odd_stacks, read_stacks

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
    pool = [*hypotheses, *structural(facts, hypotheses, collectives, suspicion)]
    if not pool:
        return None
    waited_until = _first_timeout(pool, collectives)
    explained = _explained(pool)
    order = sorted(pool, key=lambda h: (_class(facts, h, pool, explained, waited_until), _when(facts, h, pool), h.failure, h.detail))
    root = order[0]
    if (stall := _ended_while_standing_still(facts, root)) is not None:
        order.insert(0, stall)
        root = stall
    ranks = _ranks(facts, root, pool, collectives)
    verdict = _verdict(root, ranks)
    choice = Choice(root, ranks, verdict, suspicion=suspicion)
    choice.reasons = _reasons(facts, choice, pool, collectives, suspicion)
    for h in order[1:]:
        same = h.role is Role.INITIATING and h.strength == "direct" and not _follows(h, root) and h.kind == "finding"
        (choice.rivals if same and not set(h.ranks) & set(root.ranks) else choice.after).append(h)
    return choice


def choose_without_errors(facts: Facts) -> Choice | None:
    """What progress alone shows where no line is an error: a rank far slower than its peers, or a job that stands still."""
    slow = slow_ranks(facts.progress)
    if slow is not None:
        ranks, ratio, slow_lines = slow
        reason = f"its steps take {ratio:.1f} times as long as the median of its peers"
        if root := _shown(facts, "slow", ranks, tuple(slow_lines), "probable", reason):
            return Choice(root, ranks, Verdict.PROBABLE, [reason])
    stall = find_stall(facts.progress, [x for f in facts.reading.files for x in f.samples])
    if stall is not None:
        last, end, gap_s = stall
        reason = f"no step was printed in the last {gap_s / 60:.0f} minutes, while other lines went on"
        if root := _shown(facts, "stall", None, (last.line, end), "symptom", reason):
            return Choice(root, None, Verdict.UNDETERMINED, [reason])
    return None


CANCEL_STALL_S = 20.0
CANCEL_STALL_STEPS = 50


def _ended_while_standing_still(facts: Facts, root: Hypothesis) -> Hypothesis | None:
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


def _shown(facts: Facts, sign: str, ranks: tuple[int, ...] | None, lines: tuple[Line, ...], strength: str, reason: str) -> Hypothesis | None:
    """The hypothesis of the page that says it is shown by a sign."""
    page = facts.library.shown_by(sign)
    if page is None or not lines:
        return None
    return Hypothesis(page.id, page, strength=strength, named=ranks, lines=lines, reasons=[reason], kind=sign)


def structural(
    facts: Facts, hypotheses: list[Hypothesis], collectives: Collectives, suspicion: Suspicion | None
) -> list[Hypothesis]:
    """Hypotheses that no single line shows: a rank behind, diverged, late or absent."""
    out: list[Hypothesis | None] = []
    if suspicion and suspicion.kind in ("behind", "diverged", "late"):
        strength = "probable" if suspicion.kind == "late" else "direct"
        out.append(_shown(facts, suspicion.kind, suspicion.ranks, suspicion.lines, strength, suspicion.reason))
    elif left := _left_early(facts, hypotheses):
        ranks, lines = left
        reason = f"rank {write_ranks(ranks)} ended its training while the others went on to the next collective"
        out.append(_shown(facts, "left", ranks, lines, "direct", reason))
    elif not (suspicion and suspicion.kind == "first") and (absent := _absent(facts, hypotheses, collectives)):
        ranks, lines = absent
        verb = "reports" if len(ranks) == 1 else "report"
        reason = f"rank {write_ranks(ranks)} {verb} no timeout although every other rank does"
        out.append(_shown(facts, "absent", ranks, lines, "probable", reason))
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
    return [h for h in out if h is not None]


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


def _absent(
    facts: Facts, hypotheses: list[Hypothesis], collectives: Collectives, any_report: bool = False
) -> tuple[tuple[int, ...], tuple[Line, ...]] | None:
    """The few ranks that do not complain where all others do: (ranks, the lines of those who wait).

    Only timeouts count, unless `any_report`: then lost connections do too.
    """
    victims: dict[int, Line] = {}
    for h in hypotheses:
        if h.tells in (WAITED, LOST_PEER):
            for rank, findings in h.ranks.items():
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
    size = facts.ranks.world_size or (max(facts.ranks.seen | set(victims), default=-1) + 1)
    absent = tuple(r for r in range(size) if r not in victims)
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
            base = 22 if late else 10
        elif h.strength == "probable":
            base = 42 if late else 30
            if h.page.scope == "job" and not early and any(o.tells == WAITED and o.strength == "direct" for o in pool):
                # Whoever ended the job from outside did so after ranks had waited for a whole timeout.
                base = 46
        else:
            base = 55
        return base
    explainers = explained[id(h)]
    if h.role is Role.SYMPTOM:
        base = 50
        if h.strength in ("probable", "symptom"):
            base += 3
        if h.tells == EXIT and h.strength == "symptom":
            base += -3 if early else 4
        if late:
            base += 10
        if h.tells == EXIT and _is_told(facts, h, pool):
            base += 35
        if any(o.role is Role.SYMPTOM or o.role is Role.INITIATING for o in pool if o.failure in explainers):
            base += 12
        return base
    return 80


def _is_told(facts: Facts, exits: Hypothesis, pool: list[Hypothesis]) -> bool:
    """Whether every process of these exits printed what ended it: then the exit itself explains nothing."""
    others = [h for h in pool if h.tells != EXIT and h.kind == "finding"]
    speaking = {r for h in others for r in h.ranks}
    unsigned = max((len(h.nobody) for h in others), default=0)
    silent = [r for r in exits.ranks if r not in speaking]
    return len(silent) + len({f.line.number for f in exits.nobody if not exits.ranks}) <= unsigned


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


def _ranks(facts: Facts, root: Hypothesis, pool: list[Hypothesis], collectives: Collectives) -> tuple[int, ...] | None:
    """The global ranks that failed first; empty for every rank alike, `None` where the input cannot tell."""
    if root.kind != "finding":
        return root.named
    pointed = _pointed_at(facts, root)
    if pointed:
        return pointed
    if root.tells in (WAITED, LOST_PEER):
        return _behind_the_victims(facts, root, pool, collectives)
    world = facts.ranks.world_size
    named = set(root.ranks)
    told = {r for f in root.findings if any(f.captures.get(k) for k in ("rank", "ranks")) for r in facts.ranks_of(f) or ()}
    if root.page.scope == "job" and root.tells != ANY_EXCEPTION and not told and not _others_came_further(pool, root):
        return (0,) if world == 1 else ()
    places = {f.line.file for f in root.findings}
    own = [e for e in facts.own_failures() if e.rank is not None and e.line.file in places]
    own = own or [e for e in facts.own_failures() if e.rank is not None]
    victims = {r for h in pool if h is not root and h.tells in (WAITED, LOST_PEER) for r in h.ranks}
    failing = {e.rank for e in own if e.rank is not None} - (victims if root.nobody and not named else set())
    if not named and not failing and root.nobody and victims and (absent := _absent(facts, pool, collectives, any_report=True)):
        # Whoever printed it is none of those that signed another failure.
        return absent[0]
    if named and root.nobody and len(root.nobody) > len(named) and root.role is Role.INITIATING:
        named |= failing
    if not named and root.nobody:
        if len(failing) == 1 and _copies(facts, root) < 3:
            named = set(failing)
        elif _copies(facts, root) > 1 or len(failing) > 1:
            return _unsigned(facts, root, own)
    if not named:
        return None
    if world is not None and len(named) >= world and len(named) > 1:
        return ()
    return _first_ones(root, named)


def _others_came_further(pool: list[Hypothesis], root: Hypothesis) -> bool:
    """Whether other ranks than those that failed lost or awaited them: then a failure that usually meets all met only some."""
    others = [h for h in pool if h.tells in (WAITED, LOST_PEER)]
    victims = {r for h in others for r in h.ranks}
    mine = {f.line.file for f in root.findings}
    elsewhere = {f.line.file for h in others for f in h.findings} - mine
    return (bool(root.ranks) and bool(victims - set(root.ranks))) or bool(elsewhere)


def _copies(facts: Facts, root: Hypothesis) -> int:
    """How many processes printed the same failure without saying who they are: tracebacks of their own, not reports of reports."""
    heads: set[tuple[int, int]] = set()
    texts: dict[str, int] = {}
    streams: set[tuple[object, ...]] = set()
    for f in root.nobody:
        raised = facts.structures[f.line.file].raised.get(key_of(f.line))
        head = raised.first if raised else f.line
        o = f.line.origin
        streams.add((o.pid, o.label, o.device, o.host))
        if (f.line.file, head.number) not in heads and (raised is None or raised.position == 0):
            heads.add((f.line.file, head.number))
            texts[f.line.text[f.start : f.start + 80]] = texts.get(f.line.text[f.start : f.start + 80], 0) + 1
    alike = max(texts.values(), default=0)
    labelled = any(o[0] is not None or o[1] is not None for o in streams)
    return min(alike, len(streams)) if labelled else alike


def _unsigned(facts: Facts, root: Hypothesis, own: list[Exit]) -> tuple[int, ...] | None:
    """Who raised a failure that several processes printed without a rank: all alike, those the launcher saw fail, or unknown."""
    world = facts.ranks.world_size
    failing = {e.rank for e in own if e.rank is not None}
    copies = _copies(facts, root)
    if world is not None and (len(failing) >= world or copies >= world):
        return ()
    if copies < 2:
        roots = {e.rank for e in own if e.root and e.rank is not None}
        return tuple(sorted(roots)) if len(roots) == 1 else None
    if failing and world is not None and len(failing) < world and copies <= len(failing) + 1 and len(failing) * 2 <= world:
        return tuple(sorted(failing))
    return ()


def _pointed_at(facts: Facts, root: Hypothesis) -> tuple[int, ...]:
    """The ranks that the failure's own lines call absent, continuation lines included, or that are missing among its reporters."""
    out: set[int] = set()
    reporters: set[int] = set()
    size = counted = 0
    for f in facts.reading.findings():
        if f.failure != root.failure:
            continue
        c = f.captures
        if c.get("absent") or c.get("ready"):
            out.update(facts.ranks.of_finding(f) or ())
        if c.get("reporter", "").isdigit() and c.get("world", "").isdigit():
            reporters.add(int(c["reporter"]))
            size = max(size, int(c["world"]))
            counted = max(counted, int(c["count"])) if c.get("count", "").isdigit() else counted
        if c.get("joined", "").isdigit() and c.get("world", "").isdigit():
            speaking = facts.speaking_ranks()
            if len(speaking) == int(c["joined"]) < int(c["world"]) and max(speaking) < int(c["world"]):
                out.update(set(range(int(c["world"]))) - speaking)
    if not out and reporters and counted == len(reporters) < size:
        out = set(range(size)) - reporters
    return tuple(sorted(out)) or _odd_one_out(root)


def _odd_one_out(root: Hypothesis) -> tuple[int, ...]:
    """Where several reports compare two ranks each (`first` and `second`), the one rank that every report names."""
    pairs = {(f.captures["first"], f.captures["second"]) for f in root.findings if f.captures.get("first") and f.captures.get("second")}
    if len(pairs) < 3:
        return ()
    common = set.intersection(*({a, b} for a, b in pairs))
    return tuple(int(r) for r in common) if len(common) == 1 else ()


def _behind_the_victims(facts: Facts, root: Hypothesis, pool: list[Hypothesis], collectives: Collectives) -> tuple[int, ...] | None:
    """Who is behind reports of victims: the absent few; nobody in particular where every rank reports; else unknown."""
    suspicion = suspect(collectives, facts.ranks)
    if suspicion is not None and suspicion.kind == "first":
        return ()
    absent = _absent(facts, pool, collectives, any_report=root.tells == LOST_PEER)
    if absent:
        return absent[0]
    lagging = lagging_ranks(facts.progress)
    if lagging is not None:
        return lagging[0]
    victims = set(root.ranks) | collectives.waiting_ranks()
    world = facts.ranks.world_size
    if world is not None and len(victims) >= world > 1:
        return ()
    return None


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
    if root.kind in ("absent", "late", "counts") or root.strength == "probable":
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
