"""Turns bytes into the lines worth looking at, in one pass and in fixed memory, however the bytes arrive.

Knows the scanner and line ends; cleans nothing and knows no failure. Blocks are cut at line ends by position alone,
so the same bytes give the same lines for any chunks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
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
DENSE = 8192
_DENSE_SEEN = 1024
_Hit = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is kept of one input at most: candidate lines, their bytes, and samples."""

    lines: int = 16_000
    bytes: int = 6 << 20
    head_samples: int = 64
    samples: int = 256
    end_samples: int = 320

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
            max(int(whole.head_samples * share), 3), max(int(whole.samples * share), 6), max(int(whole.end_samples * share), 10),
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
            self._column += _characters(self._buffer[self._buffer.rfind(b"\n", 0, end) + 1 : end])

    def _candidates(self, end: int, numbers: LineNumbers) -> None:
        block, after, keep = self._buffer, self._scanner.after, self._kept.add
        every, hits = self._hits(end)
        position, count, at = 0, len(hits), 0
        number, counted, looked_at = self._number, 0, 0
        pending = self._pending
        while position < count or pending:
            start = at if pending else block.rfind(b"\n", at, hits[position][0]) + 1 or at
            if start >= end:
                break
            if start > counted:
                number += block.count(b"\n", counted, start)
                counted = start
            stop = block.find(b"\n", start, end)
            stop = end if stop < 0 else stop
            first = position
            while position < count and hits[position][0] <= stop:
                position += 1
            inside = hits[first:position] if every is None else every[bisect_left(every, (start,)) : bisect_left(every, (stop + 1,))]
            column = self._column if start == 0 else 0
            if stop - start > KEPT_BYTES:
                needles = tuple(self._excerpts(start, stop, inside, number, column))
            else:
                line = bytes(block[start:stop])
                needles = self._needles(line, inside)
                keep(number, line, needles, column)
            pending = max(pending - 1, 0)
            if first < position:
                for i in needles:
                    if after[i] > pending:
                        pending = after[i]
            looked_at += bool(needles)
            at = stop + 1
        self._pending = pending
        if every is not None:
            self._kept.dropped += _lines_with(every, block, end) - looked_at
        numbers.know(counted, number)

    def _note_cut(self, number: int) -> None:
        if self._last_cut != number:
            self._last_cut = number
            self._cut_lines += 1

    def _hits(self, end: int) -> tuple[list[_Hit] | None, list[_Hit]]:
        """(all hits in the block, where they are more than are looked at; those that are looked at).

        A needle that occurs on a great part of the lines is dense in its block: of the lines that have no other needle only
        the first and the last ones are looked at.
        """
        view = memoryview(self._buffer)[:end]
        hits = self._scanner.hits(view)
        if len(hits) <= (DENSE if self._scanner.fast else DENSE // 8):
            return None, hits
        every = hits if self._scanner.fast else self._scanner.every_hit(view)
        counts = Counter(index for _, index in every)
        dense = {index for index, count in counts.items() if count > DENSE}
        if not dense:
            return None, hits
        places = [place for place, (_, index) in enumerate(every) if index in dense]
        unseen = set(places[_DENSE_SEEN:-_DENSE_SEEN])
        return every, [hit for place, hit in enumerate(every) if place not in unseen]

    def _needles(self, text: bytes, hits: list[_Hit]) -> tuple[int, ...]:
        if not hits:
            return ()
        if len(hits) == 1 and hits[0][1] >= 0:
            return (hits[0][1],)
        found = {index for _, index in hits}
        return self._scanner.needles_in(text) if -1 in found else tuple(sorted(found))

    def _excerpts(self, start: int, stop: int, hits: list[_Hit], number: int, column: int) -> set[int]:
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
            column += _characters(block[at:begin])
            at = begin
            text = bytes(block[begin:end])
            inside = self._scanner.needles_in(text)
            seen.update(inside)
            self._kept.add(number, text, inside, column)
        return seen


def _lines_with(hits: list[_Hit], block: bytearray, end: int) -> int:
    """On how many lines of `block[:end]` the hits are."""
    lines, stop = 0, -1
    for behind, _ in hits:
        if behind > stop:
            lines += 1
            stop = block.find(b"\n", behind, end)
            if stop < 0:
                break
    return lines


_CONTINUATION = bytes(range(0x80, 0xC0))


def _characters(text: bytearray) -> int:
    """How many characters UTF-8 text has."""
    return len(text.translate(None, _CONTINUATION))


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
