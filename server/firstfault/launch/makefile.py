"""Sets environment variables in Makefiles: exported variables before the rules, and values inside recipes. Does not run make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch import shell_edit
from firstfault.launch.edit import EditRefused, Lines, Replacement, SettingLike
from firstfault.launch.shell_gates import carried, carry, last_gate
from firstfault.launch.shell_scan import scan_script
from firstfault.launch.shell_script import Script, ShellSyntaxError, Word

# export NCCL_DEBUG := INFO     NCCL_DEBUG ?= WARN     train: export NCCL_DEBUG = INFO
_ASSIGNMENT = re.compile(
    r"^(?P<target>[^\t#=:\n][^#=:\n]*:[ \t]*)?(?P<export>(?:override[ \t]+)?export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*"
    r"(?:::?:?|\?|\+|!)?=[ \t]*(?P<value>[^#\n]*?)[ \t]*(?:#.*)?$"
)
_RULE = re.compile(r"^[^\t#\s][^#=]*:(?!=)")
_OPENING = re.compile(r"^ *(?:ifeq|ifneq|ifdef|ifndef)\b")
_CLOSING = re.compile(r"^ *endif\b")
_FAMILY = re.compile(r"(?:NCCL|TORCH|PYTORCH|GLOO|CUDA|OMP|UCX|FI|HCCL|HSA|HIP|RCCL|MASTER|VLLM)_")


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """One line with its continuations: offsets, and whether it is a recipe line or inside a conditional."""

    start: int
    end: int
    recipe: bool
    conditional: bool


def env_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Export a variable to all recipes, or change the value that it has; recipes that start containers get it handed in."""
    lines = Lines(text)
    logical = list(_logical_lines(text, path))
    changes: list[Replacement] = []
    effective, exported = False, _exports_all(text, setting.name)
    for line, m in _assignments(text, logical, setting.name):
        value = Word(line.start + m.start("value"), line.start + m.end("value"), m["value"])
        if value.raw != setting.value:
            changes.append(Replacement(value.start, value.end, setting.value.replace("$", "$$")))
        if not m["export"] and not exported:
            at = line.start + m.start("name")
            changes.append(Replacement(at, at, "export "))
        effective = effective or not (line.conditional or m["target"])
    launches, recipe_changes = _recipes(text, logical, setting, path)
    changes += recipe_changes
    if not launches and not effective and not changes and setting.name not in text:
        raise EditRefused(f"{setting.name} is not set", reason="no recipe in this Makefile starts training", where=path)
    if any(launches) and not effective:
        changes.append(_insertion(text, lines, logical, setting))
    return changes


def removal_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Delete `export NAME := VALUE` lines with exactly this value, and take it out of the recipes' commands."""
    lines = Lines(text)
    logical = list(_logical_lines(text, path))
    out = [
        lines.section(line.start, line.end)
        for line, m in _assignments(text, logical, setting.name)
        if m["export"] and not m["target"] and setting.value in {"", m["value"]}
    ]
    for line in logical:
        if line.recipe and (parsed := _recipe_script(text, line)):
            offset, script = parsed
            for r in shell_edit.removal_replacements(setting, script.text, path):
                out.append(Replacement(offset + r.start, offset + r.end, r.new))
    return out


def values(text: str, path: str, name: str) -> list[Word]:
    """The values that a Makefile gives to a variable outside its recipes."""
    logical = list(_logical_lines(text, path))
    return [Word(x.start + m.start("value"), x.start + m.end("value"), m["value"]) for x, m in _assignments(text, logical, name)]


def _logical_lines(text: str, path: str) -> Iterator[LogicalLine]:
    lines = Lines(text)
    at, depth, defining, seen_rule = 0, 0, False, False
    while at < len(text):
        end = lines.next_line(at)
        while text[at:end].rstrip("\r\n").endswith("\\") and end < len(text):
            end = lines.next_line(end)
        content = text[at:end]
        if re.match(r"^ *define\b", content):
            defining = True
        elif re.match(r"^ *endef\b", content):
            defining = False
        elif not defining:
            depth += bool(_OPENING.match(content)) - bool(_CLOSING.match(content))
            recipe = content.startswith("\t") and seen_rule
            seen_rule = seen_rule or bool(_RULE.match(content))
            if depth < 0:
                raise EditRefused("the Makefile is not edited", reason="endif without ifeq", where=f"{path}:{lines.line_of(at) + 1}")
            yield LogicalLine(at, at + len(content.rstrip("\r\n")), recipe, depth > 0)
        at = end
    if depth or defining:
        raise EditRefused("the Makefile is not edited", reason="a conditional or a define has no end", where=path)


def _assignments(text: str, logical: list[LogicalLine], name: str) -> Iterator[tuple[LogicalLine, re.Match[str]]]:
    for line in logical:
        m = None if line.recipe else _ASSIGNMENT.match(text[line.start : line.end].rstrip())
        if m and m["name"] == name:
            yield line, m


def _exports_all(text: str, name: str) -> bool:
    return bool(
        re.search(
            rf"^ *export[ \t]*$|^ *export[ \t]+(?:\w+[ \t]+)*{re.escape(name)}(?:[ \t]+\w+)*[ \t]*$|^\.EXPORT_ALL_VARIABLES[ \t]*:",
            text,
            re.MULTILINE,
        )
    )


def _recipes(text: str, logical: list[LogicalLine], setting: SettingLike, path: str) -> tuple[list[bool], list[Replacement]]:
    """For every launching command of a recipe whether it waits for an exported variable; and the edits inside recipes."""
    launches: list[bool] = []
    changes: list[Replacement] = []
    recipes = [p for x in logical if x.recipe and (p := _recipe_script(text, x)) is not None]
    # Where a launcher is called, a plain Python script beside it is not what trains.
    best = max((s for _, script in recipes for s, _ in shell_edit.launching(script)), default=1)
    for offset, script in recipes:
        for place in shell_edit.places(script, setting.name):
            new = shell_edit.changed_value(place.value, setting.value, place.quotable)
            if new is not None:
                changes.append(Replacement(offset + place.value.start, offset + place.value.end, new))
        for strength, c in shell_edit.launching(script):
            if strength < best:
                continue
            gate = last_gate(c)
            has_it = carried(c, gate, setting.name) or any(a.name == setting.name for a in c.assigns)
            launches.append(gate is None and not has_it)
            if gate is not None and not has_it:
                r = carry(c, gate, setting.name, shell_edit.quote(setting.value), script.text, path)
                changes.append(Replacement(offset + r.start, offset + r.end, r.new))
    return launches, changes


def _recipe_script(text: str, line: LogicalLine) -> tuple[int, Script] | None:
    start = line.start
    while text[start] in "\t @+-":
        start += 1
        if start >= line.end:
            return None
    body = text[start : line.end]
    # $$ is make's way to write the shell's $: a blank of equal length keeps the offsets.
    try:
        script = scan_script(body.replace("$$", " $"))
    except ShellSyntaxError:
        return None
    script.text = body
    return start, script


def _insertion(text: str, lines: Lines, logical: list[LogicalLine], setting: SettingLike) -> Replacement:
    value = setting.value.replace("$", "$$")
    line = f"export {setting.name} := {value}"
    rules = [
        x for x in logical if not x.recipe and _RULE.match(text[x.start : x.end]) and not _ASSIGNMENT.match(text[x.start : x.end].rstrip())
    ]
    first_rule = rules[0].start if rules else len(text)
    family = [
        x
        for x in logical
        if x.start < first_rule
        and not x.conditional
        and (m := _ASSIGNMENT.match(text[x.start : x.end].rstrip()))
        and m["export"]
        and _FAMILY.match(m["name"])
        and _FAMILY.match(setting.name)
    ]
    if family:
        return lines.insert_line_after(max(family[-1].end - 1, 0), line)
    number = lines.line_of(first_rule)
    while number > 0 and re.match(r"#|\.PHONY", lines.content(number - 1)):
        number -= 1
    at = lines.starts[number]
    blank = lines.end if number > 0 or lines.content(number).strip() else ""
    return Replacement(at, at, line + lines.end + blank)
