"""Turns chunks of bytes into the lines worth looking at, in flat memory, whatever the chunks are.

Knows the scanner and line ends; cleans nothing and knows no failure. The same bytes give the same lines, however cut:
blocks are re-cut at line ends by position alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from .scan import Scanner

BLOCK_BYTES = 1 << 22
LONGEST_LINE_BYTES = 1 << 24
KEPT_BYTES = 1 << 16
_SAMPLE_BYTES = 1 << 16
_LAST_SAMPLE_BYTES = 1 << 19
_SAMPLES = 200
_KEPT_SAMPLES = 3000
_KEPT_ALIKE = 48
_DIGITS = b"0123456789"


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line as it stands in the input, without its end; `needles` are those the scan saw in it."""

    number: int
    raw: bytes
    needles: tuple[int, ...]


@dataclass(slots=True)
class RawFile:
    """What was read of one input: the candidate lines in order, a sample of all lines, and the sizes."""

    name: str
    bytes: int = 0
    lines: int = 0
    candidates: list[RawLine] = field(default_factory=list)
    samples: list[tuple[int, bytes]] = field(default_factory=list)
    repeated: int = 0
    cut_lines: int = 0


class _Alike:
    """Lines that differ only in digits: the first and the last ones are kept, the rest counted."""

    __slots__ = ("first", "last", "count")

    def __init__(self) -> None:
        self.first: list[RawLine] = []
        self.last: deque[RawLine] = deque(maxlen=_KEPT_ALIKE)
        self.count = 0

    def add(self, line: RawLine) -> None:
        self.count += 1
        if len(self.first) < _KEPT_ALIKE:
            self.first.append(line)
        else:
            self.last.append(line)


class LineReader:
    """Takes bytes with `feed`, gives the RawFile with `finish`."""

    def __init__(self, scanner: Scanner, name: str) -> None:
        self._scanner = scanner
        self._file = RawFile(name)
        self._parts: list[bytes] = []
        self._waiting_bytes = 0
        self._number = 1
        self._pending = 0
        self._alike: dict[tuple[tuple[int, ...], bytes], _Alike] = {}
        self._samples: deque[tuple[int, bytes]] = deque(maxlen=_KEPT_SAMPLES)
        self._first_samples: list[tuple[int, bytes]] = []
        self._inside_long_line = False

    def feed(self, chunk: bytes) -> None:
        """Take more bytes."""
        self._file.bytes += len(chunk)
        self._parts.append(chunk)
        self._waiting_bytes += len(chunk)
        if self._waiting_bytes < BLOCK_BYTES:
            return
        data = b"".join(self._parts)
        at = 0
        while len(data) - at >= BLOCK_BYTES:
            cut = data.rfind(b"\n", at, at + BLOCK_BYTES) + 1
            if not cut:
                cut = data.find(b"\n", at + BLOCK_BYTES, at + LONGEST_LINE_BYTES) + 1
                if not cut and len(data) - at < LONGEST_LINE_BYTES:
                    break
                cut = cut or at + LONGEST_LINE_BYTES
            self._block(data[at:cut], last=False)
            at = cut
        self._parts = [data[at:]]
        self._waiting_bytes = len(data) - at

    def finish(self) -> RawFile:
        """The lines of everything that was fed."""
        rest = b"".join(self._parts)
        if rest:
            self._block(rest, last=True)
            if not rest.endswith(b"\n"):
                self._number += 1
        self._parts, self._waiting_bytes = [], 0
        kept = [line for alike in self._alike.values() for line in (*alike.first, *alike.last)]
        self._file.candidates = sorted(kept, key=lambda line: line.number)
        self._file.repeated = sum(a.count - len(a.first) - len(a.last) for a in self._alike.values())
        self._file.lines = self._number - 1
        seen = dict(self._first_samples)
        seen.update(self._samples)
        self._file.samples = sorted(seen.items())
        return self._file

    def _block(self, block: bytes, last: bool) -> None:
        self._candidates(block)
        behind = self._number + block.count(b"\n")
        self._sample(block, behind, last)
        self._number = behind
        self._inside_long_line = not block.endswith(b"\n")
        if self._inside_long_line and not last:
            self._file.cut_lines += 1

    def _candidates(self, block: bytes) -> None:
        number, at, end = self._number, 0, len(block)
        after = self._scanner.after
        hits = self._scanner.hits(block)
        position, count = 0, len(hits)
        while position < count or self._pending:
            if self._pending:
                start = at
                if start >= end:
                    return
            else:
                start = block.rfind(b"\n", at, hits[position][0]) + 1 or at
                number += block.count(b"\n", at, start)
            stop = block.find(b"\n", start)
            stop = end if stop < 0 else stop
            found: set[int] = set()
            while position < count and hits[position][0] <= stop:
                found.add(hits[position][1])
                position += 1
            line = block[start:stop]
            needles = self._scanner.needles_in(line) if -1 in found else tuple(sorted(found))
            self._keep(RawLine(number, line if len(line) <= KEPT_BYTES else self._shorten(line), needles))
            self._pending = max([self._pending - 1, 0, *(after[i] for i in needles)])
            at = stop + 1
            number += 1
            if at > end:
                return

    def _shorten(self, line: bytes) -> bytes:
        """A very long line keeps its last part between carriage returns and what surrounds each needle, at most KEPT_BYTES."""
        self._file.cut_lines += 1
        hits = self._scanner.hits(line)
        spans: list[list[int]] = [[0, 2048]]
        for end, _ in hits[:24]:
            start = max(line.rfind(b"\r", 0, end), end - 1024, 0)
            spans.append([start, min(end + 1024, len(line))])
        spans.append([len(line) - 2048, len(line)])
        merged: list[list[int]] = []
        for start, end in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        # What is left out becomes blanks, so that columns stay true.
        out = bytearray(b" ") * min(len(line), merged[-1][1])
        for start, end in merged:
            out[start:end] = line[start:end]
        return bytes(out)

    def _keep(self, line: RawLine) -> None:
        key = (line.needles, line.raw[:400].translate(None, _DIGITS))
        alike = self._alike.get(key)
        if alike is None:
            alike = self._alike[key] = _Alike()
        alike.add(line)

    def _sample(self, block: bytes, behind: int, last: bool) -> None:
        if not self._first_samples:
            self._first_samples = self._take(block[: min(len(block), _SAMPLE_BYTES)], self._number, 1)
        size = _LAST_SAMPLE_BYTES if last else _SAMPLE_BYTES
        start = 0 if len(block) <= size else block.find(b"\n", len(block) - size) + 1
        tail = block[start:]
        self._samples.extend(self._take(tail, behind - tail.count(b"\n"), 4 if last else 1))

    def _take(self, part: bytes, number: int, weight: int) -> list[tuple[int, bytes]]:
        """A thin choice of the lines of `part`, which begins with line `number`: evenly, and the end whole."""
        lines = [(number + i, line) for i, line in enumerate(part.split(b"\n")) if line]
        most = _SAMPLES * weight
        if len(lines) > most:
            tail = most // 2
            stride = -(-(len(lines) - tail) // (most - tail))
            lines = lines[: len(lines) - tail : stride] + lines[-tail:]
        return [(n, line if len(line) <= 4096 else line[-4096:]) for n, line in lines]


def read_chunks(scanner: Scanner, chunks: Iterable[bytes], name: str) -> RawFile:
    """Everything at once: the RawFile of an iterable of bytes."""
    reader = LineReader(scanner, name)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()
