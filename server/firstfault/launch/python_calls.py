"""Adds and takes out arguments of Python calls, in the layout of the call. Does not know what any argument means."""

from __future__ import annotations

import ast

from firstfault.launch.edit import Replacement
from firstfault.launch.python_source import PythonSource

Argument = ast.expr | ast.keyword


def callee(call: ast.Call) -> str:
    """The last part of the name that is called: `dist.new_group(...)` is `new_group`."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def calls_in_order(source: PythonSource) -> list[ast.Call]:
    """All calls of a file by their place."""
    return sorted((n for n in ast.walk(source.tree) if isinstance(n, ast.Call)), key=lambda c: (c.lineno, c.col_offset))


def may_hold_more(call: ast.Call) -> bool:
    """Whether a call takes arguments from a variable, so that what it passes is not known."""
    return any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args)


def add_argument(source: PythonSource, call: ast.Call, argument: str) -> Replacement:
    """Add one argument behind the last, on the same line or, where each has its own line, on its own."""
    given = _given(source, call)
    if not given:
        at = _opening(source, call) + 1
        return Replacement(at, at, argument)
    close = source.end(call) - 1
    end, comma = _behind(source, source.end(given[-1]), close)
    opening_line = source.lines.line_of(_opening(source, call))
    own_lines = source.lines.line_of(source.start(given[0])) > opening_line and source.lines.line_of(close) > source.lines.line_of(end)
    if own_lines:
        indent = source.lines.indent_at(source.start(given[-1]))
        if comma is None:
            return Replacement(end, end, f",{source.lines.end}{indent}{argument}")
        at = source.lines.next_line(comma)
        if source.lines.start_of_line(close) >= at:
            return Replacement(at, at, f"{indent}{argument},{source.lines.end}")
    if comma is not None:
        return Replacement(comma + 1, comma + 1, f" {argument},")
    return Replacement(end, end, f", {argument}")


def remove_argument(source: PythonSource, call: ast.Call, keyword: ast.keyword) -> Replacement:
    """Take one keyword argument out again, with its comma and, where it has them to itself, its lines."""
    given = _given(source, call)
    close = source.end(call) - 1
    index = next(i for i, g in enumerate(given) if g is keyword)
    start, end = source.start(keyword), source.end(keyword)
    end, comma = _behind(source, end, source.start(given[index + 1]) if index + 1 < len(given) else close)
    line_start, after = source.lines.start_of_line(start), (comma if comma is not None else end - 1) + 1
    alone = not source.text[line_start:start].strip() and not source.text[after : source.lines.next_line(after - 1)].strip()
    if alone and comma is not None:
        return source.lines.whole_lines(start, after)
    if index > 0:
        before, _ = _behind(source, source.end(given[index - 1]), start)
        return Replacement(before, end, "")
    if index + 1 < len(given):
        return Replacement(start, source.start(given[index + 1]), "")
    return Replacement(start, after, "")


def _given(source: PythonSource, call: ast.Call) -> list[Argument]:
    arguments: list[Argument] = [*call.args, *call.keywords]
    return sorted(arguments, key=source.start)


def _opening(source: PythonSource, call: ast.Call) -> int:
    at = source.end(call.func)
    while source.text[at] != "(":
        # A parenthesised callee such as (f)(x) has its own closing bracket in between.
        at += 1
    return at


def _behind(source: PythonSource, at: int, limit: int) -> tuple[int, int | None]:
    """Behind the brackets and at the comma that follow an argument: (end of the argument, offset of its comma)."""
    end, comma = at, None
    while at < limit:
        c = source.text[at]
        if c == "#":
            at = source.lines.next_line(at)
            continue
        if c == ")" and comma is None:
            end = at + 1
        if c == "," and comma is None:
            comma = at
        at += 1
    return end, comma
