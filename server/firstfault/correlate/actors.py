"""Reads what Ray says of an actor that died: which process it was, and which rank where its name tells. Blames nobody.

A worker of a placement group is called after its group and its place in it: `x7WorkerDict_0:3` is the fourth process of the first node.
Others put their rank into their names themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..read.blocks import Structure
from ..read.quick import quick
from .ranks import Ranks
from .reading import Reading

NEEDLES = {
    "ActorDiedError: ": 8,
    "The actor died": 8,
    "class_name: ": 6,
}

_HEAD = quick(r"ActorDiedError: |\bThe actor died\b")
_PID = re.compile(r"^\s*pid: (\d+)\s*$")
_NAME = re.compile(r"^\s*name: \S*?[A-Za-z]_0:(\d{1,5})\s*$")
# ray::lm_policy-0-5:PolicyWorker.train() (pid=4711, ip=10.0.0.4, actor_id=4e, repr=PolicyWorker[rank=5])
_CALLED = re.compile(r"\bray::[\w.:-]+(?:\(\))? \(pid=(\d+)\b.{0,200}?\brepr=\w{1,80}\[rank=(\d{1,6})\]")
_DEAD = "The actor is dead because"
_LONGEST_BLOCK = 10


def read_actors(reading: Reading, ranks: Ranks, structures: Sequence[Structure]) -> None:
    """Notes in `structures` whose process the lines about a dead actor are about, and in `ranks` its rank."""
    for f in reading.files:
        quoted = structures[f.index].quoted_pid
        block: list[int] = []
        pid: int | None = None
        for line in f.lines:
            if "[rank=" in line.text and (m := _CALLED.search(line.text)):
                ranks.by_pid.setdefault(int(m[1]), int(m[2]))
            if _HEAD.search(line.text):
                block, pid = [line.number], None
            elif block and line.number - block[0] > _LONGEST_BLOCK:
                block, pid = [], None
            elif block:
                block.append(line.number)
                if m := _PID.match(line.text):
                    pid = int(m[1])
                elif pid is not None and (m := _NAME.match(line.text)):
                    ranks.by_pid.setdefault(pid, int(m[1]))
            if pid is not None:
                quoted.update(dict.fromkeys(block, pid))
            if _DEAD in line.text:
                block, pid = [], None
