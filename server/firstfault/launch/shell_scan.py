"""Parses a shell script in pure Python, by recursive descent over its characters. Does not know what any command means.

It is the parser where tree-sitter-bash is not installed, and the second opinion where that grammar stumbles over a valid script.
"""

from __future__ import annotations

from firstfault.launch.shell_lexer import ShellLexer
from firstfault.launch.shell_script import ASSIGNMENT, Array, Assign, Command, Script, ShellSyntaxError, Word, as_assign

_RESERVED_ENDS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})


def scan_script(text: str) -> Script:
    """Parse a script; raises `ShellSyntaxError` with the offset where it is not understood."""
    # A carriage return in front of a newline belongs to the line end; a blank of equal length keeps every offset.
    scanner = _Scanner(text.replace("\r\n", " \n"), text)
    scanner.list_of(top=True)
    if scanner.at < len(scanner.t):
        raise ShellSyntaxError(f"unexpected {scanner.t[scanner.at]!r}", scanner.at)
    if scanner.pending:
        raise ShellSyntaxError("a here-document has no end", scanner.pending[0][3])
    return scanner.script


class _Scanner(ShellLexer):
    # Lists, and-or lists, pipelines

    def list_of(self, *, top: bool = False, ends: frozenset[str] = frozenset(), closer: str = "", may_be_empty: bool = False) -> str:
        """Statements up to a reserved word of `ends` or the character `closer`; returns what ended it."""
        empty = not (top or may_be_empty)
        while True:
            self.gap()
            if empty and self.ends_here(ends, closer):
                raise ShellSyntaxError("a command is missing", self.at)
            empty = False
            if self.at >= len(self.t):
                if top:
                    return ""
                raise ShellSyntaxError(f"the end is missing: {' or '.join(sorted(ends)) or closer}", self.at)
            if closer and self.t.startswith(closer, self.at):
                return closer
            if self.t.startswith((";;", ";&"), self.at) and "esac" in ends:
                return ";;"
            word = self.peek_word()
            if word in ends:
                return word
            if word in _RESERVED_ENDS:
                raise ShellSyntaxError(f"unexpected {word}", self.at)
            start = self.at
            if top:
                self.script.statements.append((start, start))
            self.and_or()
            self.blanks()
            case_end = self.t.startswith((";;", ";&"), self.at)
            if not case_end and self.t[self.at : self.at + 1] in {";", "&"}:
                self.at += 1
            elif not case_end and not self.at_end_of_statement(closer):
                raise ShellSyntaxError(f"unexpected {self.t[self.at]!r}", self.at)
            if top:
                self.script.statements[-1] = (start, self.trimmed(start))

    def ends_here(self, ends: frozenset[str], closer: str) -> bool:
        return self.peek_word() in ends or bool(closer and self.t.startswith(closer, self.at))

    def at_end_of_statement(self, closer: str) -> bool:
        return self.at >= len(self.t) or self.t[self.at] in "\n#" or bool(closer and self.t.startswith(closer, self.at))

    def and_or(self) -> None:
        self.pipeline()
        while True:
            self.blanks()
            if not self.t.startswith(("&&", "||"), self.at):
                return
            self.at += 2
            self.gap()
            # Only what stands behind && or || may be skipped.
            self.context.append(f"and-or@{self.at}")
            self.pipeline()
            self.context.pop()

    def pipeline(self) -> None:
        while (word := self.peek_word()) in {"!", "time"}:
            self.at += len(word)
            self.blanks()
            if word == "time" and self.t.startswith("-p ", self.at):
                self.at += 3
                self.blanks()
        first = len(self.script.commands)
        self.command()
        piped = False
        while True:
            self.blanks()
            if self.t.startswith("||", self.at) or not self.t.startswith("|", self.at):
                break
            piped = True
            self.at += 2 if self.t.startswith("|&", self.at) else 1
            self.gap()
            self.command()
        if piped:
            depth = len(self.context)
            for i in range(first, len(self.script.commands)):
                c = self.script.commands[i]
                context = (*c.context[:depth], f"pipeline@{c.start}", *c.context[depth:])
                self.script.commands[i] = Command(c.start, c.end, c.assigns, c.words, context, c.statement)

    # Commands

    def command(self) -> None:
        word = self.peek_word()
        t, at = self.t, self.at
        if at >= len(t) or t[at] in ";&|)\n":
            raise ShellSyntaxError("a command is missing", at)
        if t.startswith("((", at) and (end := self.arithmetic_end(at + 2)) is not None:
            self.at = end
        elif t[at] == "(":
            self.at += 1
            self.inside("subshell", closer=")")
            self.at += 1
        elif word == "{":
            # A group runs in the shell itself: it is no context of its own.
            self.at += 1
            self.list_of(ends=frozenset({"}"}))
            self.at += 1
        elif word == "if":
            self.if_command()
        elif word in {"while", "until"}:
            self.at += len(word)
            self.inside("loop", ends=frozenset({"do"}))
            self.at += 2
            self.inside("loop", ends=frozenset({"done"}))
            self.at += 4
        elif word in {"for", "select"}:
            self.for_command(word)
        elif word == "case":
            self.case_command()
        elif word == "[[":
            self.test_command()
        elif word == "function":
            self.at += len(word)
            self.blanks()
            name = self.word().raw
            self.blanks()
            if self.t.startswith("(", self.at):
                self.parens()
            self.function_body(name)
        else:
            self.simple()
            return
        self.redirections("")

    def inside(self, kind: str, *, ends: frozenset[str] = frozenset(), closer: str = "") -> str:
        self.context.append(f"{kind}@{self.at}")
        end = self.list_of(ends=ends, closer=closer, may_be_empty=kind in {"case", "substitution"})
        self.context.pop()
        return end

    def if_command(self) -> None:
        self.at += 2
        # The condition of an if runs unconditionally, yet nothing can be put in front of it but in front of the whole.
        self.inside("if", ends=frozenset({"then"}))
        self.at += 4
        while True:
            end = self.inside("if", ends=frozenset({"elif", "else", "fi"}))
            self.at += len(end)
            if end == "fi":
                return
            if end == "elif":
                self.inside("if", ends=frozenset({"then"}))
                self.at += 4

    def for_command(self, word: str) -> None:
        self.at += len(word)
        self.blanks()
        if self.t.startswith("((", self.at):
            end = self.arithmetic_end(self.at + 2)
            if end is None:
                raise ShellSyntaxError("for (( has no end", self.at)
            self.at = end
        else:
            self.word()
            self.gap()
            if self.peek_word() == "in":
                self.at += 2
                while True:
                    self.blanks()
                    if self.at >= len(self.t) or self.t[self.at] in ";\n&|()<>":
                        break
                    self.word()
        self.blanks()
        if self.t.startswith(";", self.at):
            self.at += 1
        self.gap()
        if self.peek_word() == "{":
            self.at += 1
            self.inside("loop", ends=frozenset({"}"}))
            self.at += 1
            return
        if self.peek_word() != "do":
            raise ShellSyntaxError("do is missing", self.at)
        self.at += 2
        self.inside("loop", ends=frozenset({"done"}))
        self.at += 4

    def case_command(self) -> None:
        self.at += 4
        self.blanks()
        self.word()
        self.gap()
        if self.peek_word() != "in":
            raise ShellSyntaxError("in is missing", self.at)
        self.at += 2
        while True:
            self.gap()
            if self.peek_word() == "esac":
                self.at += 4
                return
            if self.t.startswith("(", self.at):
                self.at += 1
            while True:
                self.blanks()
                self.word()
                self.blanks()
                if self.t.startswith("|", self.at):
                    self.at += 1
                    continue
                break
            if not self.t.startswith(")", self.at):
                raise ShellSyntaxError("a pattern of case has no )", self.at)
            self.at += 1
            end = self.inside("case", ends=frozenset({"esac"}))
            if end == ";;":
                self.at += 3 if self.t.startswith(";;&", self.at) else 2

    def test_command(self) -> None:
        while True:
            self.gap()
            if self.at >= len(self.t):
                raise ShellSyntaxError("[[ has no ]]", self.at)
            if self.peek_word() == "]]":
                self.at += 2
                return
            if self.t[self.at] in ";&|<>()":
                self.at += 1
            else:
                self.word(regex=True)

    def parens(self) -> None:
        self.at += 1
        self.blanks()
        if not self.t.startswith(")", self.at):
            raise ShellSyntaxError("a function has no ()", self.at)
        self.at += 1

    def function_body(self, name: str) -> None:
        self.gap()
        self.context.append(f"function@{name}")
        self.command()
        self.context.pop()

    def simple(self) -> None:
        start = self.at
        assigns: list[Assign] = []
        words: list[Word] = []
        declares = False
        end = start
        context = (*self.context,)
        statement = max(len(self.script.statements) - 1, 0)
        # The command takes its place before the commands inside its substitutions.
        index = len(self.script.commands)
        self.script.commands.append(Command(start, start, (), (), context, statement))
        while True:
            self.blanks()
            t, at = self.t, self.at
            if at >= len(t) or t[at] in "\n;|)" or (t[at] == "&" and not t.startswith("&>", at)):
                break
            if t[at] == "#":
                break
            if self.redirection(words[0].base if words else ""):
                end = self.at
                continue
            if t[at] == "(":
                if len(words) == 1 and not assigns:
                    self.script.commands.pop(index)
                    self.parens()
                    self.function_body(words[0].raw)
                    self.redirections("")
                    return
                raise ShellSyntaxError("unexpected (", at)
            m = ASSIGNMENT.match(t, at)
            if m and (not words or declares) and t.startswith("(", m.end()):
                self.array(m.group(1), at, m.end(), statement)
                end = self.at
                continue
            word = self.word()
            end = self.at
            assign = as_assign(word) if not words or declares else None
            if assign and not words:
                assigns.append(assign)
                continue
            words.append(word)
            if len(words) == 1:
                declares = word.raw in {"export", "declare", "typeset", "local", "readonly"}
        if end == start:
            raise ShellSyntaxError("a command is missing", start)
        self.script.commands[index] = Command(start, end, tuple(assigns), tuple(words), context, statement)

    def array(self, name: str, start: int, paren: int, statement: int) -> None:
        self.at = paren + 1
        words: list[Word] = []
        while True:
            self.gap()
            if self.at >= len(self.t):
                raise ShellSyntaxError("an array has no )", start)
            if self.t[self.at] == ")":
                break
            words.append(self.word())
        self.at += 1
        self.script.arrays.append(Array(name, start, self.at, tuple(words), statement))

    # Redirections and here-documents

    def redirections(self, reader: str) -> None:
        while True:
            self.blanks()
            if not self.redirection(reader):
                return

    def redirection(self, reader: str) -> bool:
        t, at = self.t, self.at
        i = at
        while i < len(t) and t[i].isdigit():
            i += 1
        if t.startswith("{", i):
            close = t.find("}", i)
            if close > 0 and t[i + 1 : close].isidentifier() and t[close + 1 : close + 2] in {"<", ">"}:
                i = close + 1
        if t.startswith("&>", i) and i == at:
            i += 1
        if i >= len(t) or t[i] not in "<>" or t.startswith(("<(", ">("), i):
            return False
        if t.startswith("<<<", i):
            self.at = i + 3
            self.blanks()
            self.word()
            return True
        if t.startswith("<<", i):
            strip = t.startswith("<<-", i)
            self.at = i + (3 if strip else 2)
            self.blanks()
            raw = self.word().raw
            delimiter = raw.replace("'", "").replace('"', "").replace("\\", "")
            self.pending.append((delimiter, strip, raw != delimiter, at, reader))
            return True
        for operator in ("<>", ">>", ">|", ">&", "<&", "<", ">"):
            if t.startswith(operator, i):
                self.at = i + len(operator)
                break
        self.blanks()
        if self.t[self.at : self.at + 1] == "#":
            raise ShellSyntaxError("a redirection has no target", at)
        self.word()
        return True

    def substitution(self) -> None:
        pending, self.pending = self.pending, []
        self.inside("substitution", closer=")")
        self.at += 1
        self.pending = pending + self.pending

    def trimmed(self, start: int) -> int:
        end = self.at
        while end > start and self.t[end - 1] in " \t\n":
            end -= 1
        return end
