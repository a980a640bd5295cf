"""The compact form in which the reading of one input travels between processes: plain values, each origin and string once.

Knows the fields of a line and a finding, and not who sends or receives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from ..correlate.reading import FileReading
from ..model import Finding, Line, Origin, Role

Packed = dict[str, Any]
_OWN = ("index", "lines", "needles", "samples", "findings")


def pack(reading: FileReading) -> Packed:
    """The plain values of a reading."""
    origins: dict[Origin, int] = {}
    needles: dict[tuple[str, ...], int] = {}
    place = {id(line): i for i, line in enumerate(reading.lines)}
    return {
        "rest": {f.name: getattr(reading, f.name) for f in dataclasses.fields(reading) if f.name not in _OWN},
        "lines": [_pack_line(line, origins) for line in reading.lines],
        "samples": [_pack_line(line, origins) for line in reading.samples],
        "needles": [needles.setdefault(names, len(needles)) for names in reading.needles],
        "findings": [
            (f.failure, f.role.value, place[id(f.line)], f.start, f.end, dict(f.captures), f.strength) for f in reading.findings
        ],
        "origins": [dataclasses.astuple(o) for o in origins],
        "names": list(needles),
    }  # fmt: skip


def unpack(packed: Packed, index: int) -> FileReading:
    """The reading, as input number `index`."""
    origins = [Origin(*values) for values in packed["origins"]]
    lines = list(_unpack_lines(packed["lines"], origins, index))
    names = packed["names"]
    return FileReading(
        index=index,
        lines=lines,
        needles=[names[i] for i in packed["needles"]],
        samples=list(_unpack_lines(packed["samples"], origins, index)),
        findings=[
            Finding(failure, Role(role), lines[i], start, end, captures, strength)
            for failure, role, i, start, end, captures, strength in packed["findings"]
        ],
        **packed["rest"],
    )


def _pack_line(line: Line, origins: dict[Origin, int]) -> tuple[Any, ...]:
    """A line; its text is most often a part of the raw line, and then told by its columns alone."""
    origin = origins.setdefault(line.origin, len(origins))
    columns = line.columns
    if not isinstance(columns, range):
        return line.number, line.raw, line.text, columns, None, origin, line.time_s, line.time_of_day
    text = None if line.raw[columns.start : columns.stop] == line.text else line.text
    return line.number, line.raw, text, columns.start, columns.stop, origin, line.time_s, line.time_of_day


def _unpack_lines(packed: Sequence[tuple[Any, ...]], origins: list[Origin], index: int) -> Iterator[Line]:
    for number, raw, text, first, behind, origin, time_s, time_of_day in packed:
        if text is None:
            text = raw[first:behind]
        yield Line(index, number, raw, text, first if behind is None else range(first, behind), origins[origin], time_s, time_of_day)
