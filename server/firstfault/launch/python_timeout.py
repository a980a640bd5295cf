"""Raises the collective timeout in Python: the calls that take one, in PyTorch and the libraries above it. Does not run or import anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch.durations import parse_duration_s, timedelta_arguments
from firstfault.launch.edit import EditRefused, Replacement, SettingLike
from firstfault.launch.python_source import PythonSource

GENERIC = "collective_timeout"


@dataclass(frozen=True, slots=True)
class TimeoutCall:
    """A callable that takes a timeout: its keyword, its position if it may be given without one, and whether it counts plain seconds."""

    keyword: str = "timeout"
    position: int | None = None
    seconds: bool = False


# The last part of the callee's name decides; positions are those of the published signatures.
CALLS = {
    "init_process_group": TimeoutCall(position=2),
    "new_group": TimeoutCall(position=1),
    "InitProcessGroupKwargs": TimeoutCall(position=2),
    "init_distributed": TimeoutCall(position=4),
    "DDPStrategy": TimeoutCall(),
    "FSDPStrategy": TimeoutCall(),
    "DeepSpeedStrategy": TimeoutCall(),
    "TrainingArguments": TimeoutCall("ddp_timeout", seconds=True),
    "TorchConfig": TimeoutCall("timeout_s", seconds=True),
}
# Other spellings of a setting's name, as pages and people write them.
ALIASES = {
    "ddp_timeout": "TrainingArguments", "Accelerator": "InitProcessGroupKwargs", "timeout_s": "TorchConfig",
    "timeout": GENERIC, "collective-timeout": GENERIC,
}  # fmt: skip


def timeout_target(name: str) -> str:
    """The callable that a timeout setting means: `dist.new_group(timeout)` is `new_group`; what is unknown means all of them."""
    plain = name.split("(")[0].strip()
    if plain.endswith(".timeout"):
        plain = plain[: -len(".timeout")]
    last = plain.split()[0].rsplit(".", 1)[-1] if plain else ""
    last = ALIASES.get(last, last)
    return last if last in CALLS else GENERIC


def timeout_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Raise the timeout of every fitting call; a longer one stays. Refuses where no call fits or a value is computed."""
    seconds = parse_duration_s(setting.value)
    if seconds is None:
        raise EditRefused("the timeout is not set", reason=f"{setting.value!r} is no duration", help="write seconds, 30m or 1h")
    source = PythonSource(text, path)
    target = timeout_target(setting.name)
    changes: list[Replacement] = []
    found = False
    for call, kind in fitting_calls(source, target):
        found = True
        changes += _raise_call(source, call, kind, seconds)
    if not found:
        changes += _new_handler(source, target, seconds)
    if any("timedelta(" in c.new for c in changes) and _timedelta_name(source) is None:
        changes.append(source.import_insertion("from datetime import timedelta"))
    return changes


def fitting_calls(source: PythonSource, target: str) -> Iterator[tuple[ast.Call, TimeoutCall]]:
    """The calls of the file that a target means, in file order."""
    calls = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call)]
    for call in sorted(calls, key=lambda c: (c.lineno, c.col_offset)):
        name = _callee(call)
        if name.endswith("TrainingArguments") or (name.endswith("Config") and name[:-6] in _TRL):
            name = "TrainingArguments"
        if name in CALLS and target in {name, GENERIC} and not _other_meaning(source, call, name):
            yield call, CALLS[name]


_TRL = frozenset({"SFT", "DPO", "GRPO", "KTO", "ORPO", "CPO", "Reward", "RLOO", "PPO", "OnlineDPO", "XPO", "NashMD", "PRM", "GKD", "BCO"})


def current_timeout_s(source: PythonSource, call: ast.Call, kind: TimeoutCall) -> tuple[ast.expr | None, int | None]:
    """The expression that gives a call's timeout and its seconds; (None, None) where it has none, (node, None) where it is computed."""
    for keyword in call.keywords:
        if keyword.arg == kind.keyword:
            return _evaluated(source, keyword.value, kind)
    if kind.position is not None and len(call.args) > kind.position and not any(isinstance(a, ast.Starred) for a in call.args):
        return _evaluated(source, call.args[kind.position], kind)
    return None, None


def _raise_call(source: PythonSource, call: ast.Call, kind: TimeoutCall, seconds: int) -> list[Replacement]:
    node, current = current_timeout_s(source, call, kind)
    where = f"{source.path}:{call.lineno}"
    if node is not None:
        if isinstance(node, ast.Constant) and node.value is None:
            return [Replacement(source.start(node), source.end(node), _value(source, kind, seconds))]
        if current is None:
            raise EditRefused("the timeout is not changed", reason=f"it is computed: {source.source_of(node)}", where=where)
        if current >= seconds:
            return []
        if isinstance(node, ast.Call):
            inner = source.text.index("(", source.end(node.func))
            return [Replacement(inner + 1, source.end(node) - 1, timedelta_arguments(seconds))]
        return [Replacement(source.start(node), source.end(node), str(seconds))]
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        raise EditRefused("the timeout is not set", reason="the call takes its arguments from a variable that may hold a timeout", where=where)
    return [add_argument(source, call, f"{kind.keyword}={_value(source, kind, seconds)}")]


def add_argument(source: PythonSource, call: ast.Call, argument: str) -> Replacement:
    """Add one argument behind the last, in the layout of the call: on the same line, or on a line of its own."""
    close = source.end(call) - 1
    given = [*call.args, *(k for k in call.keywords)]
    if not given:
        opening = _opening(source, call)
        return Replacement(opening + 1, opening + 1, argument)
    last = max(given, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0))
    end, comma = _behind(source, source.end(last), close)
    first = min(given, key=lambda n: (n.lineno, n.col_offset))
    own_line = source.lines.line_of(source.start(first)) > source.lines.line_of(_opening(source, call))
    closing_line = source.lines.line_of(close) > source.lines.line_of(end)
    if own_line and closing_line:
        indent = source.lines.indent_at(source.start(last if not isinstance(last, ast.keyword) else last))
        if comma is not None:
            at = source.lines.next_line(comma)
            if source.lines.start_of_line(close) >= at:
                return Replacement(at, at, f"{indent}{argument},{source.lines.end}")
            return Replacement(comma + 1, comma + 1, f" {argument},")
        return Replacement(end, end, f",{source.lines.end}{indent}{argument}")
    if comma is not None:
        return Replacement(comma + 1, comma + 1, f" {argument},")
    return Replacement(end, end, f", {argument}")


def _opening(source: PythonSource, call: ast.Call) -> int:
    at = source.end(call.func)
    while source.text[at] != "(":
        # A parenthesised callee such as (f)(x) has its own closing bracket in between.
        at += 1
    return at


def _behind(source: PythonSource, at: int, close: int) -> tuple[int, int | None]:
    """Behind brackets and up to the comma that follow the last argument: (end of the argument, offset of its comma)."""
    end, comma = at, None
    while at < close:
        c = source.text[at]
        if c == "#":
            at = source.lines.next_line(at)
            continue
        if c == ")":
            end = at + 1
        if c == ",":
            comma = at
        at += 1
    return end, comma


def _value(source: PythonSource, kind: TimeoutCall, seconds: int) -> str:
    if kind.seconds:
        return str(seconds)
    return f"{_timedelta_name(source) or 'timedelta'}({timedelta_arguments(seconds)})"


def _timedelta_name(source: PythonSource) -> str | None:
    member = source.member_as("datetime", "timedelta")
    if member is not None:
        return member
    module = source.module_as("datetime")
    return f"{module}.timedelta" if module is not None else None


def _evaluated(source: PythonSource, node: ast.expr, kind: TimeoutCall) -> tuple[ast.expr, int | None]:
    """A timeout expression with its seconds; a name that is assigned once at module level stands for that value."""
    if isinstance(node, ast.Name):
        values = [
            s.value
            for s in ast.walk(source.tree)
            if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in s.targets)
        ]
        if len(values) == 1 and not isinstance(values[0], ast.Name):
            return _evaluated(source, values[0], kind)
        return node, None
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node, round(node.value)
    if isinstance(node, ast.Call) and _callee(node) == "timedelta" and not node.args:
        return node, parse_duration_s("timedelta(" + ", ".join(f"{k.arg}={_product(k.value)}" for k in node.keywords) + ")")
    if kind.seconds:
        product = _product(node)
        return node, product
    return node, None


def _product(node: ast.expr) -> int | None:
    """60 * 60 * 2 as a number."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _product(node.left), _product(node.right)
        return left * right if left is not None and right is not None else None
    return None


def _callee(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def _other_meaning(source: PythonSource, call: ast.Call, name: str) -> bool:
    """torch.distributed.init_distributed does not exist, but a project's own init_distributed() does."""
    if name == "init_distributed":
        return not (isinstance(call.func, ast.Attribute) or source.member_as("deepspeed", name) or source.member_as("deepspeed.comm", name))
    return False


def _new_handler(source: PythonSource, target: str, seconds: int) -> list[Replacement]:
    """Accelerate and Lightning make the process group themselves: hand them an object that carries the timeout."""
    value = f"{_timedelta_name(source) or 'timedelta'}({timedelta_arguments(seconds)})"
    for call in (n for n in ast.walk(source.tree) if isinstance(n, ast.Call)):
        if _callee(call) == "Accelerator" and target in {"InitProcessGroupKwargs", GENERIC}:
            handlers = next((k.value for k in call.keywords if k.arg == "kwargs_handlers"), None)
            if handlers is None and not any(k.arg is None for k in call.keywords):
                change = add_argument(source, call, f"kwargs_handlers=[InitProcessGroupKwargs(timeout={value})]")
            elif isinstance(handlers, ast.List):
                at = source.end(handlers.elts[-1]) if handlers.elts else source.start(handlers) + 1
                change = Replacement(at, at, (", " if handlers.elts else "") + f"InitProcessGroupKwargs(timeout={value})")
            else:
                continue
            return [change, *_library_import(source, "accelerate", "InitProcessGroupKwargs")]
    raise EditRefused(
        "no timeout is set",
        reason="the file has no call that takes the collective timeout" + ("" if target == GENERIC else f" ({target})"),
        where=source.path,
        help="open the file that calls init_process_group, or the launch script",
    )


def _library_import(source: PythonSource, module: str, member: str) -> list[Replacement]:
    if source.member_as(module, member) or source.member_as(f"{module}.utils", member):
        return []
    for statement in source.imports():
        if isinstance(statement, ast.ImportFrom) and statement.module == module and statement.level == 0:
            at = source.end(statement.names[-1])
            return [Replacement(at, at, f", {member}")]
    foreign = source.first_foreign_import()
    at = source.line_start(foreign) if foreign else source.first_code()
    return [source.insert_before(at, f"from {module} import {member}")]
