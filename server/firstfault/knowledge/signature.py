"""Reads the fences of a page that are for the engine: signatures, and lines that must fire or must not. Knows no section.

How a fence is written stands in CONTRIBUTING.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import PageError
from .pattern import Pattern

STRENGTHS = ("direct", "probable", "symptom", "context")


@dataclass(frozen=True, slots=True)
class Signature:
    """How a failure shows in one line: one of the literal `needles` is in the raw line and `pattern` matches the cleaned one."""

    needles: tuple[str, ...]
    pattern: Pattern
    strength: str
    line: int


@dataclass(frozen=True, slots=True)
class Example:
    """Raw log lines that must fire (with the captures they must give) or must stay silent (named after the trap)."""

    lines: tuple[str, ...]
    captures: Mapping[str, str]
    trap: str | None
    line: int


@dataclass
class Fence:
    """A fenced block of Markdown: what stands behind the opening mark, its lines, and the line of the opening mark."""

    info: str
    lines: list[str]
    line: int

    @property
    def is_machine(self) -> bool:
        """Whether it is read by the engine and not shown to people."""
        return self.info.split(" ")[0] == "signature" or self.info.startswith(("log fires", "log silent"))


def read_signatures(fences: list[Fence], path: str) -> tuple[tuple[Signature, ...], tuple[Example, ...], tuple[Example, ...]]:
    """The signatures, the lines that must fire and those that must not. Raises PageError with the line of the fence."""
    signatures, fires, silent = [], [], []
    for fence in fences:
        where = f"{path}:{fence.line}"
        if fence.info.startswith("signature"):
            signatures.append(_signature(fence, where))
            continue
        kind, _, rest = fence.info[len("log ") :].partition(" ")
        if kind == "fires":
            fires.append(Example(tuple(fence.lines), _captures(rest, where), None, fence.line))
        elif rest.strip():
            silent.append(Example(tuple(fence.lines), {}, rest.strip(), fence.line))
        else:
            raise PageError(
                "a silent example is named after its trap", reason="the name says what looks alike and is no failure", where=where,
                help="e.g. ```log silent advice line",
            )  # fmt: skip
    return tuple(signatures), tuple(fires), tuple(silent)


def _signature(fence: Fence, where: str) -> Signature:
    strength = fence.info[len("signature") :].strip() or "direct"
    if strength not in STRENGTHS:
        raise PageError(
            f"unknown signature strength {strength!r}", reason=f"a strength is one of {', '.join(STRENGTHS)}", where=where,
            help="leave it out for direct",
        )  # fmt: skip
    needles = tuple(line[len("needle:") :].strip() for line in fence.lines if line.startswith("needle:"))
    patterns = [line for line in fence.lines if line.strip() and not line.startswith("needle:")]
    if not needles or len(patterns) != 1:
        raise PageError(
            "a signature needs `needle: …` lines and one regex line", where=where,
            reason=f"it has {len(needles)} needles and {len(patterns)} other lines",
            help="needle: a literal part of the raw line; below it the regex on the cleaned line",
        )  # fmt: skip
    if short := next((n for n in needles if len(n) < 3), None):
        raise PageError(
            f"a needle is shorter than three characters: {short!r}", reason="it would be found in every log", where=where,
            help="take the most distinctive words of the line",
        )  # fmt: skip
    return Signature(needles, Pattern(patterns[0]), strength, fence.line)


def _captures(text: str, where: str) -> dict[str, str]:
    """The captures that an example must give, from its info string: name="value" name2=value."""
    try:
        words = _words(text)
    except ValueError as error:
        raise PageError(
            "the captures of an example cannot be read", reason=str(error), where=where, help='e.g. ```log fires rank="3" size="2 GiB"'
        ) from error  # fmt: skip
    if wrong := [word for word in words if "=" not in word]:
        raise PageError(
            f"the example names no value for {wrong[0]!r}", reason="behind `log fires` stand names with values", where=where,
            help='e.g. ```log fires rank="3"',
        )  # fmt: skip
    return dict(word.split("=", 1) for word in words)


def _words(text: str) -> list[str]:
    """The words of an info string, which may be quoted as in a shell."""
    if '"' not in text and "'" not in text and "\\" not in text and "#" not in text:
        return text.split()
    import shlex

    return shlex.split(text)
