"""Chooses a thin sample of all lines: the beginning, the end, an even choice between, and the last line of everybody.

The choice depends on positions in the input alone, so it is the same for any chunks and blocks. Knows no failure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

FIRST_STRIDE_BYTES = 1 << 13
END_BYTES = 1 << 17
LONGEST_SAMPLE = 4096
MOST_SPEAKERS = 1024
MOST_SEARCHES = 4
_WINDOW_BYTES = 1 << 13
_HEAD_BYTES = 1 << 16
# Whoever prints is told at the start of a line: [default3]:[rank19]: · 12: · [1,12]<stderr>:
_SPEAKER = re.compile(rb"(?:\[[A-Za-z_]+[ :=]?\d+(?:\|\d+)?\]:? ?| {0,5}\d{1,5}: |\[\d+,\d+\]<std\w+>: ?)+")
# What progress lines have in common; a line that only looks like one costs nothing but its place.
_PROGRESS_WORDS = (b"step", b"iter", b"loss", b"poch", b"it/s", b"s/it")
_MOST_TRIES = 32

Sample = tuple[int, bytes]


class LineNumbers:
    """The line numbers of positions in one block; counts line ends from the nearest position already asked for."""

    def __init__(self, block: bytearray, start: int, first_number: int) -> None:
        self._block = block
        self._at = [start]
        self._numbers = [first_number]

    def know(self, position: int, number: int) -> None:
        """Take over what somebody else has counted."""
        i = bisect_right(self._at, position)
        if self._at[i - 1] != position:
            self._at.insert(i, position)
            self._numbers.insert(i, number)

    def at(self, position: int) -> int:
        """The number of the line that `position` stands in."""
        i = bisect_right(self._at, position)
        known, number = self._at[i - 1], self._numbers[i - 1]
        if known == position:
            return number
        number += self._block.count(b"\n", known, position)
        self._at.insert(i, position)
        self._numbers.insert(i, number)
        return number


@dataclass(slots=True)
class _Speaker:
    """Somebody who prints with a prefix: whether heard near the end of the last block, how often searched for, the last line if silent."""

    heard: bool = True
    searches: int = 0
    last: Sample | None = None


@dataclass(slots=True)
class LineSampler:
    """Takes blocks in order with `add`, gives the samples with `finish`. Holds at most about `most` samples and END_BYTES of text."""

    most_at_head: int
    most: int
    most_at_end: int
    _head: list[Sample] = field(default_factory=list)
    _even: dict[int, Sample] = field(default_factory=dict)
    _stride: int = FIRST_STRIDE_BYTES
    _offset: int = 0
    _tail: bytes = b""
    _speakers: dict[bytes, _Speaker] = field(default_factory=dict)

    def add(self, block: bytearray, start: int, end: int, numbers: LineNumbers) -> None:
        """Take `block[start:end]`: whole lines, or a piece of a very long one."""
        if not self._offset:
            self._take_head(block, start, end, numbers)
        self._take_evenly(block, start, end, numbers)
        self._listen(block, start, end, numbers)
        if end - start >= END_BYTES:
            self._tail = bytes(block[end - END_BYTES : end])
        else:
            self._tail = (self._tail + block[start:end])[-END_BYTES:]
        self._offset += end - start

    def finish(self, behind: int) -> list[Sample]:
        """The samples in order; `behind` is the number of the line that would come next."""
        chosen = dict(self._head)
        chosen.update(self._even.values())
        chosen.update(s.last for s in self._speakers.values() if s.last)
        chosen.update(self._end(behind))
        return sorted(chosen.items())

    def copy(self) -> LineSampler:
        """An independent copy."""
        speakers = {prefix: _Speaker(s.heard, s.searches, s.last) for prefix, s in self._speakers.items()}
        return LineSampler(
            self.most_at_head, self.most, self.most_at_end,
            self._head.copy(), self._even.copy(), self._stride, self._offset, self._tail, speakers,
        )  # fmt: skip

    @property
    def tail(self) -> bytes:
        """The last bytes that were taken, at most END_BYTES."""
        return self._tail

    def state(self) -> dict[str, Any]:
        """Everything but the held tail as values of JSON; `restore` takes it, and the tail."""
        return {
            "head": _plain(self._head),
            "even": [[place, *sample] for place, sample in zip(self._even, _plain(self._even.values()), strict=True)],
            "stride": self._stride,
            "offset": self._offset,
            "speakers": [
                [prefix.decode("latin-1"), s.heard, s.searches, _plain([s.last])[0] if s.last else None]
                for prefix, s in self._speakers.items()
            ],
        }

    def restore(self, state: dict[str, Any], tail: bytes) -> None:
        """Take over what `state` gave."""
        self._head = _samples(state["head"])
        self._even = {place: _samples([sample])[0] for place, *sample in state["even"]}
        self._stride, self._offset, self._tail = state["stride"], state["offset"], tail
        self._speakers = {
            prefix.encode("latin-1"): _Speaker(heard, searches, _samples([last])[0] if last else None)
            for prefix, heard, searches, last in state["speakers"]
        }

    def _take_head(self, block: bytearray, start: int, end: int, numbers: LineNumbers) -> None:
        number, limit = numbers.at(start), min(end, start + _HEAD_BYTES)
        while start < limit and len(self._head) < self.most_at_head:
            stop = block.find(b"\n", start, end)
            stop = end if stop < 0 else stop
            if stop > start:
                self._head.append((number, bytes(block[max(start, stop - LONGEST_SAMPLE) : stop])))
            start = stop + 1
            number += 1

    def _take_evenly(self, block: bytearray, start: int, end: int, numbers: LineNumbers) -> None:
        """The line behind every multiple of the stride; when there are too many, the stride doubles."""
        place = -(-self._offset // self._stride) * self._stride
        while place < self._offset + end - start:
            at = start + place - self._offset
            if place:
                at = block.find(b"\n", at, end) + 1
            if at or not place:
                stop = block.find(b"\n", at, end)
                stop = end if stop < 0 else stop
                if stop > at:
                    self._even[place] = numbers.at(at), bytes(block[max(at, stop - LONGEST_SAMPLE) : stop])
            place += self._stride
            if len(self._even) > self.most:
                self._stride *= 2
                self._even = {p: sample for p, sample in self._even.items() if p % self._stride == 0}
                place = -(-place // self._stride) * self._stride

    def _listen(self, block: bytearray, start: int, end: int, numbers: LineNumbers) -> None:
        """Note whose progress stands near the end of the block; for whom it did before and does not now, the last is somewhere in it."""
        window = _WINDOW_BYTES + 256 * len(self._speakers)
        heard: set[bytes] = set()
        first = start if end - start <= window else block.find(b"\n", end - window, end) + 1
        for line in reversed(bytes(block[first:end]).split(b"\n") if first or not start else []):
            m = _SPEAKER.match(line)
            prefix = m[0] if m else b""
            if prefix not in heard and _is_progress(line):
                heard.add(prefix)
        for prefix, speaker in self._speakers.items():
            if prefix in heard:
                speaker.heard, speaker.last = True, None
            elif speaker.heard:
                speaker.heard = False
                speaker.searches += 1
                if speaker.searches <= MOST_SEARCHES:
                    speaker.last = self._last_progress(prefix, block, start, end, numbers)
        for prefix in sorted(heard - self._speakers.keys())[: MOST_SPEAKERS - len(self._speakers)]:
            self._speakers[prefix] = _Speaker()

    def _last_progress(self, prefix: bytes, block: bytearray, start: int, end: int, numbers: LineNumbers) -> Sample | None:
        """The last line that looks like progress with a prefix, in the block or in the text kept of those before it."""
        at = _last_place(block, prefix, start, end)
        if at >= 0:
            stop = block.find(b"\n", at, end)
            stop = end if stop < 0 else stop
            return numbers.at(at), bytes(block[max(at, stop - LONGEST_SAMPLE) : stop])
        tail = self._tail
        at = _last_place(tail, prefix, 0, len(tail))
        if at < 0:
            return None
        stop = tail.find(b"\n", at)
        return numbers.at(start) - tail.count(b"\n", at), tail[at : len(tail) if stop < 0 else stop][-LONGEST_SAMPLE:]

    def _end(self, behind: int) -> Iterator[Sample]:
        """The last lines whole, and an even choice of those before them."""
        tail = self._tail
        start = 0 if self._offset <= len(tail) else tail.find(b"\n") + 1
        lines = tail[start:].split(b"\n")
        number = behind - len(lines) + 1
        found = [(number + i, line[-LONGEST_SAMPLE:]) for i, line in enumerate(lines) if line]
        whole = self.most_at_end // 2
        if len(found) > self.most_at_end:
            early = found[:-whole]
            step = -(-len(early) // (self.most_at_end - whole))
            found = early[::step] + found[-whole:]
        yield from found


def _plain(samples: Iterable[Sample]) -> list[list[Any]]:
    return [[number, line.decode("latin-1")] for number, line in samples]


def _samples(plain: list[list[Any]]) -> list[Sample]:
    return [(number, text.encode("latin-1")) for number, text in plain]


def _is_progress(line: bytes) -> bool:
    return b"step" in line or b"iter" in line or b"loss" in line or b"poch" in line or b"it/s" in line or b"s/it" in line


def _last_place(text: bytes | bytearray, prefix: bytes, start: int, end: int) -> int:
    """Where the last line of `text[start:end]` begins that has the prefix and looks like progress; -1 where none was found."""
    stop = end
    for _ in range(_MOST_TRIES):
        if prefix:
            found = text.rfind(b"\n" + prefix, start, stop)
            at = found + 1 if found >= 0 else start if text.startswith(prefix, start, end) else -1
        else:
            found = max(text.rfind(word, start, stop) for word in _PROGRESS_WORDS)
            at = -1 if found < 0 else max(text.rfind(b"\n", start, found) + 1, start)
        if at < 0:
            return -1
        line_end = text.find(b"\n", at, end)
        line = bytes(text[at : end if line_end < 0 else line_end])
        m = _SPEAKER.match(line)
        if (m[0] if m else b"") == prefix and _is_progress(line):
            return at
        if at <= start:
            return -1
        stop = at
    return -1
