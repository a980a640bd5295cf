"""Reads the lines around one line of a file of any size. Knows no failure; the lines are those of the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

CHUNK_BYTES = 4 * 1024 * 1024
LONGEST_LINE = 2_000
MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file, the first of which is 1-based line `first`; long ones are cut."""

    first: int
    lines: tuple[str, ...]


def excerpt_of(path: str, line: int, context: int, stopped: Callable[[], bool] = lambda: False) -> Excerpt:
    """The `context` lines before and after a 1-based line. Counts line ends up to there and reads no further. Raises OSError."""
    context = max(0, min(context, MOST_LINES // 2))
    first = max(1, line - context)
    wanted = line + context - first + 1
    number = 1
    with open(path, "rb") as file:
        while number < first and not stopped():
            chunk = file.read(CHUNK_BYTES)
            if not chunk:
                return Excerpt(number, ())
            ends = chunk.count(b"\n")
            if number + ends < first:
                number += ends
                continue
            # The wanted line begins in this chunk: step back to just behind the line end before it.
            at = -1
            while number < first:
                at = chunk.index(b"\n", at + 1)
                number += 1
            file.seek(at + 1 - len(chunk), 1)
        found: list[str] = []
        while len(found) < wanted and not stopped():
            raw = file.readline(LONGEST_LINE * 4)
            if not raw:
                break
            whole = raw.endswith(b"\n")
            found.append(raw.rstrip(b"\r\n").decode("utf-8", "replace")[:LONGEST_LINE])
            while not whole:
                raw = file.readline(CHUNK_BYTES)
                whole = not raw or raw.endswith(b"\n")
    return Excerpt(first, tuple(found))
