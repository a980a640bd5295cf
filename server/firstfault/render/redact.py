"""Masks what must not leave the house in a report or a text: the same thing gets the same mask. Knows no format and reads no file.

Rank numbers, line numbers and the words of a failure stay. A name that already looks like a mask (`host-3`) stays as it is,
so that masking twice changes nothing.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from ..model import Evidence, Report
from .sensitive import KINDS, Known, find_spans, learn

_MASK = re.compile(rf"(?<![A-Za-z0-9])({'|'.join(KINDS)})-(\d{{1,6}})(?![A-Za-z0-9])")
# Fields whose values this project defines: ids, verdicts, times.
_OWN_WORDS = {"failure", "verdict", "severity", "role", "kind", "time", "related", "decides", "launcher", "frameworks", "outcome", "name"}
_HOST_FIELDS = {"hosts", "host"}


def redact(report: Report) -> Report:
    """The report with every host, address, user, home folder, e-mail address, key and UUID replaced by `host-1`, `ip-1`, …

    Evidence columns are moved to where their text now stands. The same report always gives the same masks.
    """
    texts = list(_texts(report))
    masks = _Masks([text for _, text in texts], [text for name, text in texts if name in _HOST_FIELDS])
    out = _walk(report, "", masks)
    assert isinstance(out, Report)
    return out


def redact_text(text: str) -> str:
    """A text of any kind, such as Markdown, with the same masks that `redact` uses, numbered by their order in this text."""
    return _Masks([text], []).text(text)


class _Masks:
    """Which mask stands for what, numbered in the order of first use; numbers that the input uses itself are not given away."""

    def __init__(self, texts: list[str], hosts: list[str]) -> None:
        self._known: Known = learn(texts, hosts)
        self._given: dict[tuple[str, str], str] = {}
        self._next = dict.fromkeys(KINDS, 1)
        self._reserved = {(m[1].lower(), int(m[2])) for text in texts for m in _MASK.finditer(text)}
        self._done: dict[str, str] = {}

    def of(self, kind: str, key: str) -> str:
        """The mask of a thing. A thing that looks like a mask is its own."""
        if _MASK.fullmatch(key):
            return key
        if (kind, key) not in self._given:
            while (kind, self._next[kind]) in self._reserved:
                self._next[kind] += 1
            self._given[kind, key] = f"{kind}-{self._next[kind]}"
            self._next[kind] += 1
        return self._given[kind, key]

    def host(self, name: str) -> str:
        """The mask of a text that is a host name or an address as a whole."""
        masked = self.text(name)
        return self.of("host", self._known.host_key(name)) if masked == name and name.lower() != "localhost" else masked

    def text(self, text: str) -> str:
        """The text with everything sensitive masked."""
        if text not in self._done:
            self._done[text] = self._replaced(text)[0]
        return self._done[text]

    def evidence(self, e: Evidence) -> tuple[str, int, int]:
        """The masked text of evidence and where its columns (1-based, end exclusive) went."""
        text, moved = self._replaced(e.text)
        column, end = _moved(e.column - 1, moved, False) + 1, _moved(e.end_column - 1, moved, True) + 1
        return text, column, max(end, column)

    def _replaced(self, text: str) -> tuple[str, list[tuple[int, int, int]]]:
        """The masked text and the replaced pieces as (start, end, length of the mask)."""
        out, at = [], 0
        moved = []
        for span in find_spans(text, self._known):
            mask = self.of(span.kind, span.key)
            out += [text[at : span.start], mask]
            moved.append((span.start, span.end, len(mask)))
            at = span.end
        return "".join([*out, text[at:]]), moved


def _moved(offset: int, moved: list[tuple[int, int, int]], to_end: bool) -> int:
    """Where an offset of the old text stands in the new one; inside a replaced piece it goes to that piece's start or end."""
    shift = 0
    for start, end, length in moved:
        if offset <= start:
            break
        if offset < end:
            return start + shift + (length if to_end else 0)
        shift += length - (end - start)
    return offset + shift


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a report that may be sensitive, with the name of its field, in the order of the fields."""
    if isinstance(value, str):
        if name not in _OWN_WORDS:
            yield name, value
    elif dataclasses.is_dataclass(value):
        for f in dataclasses.fields(value):
            yield from _texts(getattr(value, f.name), f.name)
    elif isinstance(value, tuple):
        for v in value:
            yield from _texts(v, name)


def _walk(value: Any, name: str, masks: _Masks) -> Any:
    if isinstance(value, str):
        if name in _OWN_WORDS or type(value) is not str:
            return value
        return masks.host(value) if name in _HOST_FIELDS else masks.text(value)
    if isinstance(value, tuple):
        return tuple(_walk(v, name, masks) for v in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {f.name: _walk(getattr(value, f.name), f.name, masks) for f in dataclasses.fields(value)}
        if isinstance(value, Evidence):
            changes["text"], changes["column"], changes["end_column"] = masks.evidence(value)
        return dataclasses.replace(value, **changes)
    return value
