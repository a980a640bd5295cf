"""Keeps candidate lines within fixed bounds: what repeats is counted, and what is too much is thinned from the middle.

Knows lines as bytes and who seems to have printed them; knows no failure. The same lines in the same order are kept the same way.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

KEPT_ALIKE = 48
MOST_SPEAKERS = 4096
_KEY_BYTES = 400
_SPEAKER_BYTES = 240
_DIGITS = b"0123456789"
_HEX = re.compile(rb"0x[0-9a-f]+")
# [rank7]: · [default3]: · 12: · node3:101:205 [2] NCCL · [1,12]<stderr> · (Worker pid=31)
_SPEAKER = re.compile(
    rb"(?i:rank)[ :=_]{0,2}\d+|\[[a-zA-Z_]+\d+\]:|^ {0,5}\d{1,5}: |[\w.-]+:\d+:\d+ \[\d+\]|\[\d+,\d+\]<|\bpid[ =:]{1,2}\d+"
)


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line as it stands in the input, without its end; `needles` are those the scan saw in it.

    Of a very long line only excerpts are kept: `column` is how many characters of the line stand before `raw`.
    """

    number: int
    raw: bytes
    needles: tuple[int, ...]
    column: int = 0


class _Alike:
    """Lines that differ only in digits: the first and the last ones, and the first and the last of everybody who printed them."""

    __slots__ = ("first", "last", "by_speaker")

    def __init__(self) -> None:
        self.first: list[RawLine] = []
        self.last: deque[RawLine] = deque()
        self.by_speaker: dict[bytes, list[RawLine]] = {}

    def lines(self) -> Iterator[RawLine]:
        yield from self.first
        for own in self.by_speaker.values():
            yield from own
        yield from self.last

    def copy(self) -> _Alike:
        new = _Alike()
        new.first = self.first.copy()
        new.last = self.last.copy()
        new.by_speaker = {speaker: own.copy() for speaker, own in self.by_speaker.items()}
        return new


class KeptLines:
    """Takes candidate lines in order with `add`; never holds more than `most_lines` lines and about `most_bytes` bytes.

    `repeated` counts lines that repeat kept ones, `dropped` lines that were too many. Lines with the same needles are one kind:
    where the bound is reached the largest kind loses its middle, so that a flood of one kind does not cost another kind's line.
    """

    def __init__(self, most_lines: int, most_bytes: int) -> None:
        self._most_lines = most_lines
        self._most_bytes = most_bytes
        self._kinds: dict[tuple[int, ...], dict[bytes, _Alike]] = {}
        self._lines = 0
        self._bytes = 0
        self.repeated = 0
        self.dropped = 0

    def add(self, line: RawLine) -> None:
        """Take the next line."""
        raw = line.raw
        key = raw[:_KEY_BYTES].translate(None, _DIGITS)
        if b"0x" in raw:
            key = _HEX.sub(b"", raw[:_KEY_BYTES]).translate(None, _DIGITS)
        groups = self._kinds.get(line.needles)
        if groups is None:
            groups = self._kinds[line.needles] = {}
        alike = groups.get(key)
        if alike is None:
            alike = groups[key] = _Alike()
        self._lines += 1
        self._bytes += len(raw)
        if len(alike.first) < KEPT_ALIKE:
            alike.first.append(line)
        else:
            alike.last.append(line)
            if len(alike.last) > KEPT_ALIKE:
                self._retire(alike, alike.last.popleft())
        if self._lines > self._most_lines or self._bytes > self._most_bytes:
            self._thin()

    def lines(self) -> list[RawLine]:
        """What is kept, in order."""
        return sorted(self._all(), key=lambda line: (line.number, line.column))

    def copy(self) -> KeptLines:
        """An independent copy."""
        new = KeptLines(self._most_lines, self._most_bytes)
        new._kinds = {needles: {key: alike.copy() for key, alike in groups.items()} for needles, groups in self._kinds.items()}
        new._lines, new._bytes, new.repeated, new.dropped = self._lines, self._bytes, self.repeated, self.dropped
        return new

    def state(self) -> dict[str, Any]:
        """Everything that is kept as values of JSON; `restore` takes it."""
        kinds = []
        for needles, groups in self._kinds.items():
            alike = [
                [_text(key), _plain(a.first), _plain(a.last), [[_text(s), _plain(own)] for s, own in a.by_speaker.items()]]
                for key, a in groups.items()
            ]  # fmt: skip
            kinds.append([list(needles), alike])
        return {"kinds": kinds, "repeated": self.repeated, "dropped": self.dropped}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        for names, groups in state["kinds"]:
            needles = tuple(names)
            kind = self._kinds[needles] = {}
            for key, first, last, speakers in groups:
                alike = kind[_raw(key)] = _Alike()
                alike.first, alike.last = _lines(first, needles), deque(_lines(last, needles))
                alike.by_speaker = {_raw(speaker): _lines(own, needles) for speaker, own in speakers}
        self.repeated, self.dropped = state["repeated"], state["dropped"]
        self._count()

    def _count(self) -> None:
        self._lines = self._bytes = 0
        for x in self._all():
            self._lines += 1
            self._bytes += len(x.raw)

    def _all(self) -> Iterable[RawLine]:
        return (line for groups in self._kinds.values() for alike in groups.values() for line in alike.lines())

    def _retire(self, alike: _Alike, line: RawLine) -> None:
        """A line is neither among the first nor the last any more: it stays if it is the first or the last of its speaker."""
        said = _SPEAKER.search(line.raw[:_SPEAKER_BYTES])
        if said is not None:
            own = alike.by_speaker.get(said[0])
            if own is None:
                if len(alike.by_speaker) < MOST_SPEAKERS:
                    alike.by_speaker[said[0]] = [line]
                    return
            elif len(own) < 2:
                own.append(line)
                return
            else:
                line, own[1] = own[1], line
        self._lines -= 1
        self._bytes -= len(line.raw)
        self.repeated += 1

    def _thin(self) -> None:
        """Drop the middle of the largest kind; where all kinds are small, the middle of everything."""
        by_bytes = self._bytes > self._most_bytes
        kept = {needles: sorted((x for a in groups.values() for x in a.lines()), key=_place) for needles, groups in self._kinds.items()}
        sizes = {needles: sum(len(x.raw) for x in lines) if by_bytes else len(lines) for needles, lines in kept.items()}
        largest = max(sizes, key=lambda needles: (sizes[needles], needles))
        victims = kept[largest] if len(kept[largest]) >= 64 else sorted(self._all(), key=_place)
        gone = {id(x) for x in _middle(victims, by_bytes)}
        for needles in list(self._kinds):
            groups = self._kinds[needles]
            for key in list(groups):
                alike = groups[key]
                if not any(id(x) in gone for x in alike.lines()):
                    continue
                alike.first = [x for x in alike.first if id(x) not in gone]
                alike.last = deque(x for x in alike.last if id(x) not in gone)
                own = {speaker: [x for x in lines if id(x) not in gone] for speaker, lines in alike.by_speaker.items()}
                alike.by_speaker = {speaker: lines for speaker, lines in own.items() if lines}
                if not alike.first and not alike.last and not alike.by_speaker:
                    del groups[key]
            if not groups:
                del self._kinds[needles]
        self._count()
        self.dropped += len(gone)


def _text(raw: bytes) -> str:
    """Bytes as text of JSON, each as the character of its number."""
    return raw.decode("latin-1")


def _raw(text: str) -> bytes:
    return text.encode("latin-1")


def _plain(lines: Iterable[RawLine]) -> list[list[Any]]:
    return [[line.number, _text(line.raw), line.column] for line in lines]


def _lines(plain: list[list[Any]], needles: tuple[int, ...]) -> list[RawLine]:
    return [RawLine(number, _raw(text), needles, column) for number, text, column in plain]


def _place(line: RawLine) -> tuple[int, int]:
    return line.number, line.column


def _middle(lines: list[RawLine], by_bytes: bool) -> list[RawLine]:
    """The lines between the first and the last quarter, measured in bytes or in lines; at least one."""
    weights = [len(x.raw) + 1 if by_bytes else 1 for x in lines]
    quarter = sum(weights) // 4
    first = before = 0
    while first < len(lines) - 1 and before + weights[first] <= quarter:
        before += weights[first]
        first += 1
    last, behind = len(lines), 0
    while last > first + 1 and behind + weights[last - 1] <= quarter:
        last -= 1
        behind += weights[last]
    return lines[first:last]
