"""Sets environment variables in Compose, SkyPilot, TorchX and Ray YAML, in maps and lists. Does not know Kubernetes' schema."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firstfault.launch.edit import EditRefused, Replacement, SettingLike
from firstfault.launch.launchers import mentions_launcher
from firstfault.launch.yaml_commands import change_in_blocks, removal_in_blocks
from firstfault.launch.yaml_source import Node, YamlSource, is_list, is_map, is_null, is_scalar, scalar

_TRAINING = re.compile(
    r"\b(?:NCCL|TORCH|GLOO|PYTORCH|HCCL|RCCL)_\w+|torchrun|torch\.distributed|accelerate launch|\bdeepspeed\b|nvidia|\bgpus?:"
)


def compose_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable in every service of a Compose file that trains."""
    source = YamlSource(text, path)
    services = _training_services(source)
    changes: dict[int, Replacement] = {}
    for _, service in services:
        for r in _in_owner(source, service, "environment", setting, before=("command", "entrypoint", "volumes", "deploy", "image")):
            changes[r.start] = r
    return [*changes.values(), *change_in_blocks(source, setting)]


def compose_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a variable with exactly this value out of all services."""
    source = YamlSource(text, path)
    out: dict[int, Replacement] = {}
    for _, _, service in source.entries(source.get(_only(source), "services")):
        for r in _out_of_owner(source, service, "environment", setting):
            out[r.start] = r
    return list(out.values())


def task_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable under `envs` of a SkyPilot task."""
    source = YamlSource(text, path)
    changes: list[Replacement] = []
    for document in source.documents:
        if source.get(document, "run") is not None or source.get(document, "envs") is not None:
            changes += _in_owner(source, document, "envs", setting, before=("setup", "run"))
    return changes + change_in_blocks(source, setting)


def task_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a variable out of `envs` of a SkyPilot task."""
    source = YamlSource(text, path)
    return [r for d in source.documents for r in _out_of_owner(source, d, "envs", setting)] + removal_in_blocks(source, setting)


def torchx_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable under `env` of every role of a TorchX application."""
    source = YamlSource(text, path)
    return [r for role in _roles(source) for r in _in_owner(source, role, "env", setting, before=("args", "entrypoint"))]


def torchx_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a variable out of `env` of every role."""
    source = YamlSource(text, path)
    return [r for role in _roles(source) for r in _out_of_owner(source, role, "env", setting)]


def runtime_env_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable under `env_vars`, as in a Ray runtime environment."""
    source = YamlSource(text, path)
    return _in_owner(source, _only(source), "env_vars", setting, before=())


def runtime_env_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a variable out of `env_vars`."""
    source = YamlSource(text, path)
    return list(_out_of_owner(source, _only(source), "env_vars", setting))


def refuse_accelerate(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Accelerate rejects keys that it does not know, so its configuration carries no environment; only its own debug switch is there."""
    if setting.name != "ACCELERATE_DEBUG_MODE":
        raise EditRefused(
            f"{setting.name} is not set",
            reason="an Accelerate configuration has no place for environment variables, and Accelerate refuses keys that it does not know",
            where=path,
            help="set it in the script that calls accelerate launch, or in .deepspeed_env for DeepSpeed on several hosts",
        )
    source = YamlSource(text, path)
    wanted = "true" if setting.value in {"1", "true", "True"} else "false"
    node = source.get(_only(source), "debug")
    if node is None:
        return [source.add_entry(_only(source), [f"debug: {wanted}"])]
    change = source.change_scalar(node, wanted, as_string=False)
    return [change] if change and str(node.value).lower() != wanted else []


def environment_changes(source: YamlSource, owner: Node, key: Node, value: Node, setting: SettingLike) -> list[Replacement]:
    """Set a variable in one environment node: a map NAME: value, or a list of NAME=value."""
    name = setting.name
    if is_map(value):
        for k, name_key, v in source.entries(value):
            if k == name:
                change = source.change_value(name_key, v, setting.value)
                return [change] if change else []
        if value.value:
            return [source.add_entry(value, [f"{name}: {scalar(setting.value)}"])]
        return [source.fill_empty(key, value, [f"  {name}: {scalar(setting.value)}"])]
    if is_list(value):
        for item in value.value:
            if is_scalar(item) and (str(item.value) == name or str(item.value).startswith(f"{name}=")):
                change = source.change_scalar(item, f"{name}={setting.value}")
                return [change] if change else []
        if value.value:
            return [source.add_item(value, [scalar(f"{name}={setting.value}")])]
        return [source.fill_empty(key, value, [f"  {name}: {scalar(setting.value)}"])]
    if is_null(value):
        return [source.fill_empty(key, value, [f"  {name}: {scalar(setting.value)}"])]
    raise EditRefused(f"{name} is not set", reason="the environment is neither a map nor a list", where=source.where(value))


def _in_owner(source: YamlSource, owner: Node, name: str, setting: SettingLike, *, before: tuple[str, ...]) -> list[Replacement]:
    for k, key, value in source.entries(owner):
        if k == name:
            return environment_changes(source, owner, key, value, setting)
    lines = [f"{name}:", f"  {setting.name}: {scalar(setting.value)}"]
    if owner.flow_style:
        return [source.add_entry(owner, [f"{name}: {{{setting.name}: {scalar(setting.value)}}}"])]
    for wanted in before:
        for k, key, _ in source.entries(owner):
            if k == wanted:
                return [source.insert_before_key(key, lines)]
    return [source.add_entry(owner, lines)]


def _out_of_owner(source: YamlSource, owner: Node, name: str, setting: SettingLike) -> Iterator[Replacement]:
    for k, owner_key, value in source.entries(owner):
        if k != name:
            continue
        items: list[tuple[int, int, str]] = []
        if is_map(value):
            items = [(source.start(key), source.end(v), f"{n}={v.value}") for n, key, v in source.entries(value) if is_scalar(v)]
        elif is_list(value):
            items = [(_dash(source, v), source.end(v), str(v.value)) for v in value.value if is_scalar(v)]
        matching = [
            (s, e)
            for s, e, pair in items
            if pair == f"{setting.name}={setting.value}" or (not setting.value and pair.startswith(setting.name + "="))
        ]
        if matching and len(matching) == len(items) == 1 and not value.flow_style:
            # The last variable takes its key along, and the blank line that set the key apart.
            yield source.lines.section(source.start(owner_key), matching[0][1])
        else:
            yield from (source.remove_entry(value, s, e) for s, e in matching)


def _dash(source: YamlSource, item: Node) -> int:
    at = source.text.rfind("-", 0, source.start(item))
    return at if source.lines.line_of(max(at, 0)) == source.lines.line_of(source.start(item)) else source.start(item)


def _training_services(source: YamlSource) -> list[tuple[str, Node]]:
    services = [(name, node) for name, _, node in source.entries(source.get(_only(source), "services")) if is_map(node)]
    if len(services) <= 1:
        return services
    trains = []
    for name, node in services:
        body = source.text[source.start(node) : source.end(node)]
        if mentions_launcher(body) or _TRAINING.search(body):
            trains.append((name, node))
    if not trains:
        names = ", ".join(n for n, _ in services)
        raise EditRefused("nothing is set", reason=f"nothing shows which service trains: {names}", where=source.path)
    return trains


def _roles(source: YamlSource) -> list[Node]:
    roles = source.get(_only(source), "roles")
    found = [r for r in roles.value if is_map(r)] if roles is not None and is_list(roles) else []
    if not found:
        raise EditRefused("nothing is set", reason="the application has no roles", where=source.path)
    return found


def _only(source: YamlSource) -> Node:
    if not source.documents or not is_map(source.documents[0]):
        raise EditRefused("the YAML file is not edited", reason="its top level is no map", where=source.path)
    return source.documents[0]
