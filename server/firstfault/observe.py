"""From what was read of one input to its cleaned lines and findings. Knows one input at a time and judges nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .correlate.reading import FileReading
from .errors import InputError
from .evidence import flight_recorder
from .evidence.flight_recorder import parse_dump
from .knowledge.library import Library
from .knowledge.match import match_line
from .model import Finding, Line, Origin
from .read.blocks import key_of, read_structure
from .read.inputs import Source
from .read.kept import RawLine
from .read.lines import complete_times, make_line, segments
from .read.reader import Budget, LineReader, RawFile
from .read.scan import Scanner
from .read.stream import is_recorder_dump
from .read.wrapped import LARGEST_INPUT, unwrap

_scanners: dict[int, tuple[Library, Scanner]] = {}


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


class Memory:
    """What was made of the raw lines of one growing input, so that each is cleaned and matched once. Holds what the last reading held."""

    def __init__(self) -> None:
        self.candidates: dict[RawLine, list[tuple[Line, tuple[str, ...]]]] = {}
        self.samples: dict[tuple[int, bytes], Line] = {}
        self.completed: dict[int, tuple[Line, Line]] = {}
        self.findings: dict[int, tuple[Line, list[Finding]]] = {}


def observe(library: Library, scanner: Scanner, raw: RawFile, index: int, memory: Memory | None = None) -> FileReading:
    """The cleaned lines and findings of input number `index`. A `memory` belongs to one input and one index."""
    memory = memory or Memory()
    known, memory.candidates = memory.candidates, {}
    lines: list[Line] = []
    names: list[tuple[str, ...]] = []
    for candidate in raw.candidates:
        made = memory.candidates[candidate] = known.get(candidate) or list(_lines_of(scanner, candidate, index))
        for line, needles in made:
            lines.append(line)
            names.append(needles)
    sampled, memory.samples = memory.samples, {}
    for sample in raw.samples:
        memory.samples[sample] = sampled.get(sample) or _sample(index, *sample)
    completed, memory.completed = memory.completed, {}
    lines = _complete(lines, completed, memory.completed)
    samples = _complete(list(memory.samples.values()), completed, memory.completed)
    file = FileReading(index, raw.name, raw.bytes, raw.lines, lines, names, samples, repeated=raw.repeated, cut_lines=raw.cut_lines)
    file.openings = raw.openings
    code = read_structure(lines).code
    matched, memory.findings = memory.findings, {}
    for line, needles in zip(lines, names, strict=True):
        if needles and key_of(line) not in code:
            before = matched.get(id(line))
            found = before[1] if before is not None and before[0] is line else match_line(library, line, needles)
            memory.findings[id(line)] = (line, found)
            file.findings += found
    return file


def _complete(lines: list[Line], known: dict[int, tuple[Line, Line]], kept: dict[int, tuple[Line, Line]]) -> list[Line]:
    """The lines with completed times; a line that was completed alike before is the same object again."""
    out = complete_times(lines)
    for i, (line, whole) in enumerate(zip(lines, out, strict=True)):
        if whole is not line:
            before = known.get(id(line))
            if before is not None and before[0] is line and before[1].time_s == whole.time_s:
                whole = out[i] = before[1]
            kept[id(line)] = (line, whole)
    return out


def read_input(
    library: Library, source: Source, index: int, budget: Budget, told: Callable[[int], None] | None = None
) -> tuple[FileReading, list[str]]:
    """The reading of input number `index`, and notes on how it was read. Raises InputError.

    `told` is called with the number of bytes just read; what it raises ends the reading.
    """
    recorded = read_dump(source, index)
    if recorded is not None:
        if told:
            told(recorded.bytes)
        return recorded, []
    scanner = scanner_for(library)
    reader = LineReader(scanner, source.name, budget)
    small = bytearray()
    space = memoryview(bytearray(LARGEST_INPUT))
    with source.open() as stream:
        while len(small) <= LARGEST_INPUT and (count := stream.readinto(space)):
            small += space[:count]
            if told:
                told(count)
        text, parts = unwrap(bytes(small))
        reader.feed(text)
        if len(small) > LARGEST_INPUT:
            while count := stream.readinto(reader.space()):
                reader.commit(count)
                if told:
                    told(count)
    raw = reader.finish()
    reading = observe(library, scanner, raw, index)
    reading.parts = parts
    return reading, [*stream.notes, *notes_on(raw)]


def read_dump(source: Source, index: int) -> FileReading | None:
    """The reading of a flight-recorder dump, whose lines are the rank's collectives in order; `None` where the input is none."""
    if source.path is None or not is_recorder_dump(source.head()):
        return None
    if source.size_bytes > flight_recorder.LARGEST_DUMP_BYTES:
        raise InputError(
            f"{source.name} is too large for a flight-recorder dump", reason=f"it has {source.size_bytes} bytes", where=source.name,
            help=f"a dump has at most {flight_recorder.LARGEST_DUMP_BYTES} bytes; lower TORCH_FR_BUFFER_SIZE",
        )  # fmt: skip
    dump = parse_dump(source.path.read_bytes(), source.name)
    if dump is None:
        return None
    who = Origin(rank=dump.rank)
    lines = []
    for call in dump.calls:
        text = call.text()
        time_s = None if call.created_ns is None else call.created_ns / 1e9
        lines.append(Line(index, call.index, text, text, range(len(text)), who, time_s))
    reading = FileReading(index, source.name, source.size_bytes, len(lines), lines, [()] * len(lines), [])
    reading.kind, reading.dump, reading.named_rank = "flight-recorder", dump, dump.rank
    return reading


def notes_on(raw: RawFile) -> list[str]:
    """What the reader of a report must know of how an input was read, beyond what its FileReading says."""
    if not raw.dropped:
        return []
    return [f"{raw.name}: {raw.dropped} lines of kinds that fill the log were counted, not kept; the first and the last of them were read"]


def _lines_of(scanner: Scanner, candidate: RawLine, index: int) -> Iterator[tuple[Line, tuple[str, ...]]]:
    """The lines of a candidate: what a terminal showed one after the other are lines of their own."""
    whole = candidate.raw.decode("utf-8", "replace").rstrip("\r")
    needles = tuple(scanner.needles[i] for i in candidate.needles)
    parts = list(segments(whole)) if "\r" in whole or "[rank" in whole else []
    if len(parts) < 2 and "\r" not in whole:
        yield make_line(whole, index, candidate.number, candidate.column), needles
        return
    for column, part in parts:
        inside = tuple(n for n in needles if n in part)
        if inside:
            yield make_line(part, index, candidate.number, candidate.column + column, whole), inside


def _sample(index: int, number: int, data: bytes) -> Line:
    text = data.decode("utf-8", "replace").rstrip("\r")
    last = text.rsplit("\r", 1)[-1]
    return make_line(last, index, number, len(text) - len(last), text)
