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
_FEWEST_OF_A_KIND = 64
# So many lines in a row that nobody signed: nobody will.
_MOST_NAMELESS = 256
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


# A line while it is kept: number, column, bytes. Its needles are those of its kind.
_Kept = tuple[int, int, bytes]


class _Alike:
    """Lines that differ only in digits: the first and the last ones, and the first and the last of everybody who printed them."""

    __slots__ = ("first", "last", "by_speaker", "nameless")

    def __init__(self) -> None:
        self.first: list[_Kept] = []
        # Most groups stay small, so what only large ones need is made when they grow.
        self.last: deque[_Kept] | None = None
        self.by_speaker: dict[bytes, list[_Kept]] = {}
        self.nameless = 0

    def lines(self) -> Iterator[_Kept]:
        yield from self.first
        for own in self.by_speaker.values():
            yield from own
        yield from self.last or ()

    def state(self) -> list[Any]:
        speakers = [[_text(speaker), _plain(own)] for speaker, own in self.by_speaker.items()]
        return [_plain(self.first), _plain(self.last or ()), speakers, self.nameless]

    def copy(self) -> _Alike:
        new = _Alike()
        new.first = self.first.copy()
        new.last = self.last.copy() if self.last is not None else None
        new.by_speaker = {speaker: own.copy() for speaker, own in self.by_speaker.items()}
        new.nameless = self.nameless
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

    def add(self, number: int, raw: bytes, needles: tuple[int, ...], column: int) -> None:
        """Take the next line."""
        key = raw[:_KEY_BYTES].translate(None, _DIGITS)
        if b"0x" in raw:
            key = _HEX.sub(b"", raw[:_KEY_BYTES]).translate(None, _DIGITS)
        groups = self._kinds.get(needles)
        if groups is None:
            groups = self._kinds[needles] = {}
        alike = groups.get(key)
        if alike is None:
            alike = groups[key] = _Alike()
        self._lines += 1
        self._bytes += len(raw)
        if len(alike.first) < KEPT_ALIKE:
            alike.first.append((number, column, raw))
        else:
            last = alike.last
            if last is None:
                last = alike.last = deque()
            last.append((number, column, raw))
            if len(last) > KEPT_ALIKE:
                self._retire(alike, last.popleft())
        if self._lines > self._most_lines or self._bytes > self._most_bytes:
            self._thin()

    def lines(self) -> list[RawLine]:
        """What is kept, in order."""
        found = ((line, needles) for needles, groups in self._kinds.items() for alike in groups.values() for line in alike.lines())
        return [RawLine(number, raw, needles, column) for (number, column, raw), needles in sorted(found, key=_place_of_pair)]

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
            kinds.append([list(needles), [[_text(key), *alike.state()] for key, alike in groups.items()]])
        return {"kinds": kinds, "repeated": self.repeated, "dropped": self.dropped}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        for needles, groups in state["kinds"]:
            kind = self._kinds[tuple(needles)] = {}
            for key, first, last, speakers, nameless in groups:
                alike = kind[_raw(key)] = _Alike()
                alike.first, alike.last, alike.nameless = _kept(first), deque(_kept(last)), nameless
                alike.by_speaker = {_raw(speaker): _kept(own) for speaker, own in speakers}
        self.repeated, self.dropped = state["repeated"], state["dropped"]
        self._count()

    def _count(self) -> None:
        self._lines = self._bytes = 0
        for _, _, raw in self._all():
            self._lines += 1
            self._bytes += len(raw)

    def _all(self) -> Iterable[_Kept]:
        return (line for groups in self._kinds.values() for alike in groups.values() for line in alike.lines())

    def _retire(self, alike: _Alike, line: _Kept) -> None:
        """A line is neither among the first nor the last any more: it stays if it is the first or the last of its speaker."""
        if alike.nameless < _MOST_NAMELESS:
            said = _SPEAKER.search(line[2], 0, _SPEAKER_BYTES)
            if said is None:
                alike.nameless += 1
            else:
                alike.nameless = 0
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
        self._bytes -= len(line[2])
        self.repeated += 1

    def _thin(self) -> None:
        """Drop the middle of the largest kind; where all kinds are small, the middle of everything."""
        by_bytes = self._bytes > self._most_bytes
        sizes: dict[tuple[int, ...], tuple[int, int]] = {}
        for needles, groups in self._kinds.items():
            lines = sum(1 for alike in groups.values() for _ in alike.lines())
            size = sum(len(line[2]) for alike in groups.values() for line in alike.lines()) if by_bytes else lines
            sizes[needles] = size, lines
        largest = max(sizes, key=lambda needles: (sizes[needles], needles))
        kinds = [largest] if sizes[largest][1] >= _FEWEST_OF_A_KIND else list(self._kinds)
        victims = sorted(line for needles in kinds for alike in self._kinds[needles].values() for line in alike.lines())
        gone = {id(line) for line in _middle(victims, by_bytes)}
        for needles in kinds:
            groups = self._kinds[needles]
            for key, alike in list(groups.items()):
                alike.first = [line for line in alike.first if id(line) not in gone]
                if alike.last is not None:
                    alike.last = deque(line for line in alike.last if id(line) not in gone)
                if alike.by_speaker:
                    own = {speaker: [line for line in lines if id(line) not in gone] for speaker, lines in alike.by_speaker.items()}
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


def _plain(lines: Iterable[_Kept]) -> list[list[Any]]:
    return [[number, column, _text(raw)] for number, column, raw in lines]


def _kept(plain: list[list[Any]]) -> list[_Kept]:
    return [(number, column, _raw(text)) for number, column, text in plain]


def _place_of_pair(pair: tuple[_Kept, tuple[int, ...]]) -> tuple[int, int]:
    return pair[0][0], pair[0][1]


def _middle(lines: list[_Kept], by_bytes: bool) -> list[_Kept]:
    """The lines between the first and the last quarter, measured in bytes or in lines; at least one."""
    weights = [len(line[2]) + 1 if by_bytes else 1 for line in lines]
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
