"""Remembers what was diagnosed last, so that a view of it needs no second reading. Knows neither files nor protocol."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from .analysis import Analysis

MOST_KEPT = 32


class Recall:
    """The last analysis of each key; the one that nobody asked for longest is dropped first."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[str, Analysis] = OrderedDict()
        self.newest: Analysis | None = None
        """What was diagnosed last, whatever it was."""

    def keep(self, key: str, analysis: Analysis) -> None:
        """Remember an analysis in place of the last one of its key."""
        self.newest = analysis
        self._kept[key] = analysis
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def find(self, key: str) -> Analysis | None:
        """The last analysis of a key; None when there is none or it was dropped."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found


def key_of_text(text: str, title: str) -> str:
    """The key of a text without an address. The digest stands for it, so that remembering it does not keep it."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"text:{title}:{digest}"
