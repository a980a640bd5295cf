"""Says quickly who printed each of many lines. Knows no prefix itself: the prefix families of the reader do.

Reading a prefix from scratch tries every family. Lines of a log repeat a few shapes, so the families that fitted a shape are
tried first the next time; the answer is that of the reader.
"""

from __future__ import annotations

import re

from ..read.lines import make_line
from ..read.origin import families, read_origin

MOST_SHAPES = 20_000
# How much of a line its shape is made of; longer prefixes are read from scratch.
SHAPE_LENGTH = 200
_DIGITS = str.maketrans("123456789", "000000000")
_CODED = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f]|#033|\\x1b|\\u001b")

Spoken = tuple["int | None", "int | None", int, str]
"""(rank, local rank, length of the prefix in the raw line, text behind it)."""


class Speakers:
    """Reads who printed a line. One object a pass; not for several threads."""

    def __init__(self) -> None:
        self._plans: dict[str, tuple[re.Pattern[str], ...] | None] = {}

    def read(self, raw: str) -> Spoken:
        """Who printed a raw line."""
        if _CODED.search(raw):
            return self._from_scratch(raw)
        shape = raw[:SHAPE_LENGTH].translate(_DIGITS)
        plan = self._plans.get(shape)
        if plan is None:
            if shape in self._plans:
                return self._from_scratch(raw)
            spoken = self._from_scratch(raw)
            if spoken[2] < SHAPE_LENGTH and len(self._plans) < MOST_SHAPES:
                self._plans[shape] = _plan(raw, spoken[2])
            return spoken
        rank = task = local = None
        at = 0
        for pattern in plan:
            match = pattern.match(raw, at)
            if match is None or match.end() == at:
                return self._from_scratch(raw)
            groups = match.groupdict()
            if rank is None and groups.get("rank"):
                rank = int(groups["rank"])
            if task is None and groups.get("task"):
                task = int(groups["task"])
            if local is None and groups.get("local_rank"):
                local = int(groups["local_rank"])
            at = match.end()
        return (rank if rank is not None else task), local, at, raw[at:].rstrip()

    def _from_scratch(self, raw: str) -> Spoken:
        line = make_line(raw, 0, 1)
        origin = line.origin
        at = line.columns[0] if len(line.columns) else len(raw)
        return (origin.rank if origin.rank is not None else origin.task), origin.local_rank, at, line.text


def _plan(raw: str, end: int) -> tuple[re.Pattern[str], ...] | None:
    """The families that made up the prefix `raw[:end]`; None where they cannot be told apart from outside."""
    plan: list[re.Pattern[str]] = []
    at = 0
    while at < end:
        for _, pattern in families():
            match = pattern.match(raw, at)
            # The reader takes the first family that fits, apart from exceptions of its own; what it left behind tells which it took.
            if match is not None and match.end() > at and read_origin(raw[match.end() :])[0] == end - match.end():
                plan.append(pattern)
                at = match.end()
                break
        else:
            return None
    return tuple(plan)
