"""Turns bytes into the lines worth looking at, in one pass and in fixed memory, however the bytes arrive.

Knows the scanner and line ends; cleans nothing and knows no failure. Blocks are cut at line ends by position alone,
so the same bytes give the same lines for any chunks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .kept import KeptLines, RawLine
from .openings import Openings
from .sample import LineNumbers, LineSampler, Sample
from .scan import Scanner

BLOCK_BYTES = 1 << 20
KEPT_BYTES = 1 << 14
_AROUND_BYTES = 1024
_MOST_EXCERPTS = 24


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is kept of one input at most: candidate lines, their bytes, and samples."""

    lines: int = 16_000
    bytes: int = 6 << 20
    head_samples: int = 64
    samples: int = 400
    end_samples: int = 400

    @classmethod
    def for_inputs(cls, count: int) -> Budget:
        """The budget of each of `count` inputs, so that all together stay within what one machine holds."""
        if count <= 4:
            return cls()
        # Rounded up, so that a job whose ranks appear one after the other seldom changes it.
        count = 1 << (count - 1).bit_length()
        whole = cls()
        share = 4 / count
        return cls(
            max(int(whole.lines * share), 400), max(int(whole.bytes * share), 1 << 17),
            max(int(whole.head_samples * share), 6), max(int(whole.samples * share), 16), max(int(whole.end_samples * share), 16),
        )  # fmt: skip


@dataclass(slots=True)
class RawFile:
    """What was read of one input: the candidate lines in order, a sample of all lines, and the sizes.

    `repeated` counts lines that repeat kept ones, `dropped` lines beyond the budget, `cut_lines` lines of which excerpts were kept.
    `openings` are the line numbers at which first lines come again, one list a line.
    """

    name: str
    bytes: int = 0
    lines: int = 0
    candidates: list[RawLine] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    repeated: int = 0
    dropped: int = 0
    cut_lines: int = 0
    openings: list[list[int]] = field(default_factory=list)


class LineReader:
    """Takes bytes with `feed`, or with `space` and `commit` where they can be read into its buffer; gives a RawFile with `finish`."""

    def __init__(self, scanner: Scanner, name: str, budget: Budget | None = None) -> None:
        budget = budget or Budget()
        self.name = name
        self._scanner = scanner
        self._buffer = bytearray(BLOCK_BYTES)
        self._filled = 0
        self._kept = KeptLines(budget.lines, budget.bytes)
        self._sampler = LineSampler(budget.head_samples, budget.samples, budget.end_samples)
        self._openings = Openings()
        self._bytes = 0
        self._number = 1
        self._column = 0
        self._pending = 0
        self._cut_lines = 0
        self._last_cut = 0

    @property
    def settled_bytes(self) -> int:
        """How many bytes from the beginning are in finished blocks."""
        return self._bytes - self._filled

    def space(self) -> memoryview:
        """The free part of the buffer, never empty."""
        return memoryview(self._buffer)[self._filled :]

    def commit(self, count: int) -> None:
        """`count` bytes were written to the beginning of `space()`."""
        self._bytes += count
        self._filled += count
        if self._filled == len(self._buffer):
            cut = self._buffer.rfind(b"\n") + 1 or self._buffer.rfind(b"\r") + 1 or _whole_characters(self._buffer, self._filled)
            if self._buffer[cut - 1] != 0x0A:
                self._note_cut(self._number)
            self._block(cut)
            rest = self._filled - cut
            self._buffer[:rest] = self._buffer[cut : self._filled]
            self._filled = rest

    def feed(self, chunk: bytes) -> None:
        """Take more bytes."""
        view, at = memoryview(chunk), 0
        while at < len(view):
            space = self.space()
            count = min(len(space), len(view) - at)
            space[:count] = view[at : at + count]
            at += count
            self.commit(count)

    def finish(self) -> RawFile:
        """The lines of everything that was taken; nothing can be taken afterwards."""
        number = self._number
        if self._filled:
            self._block(self._filled)
            number = self._number + (self._buffer[self._filled - 1] != 0x0A)
        elif self._column:
            number += 1
        return RawFile(
            self.name, self._bytes, number - 1, self._kept.lines(), self._sampler.finish(self._number),
            self._kept.repeated, self._kept.dropped, self._cut_lines, self._openings.places(),
        )  # fmt: skip

    def snapshot(self) -> RawFile:
        """What `finish` would give now; more can be taken afterwards. Costs what is kept and one block, whatever was read before."""
        return self.copy().finish()

    def copy(self) -> LineReader:
        """An independent copy."""
        new = LineReader.__new__(LineReader)
        new.name, new._scanner = self.name, self._scanner
        new._buffer, new._filled = self._buffer.copy(), self._filled
        new._kept, new._sampler, new._openings = self._kept.copy(), self._sampler.copy(), self._openings.copy()
        new._bytes, new._number, new._column = self._bytes, self._number, self._column
        new._pending, new._cut_lines, new._last_cut = self._pending, self._cut_lines, self._last_cut
        return new

    @property
    def tail(self) -> bytes:
        """The bytes before `settled_bytes` that must be given to `restore`."""
        return self._sampler.tail

    def state(self) -> dict[str, Any]:
        """What was settled, as values of JSON: another reader of the same needles and budget may go on at `settled_bytes`."""
        return {
            "bytes": self.settled_bytes, "number": self._number, "column": self._column, "pending": self._pending,
            "cut": [self._cut_lines, self._last_cut], "kept": self._kept.state(), "sampler": self._sampler.state(),
            "openings": self._openings.state(),
        }  # fmt: skip

    def restore(self, state: dict[str, Any], tail: bytes) -> None:
        """Take over what `state` gave; `tail` are the bytes before. Only for a reader that has taken nothing."""
        self._bytes, self._number, self._column, self._pending = state["bytes"], state["number"], state["column"], state["pending"]
        self._cut_lines, self._last_cut = state["cut"]
        self._kept.restore(state["kept"])
        self._sampler.restore(state["sampler"], tail)
        self._openings.restore(state["openings"])

    def _block(self, end: int) -> None:
        numbers = LineNumbers(self._buffer, 0, self._number)
        self._candidates(end, numbers)
        self._sampler.add(self._buffer, 0, end, numbers)
        self._openings.add(self._buffer, end, numbers, self._column)
        self._number = numbers.at(end)
        if self._buffer[end - 1] == 0x0A:
            self._column = 0
        else:
            # A line longer than a block goes on in the next one.
            self._column += len(self._buffer[self._buffer.rfind(b"\n", 0, end) + 1 : end].decode("utf-8", "replace"))

    def _candidates(self, end: int, numbers: LineNumbers) -> None:
        block, after = self._buffer, self._scanner.after
        hits = self._scanner.hits(memoryview(block)[:end])
        position, count, at = 0, len(hits), 0
        while position < count or self._pending:
            if self._pending:
                start = at
            else:
                start = block.rfind(b"\n", at, hits[position][0]) + 1 or at
            if start >= end:
                return
            stop = block.find(b"\n", start, end)
            stop = end if stop < 0 else stop
            first = position
            while position < count and hits[position][0] <= stop:
                position += 1
            number = numbers.at(start)
            column = self._column if start == 0 else 0
            if stop - start > KEPT_BYTES:
                needles = tuple(self._excerpts(start, stop, hits[first:position], number, column))
            else:
                line = bytes(block[start:stop])
                needles = self._needles(line, hits, first, position)
                self._kept.add(RawLine(number, line, needles, column))
            self._pending = max([self._pending - 1, 0, *(after[i] for i in needles)])
            at = stop + 1

    def _note_cut(self, number: int) -> None:
        if self._last_cut != number:
            self._last_cut = number
            self._cut_lines += 1

    def _needles(self, text: bytes, hits: list[tuple[int, int]], first: int, behind: int) -> tuple[int, ...]:
        if first == behind:
            return ()
        if behind - first == 1 and hits[first][1] >= 0:
            return (hits[first][1],)
        found = {hits[i][1] for i in range(first, behind)}
        return self._scanner.needles_in(text) if -1 in found else tuple(sorted(found))

    def _excerpts(self, start: int, stop: int, hits: list[tuple[int, int]], number: int, column: int) -> set[int]:
        """Of a very long line keep its beginning, its end and what surrounds the first and the last needles; gives the needles."""
        self._note_cut(number)
        block = self._buffer
        half = _MOST_EXCERPTS // 2
        spans = [[start, min(start + 2 * _AROUND_BYTES, stop)]]
        for end, _ in hits if len(hits) <= _MOST_EXCERPTS else [*hits[:half], *hits[-half:]]:
            begin = max(block.rfind(b"\r", start, end - 1) + 1, end - _AROUND_BYTES, start)
            spans.append([begin, min(end + _AROUND_BYTES, stop)])
        spans.append([max(stop - 2 * _AROUND_BYTES, start), stop])
        merged: list[list[int]] = []
        for begin, end in sorted(spans):
            if merged and begin <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        seen: set[int] = set()
        at = start
        for begin, end in merged:
            while begin > at and block[begin] & 0xC0 == 0x80:
                begin -= 1
            column += len(block[at:begin].decode("utf-8", "replace"))
            at = begin
            text = bytes(block[begin:end])
            inside = self._scanner.needles_in(text)
            seen.update(inside)
            self._kept.add(RawLine(number, text, inside, column))
        return seen


def _whole_characters(text: bytearray, end: int) -> int:
    """The greatest place up to `end` that cuts no UTF-8 character of `text`."""
    for back in range(1, min(4, end)):
        byte = text[end - back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            return end - back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else end
    return end


def read_chunks(scanner: Scanner, chunks: Iterable[bytes], name: str) -> RawFile:
    """Everything at once: the RawFile of an iterable of bytes."""
    reader = LineReader(scanner, name)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()
