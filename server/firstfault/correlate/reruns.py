"""Notices jobs that were appended to one input without a word: where one had ended, and another began.

Knows how schedulers close a job, that jobs of one script begin alike, and that nobody edits a script while it runs. Judges none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..model import Line, Role
from ..read.blocks import Structure, key_of
from ..read.quick import quick
from .reading import FileReading

NEEDLES = {
    "The output (if any) is above this job summary": 0,
    "The output (if any) follows:": 0,
    "Sender: LSF System": 0,
    "Successfully completed.": 0,
    "Job executing on host": 0,
    "Job was held.": 0,
    "Job was evicted.": 0,
    "Shadow exception!": 0,
    "*** JOB ": 0,
    "*** STEP ": 0,
}

# slurmstepd: error: *** JOB 4711 ON gpu01 CANCELLED AT … · *** STEP 4711.0 ON …
_NOTICE = quick(r"\*\*\* (?:JOB|STEP) (\d+)(?:\.\w+)? ON ")
# What says that a launcher or a scheduler had done with a job.
_ENDED = quick(
    r"ChildFailedError|Root Cause \(first observed failure\)|exits with return code|exits successfully|srun: error: .*: tasks? [\d,-]+: "
    r"|\*\*\* (?:JOB|STEP) \d+|The output \(if any\) is above|mpirun (?:noticed|detected)|-- Process \d+ terminated"
)
_REPORT_END = "The output (if any) is above this job summary"
_REPORTED_WELL = "Successfully completed."
_REPORT_FIRST = "The output (if any) follows:"
_REPORT_BEGIN = "Sender: LSF System"
# 012 (4410.000.000) 2026-03-02 10:00:00 Job was held. · 001 (4410.000.000) 03/02 10:00:00 Job executing on host: …
_CONDOR = quick(r"^(001|004|007|012) \((\d+)\.(\d+)\.\d+\) ")
_CONDOR_BEGINS = "001"
_ENTRY = quick(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+), in <module>$')
_UNREADABLE = quick(r'File "(?P<file>[^"\n]+)", line \d+$')
_CALL = re.compile(r"\s*([A-Za-z_][\w.]*\([^()\n]*\))")


def rerun_starts(file: FileReading, structure: Structure) -> list[int]:
    """The numbers of lines at which a job begins behind another one's end."""
    said = (*_behind_notices(file), *_behind_reports(file), *_started_again(file))
    return sorted({*said, *_repeated_openings(file, structure), *_edited_scripts(file)})


def _behind_notices(file: FileReading) -> Iterator[int]:
    """Behind the last notice of a Slurm job, where another job's notice follows."""
    notices = [(int(m[1]), line.number) for line in file.lines if (m := _NOTICE.search(line.text))]
    for (job, number), (following, _) in zip(notices, notices[1:], strict=False):
        if job != following:
            yield number + 1


def _behind_reports(file: FileReading) -> Iterator[int]:
    """Behind the report in which LSF sums up a job, where anything follows that failed, or a job that ended well.

    Where LSF puts the report in front of what the job printed, the next report begins the next job.
    """
    if any(_REPORT_FIRST in line.text for line in file.lines):
        yield from [line.number for line in file.lines if _REPORT_BEGIN in line.text][1:]
        return
    well = [line.number for line in file.lines if line.text.strip() == _REPORTED_WELL]
    for line in file.lines:
        if _REPORT_END in line.text and any(n > line.number for n in (*well, *(f.line.number for f in file.findings))):
            yield line.number + 1


def _started_again(file: FileReading) -> Iterator[int]:
    """Where HTCondor runs a job again that it had held or taken from its host."""
    stopped: set[tuple[str, str]] = set()
    for line in file.lines:
        if m := _CONDOR.search(line.text):
            if m[1] != _CONDOR_BEGINS:
                stopped.add((m[2], m[3]))
            elif (m[2], m[3]) in stopped:
                stopped.discard((m[2], m[3]))
                yield line.number


def _repeated_openings(file: FileReading, structure: Structure) -> Iterator[int]:
    """Where first lines of the input come again, two or more as far apart as before, after every process that began with them had died.

    Where anything that follows tells of the end of a launch, one must have ended in between: else the lines are those of a slower rank.
    """
    if not file.openings:
        return
    ends = [line.number for line in file.lines if _ENDED.search(line.text)]
    deaths = _deaths(file, structure)
    # An excerpt that begins with failures has no opening: a job that printed one is no longer beginning.
    openings = [o for o in file.openings if o[0] < min(deaths, default=o[0] + 1)]
    for i, places in enumerate(openings):
        others = [(set(o), o[0] - places[0]) for j, o in enumerate(openings) if j != i]
        starts = [p for p in places[1:] if any(p + apart in other for other, apart in others)]
        since, found = places[0], []
        # Runs that ended in silence began too, so no more need to have died than began before the first death.
        together = sum(p < min(deaths, default=0) for p in places)
        for place in starts:
            begun = min(sum(since <= p < place for p in places), max(together, 1))
            died = sum(since < death < place for death in deaths)
            if died >= begun and (not any(end > since for end in ends) or any(since < end < place for end in ends)):
                found.append(place)
                since = place
        if found:
            yield from found
            return


def _deaths(file: FileReading, structure: Structure) -> list[int]:
    """Where processes died: failures that pages know, a chain of exceptions once."""
    out: dict[tuple[str, int], int] = {}
    for f in file.findings:
        if f.role is Role.CONTEXT or f.strength == "context" or f.line.number in structure.ignored:
            continue
        chain = structure.chain_at.get(key_of(f.line))
        out[("line", f.line.number) if chain is None else ("chain", chain)] = f.line.number
    return sorted(out.values())


def _edited_scripts(file: FileReading) -> Iterator[int]:
    """Where a script was edited and started again.

    It makes the same call from another line than before, cannot be compiled any more, or runs after it could not be compiled.
    """
    calls: dict[tuple[str, str], int] = {}
    ran: set[str] = set()
    broken: set[str] = set()
    for before, line, code in zip([None, *file.lines], file.lines, [*file.lines[1:], None], strict=False):
        if 'File "' not in line.text:
            continue
        if m := _ENTRY.search(line.text):
            ran.add(m["file"])
            if m["file"] in broken:
                broken.discard(m["file"])
                yield _head(before, line)
            call = _CALL.match(code.text) if code is not None and code.number <= line.number + 2 else None
            if call is None or "site-packages" in m["file"]:
                continue
            if calls.setdefault((m["file"], call[1]), int(m["line"])) != int(m["line"]):
                calls = {(m["file"], call[1]): int(m["line"])}
                yield _head(before, line)
        elif m := _UNREADABLE.search(line.text):
            if m["file"] in ran:
                ran.discard(m["file"])
                yield _head(before, line)
            broken.add(m["file"])


def _head(before: Line | None, line: Line) -> int:
    """Where the traceback begins whose first frame is `line`; that of a script that does not compile has no head."""
    return before.number if before is not None and before.number >= line.number - 2 and "Traceback" in before.text else line.number
