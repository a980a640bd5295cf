"""The lexical half of the shell parser: words with quotes and expansions, blanks, comments, here-document bodies. Knows no command."""

from __future__ import annotations

import re

from firstfault.launch.shell_script import HereDoc, Script, ShellSyntaxError, Word

BLANK = " \t"
META = " \t\n;&|<>()"
# A run of characters that mean nothing by themselves.
_PLAIN = re.compile(r"[^ \t\n;&|<>()\\'\"`$]+")


class ShellLexer:
    """A cursor `at` over a script `t` in which a blank stands for each carriage return before a newline."""

    def __init__(self, t: str, original: str) -> None:
        self.t = t
        self.at = 0
        self.script = Script(original)
        self.context: list[str] = []
        # (delimiter, strip tabs, quoted, offset of the redirection, reader) of here-documents whose body is still to come.
        self.pending: list[tuple[str, bool, bool, int, str]] = []

    def substitution(self) -> None:
        """Parse the commands of `$( … )` from behind its bracket; the grammar half does it."""
        raise NotImplementedError

    def word(self, *, regex: bool = False) -> Word:
        start = self.at
        t = self.t
        while self.at < len(t):
            c = t[self.at]
            if c in META:
                if c in "<>" and t.startswith("(", self.at + 1):
                    self.at += 2
                    self.substitution()
                    continue
                if c == "(" and self.at > start and (regex or t[self.at - 1] in "?*+@!"):
                    self.balanced("(", ")")
                    continue
                if regex and c in "|" and not t.startswith("||", self.at):
                    self.at += 1
                    continue
                break
            if c == "\\":
                self.at += 3 if self.continues_with_cr() else 2
            elif c == "'":
                self.quoted("'")
            elif c == '"':
                self.double()
            elif c == "`":
                self.backtick()
            elif c == "$":
                self.dollar()
            else:
                plain = _PLAIN.match(t, self.at)
                self.at = plain.end() if plain else self.at + 1
        if self.at == start:
            raise ShellSyntaxError("a word is missing", start)
        self.at = min(self.at, len(t))
        return Word(start, self.at, t[start : self.at])

    def quoted(self, mark: str) -> None:
        end = self.t.find(mark, self.at + 1)
        if end < 0:
            raise ShellSyntaxError("a quote has no end", self.at)
        self.at = end + 1

    def double(self) -> None:
        start = self.at
        self.at += 1
        while self.at < len(self.t):
            c = self.t[self.at]
            if c == '"':
                self.at += 1
                return
            if c == "\\":
                self.at += 2
            elif c == "$":
                self.dollar(quoted=True)
            elif c == "`":
                self.backtick()
            else:
                self.at += 1
        raise ShellSyntaxError("a quote has no end", start)

    def backtick(self) -> None:
        start = self.at
        self.at += 1
        while self.at < len(self.t):
            if self.t[self.at] == "`":
                self.at += 1
                return
            self.at += 2 if self.t[self.at] == "\\" else 1
        raise ShellSyntaxError("a backtick has no end", start)

    def dollar(self, *, quoted: bool = False) -> None:
        t = self.t
        if t.startswith("$((", self.at) and (end := self.arithmetic_end(self.at + 3)) is not None:
            self.at = end
        elif t.startswith("$(", self.at):
            self.at += 2
            self.substitution()
        elif t.startswith("${", self.at):
            self.at += 1
            self.balanced("{", "}")
        elif not quoted and t.startswith("$'", self.at):
            start = self.at
            self.at += 2
            while self.at < len(t) and t[self.at] != "'":
                self.at += 2 if t[self.at] == "\\" else 1
            if self.at >= len(t):
                raise ShellSyntaxError("a quote has no end", start)
            self.at += 1
        elif t.startswith("$#", self.at):
            self.at += 2
        else:
            self.at += 1

    def balanced(self, opener: str, closer: str) -> None:
        """Step over a bracketed part whose quotes and expansions count."""
        start = self.at
        depth = 0
        while self.at < len(self.t):
            c = self.t[self.at]
            if c == "\\":
                self.at += 2
                continue
            if c == '"':
                self.double()
                continue
            if c == "'" and opener == "(":
                self.quoted("'")
                continue
            if c == "`":
                self.backtick()
                continue
            if c == "$" and self.t[self.at + 1 : self.at + 2] in {"(", "{"}:
                self.dollar()
                continue
            depth += (c == opener) - (c == closer)
            self.at += 1
            if depth == 0:
                return
        raise ShellSyntaxError(f"{opener} has no {closer}", start)

    def arithmetic_end(self, at: int) -> int | None:
        """Behind the `))` that closes an arithmetic part which begins at `at`; None where it is no arithmetic."""
        depth = 0
        while at < len(self.t):
            c = self.t[at]
            if c == "(":
                depth += 1
            elif c == ")":
                if depth == 0:
                    return at + 2 if self.t.startswith("))", at) else None
                depth -= 1
            at += 1
        return None

    # Blanks

    def blanks(self) -> None:
        """Step over blanks and line continuations."""
        while self.at < len(self.t):
            if self.t[self.at] in BLANK:
                self.at += 1
            elif self.t.startswith("\\\n", self.at):
                self.at += 2
            elif self.continues_with_cr():
                self.at += 3
            else:
                return

    def continues_with_cr(self) -> bool:
        return self.t.startswith("\\ \n", self.at) and self.script.text[self.at + 1] == "\r"

    def gap(self) -> None:
        """Step over blanks, newlines and comments."""
        while True:
            self.blanks()
            if self.at >= len(self.t):
                return
            if self.t[self.at] == "#":
                stop = self.t.find("\n", self.at)
                stop = len(self.t) if stop < 0 else stop
                self.script.comments.append((self.at, stop))
                self.at = stop
            elif self.t[self.at] == "\n":
                self.newline()
            else:
                return

    def peek_word(self) -> str:
        """The unquoted word at the cursor, for reserved words."""
        end = self.at
        while end < len(self.t) and self.t[end] not in META:
            end += 1
        return self.t[self.at : end]

    def newline(self) -> None:
        """Step over a newline, and over the here-documents that begin behind it."""
        self.at += 1
        for delimiter, strip, quoted, offset, reader in self.pending:
            start = self.at
            while True:
                if self.at >= len(self.t):
                    raise ShellSyntaxError(f"the here-document {delimiter} has no end", offset)
                stop = self.t.find("\n", self.at)
                stop = len(self.t) if stop < 0 else stop
                line = self.t[self.at : stop]
                # The blank stands for a carriage return only where the original has one.
                if self.script.text[stop - 1 : stop] == "\r":
                    line = line[:-1]
                here = self.at
                self.at = min(stop + 1, len(self.t))
                if (line.lstrip("\t") if strip else line) == delimiter:
                    self.script.heredocs.append(HereDoc(start, here, quoted, reader))
                    break
        self.pending = []
