"""Cleans a raw line: terminal codes, carriage returns and prefixes come off, with a map back to raw columns.

Only here and in `origin` is a raw line changed. Knows no block structure and no failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..model import Line
from .clock import is_yearless, with_date, with_year
from .json_line import message_in
from .origin import read_origin

LONGEST_LINE = 64_000
# ESC[36m, ESC]633;C BEL, and their textual remains in cloud logs: #033[1;36m
_CODES = re.compile(r"(?:\x1b|#033|\\x1b|\\u001b)\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_=>]")
#  45%|####5     | 45/100 [01:12<01:28,  1.61s/it, loss=0.234][rank0]: … · Epoch 10: 240it [05:55,  1.47s/it][rank0]:[E…
_BEHIND_A_BAR = re.compile(r"(?!\[rank)[^\r]{0,400}?(?:it/s|s/it|%\|)[^\r\[\]]{0,120}\]? ?(?=\[rank\d{1,6}\]: ?)")
# … NCCL version 2.21.5[rank3]: ValueError: … — two ranks wrote at once, and a newline came late.
_GLUED = re.compile(r"(?<=[\w.)'\"])(?=\[rank\d{1,6}\]: ?(?:\[[EWIF]\d|Traceback \(|(?:\w{1,40}\.){0,6}\w{1,40}(?:Error|Exception)\b))")
# [1,0]<stderr>:[2026-…[1,0]<stderr>:: W x] — mpirun signs every piece that a process wrote, not every line.
_SIGNED = re.compile(r"\[(?:\d{1,6},)?\d{1,6}\]<std(?:out|err)>:")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f]")


def clean_line(raw: str) -> str:
    """The text of a raw line without codes and prefixes."""
    return make_line(raw, 0, 1).text


def make_line(raw: str, file: int, number: int, first_column: int = 0, whole: str | None = None) -> Line:
    """The cleaned line; `raw` may be the part of `whole` that begins at `first_column` (behind a carriage return)."""
    wrapped = message_in(raw[:LONGEST_LINE])
    text, columns = _without_codes(wrapped[0] if wrapped else raw[:LONGEST_LINE])
    at, origin, time = read_origin(text)
    end = len(text.rstrip("\r\n "))
    if wrapped:
        columns = [wrapped[1][c] for c in columns]
        time = time if time and not time[1] else wrapped[2] or time
    kept: tuple[int, ...] | range
    if isinstance(columns, range):
        kept = range(first_column + at, first_column + max(at, end))
    else:
        kept = tuple(first_column + c for c in columns[at:end])
    return Line(
        file, number, whole if whole is not None else raw.rstrip("\r"), text[at:end], kept, origin,
        time[0] if time else None, bool(time and time[1]),
    )  # fmt: skip


def complete_times(lines: Sequence[Line]) -> list[Line]:
    """The lines with times without a year or a date completed from the nearest line before (else the first) that has both."""
    whole = (x.time_s for x in lines if x.time_s is not None and not x.time_of_day and not is_yearless(x.time_s, False))
    first = next(whole, None)
    if first is None:
        return list(lines)
    anchor: float = first
    out: list[Line] = []
    for line in lines:
        time_s = line.time_s
        if time_s is not None:
            if line.time_of_day:
                line = replace(line, time_s=with_date(time_s, anchor), time_of_day=False)
            elif is_yearless(time_s, False):
                line = replace(line, time_s=with_year(time_s, anchor))
            else:
                anchor = time_s
        out.append(line)
    return out


def segments(raw: str) -> Iterator[tuple[int, str]]:
    """The parts of a raw line that a terminal showed one after the other, each with its first column.

    Carriage returns part them, and a rank that speaks behind another's progress bar.
    """
    raw = raw.rstrip("\r")
    if message_in(raw[:LONGEST_LINE]):
        yield 0, raw
        return
    if "\r" not in raw:
        yield from _behind_bars(raw, 0)
        return
    at = 0
    for part in raw.split("\r"):
        if part:
            yield from _behind_bars(part, at)
        at += len(part) + 1


def _behind_bars(part: str, at: int) -> Iterator[tuple[int, str]]:
    end = 0
    if "[rank" in part:
        if m := _BEHIND_A_BAR.match(part[:LONGEST_LINE]):
            yield at, part[: m.end()]
            end = m.end()
        while m := _GLUED.search(part[:LONGEST_LINE], end + 1):
            yield at + end, part[end : m.start()]
            end = m.start()
    yield at + end, part[end:]


def _without_codes(raw: str) -> tuple[str, list[int] | range]:
    again = _signed_again(raw) if raw.count("]<std", 0, LONGEST_LINE) > 1 else []
    coded = again or "\x1b" in raw or "#033" in raw or "\\x1b" in raw or "\\u001b" in raw
    if not coded and (raw.isprintable() or not _CONTROL.search(raw)):
        return raw, range(len(raw))
    kept: list[str] = []
    columns: list[int] = []
    at = 0
    for start, end in sorted([*(m.span() for m in _CODES.finditer(raw)), *again]):
        if start >= at:
            _keep(raw, at, start, kept, columns)
            at = end
    _keep(raw, at, len(raw), kept, columns)
    return "".join(kept), columns


def _signed_again(raw: str) -> list[tuple[int, int]]:
    """Where the signature that a line begins with, whoever else labels it, stands in it once more."""
    first = _SIGNED.search(raw)
    return [m.span() for m in _SIGNED.finditer(raw, first.end()) if m[0] == first[0]] if first else []


def _keep(raw: str, start: int, end: int, kept: list[str], columns: list[int]) -> None:
    for i in range(start, end):
        if not _CONTROL.match(raw[i]):
            kept.append(raw[i])
            columns.append(i)
