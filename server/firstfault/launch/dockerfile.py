"""Sets environment variables in Dockerfiles: ENV in the last stage, before the program is started. Does not know what images contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch.edit import EditRefused, Lines, Replacement, SettingLike
from firstfault.launch.shell_edit import changed_value, places
from firstfault.launch.shell_scan import scan_script
from firstfault.launch.shell_script import ShellSyntaxError, Word

_INSTRUCTIONS = frozenset(
    "FROM RUN CMD LABEL MAINTAINER EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL".split()
)
_SAFE = re.compile(r"[A-Za-z0-9_./:,=+@%^-]+$")
_HEREDOC = re.compile(r"<<(-?)\s*([\"']?)(\w+)\2")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its name in capitals, the offsets of the whole and of its arguments, and the stage (counted from 0)."""

    name: str
    start: int
    end: int
    arguments: int
    stage: int


def env_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable with ENV: change the value in the last stage, else insert one behind the last ENV or before CMD or ENTRYPOINT."""
    lines = Lines(text)
    found = parse(text, path)
    last_stage = max(i.stage for i in found)
    changes: list[Replacement] = []
    effective = False
    for instruction in (i for i in found if i.name == "ENV"):
        for value in _values(text, instruction, setting.name):
            if instruction.stage == last_stage:
                effective = True
                new = _spelled(value, setting.value)
                if new is not None:
                    changes.append(Replacement(value.start, value.end, new))
    changes += _in_commands(text, [i for i in found if i.stage == last_stage], setting)
    if not effective:
        changes.append(_insertion(text, lines, [i for i in found if i.stage == last_stage], setting))
    return changes


def removal_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Delete `ENV NAME=VALUE` instructions of their own with exactly this value."""
    lines = Lines(text)
    out = []
    for i in parse(text, path):
        if i.name == "ENV":
            pairs = list(_pairs(text, i))
            for name, value in pairs:
                if name == setting.name and setting.value in {"", value.plain} and len(pairs) == 1:
                    out.append(lines.whole_lines(i.start, i.end))
    return out


def variables(text: str, path: str) -> Iterator[tuple[str, Word]]:
    """Every variable that an ENV instruction sets, with its value."""
    for instruction in parse(text, path):
        if instruction.name == "ENV":
            yield from _pairs(text, instruction)


def parse(text: str, path: str) -> list[Instruction]:
    """The instructions of a Dockerfile; refuses what is none."""
    lines = Lines(text)
    escape = "`" if re.match(r"(?:#.*\n)*# *escape *= *`", text, re.IGNORECASE) else "\\"
    out: list[Instruction] = []
    stage = -1
    at = 0
    while at < len(text):
        end = lines.next_line(at)
        content = text[at:end]
        if not content.strip() or content.lstrip().startswith("#"):
            at = end
            continue
        m = re.match(r"[ \t]*([A-Za-z]+)(?=\s|$)[ \t]*", content)
        name = m.group(1).upper() if m else ""
        if m is None or name not in _INSTRUCTIONS:
            line = lines.line_of(at) + 1
            raise EditRefused("the Dockerfile is not edited", reason=f"line {line} is no instruction", where=f"{path}:{line}")
        start, arguments = at + len(content) - len(content.lstrip()), at + m.end()
        # An instruction goes on behind an escape at the end of a line; comments and blank lines in between belong to it.
        while content.rstrip().endswith(escape) or (content.lstrip().startswith("#") and end > at):
            if end >= len(text):
                break
            nxt = lines.next_line(end)
            content = text[end:nxt]
            if not content.strip() or content.lstrip().startswith("#"):
                content = escape
            end = nxt
        for _, _, word in _HEREDOC.findall(text[arguments:end]) if name in {"RUN", "COPY", "ADD"} else ():
            while end < len(text):
                line_text = text[end : lines.next_line(end)]
                end = lines.next_line(end)
                if line_text.strip() == word:
                    break
            else:
                raise EditRefused("the Dockerfile is not edited", reason=f"the here-document {word} has no end", where=path)
        stage += name == "FROM"
        stop = arguments + len(text[arguments:end].rstrip())
        out.append(Instruction(name, start, max(stop, arguments), arguments, max(stage, 0)))
        at = end
    if not any(i.name == "FROM" for i in out):
        raise EditRefused("the Dockerfile is not edited", reason="it has no FROM", where=path)
    return out


def _pairs(text: str, instruction: Instruction) -> Iterator[tuple[str, Word]]:
    """The variables of an ENV instruction with their values: `ENV A=1 B="2"` and the old form `ENV A 1`."""
    body = text[instruction.arguments : instruction.end]
    old = re.match(r"([A-Za-z_]\w*)[ \t]+(.*)$", body, re.DOTALL)
    if old and "=" not in old.group(1):
        start = instruction.arguments + old.start(2)
        yield old.group(1), Word(start, instruction.end, old.group(2))
        return
    for m in re.finditer(r"([A-Za-z_]\w*)=((?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s\\\"'])*)", body):
        start = instruction.arguments + m.start(2)
        yield m.group(1), Word(start, instruction.arguments + m.end(2), m.group(2))


def _values(text: str, instruction: Instruction, name: str) -> Iterator[Word]:
    return (value for n, value in _pairs(text, instruction) if n == name)


def _spelled(value: Word, wanted: str) -> str | None:
    if value.plain == wanted:
        return None
    if value.raw[:1] in {'"', "'"}:
        return value.raw[0] + wanted + value.raw[0]
    return _quote(wanted)


def _quote(value: str) -> str:
    return value if _SAFE.match(value) else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _in_commands(text: str, instructions: list[Instruction], setting: SettingLike) -> Iterator[Replacement]:
    """Values that CMD, ENTRYPOINT or RUN in shell form give to the variable themselves."""
    for i in instructions:
        body = text[i.arguments : i.end]
        if i.name not in {"CMD", "ENTRYPOINT"} or body.startswith("["):
            continue
        try:
            script = scan_script(body)
        except ShellSyntaxError:
            continue
        for place in places(script, setting.name, base=i.arguments):
            new = changed_value(place.value, setting.value, place.quotable)
            if new is not None:
                yield Replacement(place.value.start, place.value.end, new)


def _insertion(text: str, lines: Lines, stage: list[Instruction], setting: SettingLike) -> Replacement:
    line = f"ENV {setting.name}={_quote(setting.value)}"
    starts = next((i for i in stage if i.name in {"CMD", "ENTRYPOINT"}), None)
    envs = [i for i in stage if i.name == "ENV" and (starts is None or i.start < starts.start)]
    # In front of a layer that is built, a new ENV would throw the build cache away.
    if envs and not any(i.name in {"RUN", "COPY", "ADD"} and i.start > envs[-1].start for i in stage):
        return lines.insert_line_after(envs[-1].end - 1, line)
    if starts is not None:
        at = lines.start_of_line(starts.start)
        number = lines.line_of(at)
        while number > 0 and lines.content(number - 1).lstrip().startswith("#") and number - 1 > lines.line_of(stage[0].start):
            number -= 1
        return lines.insert_line_before(lines.starts[number], line)
    return lines.insert_line_after(max(stage[-1].end - 1, 0), line)
