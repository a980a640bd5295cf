"""Separates the attempts, restarts and jobs that stand one behind the other in one input. Judges none of them.

Knows how launchers, trainers and shells announce a start; a boundary needs an announcement, a gap alone is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Line
from ..read.blocks import Structure
from ..read.quick import quick
from .progress import ProgressFacts
from .reading import FileReading
from .reruns import rerun_starts

NEEDLES = {
    "Starting elastic_operator": 0,
    "Setting OMP_NUM_THREADS environment variable": 0,
    "Rank of current process: 0": 0,
    "restarting worker group": 0,
    "Worker group restart": 0,
    "Restarting worker group": 0,
    "] Restart count": 0,
    "[runner.py:": 0,
    "exits with return code": 0,
    "exits successfully": 0,
    "attempt": 0,
    "Attempt": 0,
    "Beginning trial": 0,
    "torchrun ": 0,
    "torch.distributed.run ": 0,
    "accelerate launch": 0,
    "deepspeed ": 0,
    "srun ": 0,
    "mpirun ": 0,
    "python -m torch.distributed.launch": 0,
    "usage: ": 0,
    ": line ": 0,
}

_START = quick(
    r"(?:^|\$ |\+ |(?i:(?:^|\s)(?:running|executing|launching|command|cmd)(?: command)?: {1,3}))(?:\S+=\S+ )*(?:\S*/)?"
    r"(?:torchrun|deepspeed|accelerate launch|srun|mpirun|mpiexec|python3? -m torch\.distributed\.(?:run|launch))\s"
    r"|Rank of current process: 0\. World size"
    r"|[Rr]estarting worker group"
    r"|(?i:\b(?:===+|---+|\*\*\*+|\[)?\s*(?:starting |restart(?:ing)? )?attempt[ =:#]+\d+)\b"
    r"(?!.*\b(?:done|failed|rc=|exit|after|of \d+ failed))"
    r"|Beginning trial \d+ of"
    r"|\[runner\.py:\d+:main\] cmd = "
)
_END = quick(r"exits with return code = |exits successfully|(?i:attempt)[ =:#]+\d+.{0,40}(?:done|failed|rc=|exit)")
_TOGETHER_LINES = 60


# A program that refuses its arguments had only begun.
_USAGE = quick(r"^usage: [\w./-]+(?: |$)")
# run.sh: line 18: 40177 Killed                  python train.py
_COMMAND_DIED = quick(r"\S: line \d+: +\d+ (?:Killed|Terminated|Aborted|Segmentation fault|Bus error|Illegal instruction)\b")


@dataclass(frozen=True, slots=True)
class Attempt:
    """Lines `first` to `last` (inclusive) of one input are one attempt; `start` is the line that announced it."""

    index: int
    first: int
    last: int
    start: Line | None


# The elastic agent restarts its workers without a word at the usual log level: after this line only new workers can make steps.
_AGENT_SAW_FAILURE = quick(r"failed \(exitcode: -?\d+\) local_rank: \d+ \(pid: \d+\)")
_AGENT_GAVE_UP = quick(r"ChildFailedError|Root Cause \(first observed failure\)")
_FEWEST_STEPS = 2


def read_attempts(file: FileReading, progress: ProgressFacts, structure: Structure) -> list[Attempt]:
    """The attempts of one input in file order: at least one."""
    starts: list[Line] = []
    pending_end: Line | None = None
    for line in file.lines:
        text = line.text
        if _END.search(text):
            pending_end = line
            continue
        if _START.search(text):
            recent = (
                starts
                and line.number - starts[-1].number <= _TOGETHER_LINES
                and (pending_end is None or pending_end.number < starts[-1].number)
            )
            if not recent:
                starts.append(line)
    numbers = [line.number for line in starts]
    bounds = [1, *numbers[1:]] if numbers and (numbers[0] < 200 or len(numbers) == 1) else [1, *numbers]
    bounds = sorted({*bounds, *_silent_restarts(file, progress), *_later_commands(file, progress), *rerun_starts(file, structure)})
    out = []
    for i, first in enumerate(bounds):
        last = bounds[i + 1] - 1 if i + 1 < len(bounds) else max(file.line_count, first)
        start = next((s for s in starts if first <= s.number <= last), None)
        out.append(Attempt(i, first, last, start))
    return out


def _silent_restarts(file: FileReading, progress: ProgressFacts) -> list[int]:
    """Where an agent restarted its workers: behind a failure that it saw, when steps follow and it has not given up."""
    out = []
    steps = [s.line for s in progress.in_file(file.index)]
    ends = [x for x in progress.ends if x.file == file.index]
    seen = [line for line in file.lines if _AGENT_SAW_FAILURE.search(line.text)]
    gave_up = [line.number for line in file.lines if _AGENT_GAVE_UP.search(line.text)]
    for i, line in enumerate(seen):
        following = seen[i + 1].number if i + 1 < len(seen) else file.line_count + 1
        if any(line.number < n <= line.number + 60 for n in gave_up):
            continue
        # Training that had little left to do ends before it prints a step.
        if _after(line, following, steps) >= _FEWEST_STEPS or _after(line, following, ends):
            out.append(line.number + 1)
    return out


def _later_commands(file: FileReading, progress: ProgressFacts) -> list[int]:
    """Where a script went on to its next command: one that refused its arguments behind training, or worked to the end behind a death."""
    ends = [x.number for x in progress.ends if x.file == file.index]
    worked = max([*(s.line.number for s in progress.in_file(file.index)), *ends], default=None)
    out = []
    if worked is not None:
        out = [line.number for line in file.lines if line.number > worked and _USAGE.search(line.text)][:1]
    whole = max((line.number for line in progress.whole_bars(file.index)), default=0)
    out += [x.number + 1 for x in file.lines if x.number < whole and ": line " in x.text and _COMMAND_DIED.search(x.text)]
    return out


def _after(line: Line, following: int, others: list[Line]) -> int:
    """How many of other lines stand between a line and line number `following`, and came later as far as times tell."""
    return sum(
        line.number < x.number < following and (x.time_s is None or line.time_s is None or x.time_of_day or x.time_s > line.time_s)
        for x in others
    )  # fmt: skip
