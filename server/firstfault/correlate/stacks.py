"""Python stacks of many processes, as py-spy prints them: the few that are not in a collective while the others are.

Knows the grammar of `py-spy dump` and of hand-made groupings of it; knows no failure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..model import Line
from ..read.quick import quick
from .reading import Reading

NEEDLES = {'"MainThread"': 30}

# Thread 688510 (active): "MainThread" · Thread 0x7F5 (idle): "MainThread"
_THREAD = quick(r'Thread (?:0x)?([0-9A-Fa-f]+) \((idle|active)[\w+]*\): "MainThread"')
#     broadcast (torch/distributed/distributed_c10d.py:1191)
_FRAME = re.compile(r"^\s+(\S+) \((\S+?):(\d+)\)\s*$")
_PROCESS = re.compile(r"^Process (\d+): ")
_COLLECTIVE = quick(r"distributed_c10d\.py|torch/distributed/|hccl|horovod/|_engine_run_backward|synchronize \(torch/cuda|nccl")
_LIBRARY_OF_WAITING = quick(r"c10d_logger\.py|elastic/multiprocessing/errors|torchrun")


@dataclass(slots=True)
class Stack:
    """The main threads of some processes that stand at the same place; frames are innermost first."""

    lines: list[Line]
    pids: list[int]
    frames: list[tuple[str, str]] = field(default_factory=list)

    @property
    def in_collective(self) -> bool:
        """Whether these processes wait in a collective."""
        inner = [f"{name} ({file}" for name, file in self.frames[:12] if not _LIBRARY_OF_WAITING.search(file)]
        return any(_COLLECTIVE.search(f) for f in inner)


def read_stacks(reading: Reading) -> list[Stack]:
    """The stacks in all inputs, one for each group of processes printed together."""
    out: list[Stack] = []
    for f in reading.files:
        open_stack: Stack | None = None
        pid = 0
        for line in f.lines:
            raw = line.raw
            if m := _PROCESS.match(raw):
                pid = int(m[1])
            if m := _THREAD.search(raw):
                if open_stack is None or open_stack.frames or pid:
                    open_stack = Stack([], [])
                    out.append(open_stack)
                open_stack.lines.append(line)
                number = int(m[1], 16 if re.search("[A-Fa-f]", m[1]) else 10)
                open_stack.pids.append(pid or number)
                pid = 0
            elif (m := _FRAME.match(raw)) and open_stack is not None:
                open_stack.frames.append((m[1], m[2]))
            elif open_stack is not None and open_stack.frames:
                open_stack = None
    return [s for s in out if s.frames]


def odd_stacks(stacks: list[Stack]) -> tuple[list[Stack], int] | None:
    """(the few stacks outside any collective, how many processes wait in one), or `None` where nobody stands out."""
    waiting = sum(len(s.pids) for s in stacks if s.in_collective)
    odd = [s for s in stacks if not s.in_collective]
    apart = sum(len(s.pids) for s in odd)
    if not odd or waiting < 2 or apart * 2 >= waiting:
        return None
    return odd, waiting
