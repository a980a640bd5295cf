"""A Python file as the editors see it: the tree, offsets of its nodes, imports, places for new lines. Knows no setting."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator

from firstfault.launch.edit import EditRefused, Lines, Replacement

_STANDARD = sys.stdlib_module_names


class PythonSource:
    """One parsed Python text. Raises `EditRefused` where it does not parse."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.lines = Lines(text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
            line = getattr(e, "lineno", None) or 1
            raise EditRefused(
                "the Python file is not edited",
                reason=f"it does not parse: {getattr(e, 'msg', None) or e}",
                where=f"{path}:{line}",
                help=f"python -m py_compile {path}",
            ) from None
        self._ascii = text.isascii()

    def start(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias) -> int:
        """The offset where a node begins."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias) -> int:
        """The offset behind a node."""
        return self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def _offset(self, line: int, column_bytes: int) -> int:
        start = self.lines.starts[line - 1]
        if self._ascii:
            return start + column_bytes
        content = self.lines.content(line - 1)
        # ast counts UTF-8 bytes, offsets here count code points.
        return start + len(content.encode("utf-8", "surrogatepass")[:column_bytes].decode("utf-8", "surrogatepass"))

    def source_of(self, node: ast.expr) -> str:
        """The text of an expression."""
        return self.text[self.start(node) : self.end(node)]

    def imports(self) -> Iterator[ast.Import | ast.ImportFrom]:
        """The import statements directly at module level, in order."""
        for statement in self.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                yield statement

    def module_as(self, module: str, *, before: int | None = None) -> str | None:
        """The name under which `import module` is bound at module level (before an offset), or None."""
        for statement in self.imports():
            if isinstance(statement, ast.Import) and (before is None or self.end(statement) <= before):
                for alias in statement.names:
                    if alias.name == module and (alias.asname or "." not in module):
                        return alias.asname or module
        return None

    def member_as(self, module: str, member: str, *, before: int | None = None) -> str | None:
        """The name under which `from module import member` is bound at module level (before an offset), or None."""
        for statement in self.imports():
            if isinstance(statement, ast.ImportFrom) and statement.module == module and (before is None or self.end(statement) <= before):
                for alias in statement.names:
                    if alias.name == member:
                        return alias.asname or member
        return None

    def imported_modules(self) -> set[str]:
        """The top-level names of all modules that the file imports anywhere."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(a.name.split(".")[0] for a in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
        return found

    def preamble_end(self) -> int:
        """The offset of the line where code may begin: behind the docstring and `from __future__` lines."""
        at = 0
        for i, statement in enumerate(self.tree.body):
            docstring = (
                i == 0
                and isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            )
            if not docstring and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
                break
            at = self.lines.next_line(self.end(statement))
        return at

    def first_foreign_import(self) -> ast.stmt | None:
        """The first top-level statement that imports something outside the standard library: torch, or what may import it."""
        for statement in self.tree.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Import) and any(a.name.split(".")[0] not in _STANDARD for a in node.names):
                    return statement
                if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] not in _STANDARD):
                    return statement
        return None

    def line_start(self, statement: ast.stmt) -> int:
        """The start of the line on which a top-level statement begins, decorators included."""
        decorators = getattr(statement, "decorator_list", [])
        first: int = min([statement.lineno, *(d.lineno for d in decorators)])
        return self.lines.starts[first - 1]

    def import_insertion(self, line: str) -> Replacement:
        """Insert one import line: behind the last standard import of the first block, else before the first import."""
        last: ast.stmt | None = None
        for statement in self.imports():
            names = [a.name for a in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]
            level = statement.level if isinstance(statement, ast.ImportFrom) else 0
            if "__future__" in names:
                continue
            if level or any(n.split(".")[0] not in _STANDARD for n in names):
                break
            last = statement
        if last is not None and not self._shares_line(last):
            return self.lines.insert_line_after(self.end(last), line)
        first = next((s for s in self.imports() if not (isinstance(s, ast.ImportFrom) and s.module == "__future__")), None)
        if first is not None:
            return self.lines.insert_line_before(self.start(first), line)
        return self.insert_before(self.first_code(), line)

    def insert_before(self, at: int, content: str) -> Replacement:
        """Insert whole lines at a line start; at the end of the text a missing line end is made up for."""
        if at >= len(self.text):
            return self.lines.insert_line_after(len(self.text), content)
        return self.lines.insert_line_before(at, content)

    def first_code(self) -> int:
        """The line start of the first statement behind the preamble, or the length of the text."""
        after = self.preamble_end()
        for statement in self.tree.body:
            if self.line_start(statement) >= after:
                return self.line_start(statement)
        return len(self.text)

    def alone(self, statement: ast.stmt | ast.expr) -> bool:
        """Whether a statement has its lines to itself and is not the only one of its block."""
        before = self.text[self.lines.start_of_line(self.start(statement)) : self.start(statement)]
        after = self.text[self.end(statement) : self.lines.next_line(self.end(statement))].strip()
        if before.strip() or (after and not after.startswith("#")):
            return False
        for node in ast.walk(self.tree):
            for field in ("body", "orelse", "finalbody"):
                if not isinstance(node, ast.Module) and getattr(node, field, None) == [statement]:
                    return False
        return True

    def unused_import_removals(self, name: str, gone: set[ast.AST], *, above: ast.stmt | None = None) -> list[Replacement]:
        """Delete what imports `name` at module level, where nothing but the nodes of `gone` uses it.

        With `above`, only an import on the line right above that statement.
        """
        removed = {inner for node in gone for inner in ast.walk(node)}
        imports = [n for n in ast.walk(self.tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
        bound = [a for s in imports for a in s.names if (a.asname or a.name) == name]
        elsewhere = above is not None and len(bound) > 1
        if not elsewhere and any(isinstance(n, ast.Name) and n.id == name and n not in removed for n in ast.walk(self.tree)):
            return []
        for statement in self.imports():
            for i, alias in enumerate(statement.names):
                directly_above = above is None or self.lines.next_line(self.end(statement)) == self.line_start(above)
                if (alias.asname or alias.name) != name or not directly_above:
                    continue
                if len(statement.names) == 1:
                    return [self.lines.whole_lines(self.start(statement), self.end(statement))] if self.alone(statement) else []
                if i > 0:
                    return [Replacement(self.end(statement.names[i - 1]), self.end(alias), "")]
        return []

    def import_member(self, module: str, member: str, *, also_in: tuple[str, ...] = ()) -> list[Replacement]:
        """Import a member of a third-party module: into an import from it that is there, else as a line of its own."""
        if any(self.member_as(m, member) for m in (module, *also_in)):
            return []
        for statement in self.imports():
            if (
                isinstance(statement, ast.ImportFrom)
                and statement.module == module
                and not statement.level
                and statement.names[-1].name != "*"
            ):
                at = self.end(statement.names[-1])
                return [Replacement(at, at, f", {member}")]
        foreign = self.first_foreign_import()
        return [self.insert_before(self.line_start(foreign) if foreign else self.first_code(), f"from {module} import {member}")]

    def _shares_line(self, statement: ast.stmt) -> bool:
        rest = self.text[self.end(statement) : self.lines.next_line(self.end(statement))].strip()
        return bool(rest) and not rest.startswith("#")
