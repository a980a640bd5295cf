"""NCCL communicators that never became complete: ranks of one group that start with different ids talk past each other.

Knows the init lines of NCCL; knows no failure.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Line
from ..read.quick import quick
from .reading import Reading

NEEDLES = {"Init START": 0, "Destroy COMPLETE": 0, "Init COMPLETE": 0}

# ncclCommInitRank comm 0x5 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 200000 commId 0x56bea185a98d5193 - Init START
_START = quick(r"\brank (\d+) nranks (\d+) .*?commId (0x[0-9a-f]+) - Init (START|COMPLETE)")


@dataclass(frozen=True, slots=True)
class Split:
    """Ranks of one group with different communicator ids; `stale` joined an id that an earlier communicator had, if that is known."""

    size: int
    lines: tuple[Line, ...]
    stale: tuple[int, ...] | None


def split_communicator(reading: Reading) -> Split | None:
    """A group whose last starts share a size but no id, none of them complete; `None` where every communicator came up."""
    starts: dict[str, dict[int, Line]] = {}
    sizes: dict[str, int] = {}
    done: set[str] = set()
    order: list[str] = []
    for line in reading.lines_with("commId"):
        m = _START.search(line.text)
        if m is None:
            continue
        comm = m[3]
        if m[4] == "COMPLETE":
            done.add(comm)
            continue
        if comm not in starts:
            order.append(comm)
        starts.setdefault(comm, {})[int(m[1])] = line
        sizes[comm] = int(m[2])
    lonely = [c for c in order if c not in done and len(starts[c]) < sizes[c]]
    for i, first in enumerate(lonely):
        for second in lonely[i + 1 :]:
            a, b = starts[first], starts[second]
            if sizes[first] == sizes[second] and not set(a) & set(b) and len(a) + len(b) == sizes[first]:
                # The id that was used before the group's newest one is the stale one.
                return Split(sizes[first], (*a.values(), *b.values()), tuple(sorted(a)))
    return None
