"""Whose rank a line, a process, a device or a task is: the maps that init lines and launcher tables give.

Guesses nothing: a local rank is a global one only where everything speaks of one node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ..model import Finding, Line
from ..read.quick import quick
from .launchers import Exit, Launchers
from .reading import Reading

NEEDLES = {
    " nranks ": 0,
    "Rank of current process": 0,
    "world_size": 0,
    "World size": 0,
    "WORLD_SIZE": 0,
    "world size": 0,
    "num_processes": 0,
    "rank/world-size": 0,
    "(rank: ": 0,
    "num_local_procs": 0,
    "nproc": 0,
    "nnodes": 0,
}

# comm 0x7f rank 12 nranks 16 cudaDev 12 nvmlDev 12 busId e0000 commId 0x1 - Init COMPLETE
_COMM = quick(r"\brank (\d+) nranks (\d+) cudaDev (\d+)(?:.*?busId ([0-9a-f]+))?")
# dist_world_size=8 is DeepSpeed's; a size with another word in front is that of a group.
_WORLD = quick(r"(?i)\b(?:(?:dist_)?world[_ ]size|num_processes)\W{1,4}(\d{1,6})\b")
_NODES = quick(r"(?i)\b(?:nnodes|num_nodes|max_nodes|group_world_size)\W{1,3}(\d{1,5})\b")
_NPROC = quick(r"(?i)nproc[-_]per[-_]node\W{1,3}(\d{1,3})\b")
_PLACE = re.compile(r"(?:(?:Vllm)?Worker[_ ])?(?:DP|PP|TP|EP)_?\d+(?:[_ ](?:DP|PP|TP|EP)_?\d+){0,3}")
_COORDINATE = re.compile(r"(DP|PP|TP|EP)_?(\d+)")
# 24/1752 [01:08<1:22:56,  2.88s/it][rank5]:[E602 …
_GLUED = re.compile(r"\[rank(\d{1,6})\]:")
# [E ProcessGroupNCCL.cpp:916] [Rank 1] NCCL watchdog thread terminated: before torch 2.2 nothing else names the rank.
_WATCHDOG = quick(r"^\[E ProcessGroupNCCL\.cpp:\d+\] \[Rank (\d+)\] NCCL watchdog thread terminated")
# (rank/world-size) 0/4 · (rank: 0/4) · nnodes=1, num_local_procs=8
_OF = quick(r"\((?:rank/world-size\) |rank: )\d+/(\d{1,6})\b|\bnnodes=1, num_local_procs=(\d{1,3})\b")
# Rank of current process: 0. World size: 2
_SELF = quick(r"Rank of current process: (\d+)\. World size: (\d+)")


@dataclass(slots=True)
class Ranks:
    """What is known of ranks: maps from process, device, host and bus id, the world size, and whether there is one node."""

    by_pid: dict[int, int] = field(default_factory=dict)
    by_device: dict[tuple[str, int], int] = field(default_factory=dict)
    by_bus: dict[tuple[str, str], int] = field(default_factory=dict)
    by_local: dict[tuple[str | None, int], int] = field(default_factory=dict)
    host_of: dict[int, str] = field(default_factory=dict)
    gpu_of: dict[int, str] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    world_size: int | None = None
    one_node: bool = True
    tasks_are_ranks: bool = False
    named: dict[int, int] = field(default_factory=dict)
    file_hosts: dict[int, str] = field(default_factory=dict)
    of_a_kind: bool = False
    """Whether several processes of one name speak: a size of 1 is then that of a part of the job."""

    def of_line(self, line: Line) -> int | None:
        """The global rank that printed a line, where that is known."""
        o = line.origin
        if o.rank is not None:
            return o.rank
        if o.pid is not None and o.pid in self.by_pid:
            return self.by_pid[o.pid]
        if o.local_rank is not None:
            known = self.by_local.get((o.host, o.local_rank), self.by_local.get((None, o.local_rank)))
            if known is not None:
                return known
            if self.one_node:
                return o.local_rank
        if o.task is not None and self.tasks_are_ranks:
            return o.task
        if o.host is not None and o.device is not None:
            known = self.by_device.get((o.host, o.device))
            if known is not None:
                return known
        if o.label and self.one_node and (rank := _rank_at(o.label)) is not None:
            return rank
        if m := _WATCHDOG.search(line.text):
            return int(m[1])
        return self.named.get(line.file)

    def of_text(self, line: Line, at: int) -> int | None:
        """The global rank that printed what stands at a place of a line: a prefix may be glued behind another's unfinished line."""
        glued = _GLUED.findall(line.text, 0, at) if "[rank" in line.text else []
        return int(glued[-1]) if glued else self.of_line(line)

    def of_finding(self, finding: Finding) -> tuple[int, ...] | None:
        """The global ranks a finding is about: those its message names, else who printed it."""
        c = finding.captures
        for key in ("absent", "ranks"):
            if c.get(key):
                return ranks_in(c[key])
        if c.get("ready"):
            # Where the size of the job is not known, at least the ranks below the highest that came are.
            ready = set(ranks_in(c["ready"]))
            missing = tuple(r for r in range(self.world_size or max(ready, default=0)) if r not in ready)
            return missing or None
        if c.get("rank"):
            return ranks_in(c["rank"])
        if c.get("pid") and c["pid"].isdigit() and int(c["pid"]) in self.by_pid:
            return (self.by_pid[int(c["pid"])],)
        if c.get("bus_id"):
            bus = bus_key(c["bus_id"])
            known = {r for (h, b), r in self.by_bus.items() if b == bus and (finding.line.origin.host in (None, h))}
            if len(known) == 1:
                return (known.pop(),)
        if c.get("task") and self.tasks_are_ranks:
            return ranks_in(c["task"])
        rank = self.of_text(finding.line, finding.start)
        if rank is None and c.get("local_rank", "").isdigit():
            local = int(c["local_rank"])
            rank = self.by_local.get((None, local), local if self.one_node else None)
        return None if rank is None else (rank,)


def is_place(label: str | None) -> bool:
    """Whether a process is called after its place among the parallel workers of a serving engine."""
    return label is not None and _PLACE.fullmatch(label) is not None


def _rank_at(label: str) -> int | None:
    """The rank at the place that a serving engine calls a worker after: `Worker_TP3`, `DP1 TP1 EP1`, `Worker_DP1_TP0_EP2`."""
    if not _PLACE.fullmatch(label):
        return None
    place = {name: int(number) for name, number in _COORDINATE.findall(label)}
    if place.pop("PP", 0):
        return None  # How many ranks a stage has is not said.
    if "DP" not in place:
        return place.get("TP", place.get("EP"))
    # Experts are spread over all ranks; without them only copies that are as many as the parts are ranks of their own.
    return place.get("EP", place["DP"] if place.get("TP", place["DP"]) == place["DP"] else None)


def ranks_in(text: str) -> tuple[int, ...]:
    """The ranks that a list in a message names: `0, 2-5`."""
    out: set[int] = set()
    for m in re.finditer(r"(\d+)(?:\s*-\s*(\d+))?", text):
        first, last = int(m[1]), int(m[2] or m[1])
        out.update(range(first, min(last, first + 4096) + 1))
    return tuple(sorted(out))


def bus_key(bus_id: str) -> str:
    """One form for `e0000`, `0000:e0:00.0` and `00000000:E0:00.0`: bus and device in hex, `e0:00`."""
    text = bus_id.lower().strip()
    if ":" in text:
        parts = text.split(".")[0].split(":")
        return ":".join(parts[-2:])
    number = int(text, 16) if re.fullmatch(r"[0-9a-f]{1,12}", text) else 0
    return f"{(number >> 12) & 0xFF:02x}:{(number >> 4) & 0x1F:02x}" if number else text


def full_bus(bus_id: str) -> str:
    """A bus id as nvidia-smi and the report write it: `0000:e0:00.0`."""
    return f"0000:{bus_key(bus_id)}.0"


def read_ranks(reading: Reading, launchers: Launchers) -> Ranks:
    """The maps that all inputs give together."""
    ranks = Ranks()
    sizes: list[int] = []
    nodes = 0
    locals_seen: set[int] = set()
    tasks: set[int] = set()
    nproc = 0
    agreeing = disagreeing = 0
    pids: dict[str, set[int]] = {}
    for f in reading.files:
        if f.dump is not None:
            sizes += [max(members) + 1 for members in f.dump.members.values() if members]
        if f.named_rank is not None:
            ranks.named[f.index] = f.named_rank
        if f.named_host is not None:
            ranks.file_hosts[f.index] = f.named_host
        for line in (*f.lines, *f.samples):
            o = line.origin
            if o.rank is not None:
                ranks.seen.add(o.rank)
                if o.local_rank is not None:
                    ranks.by_local.setdefault((o.host, o.local_rank), o.rank)
                    if o.rank != o.local_rank:
                        ranks.one_node = False
                if o.task is not None:
                    agreeing += o.task == o.rank
                    disagreeing += o.task != o.rank
                if o.pid is not None and line.text.strip():  # A rank and nothing behind it is a heading: what follows is quoted.
                    ranks.by_pid.setdefault(o.pid, o.rank)
            if o.label and o.pid is not None:
                pids.setdefault(o.label, set()).add(o.pid)
            if o.host:
                ranks.hosts.add(o.host)
            if o.local_rank is not None:
                locals_seen.add(o.local_rank)
            if o.task is not None:
                tasks.add(o.task)
        for line in f.lines:
            text = line.text
            if " nranks " in text and (m := _COMM.search(text)):
                _comm(ranks, line, m)
                sizes.append(int(m[2]))
            elif m := _SELF.search(text):
                ranks.named.setdefault(f.index, int(m[1]))
                sizes.append(int(m[2]))
            elif m := _WORLD.search(text):
                sizes.append(int(m[1]))
            elif m := _OF.search(text):
                sizes.append(int(m[1] or m[2]))
            if m := _NODES.search(text):
                nodes = max(nodes, int(m[1]))
            if m := _NPROC.search(text):
                nproc = max(nproc, int(m[1]))
    ranks.of_a_kind = any(len(p) > 1 for p in pids.values())
    _from_exits(ranks, launchers)
    if nodes > 1 or len({h for h in ranks.hosts if not h.startswith("127.")}) > 1:
        ranks.one_node = False
    sizes = [s for s in sizes if 0 < s <= 200_000]
    if sizes:
        ranks.world_size = max(sizes)
        if locals_seen and ranks.world_size > max(locals_seen) + 1 and nproc and ranks.world_size > nproc:
            ranks.one_node = False
    elif nproc and nodes <= 1:
        ranks.world_size = nproc
    top = max(ranks.seen, default=-1)
    if ranks.world_size is not None and ranks.world_size <= top:
        ranks.world_size = top + 1
    labelled = len(tasks) > 1 and tasks == set(range(max(tasks) + 1))
    labelled = labelled or _several_tasks_a_host(launchers)
    ranks.tasks_are_ranks = not disagreeing and bool(agreeing or (labelled and not locals_seen and not ranks.seen))
    if ranks.tasks_are_ranks:
        launchers.keep([one for e in launchers.exits for one in _a_task_each(e)])
    return ranks


def _a_task_each(e: Exit) -> list[Exit]:
    """What srun says of several tasks in one line, as one exit a task with its rank."""
    return [replace(e, rank=task, tasks=(task,)) for task in e.tasks] if e.tasks and e.rank is None else [e]


def _several_tasks_a_host(launchers: Launchers) -> bool:
    """Whether srun saw several tasks end on one host: then a task is a process, not the launcher of a node's processes."""
    tasks: dict[str, set[int]] = {}
    for e in launchers.exits:
        if e.local_rank is not None:
            return False
        if e.host and e.tasks:
            tasks.setdefault(e.host, set()).update(e.tasks)
    return any(len(t) > 1 for t in tasks.values())


def _comm(ranks: Ranks, line: Line, m: re.Match[str]) -> None:
    """A communicator as large as the largest seen names global ranks; smaller groups number their own members."""
    rank, size, device = int(m[1]), int(m[2]), int(m[3])
    if ranks.world_size is not None and size < ranks.world_size:
        return
    if ranks.world_size is None or size > ranks.world_size:
        ranks.by_device.clear()
        ranks.by_bus.clear()
        ranks.world_size = size
    o = line.origin
    ranks.seen.add(rank)
    if o.pid is not None:
        ranks.by_pid.setdefault(o.pid, rank)
    if o.host:
        ranks.by_device[o.host, device] = rank
        ranks.host_of.setdefault(rank, o.host)
    if m[4]:
        ranks.by_bus[o.host or "", bus_key(m[4])] = rank
        ranks.gpu_of.setdefault(rank, full_bus(m[4]))


def _from_exits(ranks: Ranks, launchers: Launchers) -> None:
    hosts: set[str] = set()
    for e in launchers.exits:
        if e.host and e.rank is not None:
            hosts.add(e.host)
            ranks.host_of.setdefault(e.rank, e.host)
        if e.rank is None:
            continue
        if e.pid is not None:
            ranks.by_pid.setdefault(e.pid, e.rank)
        if e.local_rank is not None:
            ranks.by_local.setdefault((e.host, e.local_rank), e.rank)
            if e.rank != e.local_rank:
                ranks.one_node = False
    if len(hosts) > 1:
        ranks.one_node = False
    tables = {(e.local_rank, e.rank) for e in launchers.exits if e.rank is not None}
    if len({local for local, _ in tables}) == len(tables):
        for e in launchers.exits:
            if e.rank is not None and e.local_rank is not None:
                ranks.by_local.setdefault((None, e.local_rank), e.rank)
    locals_ended = {e.local_rank for e in launchers.exits if e.local_rank is not None}
    if len(ranks.seen) == 1 and len(locals_ended) == 1 and not tables:
        # One process a pod: its local rank is 0, whatever its rank. Who else speaks may be a survivor.
        rank, local = next(iter(ranks.seen)), next(iter(locals_ended))
        if _may_be(rank, local, len(launchers.closed_pids) + 1):
            ranks.by_local.setdefault((None, local), rank)
            ranks.one_node = ranks.one_node and rank == local
    for e in launchers.exits:
        if e.rank is None and e.local_rank is not None:
            known = ranks.by_pid.get(e.pid or -1)
            if known is None:
                known = ranks.by_local.get((None, e.local_rank))
            if known is None and ranks.one_node:
                known = e.local_rank
            e.rank = known
            if known is not None and e.pid is not None:
                ranks.by_pid.setdefault(e.pid, known)


def _may_be(rank: int, local: int, processes: int) -> bool:
    """Whether a global rank can have this local rank on a host that runs at least so many processes, as many as every other host."""
    return rank == local or any((rank - local) % n == 0 for n in range(max(local + 1, processes), rank - local + 1))


def write_ranks(ranks: Iterable[int]) -> str:
    """Ranks for people: `3`, `3 and 5`, `0-2, 7 and 9`."""
    ordered = sorted(set(ranks))
    parts: list[str] = []
    at = 0
    while at < len(ordered):
        end = at
        while end + 1 < len(ordered) and ordered[end + 1] == ordered[end] + 1:
            end += 1
        parts += [f"{ordered[at]}-{ordered[end]}"] if end - at >= 2 else [str(r) for r in ordered[at : end + 1]]
        at = end + 1
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1] if parts else ""
