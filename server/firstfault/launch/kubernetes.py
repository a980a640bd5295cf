"""Sets environment variables in Kubernetes manifests: Job, PyTorchJob, JobSet, RayCluster and any other kind that holds pod templates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firstfault.launch import shell_edit
from firstfault.launch.edit import EditRefused, Replacement, SettingLike
from firstfault.launch.launchers import mentions_launcher
from firstfault.launch.shell_gates import last_gate
from firstfault.launch.yaml_commands import change_in_blocks, removal_in_blocks, script_blocks
from firstfault.launch.yaml_source import Node, YamlSource, is_list, is_map, is_scalar, scalar

_IMAGE = re.compile(r"torch|nemo|megatron|deepspeed|vllm|\btrain(?:ing)?\b", re.IGNORECASE)
_TRAINING = re.compile(r"nvidia\.com/gpu|amd\.com/gpu|huawei\.com/Ascend|vpc\.amazonaws\.com/efa|\b(?:NCCL|TORCH)_\w+|torchrun|\.py\b")


def manifest_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable in the training containers of every pod template, and in the scripts that those containers run."""
    if re.search(r"^kind: *CustomResourceDefinition\b", text, re.MULTILINE):
        # Its schema speaks of containers on thousands of lines and starts none.
        raise EditRefused(f"{setting.name} is not set", reason="a resource definition starts no pod", where=path)
    source = YamlSource(text, path)
    changes: dict[int, Replacement] = {r.start: r for r in change_in_blocks(source, setting)}
    carried = list(_through_gates(source, setting))
    for r in carried:
        changes.setdefault(r.start, r)
    containers = _training_containers(source)
    if not containers:
        raise EditRefused(f"{setting.name} is not set", reason="the manifest has no pod template with containers", where=path)
    # In an MPIJob the launcher's mpirun hands the variable to the workers; their own environment does not count.
    launchers = [c for c in containers if _mpirun_list(source, c) is not None]
    for container in launchers or containers:
        items = _mpirun_list(source, container)
        for r in _in_mpirun(source, items, setting) if items is not None else _in_container(source, container, setting):
            changes.setdefault(r.start, r)
    return list(changes.values())


def manifest_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a variable with exactly this value out of all containers; an `env` list that becomes empty goes too."""
    source = YamlSource(text, path)
    changes = removal_in_blocks(source, setting)
    for container in (c for pod in _pods(source) for c in pod):
        for key, key_node, env in source.entries(container):
            if key == "env" and is_list(env):
                hits = [i for i in env.value if _is_variable(source, i, setting)]
                if hits and len(hits) == len(env.value) and not env.flow_style:
                    changes.append(source.lines.whole_lines(source.start(key_node), source.end(env)))
                else:
                    changes += [source.remove_entry(env, _dash(source, i, env), source.end(i)) for i in hits]
            if key in {"command", "args"} and is_list(env):
                changes += _mpirun_removal(source, env, setting)
    return changes


def _is_variable(source: YamlSource, item: Node, setting: SettingLike) -> bool:
    name, value = source.get(item, "name"), source.get(item, "value")
    return name is not None and name.value == setting.name and value is not None and setting.value in {"", str(value.value)}


def _dash(source: YamlSource, item: Node, items: Node) -> int:
    return source.start(item) if items.flow_style else source.text.rindex("-", 0, source.start(item))


def _pods(source: YamlSource) -> Iterator[list[Node]]:
    """The containers of each pod template."""
    for document in source.documents:
        for node in source.walk(document):
            for key, _, value in source.entries(node):
                if key == "containers" and is_list(value):
                    pod = [c for c in value.value if is_map(c) and source.get(c, "image") is not None]
                    if pod:
                        yield pod


def _training_containers(source: YamlSource) -> list[Node]:
    """The containers that show signs of training; where none does, the only one of the file."""
    found = [c for pod in _pods(source) for c in pod]
    trains = [c for c in found if _trains(source, c)]
    if trains:
        return trains
    named = [c for c in found if _text(source, c, "name") in {"pytorch", "ray-head", "ray-worker", "trainer", "node"}]
    if named or len(found) <= 1:
        return named or found
    names = ", ".join(_text(source, c, "name") for c in found)
    raise EditRefused("nothing is set", reason=f"nothing shows which container trains: {names}", where=source.where(found[0]))


def _trains(source: YamlSource, container: Node) -> bool:
    body = source.text[source.start(container) : source.end(container)]
    return mentions_launcher(body) or bool(_TRAINING.search(body)) or bool(_IMAGE.search(_text(source, container, "image")))


def _text(source: YamlSource, node: Node, key: str) -> str:
    value = source.get(node, key)
    return str(value.value) if value is not None and is_scalar(value) else ""


def _in_container(source: YamlSource, container: Node, setting: SettingLike) -> list[Replacement]:
    name, value = setting.name, _quoted(source, container, setting.value)
    item = [f"name: {name}", f"value: {value}"]
    for key, key_node, env in source.entries(container):
        if key != "env":
            continue
        if not is_list(env) or not env.value:
            return [source.fill_empty(key_node, env, [f"{_step(source)}- {item[0]}", f"{_step(source)}  {item[1]}"])]
        for entry in env.value:
            if getattr(source.get(entry, "name"), "value", None) != name:
                continue
            values = [(k, v) for field, k, v in source.entries(entry) if field == "value"]
            if not values:
                raise EditRefused(f"{name} is not changed", reason="its value comes from elsewhere (valueFrom)", where=source.where(entry))
            change = source.change_value(*values[0], setting.value)
            return [change] if change else []
        return [source.add_item(env, item)]
    if container.flow_style:
        return [source.add_entry(container, [f"env: [{{{item[0]}, {item[1]}}}]"])]
    keys = {k: (node, v) for k, node, v in source.entries(container)}
    indent = " " * source.column(source.start(container.value[0][0]))
    block = [f"{indent}env:", f"{indent}{_step(source)}- {item[0]}", f"{indent}{_step(source)}  {item[1]}"]
    after = keys["image"][1]
    return [source.lines.insert_line_after(max(source.end(after) - 1, 0), "\n".join(block))]


def _step(source: YamlSource) -> str:
    """How lists of this file are indented under their key: two blanks, or none."""
    for document in source.documents:
        for node in source.walk(document):
            for key, key_node, value in source.entries(node):
                if key == "containers" and is_list(value) and not value.flow_style:
                    return " " * (source.column(source.start(value)) - source.column(source.start(key_node)))
    return "  "


def _quoted(source: YamlSource, container: Node, value: str) -> str:
    """The value in the quotes that the container's other variables have."""
    env = source.get(container, "env")
    styles = {getattr(source.get(e, "value"), "style", None) for e in env.value} if env is not None and is_list(env) else set()
    if styles == {'"'} and '"' not in value:
        return f'"{value}"'
    if styles == {"'"} and "'" not in value:
        return f"'{value}'"
    return scalar(value)


def _through_gates(source: YamlSource, setting: SettingLike) -> Iterator[Replacement]:
    """Hand the variable through mpirun, docker and the like in the scripts that containers run."""
    for start, text, script in script_blocks(source):
        launches = [c for s, c in shell_edit.launching(script) if s == 2]
        if any(last_gate(c) for c in launches):
            for r in shell_edit.env_replacements(setting, text, source.path):
                yield Replacement(start + r.start, start + r.end, r.new)


def _mpirun_list(source: YamlSource, container: Node) -> Node | None:
    """The list of arguments that begins with mpirun, if the container has one."""
    for key, _, items in source.entries(container):
        if key in {"command", "args"} and is_list(items) and items.value and all(is_scalar(i) for i in items.value):
            if str(items.value[0].value).rsplit("/", 1)[-1] == "mpirun":
                return items
    return None


def _in_mpirun(source: YamlSource, items: Node, setting: SettingLike) -> list[Replacement]:
    """mpirun in a list of arguments: it hands on only what -x names."""
    words = [str(i.value) for i in items.value]
    for i in range(1, len(words)):
        if words[i - 1] == "-x" and words[i].split("=")[0] == setting.name:
            change = source.change_scalar(items.value[i], f"{setting.name}={setting.value}")
            return [change] if change else []
    last = max([i + 1 for i in range(1, len(words) - 1) if words[i] == "-x"], default=0)
    style = items.value[last].style
    pair = [f'"{p}"' if style == '"' else f"'{p}'" if style == "'" else p for p in ("-x", f"{setting.name}={setting.value}")]
    if items.flow_style:
        at = source.end(items.value[last])
        return [Replacement(at, at, ", " + ", ".join(pair))]
    indent = " " * source.column(source.start(items)) + "- "
    return [source.lines.insert_line_after(source.end(items.value[last]) - 1, "\n".join(indent + p for p in pair))]


def _mpirun_removal(source: YamlSource, items: Node, setting: SettingLike) -> list[Replacement]:
    for i in range(1, len(items.value)):
        if str(items.value[i - 1].value) == "-x" and str(items.value[i].value) == f"{setting.name}={setting.value}":
            first, last = items.value[i - 1], items.value[i]
            if items.flow_style:
                return [source.remove_entry(items, source.start(first), source.end(last))]
            return [source.lines.whole_lines(source.start(first), source.end(last))]
    return []
