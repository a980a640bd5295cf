"""Puts together what a terminal's edge broke, and blanks the numbers that a viewer put in front of lines. Knows columns only.

The halves stand in the first of their lines and leave the others empty, so that all numbers of lines stay what they are.
"""

from __future__ import annotations

import re
from collections import Counter

LARGEST_INPUT = 256 * 1024
_NARROWEST, _WIDEST = 60, 400
_FEWEST = 2
_LONGEST_WHOLE = 8000
# What a line begins with that goes on with nothing.
_FRESH = re.compile(
    r"\s*(?:$|\[rank\d|\[default\d|\[\d+,\d+\]<|[\w.-]+:\d+:\d+ \[|Traceback \(|File \"|frame #|"
    r"(?:DEBUG|INFO|NOTE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)[ :]|\(\w[\w.:-]* pid=|[EWIF]\d{4} \d\d:|\[?20\d\d[-/]|srun: |\S+: \[rank)"
)
_RULER = re.compile(r"\s*[|+│┃╭╰┏┗]|(.)\1{20}")
#     12\t… ·   118 … · [80746] … · 7: … · 7| …
_NUMBER = re.compile(r" {0,8}(?:(\d{1,7})(?:[:|](?= |$)|(?=[ \t]|$))|\[(\d{1,7})\](?= |$))[ \t]?")
_FEWEST_NUMBERED = 8
_DIGITS = re.compile(r"\d+")
_BEGINNING = 6
_MOST_ALIKE = 16
_WORD = re.compile(r"[\w./=,:(-]")


def _kind(line: str) -> str:
    return _DIGITS.sub("0", line[:24])[:_BEGINNING]


def _begin_alike(line: str, following: str) -> bool:
    """Whether a line repeats how the one before it begins, as steps of one program do and the rest of a broken line does not."""
    kind = _kind(line)
    return bool(kind.strip()) and kind == _kind(following)


def _without_numbers(lines: list[str]) -> list[str]:
    """The lines with blanks for the numbers in front of them, where nearly every line has one and they count the lines."""
    found = [_NUMBER.match(line) for line in lines if line.strip()]
    numbers = [int(m[1] or m[2]) for m in found if m]
    steps = sum(b - a == 1 for a, b in zip(numbers, numbers[1:], strict=False))
    if len(numbers) < _FEWEST_NUMBERED or len(numbers) * 10 < len(found) * 9 or steps * 10 < (len(numbers) - 1) * 9:
        return lines
    return [" " * m.end() + line[m.end() :] if (m := _NUMBER.match(line)) else line for line in lines]


def unwrap(data: bytes) -> tuple[bytes, dict[int, tuple[int, ...]]]:
    """The text with broken lines put together, and for each of those the lengths of its parts by the number of its first line.

    Text that no edge broke comes back as it is.
    """
    if len(data) > LARGEST_INPUT or b"\r" in data.replace(b"\r\n", b"\n") or b"\x1b" in data:
        return data, {}
    lines = _without_numbers(data.decode("utf-8", "surrogateescape").split("\n"))
    bare = [line.rstrip("\r ") for line in lines]
    width = max(map(len, bare))
    whole = "\n".join(lines).encode("utf-8", "surrogateescape")
    if not _NARROWEST <= width <= _WIDEST:
        return whole, {}
    goes_on = [i for i in range(len(bare) - 1) if width - 1 <= len(bare[i]) and not _RULER.match(bare[i])]
    # Lines of one kind are as long as each other, and begin alike.
    kinds = Counter(_kind(line) for line in bare)
    most_alike = max(_MOST_ALIKE, len(bare) // 4)
    broken = [
        i for i in goes_on
        if not _FRESH.match(bare[i + 1]) and kinds[_kind(bare[i + 1])] <= most_alike and not _begin_alike(bare[i], bare[i + 1])
    ]  # fmt: skip
    words = sum(len(bare[i]) == width and bool(_WORD.match(bare[i][-1]) and _WORD.match(bare[i + 1][0])) for i in broken)
    if len(broken) < _FEWEST or words < _FEWEST or words * 2 < len(broken) or len(broken) * 5 < len(goes_on) * 3:
        return whole, {}
    parts: dict[int, tuple[int, ...]] = {}
    at = 0
    follows = set(broken)
    while at < len(lines):
        end = at
        while end in follows and sum(len(bare[i]) for i in range(at, end + 1)) < _LONGEST_WHOLE:
            end += 1
        if end > at:
            # A blank at the edge is part of the text; those behind the end of a line that fills the screen are not.
            halves = [bare[i].ljust(width) for i in range(at, end)] + [bare[end]]
            parts[at + 1] = tuple(len(h) for h in halves)
            lines[at], lines[at + 1 : end + 1] = "".join(halves), [""] * (end - at)
        at = end + 1
    return "\n".join(lines).encode("utf-8", "surrogateescape"), parts
