"""The state of each process group when a collective timed out: who waited where, who is behind, who diverged.

Knows the grammars of ProcessGroupNCCL's watchdog, its status lines and dump signals. Sequence numbers are compared
within one group only. Names suspects with the lines that show it; decides nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..model import Line
from ..read.quick import Quick, quick
from .ranks import Ranks
from .reading import Reading

NEEDLES = {
    "Watchdog caught collective operation timeout": 1,
    "WorkNCCL(": 1,
    "WorkHCCL(": 1,
    "last enqueued": 1,
    "Last enqueued": 1,
    "dump signal": 0,
    "watchdog thread terminated": 1,
}

# WorkNCCL(SeqNum=78, OpType=BROADCAST, NumelIn=80, NumelOut=80, Timeout(ms)=600000) ran for 600096 milliseconds
# A value counts only where it is whole, because excerpts end in the middle of one.
_WORK = quick(
    r"Work\w{0,8}\((?:PG ID=\d+, )?SeqNum=(\d+), ?OpType=(\w+)(?=[,)])(?:, ?NumelIn=(\d+), ?NumelOut=(\d+))?(?:, ?Timeout\(ms\)=(\d+))?"
)
# Before torch 2.0: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1806986 milliseconds
_OLD_WORK = quick(r"WorkNCCL\((?:SeqNum=(\d+), ?)?OpType=(\w+)(?:, ?TensorShape=\[([\d, ]*)\])?, ?Timeout\(ms\)=(\d+)\)")
_RAN = quick(r"ran for (\d+) (?:milliseconds|ms)")
# [PG ID 5 PG GUID 37(TENSOR_MODEL_PARALLEL_GROUP) Rank 1] · [PG 1 Rank 0] · [Rank 2]
_GROUP = quick(r"\[PG (?:ID )?(\d+)(?: PG GUID (\w+)(?:\(([\w.-]*)\))?)? Rank (\d+)\]|\[Rank (\d+)\]")
# Newest torch says in between which one was started.
_STATUS = quick(r"(?i)last enqueued(?: NCCL)? work: (-?\d+)(?:, last started[^,]{0,80})?, last completed(?: NCCL)? work: (-?\d+)")
_DUMP = quick(r"dump signal due to (?:a collective timeout|[\w ]+?) from  ?rank (\d+)")
_OWN_DUMP = quick(r"dump signal due to a collective timeout from this local rank")
_UNBOUNDED = 1 << 62
_VARYING = {"ALLTOALL", "ALLTOALL_BASE", "SCATTER", "GATHER", "SEND", "RECV", "COALESCED", "RECVANYSOURCE", "_ALLTOALL_BASE"}


@dataclass(frozen=True, slots=True)
class Wait:
    """One rank's report that a collective timed out. Sizes are elements, `ran_ms` milliseconds; `group` and `op` are '' where unsaid.

    `claimed` is the number that the report gives itself, which is the rank only where the group is the whole job. `members` is how
    many ranks the group has, where the sizes tell.
    """

    rank: int | None
    group: str
    seq: int | None
    op: str
    numel_in: int | None
    ran_ms: int | None
    timeout_ms: int | None
    line: Line
    claimed: int | None = None
    members: int | None = None

    @property
    def start_s(self) -> float | None:
        """When the collective began on this rank: log time minus how long it ran."""
        return None if self.line.time_s is None or self.ran_ms is None else self.line.time_s - self.ran_ms / 1000


@dataclass(frozen=True, slots=True)
class Status:
    """A rank's own account of a group: the last collective it enqueued and the last it completed."""

    rank: int
    group: str
    enqueued: int
    completed: int
    line: Line


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Who does not fit. `kind` is behind, diverged, late, first (nobody is missing: the first collective never worked) or none."""

    kind: str
    ranks: tuple[int, ...] | None
    lines: tuple[Line, ...]
    reason: str
    op: str = ""
    seq: int | None = None
    group: str = ""
    sure: bool = True


@dataclass(slots=True)
class Collectives:
    """Everything the logs say of waiting collectives."""

    waits: list[Wait] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    dump_from: dict[int, Line] = field(default_factory=dict)
    dump_lines: list[Line] = field(default_factory=list)

    def waiting_ranks(self) -> set[int]:
        """Ranks that reported a timeout."""
        return {w.rank for w in self.waits if w.rank is not None}


def read_collectives(reading: Reading, ranks: Ranks) -> Collectives:
    """The waits and states in all inputs, each rank and collective once."""
    state = Collectives()
    seen: set[tuple[object, ...]] = set()
    own: list[Wait] = []
    for f in reading.files:
        group_of: dict[int, str] = {}
        prefixed = any(line.origin.rank is not None for line in f.lines)
        for index, line in enumerate(f.lines):
            text = line.text
            if "Work" not in text and "ast enqueued" not in text and "dump signal" not in text and "Watchdog caught" not in text:
                continue
            g = _GROUP.search(text)
            rank = ranks.of_text(line, g.start() if g else len(text))
            inner = int(g[4] or g[5]) if g else None
            group = (g[3] or g[2] or g[1] or "") if g else ""
            whole_job = inner is not None and group in ("", "default_pg", "0")
            if rank is None and whole_job and (not prefixed or _goes_on(f.lines, index, inner, ranks)):
                rank = inner
            if rank is not None and group:
                group_of[rank] = group
            follower = f.lines[index + 1] if index + 1 < len(f.lines) else None
            if follower is not None and (follower.number != line.number + 1 or follower.origin.rank is not None):
                follower = None
            if w := _wait(text, line, rank, group, follower, inner):
                key = ("wait", w.rank, w.seq, w.op, w.numel_in, line.file if w.rank is None else 0)
                if key not in seen:
                    seen.add(key)
                    state.waits.append(w)
            if rank is not None and (m := _search_wrapped(_STATUS, text, follower if "ast enqueued" in text else None)):
                s = Status(rank, group or group_of.get(rank, ""), int(m[1]), int(m[2]), line)
                if ("status", s.rank, s.group, s.enqueued, s.completed) not in seen:
                    seen.add(("status", s.rank, s.group, s.enqueued, s.completed))
                    state.statuses.append(s)
            if "dump signal" in text:
                state.dump_lines.append(line)
                if m := _DUMP.search(text):
                    state.dump_from.setdefault(int(m[1]), line)
                elif _OWN_DUMP.search(text) and rank is not None and (m := _STATUS.search(text)) and int(m[1]) > int(m[2]):
                    own.append(Wait(rank, group or group_of.get(rank, ""), int(m[2]) + 1, "", None, None, None, line))
    # Who dumps because of its own timeout waits for what it has not completed, even where its watchdog's line is not in the log.
    waiting = {(w.rank, w.group) for w in state.waits}
    state.waits += [w for w in own if (w.rank, w.group) not in waiting]
    return state


def _goes_on(lines: list[Line], index: int, claimed: int | None, ranks: Ranks) -> bool:
    """Whether a line that nobody signed goes on with what the rank that it names said right before: a terminal's edge parted them."""
    before = lines[index - 1] if index else None
    return before is not None and before.number == lines[index].number - 1 and ranks.of_line(before) == claimed


def _members(op: str, numel_in: int, numel_out: int) -> int | None:
    """How many ranks take part in an operation whose output holds the input of all of them, or the other way round."""
    few, many = (numel_in, numel_out) if "GATHER" in op else (numel_out, numel_in)
    if "ALLGATHER" not in op and "REDUCE_SCATTER" not in op or few <= 0 or many % few or many // few < 2:
        return None
    return many // few


def _search_wrapped(expression: Quick, text: str, follower: Line | None) -> re.Match[str] | None:
    """A match in a line, or in what a terminal's edge broke into this line and the next."""
    m = expression.search(text)
    if m is None and follower is not None:
        m = expression.search(text + follower.text) or expression.search(text + " " + follower.text)
    return m


def _wait(text: str, line: Line, rank: int | None, group: str, follower: Line | None, claimed: int | None) -> Wait | None:
    if "Watchdog caught" not in text and "ran for" not in text:
        return None
    # Where the parenthesis is not closed the line was broken in the middle of it.
    open_work = follower is not None and text.count("(") > text.count(")") or "Work" not in text[text.rfind("Watchdog caught") + 8 :]
    if follower is not None and open_work:
        joined = text + follower.text
        text = joined if _WORK.search(joined) or _OLD_WORK.search(joined) else text + " " + follower.text
    ran = _RAN.search(text)
    if m := _WORK.search(text):
        numel = int(m[3]) if m[3] and int(m[3]) < _UNBOUNDED else None
        members = _members(m[2], numel, int(m[4])) if numel else None
        return Wait(rank, group, int(m[1]), m[2], numel, int(ran[1]) if ran else None, int(m[5]) if m[5] else None, line, claimed, members)
    if m := _OLD_WORK.search(text):
        return Wait(rank, group, int(m[1]) if m[1] else None, m[2], None, int(ran[1]) if ran else None, int(m[4]), line, claimed)
    return None


def suspect(state: Collectives, ranks: Ranks) -> Suspicion | None:
    """The strongest suspicion that the collective state gives, or `None` where nobody waited."""
    known = [w for w in state.waits if w.rank is not None]
    if not known and not state.statuses:
        return None
    by_group: dict[str, list[Wait]] = defaultdict(list)
    for w in known:
        by_group[w.group].append(w)
    groups = sorted(by_group.items(), key=lambda item: (-len({w.rank for w in item[1]}), item[0]))
    for find in (_diverged, _behind, _first, _late):
        for group, waits in groups or [("", [])]:
            if found := find(group, waits, state, ranks):
                return found
    return Suspicion("none", None, (), "no rank stands out") if known else None


def _diverged(group: str, waits: list[Wait], state: Collectives, ranks: Ranks) -> Suspicion | None:
    """Ranks at one sequence number in another operation, or with another size, than the majority."""
    by_seq: dict[int, list[Wait]] = defaultdict(list)
    for w in waits:
        if w.seq is not None and w.op:
            by_seq[w.seq].append(w)
    for seq, at in sorted(by_seq.items()):
        shapes: dict[tuple[str, int | None], set[int]] = defaultdict(set)
        sizes = {op: Counter(w.numel_in for w in at if w.op == op and w.numel_in is not None) for op in {w.op for w in at}}
        for w in at:
            # What a cut line does not say is taken to be what most others say.
            size = w.numel_in if w.numel_in is not None else next((n for n, _ in sizes[w.op].most_common(1)), None)
            shapes[w.op, None if w.op in _VARYING else size].add(w.rank if w.rank is not None else -1)
        if len(shapes) < 2:
            continue
        order = sorted(shapes.items(), key=lambda item: (-len(item[1]), item[0][0], item[0][1] or 0))
        (op, size), majority = order[0]
        minority = sorted(set().union(*(r for _, r in order[1:])) - majority)
        lines = tuple(w.line for w in at if w.rank in minority) + tuple(w.line for w in at if w.rank in majority)[:1]
        other = ", ".join(sorted({f"{o} of {n} elements" if n is not None else o for (o, n), _ in order[1:]}))
        said = f"{op} of {size} elements" if size is not None else op
        tie = len(majority) <= len(minority) or (len(majority) == 1) or (len(majority) + len(minority) < 3)
        # Where the operations differ, a few ranks are not enough to say which half of the program is right, but one against all others is.
        small = len(majority) < 2 * len(minority) + (len(minority) > 1) and len({o for o, _ in shapes}) > 1
        return Suspicion(
            "diverged", None if tie or small else tuple(minority), lines,
            f"at sequence number {seq} of one process group some ranks are in {said} and others in {other}", op, seq, group,
        )  # fmt: skip
    return None


def _behind(group: str, waits: list[Wait], state: Collectives, ranks: Ranks) -> Suspicion | None:
    """Ranks whose last enqueued collective is below the stuck one, or that have nothing in flight."""
    seqs = [w.seq for w in waits if w.seq is not None]
    if not seqs:
        return None
    stuck, _ = Counter(seqs).most_common(1)[0]
    waiting = {w.rank for w in waits}
    others = [s for s in state.statuses if s.rank not in waiting and s.enqueued < stuck]
    behind = [s for s in others if s.enqueued <= s.completed and (s.group == group or not s.group or not group)]
    behind = behind or [s for s in others if s.group == group and s.enqueued >= 0]
    if not behind:
        return None
    op = next((w.op for w in waits if w.seq == stuck), "") or "collective"
    if alone := _went_on_alone(waits, behind, stuck, op, group):
        return alone
    out = tuple(sorted({s.rank for s in behind}))
    return Suspicion(
        "behind", out, tuple(s.line for s in behind),
        f"last enqueued collective {behind[0].enqueued}, below {op} {stuck} in which the others wait", op, stuck, group,
    )  # fmt: skip


def _went_on_alone(waits: list[Wait], behind: list[Status], stuck: int, op: str, group: str) -> Suspicion | None:
    """The one rank that went on with collectives where all others of the group stopped at the same one before."""
    waiting = {w.rank for w in waits}
    stopped = {s.rank for s in behind}
    if len(waiting) != 1 or len(stopped) < 2 or {(s.enqueued, s.completed) for s in behind} != {(stuck - 1, stuck - 1)}:
        return None
    reason = f"it alone went on to {op} {stuck}, while the others of its group stopped behind {stuck - 1} and wait in no collective"
    alone = tuple(r for r in waiting if r is not None)
    return Suspicion("diverged", alone, (waits[0].line, *(s.line for s in behind)), reason, op, stuck, group, sure=False)


def _first(group: str, waits: list[Wait], state: Collectives, ranks: Ranks) -> Suspicion | None:
    """The very first collective of the group never completed anywhere: nobody is missing, the transport never worked."""
    if not waits or any(w.seq != 1 for w in waits):
        return None
    completed = [s.completed for s in state.statuses if s.group == group or not group]
    members = {w.rank for w in waits}
    everyone = ranks.world_size is not None and len(members) >= ranks.world_size
    if completed and max(completed) <= 0 and (everyone or len(members) >= 2):
        return Suspicion(
            "first",
            (),
            tuple(w.line for w in waits),
            "the first collective of the group never completed on any rank",
            waits[0].op,
            1,
            group,
        )
    return None


def _late(group: str, waits: list[Wait], state: Collectives, ranks: Ranks) -> Suspicion | None:
    """A rank that entered the collective much later than its peers."""
    starts = sorted((w.start_s, w.rank, w.line) for w in waits if w.start_s is not None and not w.line.time_of_day)
    if len(starts) < 3:
        return None
    middle = starts[len(starts) // 2][0]
    limit = max(30.0, 0.25 * max((w.timeout_ms or 0) for w in waits) / 1000)
    late = [s for s in starts if s[0] - middle > limit]
    if late and len(late) * 2 < len(starts):
        return Suspicion(
            "late", tuple(sorted({r for _, r, _ in late if r is not None})), tuple(line for _, _, line in late),
            f"entered the collective {late[0][0] - middle:.0f} s after the others", waits[0].op, waits[0].seq, group,
        )  # fmt: skip
    return None
