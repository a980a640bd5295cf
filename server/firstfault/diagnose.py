"""The engine from end to end: inputs in, a Diagnosis out. Wires the stages together and holds no logic of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from .correlate.reading import FileReading
from .knowledge.library import Library, load_library
from .knowledge.match import match_line
from .model import Diagnosis, Line
from .read.blocks import key_of, read_structure
from .read.inputs import Source, find_sources
from .read.lines import complete_times, make_line, segments
from .read.reader import LineReader, RawFile
from .read.scan import Scanner

_scanners: dict[int, tuple[Library, Scanner]] = {}


class Cancelled(Exception):
    """The caller asked to stop."""


def scanner_for(library: Library) -> Scanner:
    """The scanner of all needles: those of the pages and those of the grammars."""
    from .correlate.grammar import GRAMMAR_NEEDLES

    known = _scanners.get(id(library))
    if known is None or known[0] is not library:
        needles = {n: 0 for n in library.by_needle}
        for needle, after in GRAMMAR_NEEDLES.items():
            needles[needle] = max(after, needles.get(needle, 0))
        known = _scanners[id(library)] = (library, Scanner(needles))
    return known[1]


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
    for index, source in enumerate(sources):
        reader = LineReader(scanner, source.name)
        for chunk in source.chunks():
            reader.feed(chunk)
            done += len(chunk)
            if progress:
                progress(done, total)
            if cancelled and cancelled():
                raise Cancelled
        files.append(_read(library, scanner, reader.finish(), index, source))
    return _conclude(library, files)


def diagnose_text(text: str, name: str = "selection", *, library: Library | None = None) -> Diagnosis:
    """Diagnose one text, such as a selection."""
    library = library or load_library()
    scanner = scanner_for(library)
    reader = LineReader(scanner, name)
    reader.feed(text.encode("utf-8", "surrogatepass"))
    return _conclude(library, [_read(library, scanner, reader.finish(), 0, Source(name, None))])


def _conclude(library: Library, files: list[FileReading]) -> Diagnosis:
    from .correlate.correlate import correlate

    return correlate(library, files)


def _read(library: Library, scanner: Scanner, raw: RawFile, index: int, source: Source) -> FileReading:
    """Cleaned lines and findings of one input."""
    lines: list[Line] = []
    names: list[tuple[str, ...]] = []
    for candidate in raw.candidates:
        whole = candidate.raw.decode("utf-8", "replace").rstrip("\r")
        needles = tuple(scanner.needles[i] for i in candidate.needles)
        if "\r" not in whole:
            lines.append(make_line(whole, index, candidate.number))
            names.append(needles)
            continue
        for column, part in segments(whole):
            inside = tuple(n for n in needles if n in part)
            if inside:
                lines.append(make_line(part, index, candidate.number, column, whole))
                names.append(inside)
    lines = complete_times(lines)
    samples = complete_times(list(_samples(raw, index)))
    file = FileReading(index, source.name, raw.bytes, raw.lines, lines, names, samples, repeated=raw.repeated, cut_lines=raw.cut_lines)
    code = read_structure(lines).code
    for line, needles in zip(lines, names, strict=True):
        if needles and key_of(line) not in code:
            file.findings += match_line(library, line, needles)
    return file


def _samples(raw: RawFile, index: int) -> Iterable[Line]:
    for number, data in raw.samples:
        text = data.decode("utf-8", "replace").rstrip("\r")
        last = text.rsplit("\r", 1)[-1]
        yield make_line(last, index, number, len(text) - len(last), text)
