"""Finds the lines worth looking at: one pass of hyperscan over raw bytes, or a slower search with the same result.

Knows needles as plain bytes and what a line is; knows neither pages nor cleaning.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from .cache import load_cached, store_cached

_hyperscan: Any = None
try:
    import hyperscan

    _hyperscan = hyperscan
except ImportError:  # no wheel for this platform or Python
    pass


_HEAD = 3


class Scanner:
    """Reports where needles occur in a block of bytes.

    `needles` maps a literal to how many lines behind it belong to it (0: only its own line).
    """

    def __init__(self, needles: Mapping[str, int], *, use_hyperscan: bool = True) -> None:
        self.needles = tuple(sorted(needles))
        self.after = tuple(needles[n] for n in self.needles)
        self._bytes = tuple(n.encode() for n in self.needles)
        self._database: Any = _database(self._bytes) if use_hyperscan and _hyperscan and self._bytes else None
        self._fallback: re.Pattern[bytes] | None = None
        if self._database is None and self._bytes:
            self._fallback = re.compile(_any_of(self._bytes))
        self._by_head: dict[bytes, list[tuple[int, bytes]]] = {}
        self._short: list[tuple[int, bytes]] = []

    @property
    def fast(self) -> bool:
        """Whether hyperscan does the work."""
        return self._database is not None

    def hits(self, block: bytes | memoryview) -> list[tuple[int, int]]:
        """(offset behind the needle, needle index) of every occurrence that decides which lines are candidates, in order.

        The slower path reports at least one needle a line; `needles_in` gives the rest.
        """
        if self._database is not None:
            return _scan(self._database, block)
        return [(m.end(), -1) for m in self._fallback.finditer(block)] if self._fallback is not None else []

    def every_hit(self, block: bytes | memoryview) -> list[tuple[int, int]]:
        """(offset behind the needle, needle index) of every occurrence of every needle, in order, also without hyperscan."""
        if self._database is not None:
            return _scan(self._database, block)
        text, found = bytes(block), []
        for index, needle in enumerate(self._bytes):
            at = text.find(needle)
            while at >= 0:
                found.append((at + len(needle), index))
                at = text.find(needle, at + 1)
        return sorted(found)

    def needles_in(self, line: bytes) -> tuple[int, ...]:
        """The indices of all needles in a line."""
        if not self._by_head and not self._short:
            for index, needle in enumerate(self._bytes):
                if len(needle) < _HEAD:
                    self._short.append((index, needle))
                else:
                    self._by_head.setdefault(needle[:_HEAD], []).append((index, needle))
        by_head = self._by_head
        heads = {line[i : i + _HEAD] for i in range(len(line) - _HEAD + 1)}
        found = [i for head in heads & by_head.keys() for i, n in by_head[head] if n in line]
        found += [i for i, n in self._short if n in line]
        return tuple(sorted(found))


class Literals:
    """Reports where a few literals occur that are known only when an input is read."""

    def __init__(self, literals: tuple[bytes, ...]) -> None:
        self._literals = literals
        self._database: Any = _compile(literals) if _hyperscan and literals else None

    def hits(self, block: bytearray, end: int) -> list[tuple[int, int]]:
        """(offset behind the literal, its index) of every occurrence in `block[:end]`, in order; of overlapping ones at least the first."""
        if self._database is not None:
            return _scan(self._database, memoryview(block)[:end])
        found: list[tuple[int, int]] = []
        for index, literal in enumerate(self._literals):
            at = block.find(literal, 0, end)
            while at >= 0:
                found.append((at + len(literal), index))
                at = block.find(literal, at + len(literal), end)
        return sorted(found)


def _any_of(needles: tuple[bytes, ...]) -> bytes:
    """An expression that finds where any needle begins to be there; what they begin with in common is tried once."""
    root: _Node = {}
    for needle in needles:
        node = root
        for byte in needle:
            node = node.setdefault(byte, {})
        node[_END] = {}
    return _expression(root)


_END = -1
_Node = dict[int, Any]


def _expression(node: _Node) -> bytes:
    if _END in node:
        return b""
    by_rest: dict[bytes, list[int]] = {}
    for byte, below in node.items():
        by_rest.setdefault(_expression(below), []).append(byte)
    parts = []
    for rest, first in by_rest.items():
        codes = b"".join(b"\\x%02x" % byte for byte in sorted(first))
        parts.append((b"[" + codes + b"]" if len(first) > 1 else codes) + rest)
    return parts[0] if len(parts) == 1 else b"(?:" + b"|".join(parts) + b")"


def _scan(database: Any, block: bytes | memoryview) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    append = found.append

    def seen(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
        append((end, index))

    database.scan(block, match_event_handler=seen)
    found.sort()
    return found


def _compile(literals: tuple[bytes, ...]) -> Any:
    database = _hyperscan.Database(mode=_hyperscan.HS_MODE_BLOCK)
    expressions = [b"".join(b"\\x%02x" % byte for byte in n) for n in literals]
    database.compile(expressions=expressions, ids=list(range(len(literals))), elements=len(literals), flags=[0] * len(literals))
    return database


def _database(needles: tuple[bytes, ...]) -> Any:
    """The compiled database, from the cache when a sound one is there: compiling takes half a second, loading none."""
    key = hashlib.sha256(b"\0".join((_hyperscan.__version__.encode(), *needles))).hexdigest()[:32]
    name = f"needles-{key}.hs"
    stored = load_cached(name)
    if stored is not None:
        try:
            database = _hyperscan.loadb(stored, _hyperscan.HS_MODE_BLOCK)
            database.scratch = _hyperscan.Scratch(database)
            return database
        except Exception:  # made for another kind of processor
            pass
    database = _compile(needles)
    store_cached(name, _hyperscan.dumpb(database))
    return database
