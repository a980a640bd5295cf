"""Where a file gives an environment variable a value, whatever its kind. Does not change anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch import dockerfile, dotenv, makefile, python_environ, shell_edit
from firstfault.launch.edit import EditRefused
from firstfault.launch.jsonc import JsonNode, JsonSource
from firstfault.launch.kinds import Kind, detect_kind
from firstfault.launch.python_source import PythonSource
from firstfault.launch.shell_parse import parse_shell
from firstfault.launch.yaml_source import YamlSource, is_map, is_scalar

_YAML = frozenset({Kind.COMPOSE, Kind.KUBERNETES, Kind.SKYPILOT, Kind.TORCHX, Kind.ENV_VARS})


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One assignment of a variable: where its name begins, the value without quotes, and whether it surely holds.

    `certain` is false inside a branch, a loop or a function, where it may not run.
    """

    name: str
    value: str
    start: int
    certain: bool = True

    @property
    def end(self) -> int:
        """The offset behind the name."""
        return self.start + len(self.name)


def occurrences(name: str, text: str, path: str) -> list[Occurrence]:
    """Every assignment of a variable in a launch file, in order; empty where there is none or the file does not parse."""
    if name not in text:
        return []
    kind = detect_kind(path, text)
    try:
        return sorted(_found(kind, name, text, path), key=lambda o: o.start) if kind is not None else []
    except EditRefused:
        return []


def _found(kind: Kind, name: str, text: str, path: str) -> Iterator[Occurrence]:
    if kind is Kind.SHELL:
        script = parse_shell(text, path)
        for place in shell_edit.places(script, name):
            yield Occurrence(
                name, place.value.plain, text.rindex(name, 0, place.value.start), not place.command.context and not place.nested
            )
    elif kind is Kind.PYTHON:
        source = PythonSource(text, path)
        for node, value, unconditional in python_environ.assigned(source, name):
            literal = python_environ.literal_of(value, name)
            at = text.find(name, source.start(node))
            yield Occurrence(name, str(literal.value) if literal is not None else "", at, unconditional)
    elif kind is Kind.DOCKERFILE:
        for n, word in dockerfile.variables(text, path):
            if n == name:
                yield Occurrence(name, word.plain, text.rindex(name, 0, word.start))
    elif kind in {Kind.DOTENV, Kind.DEEPSPEED_ENV}:
        for pair in dotenv.pairs(text, path):
            if pair.name == name:
                yield Occurrence(name, pair.plain, text.index(name, pair.start))
    elif kind is Kind.MAKEFILE:
        for word in makefile.values(text, path, name):
            yield Occurrence(name, word.raw, text.rindex(name, 0, word.start))
    elif kind in {Kind.LAUNCH_JSON, Kind.TASKS_JSON}:
        yield from _in_json(JsonSource(text, path).root, name)
    elif kind in _YAML:
        yield from _in_yaml(YamlSource(text, path), name)


def _in_json(node: JsonNode, name: str) -> Iterator[Occurrence]:
    for key, value in node.members:
        if key.value == name:
            yield Occurrence(name, value.value, key.start + 1)
        yield from _in_json(value, name)
    for item in node.items:
        yield from _in_json(item, name)


def _in_yaml(source: YamlSource, name: str) -> Iterator[Occurrence]:
    for document in source.documents:
        for node in source.walk(document):
            if is_map(node):
                for key, value in node.value:
                    if is_scalar(key) and key.value == name and is_scalar(value):
                        yield Occurrence(name, str(value.value), source.start(key) + (1 if key.style else 0))
                named, value = source.get(node, "name"), source.get(node, "value")
                if named is not None and value is not None and is_scalar(named) and named.value == name:
                    yield Occurrence(name, str(value.value), source.start(named) + (1 if named.style else 0))
            elif (
                is_scalar(node)
                and node.style not in {"|", ">"}
                and (m := re.match(re.escape(name) + r"=(.*)$", str(node.value), re.DOTALL))
            ):
                yield Occurrence(name, m.group(1), source.start(node) + (1 if node.style else 0))
