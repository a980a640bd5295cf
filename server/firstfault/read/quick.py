"""Expressions that look for a literal word before they are tried, which on most lines is ten times as fast. Knows no line.

Which words every match must hold is read off the expression itself, so there is nothing to keep in step with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_constants: Any
_parser: Any
try:
    from re import _constants, _parser  # type: ignore[attr-defined, no-redef]
except ImportError:
    try:  # Python 3.10
        import sre_constants as _constants
        import sre_parse as _parser
    except ImportError:  # another Python: expressions are tried without looking for a word
        _constants = _parser = None

_SHORTEST_WORD = 3
_MOST_WORDS = 24


class Quick:
    """An expression; `search` gives what the compiled expression's own would. Compiled when a line first holds one of its words."""

    __slots__ = ("expression", "_words", "_low", "_compiled")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self._words: tuple[str, ...] | None = None
        self._low = False
        self._compiled: re.Pattern[str] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Every match holds one of these words; none where the expression has none that tell enough."""
        if self._words is None:
            self._words, self._low = _needed(self.expression)
        return self._words

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression."""
        if self._compiled is None:
            self._compiled = re.compile(self.expression)
        return self._compiled

    def search(self, text: str) -> re.Match[str] | None:
        """The first match, or `None`."""
        words = self._words
        if words is None:
            words = self.words
        if words:
            where = text.lower() if self._low else text
            for word in words:
                if word in where:
                    break
            else:
                return None
        return (self._compiled or self.pattern).search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All matches."""
        if self.search(text) is not None:
            yield from self.pattern.finditer(text)


def quick(expression: str) -> Quick:
    """An expression for many lines of which few match."""
    return Quick(expression)


def _needed(expression: str) -> tuple[tuple[str, ...], bool]:
    """(words of which every match holds one, whether in any case)."""
    try:
        tree = _parser.parse(expression)
        folded = bool(tree.state.flags & re.IGNORECASE) or "(?i" in expression
        words = _words(tree)
    except (AttributeError, TypeError, ValueError, RecursionError):  # the parser of another Python
        return (), False
    if words is None or len(words) > _MOST_WORDS:
        return (), False
    return tuple(sorted({w.lower() for w in words} if folded else words)), folded


def _words(tree: Any) -> set[str] | None:
    """The words of the most telling part of a sequence: of each alternative one."""
    best: set[str] | None = None
    run = ""
    for operation, given in [*tree, (None, None)]:
        if operation is _constants.LITERAL:
            run += chr(given)
            continue
        for words in ({run} if len(run) >= _SHORTEST_WORD else None, _words_of(operation, given)):
            if words and (best is None or _telling(words) > _telling(best)):
                best = words
        run = ""
    return best


def _words_of(operation: Any, given: Any) -> set[str] | None:
    if operation is _constants.SUBPATTERN:
        return _words(given[-1])
    if operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and given[0] >= 1:
        return _words(given[2])
    if operation is _constants.BRANCH:
        out: set[str] = set()
        for alternative in given[1]:
            words = _words(alternative)
            if not words:
                return None
            out |= words
        return out
    return None


def _telling(words: set[str]) -> tuple[int, int]:
    """Long words tell more; few take less time."""
    return min(map(len, words)) - len(words) // 2, -len(words)
