"""Raises the collective timeout in Python: the calls that take one, in PyTorch and the libraries above it. Runs and imports nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch.durations import parse_duration_s, timedelta_arguments
from firstfault.launch.edit import EditRefused, Replacement, SettingLike
from firstfault.launch.python_calls import add_argument, callee, calls_in_order, may_hold_more, remove_argument
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
ALIASES = {"ddp_timeout": "TrainingArguments", "Accelerator": "InitProcessGroupKwargs", "timeout_s": "TorchConfig"}
# SFTConfig and its kin are TrainingArguments.
_TRL = frozenset({"SFT", "DPO", "GRPO", "KTO", "ORPO", "CPO", "Reward", "RLOO", "PPO", "OnlineDPO", "XPO", "NashMD", "PRM", "GKD", "BCO"})
# Lightning's names for DDP, and the arguments of DDPStrategy that they stand for.
_LIGHTNING = {"ddp": "", "ddp_find_unused_parameters_true": "find_unused_parameters=True, "}


def timeout_target(name: str) -> str:
    """The callable that a timeout setting means: `dist.new_group(timeout)` is `new_group`; what is unknown means all of them."""
    words = name.split("(")[0].strip().removesuffix(".timeout").split()
    last = words[0].rsplit(".", 1)[-1] if words else ""
    last = ALIASES.get(last, last)
    return last if last in CALLS else GENERIC


def timeout_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Raise the timeout of every fitting call; a longer one stays. Refuses where no call fits or a value is computed."""
    seconds = parse_duration_s(setting.value)
    if seconds is None:
        raise EditRefused("the timeout is not set", reason=f"{setting.value!r} is no duration", help="write seconds, 30m or 1h")
    source = PythonSource(text, path)
    target = timeout_target(setting.name)
    found = list(fitting_calls(source, target))
    changes = [r for call, kind in found for r in _raise_call(source, call, kind, seconds)]
    if not found:
        changes = _new_carrier(source, target, seconds)
    if any("timedelta(" in c.new for c in changes) and _timedelta_name(source) is None:
        changes.insert(0, source.import_insertion("from datetime import timedelta"))
    return changes


def timeout_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take out timeouts of exactly this duration (any where it is empty), and imports that nothing else needs then."""
    seconds = parse_duration_s(setting.value)
    source = PythonSource(text, path)
    changes: list[Replacement] = []
    gone: set[ast.AST] = set()
    for call, kind in fitting_calls(source, timeout_target(setting.name)):
        keyword = next((k for k in call.keywords if k.arg == kind.keyword), None)
        if keyword is None or current_timeout_s(source, call, kind)[1] != seconds and setting.value:
            continue
        owner = _only_handler(source, call)
        owner_call, owner_keyword = owner if owner else (call, keyword)
        changes.append(remove_argument(source, owner_call, owner_keyword))
        gone.add(owner_keyword)
    if changes:
        changes += source.unused_import_removals("timedelta", gone)
        changes += source.unused_import_removals("InitProcessGroupKwargs", gone)
    return changes


def fitting_calls(source: PythonSource, target: str) -> Iterator[tuple[ast.Call, TimeoutCall]]:
    """The calls of the file that a target means, in file order."""
    for call in calls_in_order(source):
        name = callee(call)
        if name.endswith("TrainingArguments") or (name.endswith("Config") and name[:-6] in _TRL):
            name = "TrainingArguments"
        if name in CALLS and target in {name, GENERIC} and not _other_meaning(source, call, name):
            yield call, CALLS[name]


def current_timeout_s(source: PythonSource, call: ast.Call, kind: TimeoutCall) -> tuple[ast.expr | None, int | None]:
    """The expression that gives a call's timeout and its seconds; (None, None) where it has none, (node, None) where it is computed."""
    for keyword in call.keywords:
        if keyword.arg == kind.keyword:
            return _evaluated(source, keyword.value, kind)
    if kind.position is not None and len(call.args) > kind.position and not any(isinstance(a, ast.Starred) for a in call.args):
        return _evaluated(source, call.args[kind.position], kind)
    return None, None


def timeouts_in(source: PythonSource) -> Iterator[tuple[int, int, int]]:
    """The collective timeouts that calls set, as (start, end, seconds)."""
    for call, kind in fitting_calls(source, GENERIC):
        node, seconds = current_timeout_s(source, call, kind)
        if node is not None and seconds is not None:
            yield source.start(node), source.end(node), seconds


def _raise_call(source: PythonSource, call: ast.Call, kind: TimeoutCall, seconds: int) -> list[Replacement]:
    node, current = current_timeout_s(source, call, kind)
    where = f"{source.path}:{call.lineno}"
    if node is None:
        if may_hold_more(call):
            raise EditRefused(
                "the timeout is not set", reason="the call takes its arguments from a variable that may hold a timeout", where=where
            )
        return [add_argument(source, call, f"{kind.keyword}={_value(source, kind, seconds)}")]
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
    """A timeout expression with its seconds; a name that is assigned once in the file stands for that value."""
    if isinstance(node, ast.Name):
        values = [
            s.value
            for s in ast.walk(source.tree)
            if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in s.targets)
        ]
        if len(values) == 1 and not isinstance(values[0], ast.Name):
            return _evaluated(source, values[0], kind)
        return node, None
    if isinstance(node, ast.Call) and callee(node) == "timedelta" and not node.args:
        parts = ", ".join(f"{k.arg}={_product(k.value)}" for k in node.keywords)
        return node, parse_duration_s(f"timedelta({parts})")
    return node, _product(node)


def _product(node: ast.expr) -> int | None:
    """60 * 60 * 2 as a number."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return round(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _product(node.left), _product(node.right)
        return left * right if left is not None and right is not None else None
    return None


def _other_meaning(source: PythonSource, call: ast.Call, name: str) -> bool:
    """Whether a call is a project's own function of the same name: what counts is the module that it comes from."""
    modules = _HOMES.get(name)
    if modules is None:
        return False
    if isinstance(call.func, ast.Name):
        return not any(source.member_as(m, name) for m in modules)
    owner = source.source_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    known = {m for m in modules if m.split(".")[0] in source.imported_modules()}
    for module in modules:
        parent, _, last = module.rpartition(".")
        known |= {n for n in (source.module_as(module), source.member_as(parent, last) if parent else None) if n}
    # Imports inside functions do not count as module level; the usual name dist stands for torch.distributed there.
    return owner not in known and not (owner == "dist" and source.imported_modules() & {"torch", "deepspeed"})


_HOMES = {
    "init_process_group": ("torch.distributed", "torch.distributed.distributed_c10d", "deepspeed.comm"),
    "new_group": ("torch.distributed", "torch.distributed.distributed_c10d", "deepspeed.comm"),
    "init_distributed": ("deepspeed", "deepspeed.comm"),
    "TorchConfig": ("ray.train.torch",),
}


def _only_handler(source: PythonSource, call: ast.Call) -> tuple[ast.Call, ast.keyword] | None:
    """The Accelerator and its kwargs_handlers where this call is their only handler and has no other argument."""
    if callee(call) != "InitProcessGroupKwargs" or len(call.keywords) + len(call.args) != 1:
        return None
    for outer in calls_in_order(source):
        for keyword in outer.keywords:
            if keyword.arg == "kwargs_handlers" and isinstance(keyword.value, ast.List) and keyword.value.elts == [call]:
                return outer, keyword
    return None


def _new_carrier(source: PythonSource, target: str, seconds: int) -> list[Replacement]:
    """Accelerate and Lightning make the process group themselves: hand them an object that carries the timeout."""
    value = f"{_timedelta_name(source) or 'timedelta'}({timedelta_arguments(seconds)})"
    modules = source.imported_modules()
    for call in calls_in_order(source):
        if (
            callee(call) == "Accelerator"
            and "accelerate" in modules
            and target in {"InitProcessGroupKwargs", GENERIC}
            and not may_hold_more(call)
        ):
            handler = f"InitProcessGroupKwargs(timeout={value})"
            handlers = next((k.value for k in call.keywords if k.arg == "kwargs_handlers"), None)
            if handlers is None:
                change = add_argument(source, call, f"kwargs_handlers=[{handler}]")
            elif isinstance(handlers, ast.List):
                at = source.end(handlers.elts[-1]) if handlers.elts else source.start(handlers) + 1
                change = Replacement(at, at, (", " if handlers.elts else "") + handler)
            else:
                continue
            return [change, *source.import_member("accelerate", "InitProcessGroupKwargs", also_in=("accelerate.utils",))]
        strategy = next((k.value for k in call.keywords if k.arg == "strategy"), None)
        if (
            callee(call) == "Trainer"
            and target in {"DDPStrategy", GENERIC}
            and isinstance(strategy, ast.Constant)
            and strategy.value in _LIGHTNING
        ):
            package = "lightning.pytorch" if "lightning" in modules else "pytorch_lightning"
            new = f"DDPStrategy({_LIGHTNING[strategy.value]}timeout={value})"
            change = Replacement(source.start(strategy), source.end(strategy), new)
            return [change, *source.import_member(f"{package}.strategies", "DDPStrategy")]
    raise EditRefused(
        "no timeout is set",
        reason="the file has no call that takes the collective timeout" + ("" if target == GENERIC else f" ({target})"),
        where=source.path,
        help="open the file that calls init_process_group, or the launch script",
    )
