"""The errors FirstFault shows to people: what, reason, where, help. Knows no input format."""

from __future__ import annotations


class FirstFaultError(Exception):
    """A mistake in what the user gave, told in four parts.

    `what` is the error, `reason` why it is one, `where` a path or `file:line`, `help` the next command or edit.
    """

    def __init__(self, what: str, *, reason: str = "", where: str = "", help: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.reason = reason
        self.where = where
        self.help = help

    def __str__(self) -> str:
        """The four parts, one a line; parts that were not given are left out."""
        parts = [f"error: {self.what}"]
        parts += [f"{name}: {text}" for name, text in (("reason", self.reason), ("where", self.where), ("help", self.help)) if text]
        return "\n  ".join(parts)


class InputError(FirstFaultError):
    """An input cannot be read: missing, a folder without logs, binary."""


class PageError(FirstFaultError):
    """A page of the encyclopedia breaks the page format."""


class UnknownFailure(FirstFaultError):
    """No page has this id."""
