"""What launchers say of the processes they started: exits, signals, who was stopped by whom. A hint, never a verdict.

Grammars of torchrun (elastic agent), torch.distributed.launch, mp.spawn, Lightning, Composer, DeepSpeed, Paddle,
srun, mpirun, Intel MPI, horovodrun, PALS, TGI and shells, and of MPI libraries that end their own process.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..model import Line
from ..read.quick import quick
from .reading import Reading

NEEDLES = {
    "exitcode": 1,
    "Root Cause (first observed failure)": 2,
    "rank      : ": 0,
    "(local_rank: ": 0,
    "local_rank: ": 0,
    "  time      : ": 0,
    "  host      : ": 0,
    "  traceback : ": 1,
    "  error_file: ": 0,
    "closing signal": 0,
    "Terminating process ": 0,
    "forcefully exiting via": 0,
    "death signal, shutting down workers": 0,
    "got signal: ": 0,
    "-- Process ": 2,
    "terminated with the following error": 2,
    "terminated with signal": 0,
    "terminated with exit code": 0,
    "exits with return code": 0,
    "exits successfully": 0,
    "Killing subprocess": 0,
    "Exited with exit code": 0,
    "srun: error": 0,
    "exited on signal": 0,
    "noticed that process rank": 1,
    "The first process to do so was": 3,
    "Process name: ": 1,
    "died from signal": 0,
    "exit status of rank ": 0,
    " RUNNING AT ": 1,
    " exit with status code ": 0,
    "exited with code": 0,
    "exited with exit code": 0,
    "text_generation_launcher: Shard ": 0,
    '"message":"Shard ': 0,
    "Child process with PID": 0,
    "crashed with exit code": 0,
    "the trainer process with rank=": 0,
    " status failed cmd [": 0,
    "MPICH ERROR [Rank ": 0,
    "Abort(": 0,
    "*** reported by process [": 0,
}

# rank      : 4 (local_rank: 0)
_RANK = quick(r"\brank\s*: (\d+) \(local_rank: (\d+)\)")
# exitcode  : -9 (pid: 793062)
_EXITCODE = quick(r"\bexitcode\s*: (-?\d+) \(pid: (\d+)\)")
# failed (exitcode: -9) local_rank: 2 (pid: 29736) of binary: /usr/bin/python
_FAILED = quick(r"failed \(exitcode: (-?\d+)\) local_rank: (\d+) \(pid: (\d+)\)")
_HOST = quick(r"\bhost\s*: (\S+)")
_TIME = quick(r"\btime\s*: (\S+)")
# Sending process 29734 closing signal SIGTERM · Terminating process 311 via signal SIGTERM
_CLOSED = quick(r"(?:Sending|Terminating) process (\d+) (?:closing signal|via signal) (\w+)")
_FORCED = quick(r"Unable to shutdown process (\d+) via")
_SPAWN = quick(r"-- Process (\d+) terminated with the following error|process (\d+) terminated with (?:signal (\w+)|exit code (\d+))")
# srun: error: node-b: task 1: Exited with exit code 1 · tasks 2-3: Killed
_SRUN = quick(r"srun: error: (\S+?): tasks? ([\d,-]+): (.+)")
# mpirun noticed that process rank 7 with PID 0 on node gpu-04 exited on signal 9 (Killed).
# PRRTE breaks the line before `signal`.
_NOTICED = quick(r"noticed that process rank (\d+) with PID (\d+) on node (\S+) exited on(?: signal (\d+))?")
# The first process to do so was:  Process name: [[30211,1],3]  Exit code: 1 · horovodrun names the rank alone.
_FIRST = quick(r"^\s*Process name: (?:\[\[\d+,\d+\],(\d+)\]|(\d+)$)")
_FIRST_CODE = quick(r"^\s*Exit code: +(-?\d+)$")
# Process 3 exit with status code 250.
_GLOO = quick(r"^Process (\d+) exit with status code (-?\d+)\.")
# MPD: exit status of rank 3: killed by signal 9 · return code 1
_MPD = quick(r"exit status of rank (\d+): (?:killed by signal|return code) (\d+)")
# Intel MPI:  =   RANK 3 PID 4410 RUNNING AT gpu-01  =   KILLED BY SIGNAL: 11 (Segmentation fault) · =   EXIT STATUS: 1
_HYDRA = quick(r"^= +RANK (\d+) PID (\d+) RUNNING AT (\S+)")
_HYDRA_CODE = quick(r"^= +(?:(KILLED BY SIGNAL)|EXIT (?:STATUS|CODE)): (\d+)")
# ERROR text_generation_launcher: Shard 1 failed to start
_SHARD = quick(r"(?:text_generation_launcher: |^)Shard (\d+) (?:failed to start|crashed)\b")
# [rank: 1] Child process with PID 7712 terminated with code -9. Lightning counts the processes of its own node.
_CHILD = quick(r"(?:\[rank: (\d+)\] )?Child process with PID (\d+) terminated with code (-?\d+)")
# Global rank 2 (PID 812) exited with code -7 · Rank 2 crashed with exit code -7.
_COMPOSER = quick(r"\b(?:Global rank (\d+) \(PID (\d+)\) exited with code|Rank (\d+) crashed with exit code) (-?\d+)")
# ABORT!!! Out of all 4 trainers, the trainer process with rank=[0, 2] was aborted.
# Container rank 3 status failed cmd […] code -6 log …
_PADDLE = quick(r"trainer process with rank=\[([\d, ]+)\] was aborted|Container rank (\d+) status failed cmd \[.{0,4000}\] code (-?\d+) ")
# MPICH ERROR [Rank 5] [job id 4410.0] [date] [node7] - Abort(1) (rank 5 in comm 0): … · Abort(1) on node 5 (rank 5 in comm 0): …
# *** reported by process [2538104278,5]
# Communicator 0 is the world.
_MPI = quick(
    r"MPICH ERROR \[Rank (\d+)\](?: \[[^\]\n]{1,80}\]){0,3} \[([\w.-]+)\] - Abort\("
    r"|\bAbort\(-?\d+\) (?:on node \d+ )?\(rank (\d+) in comm 0\)"
    r"|\*\*\* reported by process \[\d+,(\d+)\]"
)
_DEEPSPEED = quick(r"exits with return code = (-?\d+)")
_ON_SIGNAL = re.compile(r"signal (\d+) \(")
FIRST_TO_END = "first to end"
# Who sends SIGKILL to all processes of its node, its own among them, as soon as one has failed.
ENDS_ALL = "lightning"
_SIGNALS = {"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGABRT": 6, "SIGBUS": 7, "SIGKILL": 9, "SIGSEGV": 11, "SIGTERM": 15}


@dataclass(slots=True)
class Exit:
    """One process as its launcher saw it end. `code` is negative for signals; unknown parts are `None`."""

    line: Line
    code: int | None = None
    rank: int | None = None
    local_rank: int | None = None
    spawn_index: int | None = None
    tasks: tuple[int, ...] = ()
    host: str | None = None
    pid: int | None = None
    time_s: float | None = None
    root: bool = False
    said: str = ""
    traceback_line: Line | None = None

    @property
    def stopped(self) -> bool:
        """Whether this looks like an exit that something else caused: SIGTERM or what schedulers say of it.

        An entry that quotes a Python traceback had failed before SIGTERM reached it.
        """
        if self.traceback_line is not None and "Traceback (most recent call last)" in self.traceback_line.text:
            return False
        return self.code in (-15, 143) or self.said.startswith("Terminated")

    @property
    def in_order(self) -> bool:
        """Whether its launcher tells of each process as it ends."""
        return bool(self.tasks) or self.said == "mpd"


@dataclass(slots=True)
class Launchers:
    """Everything that launchers said."""

    exits: list[Exit] = field(default_factory=list)
    closed_pids: dict[int, Line] = field(default_factory=dict)
    forced_pids: dict[int, Line] = field(default_factory=dict)
    ended_from_outside: Line | None = None
    _by_line: dict[int, tuple[list[int], list[Exit]]] = field(default_factory=dict)
    _by_quote: dict[int, tuple[list[int], list[Exit]]] = field(default_factory=dict)

    def keep(self, exits: list[Exit]) -> None:
        """These are all exits; their places do not change any more."""
        self.exits = exits
        self._by_line = _by_place([(e.line, e) for e in exits])
        self._by_quote = _by_place([(e.traceback_line, e) for e in exits if e.traceback_line is not None])

    def between(self, file: int, first: int, last: int) -> Iterator[Exit]:
        """The exits of an input whose line is one of `first` to `last`."""
        return _within(self._by_line, file, first, last)

    def quoting(self, file: int, first: int, last: int) -> Iterator[Exit]:
        """The exits of an input whose quoted traceback begins on one of the lines `first` to `last`."""
        return _within(self._by_quote, file, first, last)

    def own_failures(self) -> list[Exit]:
        """Exits that were not caused by a launcher's SIGTERM."""
        return [e for e in self.exits if not e.stopped and e.code not in (0,)]


def read_launchers(reading: Reading) -> Launchers:
    """What launchers said in all inputs."""
    facts = Launchers()
    for f in reading.files:
        entry: Exit | None = None
        root_at = -100
        noticed: Exit | None = None
        first: Exit | None = None
        told: tuple[Line, int] | None = None
        blocks: list[Exit] = []
        for line in f.lines:
            text = line.text
            if "Root Cause (first observed failure)" in text or text.strip() == "Root Cause:":
                root_at = line.number
            if m := _CLOSED.search(text):
                facts.closed_pids.setdefault(int(m[1]), line)
            elif m := _FORCED.search(text):
                facts.forced_pids.setdefault(int(m[1]), line)
            elif m := _FAILED.search(text):
                facts.exits.append(Exit(line, int(m[1]), None, int(m[2]), pid=int(m[3]), time_s=line.time_s))
            elif m := _RANK.search(text):
                if entry is None or entry.rank is not None or line.number - entry.line.number > 4:
                    entry = Exit(line, root=0 <= line.number - root_at <= 8)
                    facts.exits.append(entry)
                entry.rank, entry.local_rank = int(m[1]), int(m[2])
                entry.line = line
                # Log collectors put the whole entry on one line.
                if given := _EXITCODE.search(text):
                    entry.code, entry.pid = int(given[1]), int(given[2])
                if host := _HOST.search(text[: m.start()]):
                    entry.host = host[1]
            elif (m := _EXITCODE.search(text)) and entry is not None and line.number - entry.line.number <= 4:
                entry.code, entry.pid = int(m[1]), int(m[2])
            elif (m := _TIME.search(text)) and "exitcode" not in text and " : " in text.lstrip()[:14]:
                entry = Exit(line, time_s=line.time_s, root=0 <= line.number - root_at <= 6)
                facts.exits.append(entry)
            elif (m := _HOST.search(text)) and entry is not None and line.number - entry.line.number <= 4:
                entry.host = m[1]
            elif "traceback : " in text and entry is not None and line.number - entry.line.number <= 8:
                entry.traceback_line = line
                if "Signal 15 (SIGTERM)" in text and entry.code is None:
                    entry.code = -15
            elif m := _SPAWN.search(text):
                code = -_SIGNALS.get(m[3] or "", 0) if m[3] else int(m[4] or 1)
                facts.exits.append(Exit(line, code, spawn_index=int(m[1] or m[2])))
            elif m := _SRUN.search(text):
                facts.exits.append(Exit(line, _srun_code(m[3]), tasks=_numbers(m[2]), host=m[1], said=m[3], time_s=line.time_s))
            elif m := _NOTICED.search(text):
                noticed = Exit(line, -int(m[4]) if m[4] else None, int(m[1]), host=m[3], pid=int(m[2]) or None, said="mpirun")
                facts.exits.append(noticed)
            elif noticed is not None and noticed.code is None and line.number == noticed.line.number + 1:
                if m := _ON_SIGNAL.match(text):
                    noticed.code = -int(m[1])
            elif m := _FIRST.search(text):
                first = Exit(line, rank=int(m[1] or m[2]), root=True, said=FIRST_TO_END)
                facts.exits.append(first)
                # A log service that sorts lines of one second may have turned the two round.
                if told is not None and line.number - told[0].number <= 2:
                    first.code = told[1]
            elif m := _FIRST_CODE.search(text):
                told = (line, int(m[1]))
                if first is not None and line.number - first.line.number <= 2:
                    first.code = told[1]
            elif m := _GLOO.search(text):
                facts.exits.append(Exit(line, int(m[2]), int(m[1]), said="horovodrun", time_s=line.time_s))
            elif m := _MPD.search(text):
                facts.exits.append(Exit(line, -int(m[2]) if "signal" in m[0] else int(m[2]), int(m[1]), said="mpd"))
            elif m := _HYDRA.search(text):
                blocks.append(Exit(line, rank=int(m[1]), host=m[3], pid=int(m[2]), said="hydra"))
            elif blocks and blocks[-1].code is None and line.number == blocks[-1].line.number + 1 and (m := _HYDRA_CODE.search(text)):
                blocks[-1].code = -int(m[2]) if m[1] else int(m[2])
                blocks[-1].line = line
            elif m := _SHARD.search(text):
                facts.exits.append(Exit(line, 1, int(m[1]), said="tgi"))
            elif m := _CHILD.search(text):
                local = int(m[1]) if m[1] else line.origin.rank
                facts.exits.append(Exit(line, int(m[3]), None, local, pid=int(m[2]), time_s=line.time_s, said=ENDS_ALL))
            elif m := _COMPOSER.search(text):
                pid = int(m[2]) if m[2] else None
                facts.exits.append(Exit(line, int(m[4]), int(m[1] or m[3]), pid=pid, said="composer", time_s=line.time_s))
            elif m := _PADDLE.search(text):
                for rank in _numbers((m[1] or m[2]).replace(" ", "")):
                    facts.exits.append(Exit(line, int(m[3]) if m[3] else None, rank, said="paddle", time_s=line.time_s))
            elif m := _MPI.search(text):
                facts.exits.append(Exit(line, None, int(m[1] or m[3] or m[4]), host=m[2], said="mpi", time_s=line.time_s))
            elif m := _DEEPSPEED.search(text):
                facts.exits.append(Exit(line, int(m[1]), said="deepspeed"))
            elif "death signal, shutting down workers" in text and facts.ended_from_outside is None:
                facts.ended_from_outside = line
        facts.exits += _of_their_own(blocks)
    facts.keep(
        [e for e in facts.exits if e.rank is not None or e.local_rank is not None or e.spawn_index is not None or e.tasks or e.said]
    )
    return facts


def _of_their_own(blocks: list[Exit]) -> list[Exit]:
    """The processes of Intel MPI's report: it kills all that are left, so several that were only killed tell nothing of who began."""
    began = [e for e in blocks if e.code not in (None, -9, -15)]
    for e in blocks:
        if e not in began:
            e.said = "Terminated"
    return blocks if began or len(blocks) == 1 else []


def _by_place(placed: list[tuple[Line, Exit]]) -> dict[int, tuple[list[int], list[Exit]]]:
    """For each input the line numbers in order, and the exits beside them."""
    out: dict[int, tuple[list[int], list[Exit]]] = {}
    for line, e in sorted(placed, key=lambda pair: (pair[0].file, pair[0].number)):
        numbers, exits = out.setdefault(line.file, ([], []))
        numbers.append(line.number)
        exits.append(e)
    return out


def _within(index: dict[int, tuple[list[int], list[Exit]]], file: int, first: int, last: int) -> Iterator[Exit]:
    numbers, exits = index.get(file, ([], []))
    return iter(exits[bisect_left(numbers, first) : bisect_right(numbers, last)])


def _srun_code(said: str) -> int | None:
    if m := re.search(r"exit code (\d+)", said):
        return int(m[1])
    for word, code in (
        ("Killed", -9),
        ("Terminated", -15),
        ("Segmentation", -11),
        ("Aborted", -6),
        ("Bus error", -7),
        ("Out Of Memory", -9),
    ):
        if word in said:
            return code
    return None


def _numbers(text: str) -> tuple[int, ...]:
    """`0,2-4` as (0, 2, 3, 4), at most 4096 of them."""
    out: list[int] = []
    for part in text.split(","):
        a, _, b = part.partition("-")
        if a.isdigit():
            out += range(int(a), min(int(b) if b.isdigit() else int(a), int(a) + 4096) + 1)
    return tuple(out)
