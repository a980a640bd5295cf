"""Compiles and runs the regular expressions of pages, always with a timeout. Knows no page.

The `regex` package gives the timeout. On a Python for which no `regex` binary is at hand the standard library runs
the same patterns, on shorter text; pages therefore use only the syntax that both know.
"""

from __future__ import annotations

import re
from typing import Any

_engine: Any = re
try:
    import regex

    _engine = regex
except ImportError:  # a Python newer than the bundled binaries
    pass
HAS_TIMEOUT = _engine is not re

TIMEOUT_S = 0.25
LONGEST_TEXT = 20_000 if HAS_TIMEOUT else 4_000

PatternError = (_engine.error, re.error)


class Pattern:
    """A compiled expression whose searches end: a search that runs out of time counts as no match."""

    __slots__ = ("source", "_compiled")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled: Any = None

    def compile(self) -> Any:
        """The compiled expression; compiled at the first use, since most pages are never needed for one log."""
        if self._compiled is None:
            self._compiled = _engine.compile(self.source)
        return self._compiled

    def search(self, text: str, start: int = 0) -> Any:
        """The first match at or behind `start`, or `None`."""
        compiled = self._compiled or self.compile()
        text = text[:LONGEST_TEXT]
        if not HAS_TIMEOUT:
            return compiled.search(text, start)
        try:
            return compiled.search(text, start, timeout=TIMEOUT_S)
        except TimeoutError:
            return None

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups."""
        return tuple(self.compile().groupindex)
