"""Converts between lines and columns of a report and positions of an editor. Knows neither documents nor failures.

A report ends lines at ``\\n`` only and counts Unicode characters. An editor also ends a line at a lone ``\\r`` and counts
the units of the position encoding that was agreed on. Both ignore the ``\\r`` of a ``\\r\\n``.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

UTF8 = "utf-8"
UTF16 = "utf-16"
UTF32 = "utf-32"

_LINE_END = re.compile(r"\r\n|\n|\r")
_LONE_CR = re.compile(r"\r(?!\n)")
_LONE_CR_BYTES = re.compile(rb"\r(?!\n)")


def units_of(text: str, encoding: str) -> int:
    """How many units of the position encoding `text` takes."""
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def characters_before(text: str, units: int, encoding: str) -> int:
    """The index of the character that begins at unit `units` of `text`.

    A unit inside a character rounds down, one behind the end gives the length.
    """
    if encoding == UTF32 or text.isascii():
        return max(0, min(units, len(text)))
    if encoding == UTF8:
        encoded = text.encode("utf-8", "surrogatepass")
        end = max(0, min(units, len(encoded)))
        while 0 < end < len(encoded) and encoded[end] & 0xC0 == 0x80:
            end -= 1
        return len(encoded[:end].decode("utf-8", "surrogatepass"))
    wide = text.encode("utf-16-le", "surrogatepass")
    end = 2 * max(0, min(units, len(wide) // 2))
    if 0 < end < len(wide) and 0xD8 <= wide[end - 1] <= 0xDB and 0xDC <= wide[end + 1] <= 0xDF:
        end -= 2
    return len(wide[:end].decode("utf-16-le", "surrogatepass"))


class LineMap:
    """Which editor lines a report line spans, given where lone carriage returns stand.

    Report lines count from 1, editor lines from 0. Only report lines that hold a lone ``\\r`` are stored.
    """

    def __init__(self, broken: Iterable[tuple[int, int]] = ()) -> None:
        """`broken` gives (report line, number of lone carriage returns in it) in line order."""
        self._lines: list[int] = []
        self._extra: list[int] = []
        self._firsts: list[int] = []
        total = 0
        for line, count in broken:
            self._lines.append(line)
            self._firsts.append(line - 1 + total)
            total += count
            self._extra.append(total)

    @classmethod
    def of(cls, text: str | bytes) -> LineMap:
        """The map of a whole text, or of its bytes in an encoding whose line ends are those of ASCII."""
        if isinstance(text, bytes):
            if b"\r" not in text or text.count(b"\r") == text.count(b"\r\n"):
                return cls()
            offsets = [m.start() for m in _LONE_CR_BYTES.finditer(text)]
            return cls(_count_by_line(offsets, [text.count(b"\n", a, b) for a, b in zip([0, *offsets], offsets, strict=False)]))
        if "\r" not in text or text.count("\r") == text.count("\r\n"):
            return cls()
        offsets = [m.start() for m in _LONE_CR.finditer(text)]
        return cls(_count_by_line(offsets, [text.count("\n", a, b) for a, b in zip([0, *offsets], offsets, strict=False)]))

    def editor_line(self, report_line: int) -> int:
        """The editor line where a report line begins."""
        i = bisect_left(self._lines, report_line)
        return report_line - 1 + (self._extra[i - 1] if i else 0)

    def report_line(self, editor_line: int) -> tuple[int, int]:
        """The report line that holds an editor line, and how many lone carriage returns of it stand before."""
        i = bisect_right(self._firsts, editor_line) - 1
        if i < 0:
            return editor_line + 1, 0
        line, first, inside = self._lines[i], self._firsts[i], self._extra[i] - (self._extra[i - 1] if i else 0)
        if editor_line <= first + inside:
            return line, editor_line - first
        return editor_line + 1 - self._extra[i], 0

    @property
    def plain(self) -> bool:
        """Whether no lone carriage return was seen, so that line N of the report is editor line N - 1."""
        return not self._lines


def _count_by_line(offsets: list[int], newlines: list[int]) -> list[tuple[int, int]]:
    """(report line, lone carriage returns in it), from the newlines between one carriage return and the next."""
    found: list[tuple[int, int]] = []
    line = 1
    for _, count in zip(offsets, newlines, strict=True):
        line += count
        if found and found[-1][0] == line:
            found[-1] = (line, found[-1][1] + 1)
        else:
            found.append((line, 1))
    return found


def place(line_map: LineMap, report_line: int, raw: str, column: int, encoding: str) -> tuple[int, int]:
    """The editor position (line, units) of 1-based `column` in a report line whose text is `raw`; a column behind the text is cut."""
    index = max(0, min(column - 1, len(raw)))
    if line_map.plain or "\r" not in raw:
        return line_map.editor_line(report_line), units_of(raw[:index], encoding)
    # A carriage return that ends the raw line belongs to the line end when a newline follows; the map has counted only lone ones.
    start = raw.rfind("\r", 0, index) + 1
    return line_map.editor_line(report_line) + raw.count("\r", 0, index), units_of(raw[start:index], encoding)


class LineIndex:
    """The lines of one version of an open document, as its editor counts them.

    `lone_cr_ends` says whether the editor ends a line at a lone ``\\r``, as the protocol wants and VS Code does.
    Vim and Emacs show it as a character.
    """

    def __init__(self, text: str, *, lone_cr_ends: bool = True) -> None:
        self.text = text
        self.lone_cr_ends = lone_cr_ends
        plain = "\r" not in text
        if plain or not lone_cr_ends or text.count("\r") == text.count("\r\n"):
            # The common case, fast enough for the event loop: 200,000 lines in some tens of milliseconds.
            parts = text.split("\n")
            self._starts = list(itertools.accumulate((len(part) + 1 for part in parts), initial=0))
            self._starts.pop()
            self._ends = [start + len(part) - part.endswith("\r") for start, part in zip(self._starts, parts, strict=True)]
            if parts[-1].endswith("\r"):
                self._ends[-1] += 1
        else:
            ends = [(match.start(), match.end()) for match in _LINE_END.finditer(text)]
            self._starts = [0, *(end for _, end in ends)]
            self._ends = [*(start for start, _ in ends), len(text)]
        self.map = LineMap.of(text) if lone_cr_ends and not plain else LineMap()

    @property
    def count(self) -> int:
        """How many editor lines there are; a text that ends with a line end has an empty last one."""
        return len(self._starts)

    def line(self, number: int) -> str:
        """The text of 0-based editor line `number` without its end; empty behind the last line."""
        if not 0 <= number < len(self._starts):
            return ""
        return self.text[self._starts[number] : self._ends[number]]

    def offset(self, line: int, units: int, encoding: str) -> int:
        """The character offset of an editor position; positions behind a line or the document are cut to its end."""
        if line >= len(self._starts):
            return len(self.text)
        if line < 0:
            return 0
        return self._starts[line] + characters_before(self.line(line), units, encoding)

    def position(self, offset: int, encoding: str) -> tuple[int, int]:
        """The editor position (line, units) of a character offset; an offset inside a line end gives the end of the line."""
        line = bisect_right(self._starts, max(0, min(offset, len(self.text)))) - 1
        end = min(offset, self._ends[line])
        return line, units_of(self.text[self._starts[line] : end], encoding)

    def raw(self, report_line: int) -> str | None:
        """The text of a 1-based report line without its end, lone carriage returns included; None when there is no such line."""
        first = self.map.editor_line(report_line)
        if not 0 <= first < len(self._starts):
            return None
        if self.map.plain:
            return self.text[self._starts[first] : self._ends[first]]
        last = min(self.map.editor_line(report_line + 1) - 1, len(self._starts) - 1)
        return self.text[self._starts[first] : self._ends[last]]
