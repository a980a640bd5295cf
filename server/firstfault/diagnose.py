"""The engine from end to end: inputs in, a Diagnosis out. Wires the stages together and holds no logic of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from .correlate.reading import FileReading
from .knowledge.library import Library, load_library
from .model import Diagnosis
from .observe import notes_on, observe, read_dump, scanner_for
from .read.inputs import find_sources
from .read.reader import Budget, LineReader


class Cancelled(Exception):
    """The caller asked to stop."""


def diagnose(
    paths: Sequence[str | os.PathLike[str]],
    *,
    library: Library | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Diagnosis:
    """Diagnose files and folders; `-` is standard input. Raises InputError, and Cancelled when `cancelled()` turned true.

    `progress` is called with (bytes read, bytes in all, 0 where unknown).
    """
    library = library or load_library()
    scanner = scanner_for(library)
    sources = find_sources(paths)
    total = sum(s.size_bytes for s in sources)
    done = 0
    files: list[FileReading] = []
    notes: list[str] = []
    budget = Budget.for_inputs(len(sources))
    for index, source in enumerate(sources):
        if (recorded := read_dump(source, index)) is not None:
            files.append(recorded)
            done += recorded.bytes
            continue
        reader = LineReader(scanner, source.name, budget)
        with source.open() as stream:
            while count := stream.readinto(reader.space()):
                reader.commit(count)
                done += count
                if progress:
                    progress(done, total)
                if cancelled and cancelled():
                    raise Cancelled
        raw = reader.finish()
        files.append(observe(library, scanner, raw, index))
        notes += [*stream.notes, *notes_on(raw)]
    return conclude(library, files, notes)


def diagnose_text(text: str, name: str = "selection", *, library: Library | None = None) -> Diagnosis:
    """Diagnose one text, such as a selection."""
    library = library or load_library()
    scanner = scanner_for(library)
    reader = LineReader(scanner, name)
    reader.feed(text.encode("utf-8", "surrogatepass"))
    raw = reader.finish()
    return conclude(library, [observe(library, scanner, raw, 0)], notes_on(raw))


def conclude(library: Library, files: list[FileReading], notes: Sequence[str] = ()) -> Diagnosis:
    """The diagnosis of all inputs that were observed; `notes` on how they were read go to its limits."""
    from .correlate.correlate import correlate

    diagnosis = correlate(library, files)
    return replace(diagnosis, report=replace(diagnosis.report, limits=(*diagnosis.report.limits, *notes))) if notes else diagnosis
