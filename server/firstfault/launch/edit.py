"""The edit as data: replacements by offset, text edits by line and column, applying and inverting them. Knows no file format."""

from __future__ import annotations

import bisect
import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from firstfault.errors import FirstFaultError


class EditRefused(FirstFaultError):
    """A launch file is left alone: it does not parse, cannot carry the setting, or the edit would be a guess."""


class SettingLike(Protocol):
    """What an edit needs to know of a setting: `kind` (env, timeout or flag), `name` and `value`. `firstfault.model.Setting` fits."""

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def value(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """A setting of this package's own, for callers without a page: the same three fields as `SettingLike`."""

    kind: str
    name: str
    value: str


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """Replace a span of a text. Lines and columns are 0-based, columns count Unicode code points, the end is exclusive.

    Lines end at \\n, \\r\\n or \\r, as in VS Code; other Unicode line separators do not end a line.
    """

    start_line: int
    start_col: int
    end_line: int
    end_col: int
    new_text: str


@dataclass(frozen=True, slots=True, order=True)
class Replacement:
    """Replace `text[start:end]` by `new`; offsets count code points."""

    start: int
    end: int
    new: str


# A line ends in "\n", "\r\n" or a lone "\r".
_LINE_END = re.compile(r"\r\n|\n|\r")


class Lines:
    """The line index of one text: offsets to positions and back, the line end in use, the spans of lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(m.end() for m in _LINE_END.finditer(text))]
        first = _LINE_END.search(text)
        self.end = first.group() if first else "\n"

    def position(self, offset: int) -> tuple[int, int]:
        """The 0-based (line, column) of an offset."""
        line = bisect.bisect_right(self.starts, offset) - 1
        return line, offset - self.starts[line]

    def offset(self, line: int, col: int) -> int:
        """The offset of a 0-based (line, column)."""
        return self.starts[line] + col

    def line_of(self, offset: int) -> int:
        """The 0-based line that holds an offset."""
        return bisect.bisect_right(self.starts, offset) - 1

    def start_of_line(self, offset: int) -> int:
        """Where the line that holds an offset begins."""
        return self.starts[self.line_of(offset)]

    def next_line(self, offset: int) -> int:
        """Where the line behind the one that holds an offset begins, or the end of the text."""
        line = self.line_of(offset) + 1
        return self.starts[line] if line < len(self.starts) else len(self.text)

    def content(self, line: int) -> str:
        """One line without its end."""
        stop = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[line] : stop].rstrip("\r\n")

    def indent_at(self, offset: int) -> str:
        """The blanks at the beginning of the line that holds an offset."""
        content = self.content(self.line_of(offset))
        return content[: len(content) - len(content.lstrip(" \t"))]

    def insert_line_before(self, offset: int, content: str) -> Replacement:
        """Insert whole lines before the line that holds an offset. `content` uses \\n; the text's own line end is put in."""
        at = self.start_of_line(offset)
        return Replacement(at, at, self._own_ends(content) + self.end)

    def insert_line_after(self, offset: int, content: str) -> Replacement:
        """Insert whole lines behind the line that holds an offset, also where that last line has no end."""
        at = self.next_line(offset)
        if at == len(self.text) and not self.text.endswith(("\n", "\r")) and self.text:
            return Replacement(at, at, self.end + self._own_ends(content))
        return Replacement(at, at, self._own_ends(content) + self.end)

    def whole_lines(self, start: int, end: int) -> Replacement:
        """Delete every line that `text[start:end]` touches."""
        first, last = self.start_of_line(start), self.next_line(max(start, end - 1))
        if last == len(self.text) and not self.text.endswith(("\n", "\r")) and first > 0:
            # The last line has no end: take the end of the line before instead.
            before = self.text[:first]
            first -= 2 if before.endswith("\r\n") else 1
        return Replacement(first, last, "")

    def section(self, start: int, end: int) -> Replacement:
        """Delete whole lines, and one blank line behind them where there is one before them too."""
        cut = self.whole_lines(start, end)
        line = self.line_of(cut.start)
        above = line == 0 or not self.content(line - 1).strip()
        after = self.line_of(cut.end) if cut.end < len(self.text) else None
        if above and after is not None and not self.content(after).strip():
            return Replacement(cut.start, self.next_line(cut.end), "")
        return cut

    def _own_ends(self, content: str) -> str:
        return content if self.end == "\n" else content.replace("\n", self.end)


def to_text_edits(text: str, replacements: Iterable[Replacement]) -> list[TextEdit]:
    """Replacements as text edits in document order, without those that change nothing; deletions that overlap become one."""
    kept: list[Replacement] = []
    # Insertions at one place keep the order in which they were asked for.
    for r in sorted(dict.fromkeys(replacements), key=lambda r: (r.start, r.end)):
        if text[r.start : r.end] == r.new:
            continue
        if kept and r.start < kept[-1].end:
            if r.new or kept[-1].new:
                raise ValueError(f"overlapping edits at offset {r.start}")
            kept[-1] = Replacement(kept[-1].start, max(kept[-1].end, r.end), "")
            continue
        kept.append(r)
    lines = Lines(text)
    return [TextEdit(*lines.position(r.start), *lines.position(r.end), r.new) for r in kept]


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after the edits; edits must not overlap, and insertions at one place keep their order."""
    lines = Lines(text)
    spans = [(lines.offset(e.start_line, e.start_col), lines.offset(e.end_line, e.end_col), i, e.new_text) for i, e in enumerate(edits)]
    out: list[str] = []
    at = 0
    for start, end, _, new in sorted(spans):
        if start < at:
            raise ValueError(f"overlapping edits at offset {start}")
        out += (text[at:start], new)
        at = end
    out.append(text[at:])
    return "".join(out)


def inverse_edits(text: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    """The edits that turn `apply_edits(text, edits)` back into `text`, byte for byte."""
    lines = Lines(text)
    after = apply_edits(text, edits)
    spans = sorted(
        (lines.offset(e.start_line, e.start_col), lines.offset(e.end_line, e.end_col), i, e.new_text) for i, e in enumerate(edits)
    )
    shift = 0
    back: list[Replacement] = []
    for start, end, _, new in spans:
        back.append(Replacement(start + shift, start + shift + len(new), text[start:end]))
        shift += len(new) - (end - start)
    positions = Lines(after)
    return [TextEdit(*positions.position(r.start), *positions.position(r.end), r.new) for r in back]


def edits_between(before: str, after: str) -> list[TextEdit]:
    """Edits by whole lines that turn one text into the other; for several settings at once."""
    old, new = Lines(before), Lines(after)
    old_lines = [before[a:b] for a, b in zip(old.starts, [*old.starts[1:], len(before)], strict=True)]
    new_lines = [after[a:b] for a, b in zip(new.starts, [*new.starts[1:], len(after)], strict=True)]
    out = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes():
        if tag != "equal":
            start = old.starts[i1] if i1 < len(old.starts) else len(before)
            end = old.starts[i2] if i2 < len(old.starts) else len(before)
            out.append(TextEdit(*old.position(start), *old.position(end), "".join(new_lines[j1:j2])))
    return out
