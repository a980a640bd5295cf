"""Sets environment variables in VS Code's launch.json and tasks.json. Knows their schema, not the editor."""

from __future__ import annotations

import json

from firstfault.launch.edit import EditRefused, Replacement, SettingLike
from firstfault.launch.jsonc import JsonNode, JsonSource
from firstfault.launch.launchers import mentions_launcher

_PYTHON_DEBUGGERS = frozenset({"debugpy", "python", "cppdbg", "cuda-gdb", "lldb"})


def launch_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable in `env` of every configuration that starts Python or a native program."""
    source = JsonSource(text, path)
    listed = source.root.get("configurations")
    owners = [c for c in (listed.items if listed else []) if c.kind == "object" and _starts_program(c)]
    if not owners:
        raise EditRefused(f"{setting.name} is not set", reason="no configuration starts Python", where=path)
    return [r for owner in owners for r in _set(source, owner, ("env",), setting)]


def task_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable in `options.env` of every task that starts training."""
    source = JsonSource(text, path)
    listed = source.root.get("tasks")
    owners = [t for t in (listed.items if listed else []) if t.kind == "object" and mentions_launcher(_command_of(t))]
    if not owners:
        raise EditRefused(f"{setting.name} is not set", reason="no task starts training", where=path)
    return [r for owner in owners for r in _set(source, owner, ("options", "env"), setting)]


def launch_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a variable with exactly this value out of all configurations."""
    return _removals(JsonSource(text, path), "configurations", ("env",), setting)


def task_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a variable with exactly this value out of all tasks."""
    return _removals(JsonSource(text, path), "tasks", ("options", "env"), setting)


def refuse_deepspeed_config(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """A DeepSpeed configuration carries no environment variables."""
    raise EditRefused(
        f"{setting.name} is not set",
        reason="a DeepSpeed configuration has no place for it",
        where=path,
        help="add it to the launch script, or to .deepspeed_env beside it for several hosts",
    )


def _starts_program(node: JsonNode) -> bool:
    kind, request = node.get("type"), node.get("request")
    attaches = request is not None and request.value == "attach"
    return not attaches and (kind is None or kind.value in _PYTHON_DEBUGGERS) and (node.get("program") or node.get("module")) is not None


def _command_of(task: JsonNode) -> str:
    command = task.get("command")
    arguments = task.get("args")
    words = [command.value if command is not None else ""]
    for item in arguments.items if arguments is not None else []:
        quoted = item.get("value") if item.kind == "object" else item
        words.append(quoted.value if quoted is not None else "")
    return " ".join(words) + " "


def _set(source: JsonSource, owner: JsonNode, path: tuple[str, ...], setting: SettingLike) -> list[Replacement]:
    node = owner
    for depth, key in enumerate(path):
        inner = node.get(key)
        if inner is None or inner.kind != "object":
            if inner is not None and inner.value != "null":
                raise EditRefused(f"{setting.name} is not set", reason=f"{key} is no object", where=source.path)
            value = json.dumps(setting.value)
            body = f"{{\n{source.unit}{json.dumps(setting.name)}: {value}\n}}"
            for outer in reversed(path[depth + 1 :]):
                body = f"{{\n{source.unit}{json.dumps(outer)}: " + body.replace("\n", "\n" + source.unit) + "\n}"
            if inner is not None:
                return [Replacement(inner.start, inner.end, json.dumps({setting.name: setting.value}))]
            single = source.lines.line_of(node.start) == source.lines.line_of(node.end - 1)
            return [source.add_member(node, key, " ".join(body.split()) if single else body)]
        node = inner
    current = node.get(setting.name)
    if current is None:
        return [source.add_member(node, setting.name, json.dumps(setting.value))]
    if current.value == setting.value and current.kind == "string":
        return []
    return [Replacement(current.start, current.end, json.dumps(setting.value))]


def _removals(source: JsonSource, listed: str, path: tuple[str, ...], setting: SettingLike) -> list[Replacement]:
    out: list[Replacement] = []
    holder = source.root.get(listed)
    for owner in holder.items if holder is not None else []:
        chain = [owner]
        for key in path:
            inner = chain[-1].get(key)
            if inner is None:
                break
            chain.append(inner)
        if len(chain) != len(path) + 1:
            continue
        names = [k.value for k, _ in chain[-1].members]
        if setting.name not in names or setting.value not in {"", chain[-1].get(setting.name).value}:  # type: ignore[union-attr]
            continue
        # Objects that become empty go too, from the inside out.
        depth = len(path)
        while depth > 0 and len(chain[depth].members) == 1:
            depth -= 1
        key = setting.name if depth == len(path) else path[depth]
        out += source.remove_member(chain[depth], [k.value for k, _ in chain[depth].members].index(key))
    return out
