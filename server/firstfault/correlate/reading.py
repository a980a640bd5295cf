"""The cleaned candidate lines of all inputs, as every correlating function takes them. Knows no blame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..evidence.flight_recorder import Dump
from ..model import Finding, Line


@dataclass(slots=True)
class FileReading:
    """One input: its candidate lines in order, a thin sample of all its lines, and its findings.

    `openings` holds for each of its first lines that comes again the numbers of all lines like it, `parts` the lengths of the parts of
    each line that was put together, by the number of its first part.
    """

    index: int
    name: str
    bytes: int
    line_count: int
    lines: list[Line]
    needles: list[tuple[str, ...]]
    samples: list[Line]
    findings: list[Finding] = field(default_factory=list)
    repeated: int = 0
    cut_lines: int = 0
    kind: str = "log"
    dump: Dump | None = None
    named_rank: int | None = None
    named_host: str | None = None
    openings: list[list[int]] = field(default_factory=list)
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def place(self, number: int, first: int, last: int) -> tuple[int, int, int, int, int]:
        """Where columns of a line stand in the input: (line, first, last column, begin and end of that part in the whole)."""
        at = 0
        for length in self.parts.get(number, ()):
            if first < at + length:
                return number, first - at, min(last, at + length) - at, at, at + length
            at, number = at + length, number + 1
        return number, first - at, last - at, at, -1


@dataclass(slots=True)
class Reading:
    """All inputs together."""

    files: list[FileReading]

    def lines(self) -> Iterator[Line]:
        """Every candidate line, in file and line order."""
        for f in self.files:
            yield from f.lines

    def findings(self) -> Iterator[Finding]:
        """Every finding, in file and line order."""
        for f in self.files:
            yield from f.findings

    def lines_with(self, *needles: str) -> Iterator[Line]:
        """The candidate lines that hold one of the needles."""
        for line in self.lines():
            if any(n in line.text for n in needles):
                yield line
