"""Reads dumps of PyTorch's flight recorder (pickle or JSON) and compares the ranks' collectives. Knows no log and no page.

A pickle may run code when it is loaded; these are loaded by an unpickler that knows no class at all, so only plain
containers, texts and numbers come out. Format: torch/csrc/distributed/c10d/FlightRecorder.hpp, versions 2.1 to 2.10.
"""

from __future__ import annotations

import ast
import io
import json
import pickle
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LARGEST_DUMP_BYTES = 256 << 20
_RANK = re.compile(r"(\d+)(?:\.(?:json|pickle|pkl|bin))?$")
# Operations whose sizes may differ from rank to rank.
_VARYING = re.compile(r"all_?to_?all|scatter|gather$|send|recv|coalesced")


@dataclass(frozen=True, slots=True)
class Call:
    """One collective that a rank enqueued. `index` is its place in the dump, from 1; `done` whether it completed."""

    index: int
    group: str
    seq: int
    op: str
    sizes: str
    done: bool
    p2p: bool
    created_ns: int | None
    frame: str

    def text(self) -> str:
        """The call as evidence shows it."""
        where = f" at {self.frame}" if self.frame else ""
        return f"{self.op} #{self.seq} in group {self.group}, sizes {self.sizes}, {'completed' if self.done else 'not completed'}{where}"


@dataclass(frozen=True, slots=True)
class Dump:
    """The record of one rank: its calls in order, the last sequence number it enqueued in each group, and the groups' members."""

    name: str
    rank: int
    version: str
    calls: tuple[Call, ...]
    enqueued: Mapping[str, int]
    members: Mapping[str, tuple[int, ...]]

    def waiting(self) -> dict[str, Call]:
        """For each group the oldest collective that this rank has enqueued and not completed."""
        out: dict[str, Call] = {}
        for call in self.calls:
            if not call.done and not call.p2p and call.group not in out:
                out[call.group] = call
        return out


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the dumps show: `kind` is behind, diverged or absent; `calls` are the calls that prove it, with the dump each is from.

    `op` names the collective in which the others wait.
    """

    kind: str
    ranks: tuple[int, ...]
    calls: tuple[tuple[Dump, Call], ...]
    op: str
    reason: str


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"a flight-recorder dump holds no {module}.{name}")


def parse_dump(data: bytes, name: str) -> Dump | None:
    """The dump in `data`, or `None` where it is none; `name` gives the rank (its last number)."""
    try:
        raw = json.loads(data) if data.lstrip()[:1] == b"{" else _Plain(io.BytesIO(data)).load()
        number = _RANK.search(name)
        if not isinstance(raw, dict) or "entries" not in raw or number is None:
            return None
        return _dump(raw, name, int(number[1]))
    except Exception:  # any bytes may be called a dump; what is none says so by None
        return None


def _dump(raw: Mapping[str, Any], name: str, rank: int) -> Dump:
    config = raw.get("pg_config") or {}
    names = {str(key): str(value.get("name") or key) for key, value in config.items() if isinstance(value, dict)}
    members = {}
    for key, value in config.items():
        if isinstance(value, dict) and value.get("ranks"):
            ranks = value["ranks"]
            members[names[str(key)]] = tuple(int(r) for r in (ast.literal_eval(ranks) if isinstance(ranks, str) else ranks))
    everyone = max(members.values(), key=len, default=())
    for group in {_group(e) for e in raw.get("entries") or [] if isinstance(e, dict) and _is_default(e)}:
        # Gloo's default group has no name in the configuration; it holds every rank.
        if everyone:
            members.setdefault(group, everyone)
    calls = tuple(_call(i, e) for i, e in enumerate(raw.get("entries") or [], 1) if isinstance(e, dict))
    # The status counts groups by the rank's own numbers; the calls tell which name each number has.
    of_calls = {str(e["pg_id"]): _group(e) for e in raw.get("entries") or [] if isinstance(e, dict) and "pg_id" in e}
    enqueued: dict[str, int] = {}
    for key, value in (raw.get("pg_status") or {}).items():
        if isinstance(value, dict):
            name_of = of_calls.get(str(key)) or names.get(str(key))
            if name_of is not None:
                enqueued[name_of] = int(value.get("last_enqueued_collective", -1))
    for call in calls:
        if not call.p2p:
            enqueued[call.group] = max(enqueued.get(call.group, -1), call.seq)
    return Dump(name, rank, str(raw.get("version", "")), calls, enqueued, members)


def _group(e: Mapping[str, Any]) -> str:
    group = e.get("process_group") or e.get("pg_name") or ""
    return str(group[0]) if isinstance(group, (list, tuple)) and group else str(group)


def _is_default(e: Mapping[str, Any]) -> bool:
    group = e.get("process_group")
    return isinstance(group, (list, tuple)) and len(group) > 1 and group[1] == "default_pg"


def _call(index: int, e: Mapping[str, Any]) -> Call:
    op = str(e.get("profiling_name", "")).split(":", 1)[-1]
    done = bool(e.get("retired")) or e.get("state") == "completed" or bool(e.get("time_discovered_completed_ns"))
    frames = e.get("frames") or []
    frame = ""
    for f in frames:
        file = str(f.get("filename", ""))
        if "torch/" not in file and file:
            frame = f"{file}:{f.get('line')}"
            break
    seq = int(e.get("collective_seq_id", e.get("seq_id", 0)))
    created = e.get("time_created_ns")
    p2p = bool(e.get("is_p2p")) or op.startswith(("send", "recv"))
    return Call(index, _group(e), seq, op, str(e.get("input_sizes", "")), done, p2p, created, frame)


def compare(dumps: Sequence[Dump]) -> Comparison | None:
    """Who stopped the others: ranks that diverged, else those behind or absent that nobody keeps waiting. `None` where nobody waits."""
    waiting = {d.rank: d.waiting() for d in dumps}
    if not any(waiting.values()):
        return None
    return _diverged(dumps) or _behind(dumps, waiting)


def _diverged(dumps: Sequence[Dump]) -> Comparison | None:
    steps: dict[tuple[str, int], list[tuple[Dump, Call]]] = defaultdict(list)
    for d in dumps:
        for call in d.calls:
            if not call.p2p and call.op:
                steps[call.group, call.seq].append((d, call))
    for (group, seq), found in sorted(steps.items(), key=lambda item: min(c.created_ns or 0 for _, c in item[1])):
        shapes = Counter((c.op, "" if _VARYING.search(c.op) else c.sizes) for _, c in found)
        if len(shapes) < 2:
            continue
        (usual, _), count = shapes.most_common(1)[0]
        common = shapes.most_common(1)[0][0]
        odd = [(d, c) for d, c in found if (c.op, "" if _VARYING.search(c.op) else c.sizes) != common]
        if count <= len(odd):
            continue
        ranks = tuple(sorted({d.rank for d, _ in odd}))
        other = next((d, c) for d, c in found if (c.op, "" if _VARYING.search(c.op) else c.sizes) == common)
        reason = f"it called {odd[0][1].op} of {odd[0][1].sizes} where the others called {usual} of {other[1].sizes}"
        return Comparison("diverged", ranks, (*odd, other), f"{usual} {seq} of group {group}", reason)
    return None


def _behind(dumps: Sequence[Dump], waiting: Mapping[int, Mapping[str, Call]]) -> Comparison | None:
    by_rank = {d.rank: d for d in dumps}
    members = {name: ranks for d in dumps for name, ranks in d.members.items()}
    # A rank blocks another if the other waits in a collective of a common group that it has not enqueued.
    blocks: dict[int, list[tuple[Dump, Call]]] = defaultdict(list)
    blocked: set[int] = set()
    for d in dumps:
        for group, call in waiting[d.rank].items():
            for other in members.get(group) or [x.rank for x in dumps if group in x.enqueued]:
                if other == d.rank:
                    continue
                theirs = by_rank.get(other)
                if theirs is None or theirs.enqueued.get(group, -1) < call.seq:
                    blocks[other].append((d, call))
                    blocked.add(d.rank)
    roots = tuple(sorted(r for r in blocks if r not in blocked))
    if not roots:
        lag = _lagging(dumps)
        if not lag:
            return None
        roots = tuple(sorted(lag))
        proof = tuple((by_rank[r], by_rank[r].calls[-1]) for r in roots if by_rank[r].calls)
        victims = tuple((d, c) for d in dumps if d.rank not in lag for c in [*d.waiting().values()][:1])[:2]
        waited = victims[0][1] if victims else None
        what = f"{waited.op} {waited.seq} of group {waited.group}" if waited else "the collective"
        reason = "it has enqueued fewer collectives than its peers, and nobody keeps it waiting"
        return Comparison("behind", roots, (*proof, *victims), what, reason)
    proof = tuple(pair for r in roots for pair in blocks[r][:2])
    call = proof[0][1]
    absent = [r for r in roots if r not in by_rank]
    waiters = len({d.rank for d, _ in blocks[roots[0]]})
    reason = f"it never entered {call.op} {call.seq} of group {call.group}, in which {waiters} ranks wait"
    if absent:
        reason = "it left no dump, and others wait for it"
    kind = "absent" if absent and len(absent) == len(roots) else "behind"
    return Comparison(kind, roots, proof, f"{call.op} {call.seq} of group {call.group}", reason)


def _lagging(dumps: Sequence[Dump]) -> set[int]:
    """Ranks that are behind their peers in every group in which the group's members differ."""
    behind: set[int] = set()
    ahead: set[int] = set()
    groups = {g for d in dumps for g in d.enqueued}
    for group in groups:
        last = {d.rank: d.enqueued[group] for d in dumps if group in d.enqueued}
        top = max(last.values())
        low = {r for r, n in last.items() if n < top}
        if low and len(low) < len(last):
            behind |= low
            ahead |= set(last) - low
    return behind - ahead
