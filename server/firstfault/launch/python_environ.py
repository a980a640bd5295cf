"""Sets environment variables in Python files through `os.environ`, before torch is imported. Does not know what a variable means."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from firstfault.launch.edit import EditRefused, Replacement, SettingLike
from firstfault.launch.python_source import PythonSource


def environ_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set an environment variable in a Python file; raises `EditRefused` where an existing value is computed."""
    source = PythonSource(text, path)
    changes: list[Replacement] = []
    effective = False
    for node, value, unconditional in assigned(source, setting.name):
        literal = literal_of(value, setting.name)
        if literal is None:
            raise EditRefused(
                f"{setting.name} is not changed",
                reason=f"its value is computed: {source.source_of(value)}",
                where=f"{path}:{node.lineno}",
                help=f"set {setting.name}={setting.value} in the launch script instead",
            )
        if literal.value != setting.value:
            changes.append(Replacement(source.start(literal), source.end(literal), _spelled(setting.value, source.source_of(literal))))
        effective = effective or unconditional
    if not effective:
        changes.append(_insertion(source, setting))
    return changes


def assigned(source: PythonSource, name: str) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr, bool]]:
    """Every place that sets the variable: (node, value expression, whether it runs unconditionally)."""
    for node, unconditional in _walk(source.tree.body, True):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and _is_environ(target.value) and _is_name(target.slice, name):
                    yield node, node.value, unconditional
        elif isinstance(node, ast.AugAssign) and _is_environ(node.target) and isinstance(node.value, ast.Dict):
            for value in _dict_values(node.value, name):
                yield node, value, unconditional
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            call, method = node.value, node.value.func
            on_environ = _is_environ(method.value)
            if (on_environ and method.attr in {"setdefault", "__setitem__"}) or method.attr == "putenv":
                if len(call.args) == 2 and _is_name(call.args[0], name):
                    yield node, call.args[1], unconditional
            elif on_environ and method.attr == "update":
                for argument in call.args:
                    if isinstance(argument, ast.Dict):
                        for value in _dict_values(argument, name):
                            yield node, value, unconditional
                for keyword in call.keywords:
                    if keyword.arg == name:
                        yield node, keyword.value, unconditional


def removal_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Delete `os.environ[NAME] = VALUE` lines with exactly this value, and an `import os` that nothing else needs."""
    source = PythonSource(text, path)
    changes: list[Replacement] = []
    gone: list[ast.stmt] = []
    for node, value, unconditional in assigned(source, setting.name):
        literal = literal_of(value, setting.name)
        if not isinstance(node, ast.Assign) or literal is not value or len(node.targets) != 1:
            continue
        if unconditional and literal is not None and setting.value in {"", literal.value} and source.alone(node):
            changes.append(source.lines.whole_lines(source.start(node), source.end(node)))
            gone.append(node)
    if gone:
        changes += source.unused_import_removals("os", set(gone), above=gone[0])
    return changes


def _insertion(source: PythonSource, setting: SettingLike) -> Replacement:
    foreign = source.first_foreign_import()
    if foreign is not None:
        at = source.line_start(foreign)
    else:
        imports = [s for s in source.imports()]
        at = source.lines.next_line(source.end(imports[-1])) if imports else source.first_code()
    lines = []
    if (module := source.module_as("os", before=at)) is not None:
        target = f"{module}.environ"
    elif (member := source.member_as("os", "environ", before=at)) is not None:
        target = member
    else:
        lines.append("import os")
        target = "os.environ"
    lines.append(f'{target}["{setting.name}"] = {_spelled(setting.value, chr(34))}')
    return source.insert_before(at, "\n".join(lines))


def _walk(body: list[ast.stmt], unconditional: bool) -> Iterator[tuple[ast.stmt, bool]]:
    for statement in body:
        yield statement, unconditional
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list):
                runs = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With, ast.AsyncWith)) or _is_main(
                    statement
                )
                if isinstance(statement, ast.Try):
                    runs = field in {"body", "finalbody"}
                yield from _walk([s for s in inner if isinstance(s, ast.stmt)], unconditional and runs)
        for handler in getattr(statement, "handlers", []):
            yield from _walk(handler.body, False)


def _is_main(statement: ast.stmt) -> bool:
    """if __name__ == "__main__":"""
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _is_environ(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (isinstance(node, ast.Name) and node.id == "environ")


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == name


def _dict_values(node: ast.Dict, name: str) -> Iterator[ast.expr]:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None and _is_name(key, name):
            yield value


def literal_of(value: ast.expr, name: str) -> ast.Constant | None:
    """The string that decides the value: the value itself, or the default of `os.environ.get(NAME, default)`."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value
    if not (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and len(value.args) == 2 and _is_name(value.args[0], name)
    ):
        return None
    reads = value.func.attr == "getenv" or (value.func.attr == "get" and _is_environ(value.func.value))
    return literal_of(value.args[1], name) if reads else None


def _spelled(value: str, like: str) -> str:
    """The value as a Python string in the kind of quotes that `like` ends with."""
    mark = "'" if like.endswith("'") else '"'
    body = value.replace("\\", "\\\\").replace(mark, "\\" + mark)
    return mark + body + mark
