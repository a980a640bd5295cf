"""Edits the commands inside YAML: shell scripts in blocks of text, argument lists. Hands the shell parts to the shell editor."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firstfault.launch import shell_edit, shell_flags
from firstfault.launch.edit import EditRefused, Replacement, SettingLike, Wanted
from firstfault.launch.launchers import mentions_launcher
from firstfault.launch.shell_scan import scan_script
from firstfault.launch.shell_script import Script, ShellSyntaxError
from firstfault.launch.yaml_source import Node, YamlSource, is_list, is_scalar, scalar


def script_blocks(source: YamlSource) -> Iterator[tuple[int, str, Script]]:
    """The shell scripts in literal blocks (`run: |`): (offset, text, parsed script). The indentation stays, the shell ignores it."""
    for document in source.documents:
        for node in source.walk(document):
            if not (is_scalar(node) and node.style == "|"):
                continue
            start = source.lines.next_line(source.start(node))
            text = source.text[start : source.end(node)]
            try:
                yield start, text, scan_script(text)
            except ShellSyntaxError:
                continue


def change_in_blocks(source: YamlSource, setting: SettingLike) -> list[Replacement]:
    """Change the values that scripts inside the YAML give to a variable, so that they do not undo the environment."""
    changes = []
    for start, _, script in script_blocks(source):
        for place in shell_edit.places(script, setting.name):
            new = shell_edit.changed_value(place.value, setting.value, place.quotable)
            if new is not None:
                changes.append(Replacement(start + place.value.start, start + place.value.end, new))
    return changes


def removal_in_blocks(source: YamlSource, setting: SettingLike) -> list[Replacement]:
    """Take a variable with exactly this value out of the scripts inside the YAML."""
    changes = []
    for start, text, _ in script_blocks(source):
        changes += [Replacement(start + r.start, start + r.end, r.new) for r in shell_edit.removal_replacements(setting, text, source.path)]
    return changes


def flag_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a flag in the commands of a YAML file: in scripts inside blocks, and in lists of arguments."""
    return _in_commands(YamlSource(text, path), setting, timeout=False)


def timeout_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Raise the collective timeout where a command in a YAML file takes it as a flag."""
    return _in_commands(YamlSource(text, path), setting, timeout=True)


def flag_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a flag with exactly this value out of the scripts and argument lists of a YAML file."""
    source = YamlSource(text, path)
    changes = [
        Replacement(start + r.start, start + r.end, r.new)
        for start, body, _ in script_blocks(source)
        for r in shell_flags.flag_removals(setting, body, path)
    ]
    for items in _argument_lists(source):
        for i, item in enumerate(items.value):
            if str(item.value) == f"{setting.name}={setting.value}" or (
                str(item.value) == setting.name and _value_of(items, i) == setting.value
            ):
                last = items.value[i + 1] if str(item.value) == setting.name else item
                if items.flow_style:
                    changes.append(source.remove_entry(items, source.start(item), source.end(last)))
                else:
                    changes.append(source.lines.whole_lines(source.start(item), source.end(last)))
    return changes


def _in_commands(source: YamlSource, setting: SettingLike, *, timeout: bool) -> list[Replacement]:
    changes: list[Replacement] = []
    refusal: EditRefused | None = None
    found = False
    for start, body, script in script_blocks(source):
        if not any(s == 2 for s, _ in shell_edit.launching(script)):
            continue
        try:
            inner = shell_flags.timeout_replacements if timeout else shell_flags.flag_replacements
            changes += [Replacement(start + r.start, start + r.end, r.new) for r in inner(setting, body, source.path)]
            found = True
        except EditRefused as e:
            refusal = e
    for items in _argument_lists(source):
        wanted = _flag_for(items, setting) if timeout else setting
        if wanted is not None:
            found = True
            changes += _in_list(source, items, wanted)
    if not found:
        raise refusal or EditRefused(
            f"{setting.name} is not set", reason="no command in this file takes it", where=source.path, help="open the Python file"
        )
    return changes


def _argument_lists(source: YamlSource) -> Iterator[Node]:
    """The lists of strings that are commands or arguments and start training or hold a program's flags."""
    for document in source.documents:
        for node in source.walk(document):
            for key, _, value in source.entries(node):
                if key in {"command", "args", "entrypoint"} and is_list(value) and value.value and all(is_scalar(i) for i in value.value):
                    joined = " ".join(str(i.value) for i in value.value)
                    if mentions_launcher(joined + " ") or re.search(r"\.py\b", joined):
                        yield value


def _flag_for(items: Node, setting: SettingLike) -> Wanted | None:
    """The flag that raises the timeout of the program in an argument list, if its arguments tell."""
    from firstfault.launch.durations import parse_duration_s

    joined = " ".join(str(i.value) for i in items.value)
    seconds = parse_duration_s(setting.value)
    if seconds is None:
        return None
    if shell_flags.MEGATRON_FLAG in joined or shell_flags.takes_megatron(joined):
        return Wanted("flag", shell_flags.MEGATRON_FLAG, str(-(-seconds // 60)))
    if shell_flags.TRAINER_FLAG in joined or shell_flags.takes_trainer(joined):
        return Wanted("flag", shell_flags.TRAINER_FLAG, str(seconds))
    return None


def _in_list(source: YamlSource, items: Node, wanted: SettingLike) -> list[Replacement]:
    for i, item in enumerate(items.value):
        flag, sign, value = str(item.value).partition("=")
        if not shell_flags.same_flag(flag, wanted.name):
            continue
        current = value if sign else _value_of(items, i) or ""
        if current.isdigit() and wanted.value.isdigit() and "timeout" in wanted.name and int(current) >= int(wanted.value):
            return []
        node = item if sign or i + 1 >= len(items.value) else items.value[i + 1]
        change = source.change_scalar(node, f"{flag}={wanted.value}" if sign else wanted.value)
        return [change] if change else []
    joined = any("=" in str(i.value) for i in items.value if str(i.value).startswith("--"))
    if joined or items.flow_style:
        return [source.add_item(items, [_like(items, f"{wanted.name}={wanted.value}")])]
    dash = [_like(items, wanted.name), _like(items, wanted.value)]
    first = source.add_item(items, [dash[0]])
    second = source.add_item(items, [dash[1]])
    return [Replacement(first.start, first.end, first.new + second.new)]


def _like(items: Node, value: str) -> str:
    """A string in the quotes that the other items of a list have."""
    style = items.value[-1].style
    return f'"{value}"' if style == '"' else f"'{value}'" if style == "'" else scalar(value) if not value.startswith("-") else value


def _value_of(items: Node, i: int) -> str | None:
    return str(items.value[i + 1].value) if i + 1 < len(items.value) else None
