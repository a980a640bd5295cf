"""A shell script as the shell editor sees it: simple commands, where they stand, arrays, here-documents. Does not know the parser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Word:
    """One shell word with its quotes as written; `text[start:end] == raw`."""

    start: int
    end: int
    raw: str

    @property
    def plain(self) -> str:
        """The word without the quotes around it; expansions stay as written."""
        raw = self.raw
        if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in "'\"" and raw[0] not in raw[1:-1]:
            return raw[1:-1]
        return raw

    @property
    def base(self) -> str:
        """The last path component of the plain word: `/usr/bin/srun` is `srun`."""
        return self.plain.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Assign:
    """`NAME=value` or `NAME+=value` as a word; `value` spans what stands behind the sign."""

    name: str
    start: int
    end: int
    value: Word
    append: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: assignments in front, then words. `context` names what encloses it, outermost first.

    A context is a kind and what tells two blocks of it apart: `function@NAME`, or `if`, `loop`, `case`, `subshell`,
    `substitution`, `and-or` or `pipeline` with an offset (each branch of an `if` has its own). `statement` is the index of the
    top-level statement that holds the command.
    """

    start: int
    end: int
    assigns: tuple[Assign, ...]
    words: tuple[Word, ...]
    context: tuple[str, ...]
    statement: int

    @property
    def name(self) -> str:
        """The base name of the command word, or an empty string for bare assignments."""
        return self.words[0].base if self.words else ""

    @property
    def in_substitution(self) -> bool:
        """Whether it only produces text for another command."""
        return any(c.startswith("substitution@") for c in self.context)

    @property
    def function(self) -> str | None:
        """The function that holds it, if any."""
        return next((c.partition("@")[2] for c in self.context if c.startswith("function@")), None)

    def runs_before(self, other: Command) -> bool:
        """Whether it has always run when `other` runs: it stands earlier, in the same block or in one around it."""
        return self.start < other.start and other.context[: len(self.context)] == self.context


@dataclass(frozen=True, slots=True)
class Array:
    """`NAME=( words )`: launch scripts keep the arguments of the training program in these."""

    name: str
    start: int
    end: int
    words: tuple[Word, ...]
    statement: int


@dataclass(frozen=True, slots=True)
class HereDoc:
    """The body of a here-document, `text[start:end]`, and the command that reads it."""

    start: int
    end: int
    quoted: bool
    reader: str


@dataclass(slots=True)
class Script:
    """What a parser found. `statements` are the (start, end) of the top-level statements in order."""

    text: str
    commands: list[Command] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    heredocs: list[HereDoc] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    statements: list[tuple[int, int]] = field(default_factory=list)


class ShellSyntaxError(ValueError):
    """The text is no shell script that the parser understands; `offset` says where."""

    def __init__(self, why: str, offset: int) -> None:
        super().__init__(why)
        self.why = why
        self.offset = offset


# NCCL_DEBUG=INFO   PATHS+=:/opt/bin   ARGS[3]=x
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\n]*\])?(\+?=)")


def as_assign(word: Word) -> Assign | None:
    """The assignment that a word is, if it is one (an element of an array is none)."""
    m = ASSIGNMENT.match(word.raw)
    if m is None or m.group(2):
        return None
    return Assign(m.group(1), word.start, word.end, Word(word.start + m.end(), word.end, word.raw[m.end() :]), m.group(3) == "+=")


def assignments_of(command: Command) -> list[Assign]:
    """The assignments that a command makes: those in front of it, and those in the words of export, declare and the like."""
    return [*command.assigns, *(a for w in command.words[1:] if (a := as_assign(w)) is not None)]
