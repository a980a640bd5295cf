"""Follows growing logs: each `poll` reads only what is new and gives the diagnosis of everything. Reads no clock and never sleeps.

A job that stands still prints nothing, so the caller may pass the time; how long a step takes is learned from when steps were seen.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import __version__
from .correlate.reading import FileReading
from .diagnose import conclude
from .errors import InputError
from .knowledge.library import Library, load_library
from .knowledge.page import fill
from .model import Diagnosis, Evidence, Incident, Initiating, MissingFact, Progress, Verdict
from .observe import Memory, notes_on, observe, read_input, scanner_for
from .read.follow import FollowedFile
from .read.inputs import Source, logs_in
from .read.reader import Budget
from .read.remote import is_address
from .read.wrapped import LARGEST_INPUT

STALL_STEPS = 20
SHORTEST_STALL_S = 60.0
_PACE_OF_STEPS = 50
_FORMAT = 1


@dataclass(slots=True)
class _Input:
    """One followed file with what was made of it."""

    file: FollowedFile
    listed: bool
    index: int = -1
    memory: Memory = field(default_factory=Memory)
    reading: FileReading | None = None
    notes: list[str] = field(default_factory=list)
    error: InputError | None = None


@dataclass(slots=True)
class Pace:
    """How fast a job goes on, from when its progress was seen to change. Times are seconds of any steady clock."""

    steps: int = STALL_STEPS
    shortest_s: float = SHORTEST_STALL_S
    progress: Progress | None = None
    since_s: float = 0.0
    per_step_s: list[float] = field(default_factory=list)

    def observe(self, progress: Progress | None, now_s: float) -> None:
        """Take note of the last progress that a report shows."""
        if progress is None or (self.progress is not None and progress.step == self.progress.step):
            return
        if self.progress is not None and progress.step > self.progress.step:
            self.per_step_s.append((now_s - self.since_s) / (progress.step - self.progress.step))
            del self.per_step_s[:-_PACE_OF_STEPS]
        self.progress, self.since_s = progress, now_s

    def stalled_s(self, now_s: float) -> float | None:
        """How long there has been no progress; `None` as long as that is no stall, or the pace is not known."""
        if self.progress is None or not self.per_step_s:
            return None
        silent_s = now_s - self.since_s
        return silent_s if silent_s >= max(self.shortest_s, self.steps * statistics.median(self.per_step_s)) else None


class Follower:
    """Follows files and folders. A path that does not exist yet is waited for; files that appear in a folder are followed too.

    `checkpoint` is what `checkpoint()` gave in an earlier run for the same paths; what does not fit any more is read anew.
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        *,
        library: Library | None = None,
        checkpoint: bytes | None = None,
        stall_steps: int = STALL_STEPS,
        shortest_stall_s: float = SHORTEST_STALL_S,
    ) -> None:
        self._library = library or load_library()
        self._scanner = scanner_for(self._library)
        self._paths = [os.fspath(path) for path in paths]
        for path in self._paths:
            if path == "-" or is_address(path):
                raise InputError(
                    f"{path} cannot be followed", reason="only files and folders on a disk can", where=path,
                    help=f"firstfault diagnose {path}",
                )  # fmt: skip
        self._inputs: dict[str, _Input] = {}
        self._budget = Budget.for_inputs(1)
        self._pace = Pace(stall_steps, shortest_stall_s)
        self._stall_told = False
        self._replaced = 0
        self._diagnosis: Diagnosis | None = None
        self._expected: dict[str, Any] = {}
        self._saved = self._load(checkpoint)

    @property
    def waiting_for(self) -> tuple[str, ...]:
        """The paths where nothing is yet."""
        return tuple(path for path in self._paths if not os.path.exists(path))

    @property
    def restarts(self) -> int:
        """How often a file was found truncated or replaced, and read anew."""
        return self._replaced + sum(i.file.restarts for i in self._inputs.values())

    @property
    def settled_bytes(self) -> int:
        """How many bytes a checkpoint would cover: worth storing when it has grown."""
        return sum(i.file.settled_bytes for i in self._inputs.values())

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The last diagnosis that `poll` gave."""
        return self._diagnosis

    def poll(self, now_s: float | None = None, *, told: Callable[[int], None] | None = None) -> Diagnosis | None:
        """Read what is new; the diagnosis where anything was, or where the job has just been found to stand still, else `None`.

        `now_s` is the time of a steady clock in seconds; without it nothing is said about standing still. `told` is called with the
        number of bytes just read; what it raises ends the reading, and the next poll goes on there. Raises InputError for a path
        that was named and cannot be read.
        """
        changed = self._find()
        for name in sorted(self._inputs):
            changed = self._look(self._inputs[name], told) or changed
        if changed:
            diagnosis = self._conclude()
            if diagnosis is None:
                return None
            if now_s is not None:
                step = self._pace.progress
                self._pace.observe(diagnosis.report.job.last_progress, now_s)
                if step is not self._pace.progress:
                    self._stall_told = False
            self._diagnosis = diagnosis
            return self._with_stall(diagnosis, now_s) or diagnosis
        if self._diagnosis is None or self._stall_told:
            return None
        return self._with_stall(self._diagnosis, now_s)

    def checkpoint(self) -> bytes:
        """What a later Follower of the same paths needs to go on where this one is."""
        states = {name: state for name, i in self._inputs.items() if (state := i.file.state()) is not None}
        return json.dumps({**self._key(), "files": states}, ensure_ascii=False).encode()

    def _key(self) -> dict[str, Any]:
        return {"format": _FORMAT, "version": __version__, "pages": self._library.digest, "budget": repr(self._budget)}

    def _load(self, checkpoint: bytes | None) -> dict[str, Any]:
        """The states of a checkpoint by file name; none where it is damaged, or of another version, or of other pages."""
        if checkpoint is None:
            return {}
        try:
            stored = json.loads(checkpoint)
            files = stored.pop("files")
            if not isinstance(files, dict):
                return {}
            self._expected = stored
            return files
        except (ValueError, AttributeError, KeyError, TypeError):
            return {}

    def _find(self) -> bool:
        """See which files are there now; whether that changed anything."""
        found: dict[str, tuple[Path, bool]] = {}
        for name in self._paths:
            path = Path(name)
            if path.is_dir():
                for inside in logs_in(path, self._inputs.keys()):
                    found.setdefault(str(inside), (inside, True))
            elif path.exists() or name in self._inputs:
                found[name] = (path, False)
        gone = [name for name in self._inputs if name not in found]
        moved: dict[tuple[int, int] | None, _Input] = {self._inputs[name].file.identity: self._inputs.pop(name) for name in gone}
        for name, i in list(self._inputs.items()):
            # Rotation leaves another file under the name; the old one may go on under a new name.
            identity = _identity(found[name][0])
            if identity is not None and i.file.identity not in (None, identity):
                moved[i.file.identity] = self._inputs.pop(name)
                self._replaced += 1
        fresh = [name for name in found if name not in self._inputs]
        budget = Budget.for_inputs(len(found))
        if budget != self._budget:
            # What is kept of each file depends on their number.
            self._budget, moved, fresh = budget, {}, list(found)
            self._inputs = {}
        for name in fresh:
            path, listed = found[name]
            known = moved.pop(identity, None) if (identity := _identity(path)) is not None else None
            if known is not None:
                known.file.rename(name, path)
                known.reading, known.listed = None, listed
                self._inputs[name] = known
            else:
                self._inputs[name] = self._begin(name, path, listed)
        return bool(gone or fresh)

    def _begin(self, name: str, path: Path, listed: bool) -> _Input:
        new = _Input(FollowedFile(self._scanner, name, path, self._budget), listed)
        state = self._saved.pop(name, None)
        if state is not None and self._expected == self._key():
            try:
                new.file.restore(state)
            except (ValueError, TypeError, LookupError, AttributeError):
                new.file = FollowedFile(self._scanner, name, path, self._budget)
        return new

    def _look(self, i: _Input, told: Callable[[int], None] | None) -> bool:
        try:
            changed = i.file.look(told)
        except InputError as error:
            if not i.listed:
                raise
            changed, i.error, i.reading = i.error is None, error, None
            return changed
        if changed:
            i.reading, i.error = None, None
        return changed

    def _conclude(self) -> Diagnosis | None:
        files: list[FileReading] = []
        notes: list[str] = []
        for name in sorted(self._inputs):
            i = self._inputs[name]
            if i.error is None and (i.reading is None or i.index != len(files)):
                self._observe(i, len(files))
            if i.error is not None:
                notes.append(f"{name}: was not read: {i.error.reason or i.error.what}")
            elif i.reading is not None:
                files.append(i.reading)
                notes += i.notes
        return conclude(self._library, files, notes) if files else None

    def _observe(self, i: _Input, index: int) -> None:
        # What a person pasted into a small file is put together first, which needs all of it.
        if i.file.whole or i.file.read_bytes <= LARGEST_INPUT:
            try:
                i.index = index
                i.reading, i.notes = read_input(self._library, Source(i.file.name, i.file.path), index, self._budget)
            except InputError as error:
                if not i.listed:
                    raise
                i.error = error
            return
        if i.index != index:
            i.index, i.memory = index, Memory()
        raw = i.file.snapshot()
        i.notes = notes_on(raw)
        i.reading = observe(self._library, self._scanner, raw, index, i.memory)

    def _with_stall(self, diagnosis: Diagnosis, now_s: float | None) -> Diagnosis | None:
        """The diagnosis with the incident of a job that stands still, once, while nothing else is wrong with it."""
        report = diagnosis.report
        if now_s is None or self._stall_told or report.incidents or report.job.outcome != "running":
            return None
        silent_s = self._pace.stalled_s(now_s)
        incident = None if silent_s is None else _stall(self._library, diagnosis, silent_s, self._lines_at(report.job.last_progress))
        if incident is None:
            return None
        self._stall_told = True
        return replace(diagnosis, report=replace(report, incidents=(incident,)))

    def _lines_at(self, progress: Progress | None) -> str:
        """The raw line that shows the last progress."""
        i = self._inputs.get(progress.file) if progress is not None else None
        if progress is None or i is None or i.reading is None:
            return ""
        return next((line.raw for line in (*i.reading.samples, *i.reading.lines) if line.number == progress.line), "")


def _stall(library: Library, diagnosis: Diagnosis, silent_s: float, raw: str) -> Incident | None:
    """The incident of the page that a standing job shows."""
    page, last = library.shown_by("stall"), diagnosis.report.job.last_progress
    if page is None or last is None:
        return None
    reason = f"no step was printed for {_duration(silent_s)} after step {last.step}"
    values = {"rank": "One rank"}
    missing = tuple(MissingFact(fill(m.fact, values), fill(m.command, values), m.decides) for m in page.missing[:3])
    if not missing:
        missing = (MissingFact("where every rank stands", "py-spy dump --pid PID", ()),)
    return Incident(
        id=1,
        failure=page.id,
        title=page.title,
        severity=page.severity,
        verdict=Verdict.UNDETERMINED,
        summary=f"{page.title}: {reason}.",
        initiating=Initiating(None, time=last.time),
        evidence=(Evidence(last.file, last.line, 1, len(raw) + 1, raw[:2000], "initiating", reason),),
        reasons=(reason,),
        fix=page.fixes[:4],
        verify=page.checks[:2],
        missing=missing,
        alternatives=page.alternatives[:4],
        related=page.related,
    )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
