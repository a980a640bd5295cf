"""The engine from end to end: inputs in, a Diagnosis out. Wires the stages together and holds no logic of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from .correlate.reading import FileReading
from .errors import InputError
from .knowledge.library import Library, load_library
from .model import Diagnosis
from .observe import notes_on, observe, read_input, scanner_for
from .read.inputs import Source, find_sources
from .read.reader import Budget, LineReader
from .read.wrapped import unwrap


class Cancelled(Exception):
    """The caller asked to stop."""


def diagnose(
    paths: Sequence[str | os.PathLike[str]],
    *,
    library: Library | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    workers: int | None = 1,
    scheduler: str | None = None,
    inputs_done: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Diagnose files and folders; `-` is standard input. Raises InputError, and Cancelled when `cancelled()` turned true.

    `progress` is called with (bytes read, bytes in all, 0 where unknown), `inputs_done` with (inputs read, inputs in all).
    Inputs are read by `workers` processes, `None` for as many as are worth it, or on the dask cluster whose scheduler is named.
    """
    library = library or load_library()
    sources = find_sources(paths)
    budget = Budget.for_inputs(len(sources))
    total = sum(s.size_bytes for s in sources)
    done = [0, 0]

    def told(count: int) -> None:
        done[0] += count
        if progress:
            progress(done[0], total)
        if cancelled and cancelled():
            raise Cancelled

    if scheduler is None and workers is None and len(sources) > 1:
        from .workers.pool import fitting_workers

        workers = fitting_workers(sources)
    if scheduler is not None or (workers or 1) > 1:
        return _diagnose_apart(library, sources, budget, workers or 1, scheduler, progress, cancelled, inputs_done)
    files: list[FileReading] = []
    notes: list[str] = []
    errors: list[InputError] = []
    for index, source in enumerate(sources):
        try:
            reading, said = read_input(library, source, len(files), budget, told)
        except InputError as error:
            notes += _left_out(source, error, errors)
        else:
            files.append(reading)
            notes += said
        if inputs_done:
            inputs_done(index + 1, len(sources))
    return _conclude_some(library, files, notes, errors)


def _diagnose_apart(
    library: Library,
    sources: list[Source],
    budget: Budget,
    workers: int,
    scheduler: str | None,
    progress: Callable[[int, int], None] | None,
    cancelled: Callable[[], bool] | None,
    inputs_done: Callable[[int, int], None] | None,
) -> Diagnosis:
    """The same diagnosis with every input read by a worker."""
    from .workers.pool import Stopped, Told, read_on_cluster, read_on_processes
    from .workers.task import Job
    from .workers.wire import unpack

    total = sum(s.size_bytes for s in sources)
    told = Told(
        bytes=lambda done: progress(done, total) if progress else None,
        inputs=lambda done: inputs_done(done, len(sources)) if inputs_done else None,
        stop=lambda: cancelled is not None and cancelled(),
    )
    job = Job.of(library, budget)
    try:
        if scheduler is not None:
            answers = read_on_cluster(scheduler, job, sources, told)
        else:
            answers = read_on_processes(library, job, sources, workers, told)
    except Stopped as stopped:
        raise Cancelled from stopped
    files: list[FileReading] = []
    notes: list[str] = []
    errors: list[InputError] = []
    for source, answer in zip(sources, answers, strict=True):
        if answer.packed is not None:
            files.append(unpack(answer.packed, len(files)))
            notes += answer.notes
        elif answer.error is not None:
            notes += _left_out(source, answer.error, errors)
    return _conclude_some(library, files, notes, errors)


def _left_out(source: Source, error: InputError, errors: list[InputError]) -> list[str]:
    """The note on an input that cannot be read. One that the user named is an error; a folder may hold anything."""
    if not source.listed:
        raise error
    errors.append(error)
    return [f"{source.name}: was not read: {error.reason or error.what}"]


def _conclude_some(library: Library, files: list[FileReading], notes: list[str], errors: list[InputError]) -> Diagnosis:
    if errors and not files:
        raise errors[0]
    return conclude(library, files, notes)


def diagnose_text(text: str, name: str = "selection", *, library: Library | None = None) -> Diagnosis:
    """Diagnose one text, such as a selection."""
    library = library or load_library()
    scanner = scanner_for(library)
    reader = LineReader(scanner, name)
    whole, parts = unwrap(text.encode("utf-8", "surrogatepass"))
    reader.feed(whole)
    raw = reader.finish()
    reading = observe(library, scanner, raw, 0)
    reading.parts = parts
    return conclude(library, [reading], notes_on(raw))


def conclude(library: Library, files: list[FileReading], notes: Sequence[str] = ()) -> Diagnosis:
    """The diagnosis of all inputs that were observed; `notes` on how they were read go to its limits."""
    from .correlate.correlate import correlate

    diagnosis = correlate(library, files)
    return replace(diagnosis, report=replace(diagnosis.report, limits=(*diagnosis.report.limits, *notes))) if notes else diagnosis
