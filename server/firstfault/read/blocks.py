"""The structure of Python tracebacks in candidate lines: which lines are source code, how exceptions chain, whose text is quoted.

De-interleaves by who printed a line where prefixes say so, and by structure where they do not. Knows no failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..model import Line
from .quick import quick

NEEDLES = {
    "Traceback (most recent call last)": 2,
    'File "': 4,
    "During handling of the above exception": 1,
    "The above exception was the direct cause": 1,
    "Original Traceback": 1,
    "Exception ignored ": 1,
    "Exception in device=": 1,
    "Error in atexit": 1,
    "Error in sys.excepthook": 1,
    "Retry attempt failed:": 1,
    "Error waiting on exit barrier": 1,
    "--- Logging error ---": 1,
    "ray::": 1,
    "Training failed due to worker errors": 1,
    " Error Snippet]": 4,
    "--Begin global rank ": 1,
    "--End global rank ": 0,
    "alling back to": 0,
    "terminate called after throwing": 1,
    "RankID:": 1,
    "DeadLock detected from rank: ": 0,
}

_FRAME = quick(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')
# What stands in front of an exception that goes nowhere: of the interpreter, of wandb's client before its next attempt,
# of an elastic agent that waits for the other agents after its own workers have ended.
_IGNORED = quick(r"Exception ignored |Error in atexit|Error in sys\.excepthook|\bRetry attempt failed:$|Error waiting on exit barrier")
# DeadLock detected from rank: 3 — Lightning, in the process that failed: it ends the others and quotes its own traceback once more.
_FROM_RANK = quick(r"DeadLock detected from rank: (\d+)\s*$")
# Traceback (most recent call last): (RANK 5)
_QUOTED_RANK = quick(r"Traceback \(most recent call last\): \(RANK (\d+)\)")
# What Ray Train reports of all workers: a heading for each, one at the start of a line.
_REPORT = quick(r"Training failed due to worker errors:$")
_REPORTED_RANKS = quick(r"\[Rank (?:(?<=[)\]] \[Rank )|(?<=^\[Rank ))(\d{1,6}(?:,\d{1,6}){0,9999})(?: Error Snippet\]:|\])\s*$")
# [ERROR] 2026-03-02-10:00:00 (PID:4410, Device:3, RankID:3) ERR02200 DIST call hccl api failed.
# EJ0001: 2026-03-02-10:00:00.167.645 Failed to initialize …
_ASCEND = quick(r"^\[ERROR\] [\d:-]+ \(PID:\d+, Device:-?\d+, RankID:(\d+)\)")
_ASCEND_WHY = quick(r"^E[A-Z]\d{4}: ")
# MPICH ERROR [Rank 5] [job id 4410.0] … - Abort(1) (rank 5 in comm 0): … error stack:
# Abort(1) on node 5 (rank 5 in comm 0): … error stack:
# MPIDI_OFI_send_normal(372)..: OFI tagged senddata failed (…)
_MPI_STACK = quick(r"(?:MPICH ERROR \[Rank |\(rank )(\d+)(?:\] |(?= in comm 0\)).{1,200}error stack:)")
_MPI_FRAME = quick(r"^[A-Z]\w{2,60}\(\d+\)\.*:")
# -- Process 1 terminated with the following error: · Exception in device=TPU:4: …
_SPAWN = quick(r"-- Process (\d+) terminated with the following error|Exception in device=[A-Z]+:(\d+): ")
# ----------Begin global rank 2 STDERR---------- : Composer's launcher quotes what its processes wrote.
_SECTION = quick(r"-{10}(Begin|End) global rank (\d+) ")
# Scheduler hit an exception: Traceback (most recent call last):
_HEADED = quick(r"\S.{0,200}: Traceback \(most recent call last\)")
# ray::WorkerDict.init_model() (pid=31, ip=10.0.0.4, actor_id=…)
_RAY = quick(r"\bray::[\w.:-]+(?:\(\))? \(pid=(\d+)")
_EXCEPTION = re.compile(r"^\W{0,4}(?:(?:\w+\.)*_?[A-Z]\w*|(?:\w+\.)+(?:error|timeout|gaierror|herror))(?::|\Z| *:)")
# WARNING 03-04 05:06:07 [import_utils.py:408] · W0304 05:06:07.101000 4711 torch/_dynamo/convert_frame.py:1009]
_WARNING = quick(r"\bWARN(?:ING)?\b")
# Begins with a letter rather than with what may not stand before it: an expression that does is looked for much faster.
_GLOG_WARNING = re.compile(r"W(?<!\SW)\d{4} \d\d:\d\d:\d\d")
# [WARNING] [engine.py:1690:_configure_optimizer] Build failed ( … ), falling back to torch.optim.AdamW.
_WARNS = re.compile(r"\W{0,2}WARN(?:ING)?\b")
_FALLS_BACK = "alling back to"
_BLOCK_LINES = 40
_STACK_LINES = 24
_CODE_START = re.compile(
    r"\s*(?:raise |assert |return |self\.|def |class |logger\.|logging\.|warnings\.warn|print\(|"
    r"if |elif |for |while |with |try:|except |import |from \w+ import)"
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback as it was printed."""

    file: str
    line: int
    function: str


@dataclass(slots=True)
class Raised:
    """An exception at the end of a traceback. `position` counts from 0 in its chain: 0 is the exception that came first."""

    line: Line
    first: Line
    frames: list[Frame]
    chain: int
    position: int
    ignored: bool = False


@dataclass(slots=True)
class Structure:
    """What the blocks of one input are. Keys are (line number, first column): one line may hold several parts."""

    code: set[tuple[int, int]] = field(default_factory=set)
    raised: dict[tuple[int, int], Raised] = field(default_factory=dict)
    quoted_rank: dict[int, tuple[int, ...]] = field(default_factory=dict)
    quoted_pid: dict[int, int] = field(default_factory=dict)
    spawn_index: dict[int, int] = field(default_factory=dict)
    ignored: set[int] = field(default_factory=set)
    logged: set[int] = field(default_factory=set)
    """Exceptions that Python's logging met while it wrote a record: it prints them and goes on."""
    headed: dict[int, Line] = field(default_factory=dict)
    """Lines of a traceback that only its first line signs, behind a message of its own: that first line."""
    chain_at: dict[tuple[int, int], int] = field(default_factory=dict)


def key_of(line: Line) -> tuple[int, int]:
    """The key of a line or of its part behind a carriage return."""
    return line.number, line.columns[0] if len(line.columns) else 0


@dataclass(slots=True)
class _Stream:
    first: Line | None = None
    frames: list[Frame] = field(default_factory=list)
    indent: int = 0
    in_frame: bool = False
    chain: int = 0
    position: int = 0
    linked: bool = False
    ignored: bool = False
    logged: bool = False
    was_ignored: bool = False
    opened: int = -10
    rank: tuple[int, ...] | None = None
    reported: tuple[int, ...] | None = None
    reports: bool = False
    pid: int | None = None
    spawn: int | None = None
    last_number: int = -10


def read_structure(lines: Sequence[Line]) -> Structure:
    """The structure of the candidate lines of one input."""
    out = Structure()
    streams: dict[tuple[object, ...], _Stream] = {}
    chains = 0
    head: Line | None = None
    last_headed = 0
    section: int | None = None
    warned = 0
    ascend: tuple[int, int] | None = None
    mpi: tuple[int, int] | None = None
    for line in lines:
        text = line.text
        o = line.origin
        if _WARNS.match(text) or is_warned_of(line):
            warned = line.number
        elif line.number - warned > _BLOCK_LINES or o or (len(line.columns) and line.columns[0] > 0):
            warned = 0
        if warned and _FALLS_BACK in text:
            # A warning that ends in what is done instead tells of what the program got past.
            out.ignored.update(range(warned, line.number + 1))
        if m := _SECTION.search(text):
            section = int(m[2]) if m[1] == "Begin" else None
        if head is not None and (o or line.number - last_headed > _BLOCK_LINES):
            head = None
        if head is not None:
            o, last_headed = head.origin, line.number
            out.headed[line.number] = head
        elif o and _HEADED.search(text):
            head, last_headed = line, line.number
        reported = _REPORTED_RANKS.search(line.raw)
        stream = streams.setdefault((None if reported else o.rank, o.local_rank, o.task, o.pid, o.label), _Stream())
        if line.number - stream.last_number > _BLOCK_LINES:
            stream.first, stream.frames, stream.in_frame, stream.linked = None, [], False, False
            stream.rank = stream.reported = stream.pid = stream.spawn = None
            stream.ignored = stream.reports = False
        stream.last_number = line.number
        if _IGNORED.search(text):
            stream.ignored, stream.frames, stream.linked, stream.opened = True, [], False, line.number
        if "--- Logging error ---" in text:
            stream.logged = True
        if _REPORT.search(text):
            stream.reports = True
        elif reported and stream.reports:
            stream.rank = stream.reported = tuple(int(r) for r in reported[1].split(","))
            stream.frames, stream.in_frame, stream.linked = [], False, False
        if m := _SPAWN.search(text):
            stream.spawn = int(m[1] or m[2])
        if m := _RAY.search(text):
            stream.pid = int(m[1])
        if "Traceback (most recent call last)" in text or "Original Traceback" in text:
            quoted = _QUOTED_RANK.search(text)
            stream.rank = (int(quoted[1]),) if quoted else (stream.rank if stream.linked else stream.reported)
            if not stream.linked:
                chains += 1
                stream.chain, stream.position = chains, 0
                stream.ignored = stream.ignored and not stream.frames
                stream.was_ignored = False
            stream.first, stream.frames, stream.in_frame = line, [], False
        elif "During handling of the above" in text or "was the direct cause" in text:
            stream.linked, stream.ignored = True, stream.ignored or stream.was_ignored
            stream.position += 1
        elif m := _FRAME.search(text):
            stream.first = stream.first or line
            if not stream.chain:
                chains += 1
                stream.chain = chains
            stream.frames.append(Frame(m["file"], int(m["line"]), m["function"] or ""))
            if m["function"] == "_run_finalizers" and m["file"].endswith("multiprocessing/util.py"):
                # multiprocessing prints what its finalizers raise, and goes on.
                stream.ignored = True
            stream.indent = len(text) - len(text.lstrip())
            stream.in_frame = True
            if stream.ignored or is_warned_of(line):
                out.ignored.add(line.number)
            out.chain_at[key_of(line)] = stream.chain
        elif stream.in_frame or stream.frames:
            indent = len(text) - len(text.lstrip())
            if stream.in_frame and indent > stream.indent and not _looks_raised(text):
                out.code.add(key_of(line))
            elif _EXCEPTION.match(text.lstrip()[:200]) and stream.frames:
                out.raised[key_of(line)] = Raised(
                    line, stream.first or line, stream.frames, stream.chain, stream.position, stream.ignored
                )  # fmt: skip
                out.chain_at[key_of(line)] = stream.chain
                if stream.ignored or is_warned_of(line):
                    out.ignored.add(line.number)
                if stream.logged:
                    out.logged.add(line.number)
                    stream.logged = False
                stream.first, stream.frames, stream.in_frame, stream.linked = None, [], False, False
                stream.was_ignored, stream.ignored = stream.ignored, False
                last_headed -= _BLOCK_LINES - 4  # what goes on, goes on at once
            else:
                stream.in_frame = False
        elif line.number == stream.opened + 1 and _EXCEPTION.match(text.lstrip()[:200]):
            out.ignored.add(line.number)
        if _CODE_START.match(text) and not line.origin and "Traceback" not in text and _is_statement(text):
            out.code.add(key_of(line))
        if stream.rank is not None:
            out.quoted_rank[line.number] = stream.rank
        if m := _ASCEND.search(text):
            ascend = (line.number, int(m[1]))
        elif ascend is not None and line.number == ascend[0] + 1 and _ASCEND_WHY.search(text):
            out.quoted_rank[line.number] = (ascend[1],)
        if m := _MPI_STACK.search(text):
            mpi = (line.number, int(m[1]))
        elif mpi is not None and line.number - mpi[0] <= _STACK_LINES and not o and _MPI_FRAME.search(text):
            out.quoted_rank[line.number] = (mpi[1],)
        for value, table in ((stream.pid, out.quoted_pid), (stream.spawn, out.spawn_index)):
            if value is not None:
                table[line.number] = value
        if section is not None:
            out.quoted_rank.setdefault(line.number, (section,))
        if m := _FROM_RANK.search(text):
            stream.rank, stream.linked = (int(m[1]),), True
            _sign_chain(out, line, stream.rank)
    return out


def _sign_chain(out: Structure, line: Line, rank: tuple[int, ...]) -> None:
    """The exceptions of the chain that ends on a line were all raised by the rank that the line names."""
    chain = out.chain_at.get(key_of(line))
    for key, of_chain in out.chain_at.items():
        if chain is not None and of_chain == chain:
            out.quoted_rank.setdefault(key[0], rank)
    out.quoted_rank[line.number] = rank


def is_warned_of(line: Line) -> bool:
    """Whether a logger printed this line as a warning: an exception in it was caught."""
    prefix = line.raw[: line.columns[0]] if len(line.columns) else ""
    return _WARNING.search(prefix) is not None or _GLOG_WARNING.search(prefix) is not None


def _looks_raised(text: str) -> bool:
    """An exception line may be indented where a summary quotes it: `    KeyError: 'x'`."""
    return bool(re.match(r"\s*(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)(?:: |\Z)", text))


def _is_statement(text: str) -> bool:
    """Source code rather than a sentence: a bracket, a quote or an end colon right behind the keyword."""
    stripped = text.strip()
    return stripped.startswith(("raise ", "self.", "logger.", "logging.", "warnings.warn", "print(", "def ", "class ")) and (
        "(" in stripped or stripped.endswith(":")
    )
