"""Notes where the first lines of an input come again, digits aside: jobs that append to one file begin alike.

Knows bytes and line ends; whether a new job began there is not its to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .sample import LineNumbers
from .scan import Literals

MOST_LINES = 16
MOST_PLACES = 512
_MOST_SEEN = 8 * MOST_PLACES
_LONGEST_LINE = 400
_SHORTEST_TEXT = 10
_FEWEST_LETTERS = 6
_DIGITS = b"0123456789"
_LETTERS = re.compile(rb"[A-Za-z]")
_TEXT = re.compile(rb"[^0-9]+")
_BLANKS = re.compile(rb"\s+")
# Steps, tracebacks, warnings, and what every rank prints recur within one job.
_RECURS = re.compile(
    rb"(?i)traceback|^\s|file \"|warn|step|iter|epoch|loss|%\||error|exit|frame #|rank|nccl|^\d+: |\[\d+,\d+\]<|xid|^[^\s:]+:\d+:\d+ \["
)
# An input that begins with one of these is the rest of something: its first lines open no job.
_AMID = re.compile(rb"(?i)^\s*(?:\^+|file \"|traceback|frame #|raise |return )|error\b|exception\b")


@dataclass(slots=True)
class _Opening:
    key: bytes
    probe: bytes
    places: list[int] = field(default_factory=list)
    seen: int = 0


class Openings:
    """Takes blocks in order with `add`; `places()` gives for each first line that recurs the numbers of all lines like it."""

    def __init__(self) -> None:
        self._openings: list[_Opening] | None = None
        self._literals: Literals | None = None

    def add(self, block: bytearray, end: int, numbers: LineNumbers, column: int) -> None:
        """Take `block[:end]`; `column` is not 0 where it begins within a line."""
        if self._openings is None:
            self._openings = _first_lines(bytes(block[: min(end, MOST_LINES * _LONGEST_LINE * 4)]))
        if not self._openings:
            return
        if self._literals is None:
            self._literals = Literals(tuple(o.probe for o in self._openings))
        ends: list[list[int]] = [[] for _ in self._openings]
        for behind, index in self._literals.hits(block, end):
            ends[index].append(behind)
        for opening, found in zip(self._openings, ends, strict=True):
            _note(opening, found, block, end, numbers, column)
        kept = [o for o in self._openings if len(o.places) <= MOST_PLACES and o.seen <= _MOST_SEEN]
        if len(kept) < len(self._openings):
            self._openings, self._literals = kept, None

    def places(self) -> list[list[int]]:
        """The line numbers, for each recurring first line in the order in which they stand."""
        return [o.places.copy() for o in self._openings or () if len(o.places) > 1]

    def state(self) -> list[list[Any]] | None:
        """What was noted as values of JSON; `restore` takes it."""
        if self._openings is None:
            return None
        return [[o.key.decode("latin-1"), o.probe.decode("latin-1"), o.places, o.seen] for o in self._openings]

    def restore(self, state: list[list[Any]] | None) -> None:
        """Take over what `state` gave."""
        if state is not None:
            self._openings = [_Opening(key.encode("latin-1"), probe.encode("latin-1"), places, seen) for key, probe, places, seen in state]

    def copy(self) -> Openings:
        """An independent copy."""
        new = Openings()
        if self._openings is not None:
            new._openings = [_Opening(o.key, o.probe, o.places.copy(), o.seen) for o in self._openings]
            new._literals = self._literals
        return new


def _first_lines(head: bytes) -> list[_Opening]:
    found: dict[bytes, _Opening] = {}
    if any(_AMID.search(line) for line in head.split(b"\n")[:2]):
        return []
    for line in head.split(b"\n")[:MOST_LINES]:
        key = _key(line)
        if len(line) > _LONGEST_LINE or len(_LETTERS.findall(key)) < _FEWEST_LETTERS or _RECURS.search(line):
            continue
        probe = max(_TEXT.findall(line.rstrip()), key=len, default=b"")
        if len(probe) >= _SHORTEST_TEXT and _LETTERS.search(probe):
            found.setdefault(key, _Opening(key, probe))
    return list(found.values())


def _note(opening: _Opening, ends: list[int], block: bytearray, end: int, numbers: LineNumbers, column: int) -> None:
    """Note the lines around the places where the probe ends that are like the opening line."""
    opening.seen += len(ends)
    stop = -1
    for behind in ends:
        if behind <= stop or len(opening.places) > MOST_PLACES:
            continue
        start = block.rfind(b"\n", 0, behind - len(opening.probe)) + 1
        stop = block.find(b"\n", behind, end)
        stop = end if stop < 0 else stop
        if stop - start <= _LONGEST_LINE and (start or not column) and _key(bytes(block[start:stop])) == opening.key:
            opening.places.append(numbers.at(start))


def _key(line: bytes) -> bytes:
    return _BLANKS.sub(b" ", line.strip().translate(None, _DIGITS))
