"""Sets environment variables in Jupyter notebooks: `%env` in the first code cell, or the value that a cell sets. Runs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from firstfault.launch.edit import EditRefused, Replacement, SettingLike
from firstfault.launch.jsonc import JsonNode, JsonSource


def env_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable with `%env NAME=VALUE` at the top of the first code cell, which is before torch is imported."""
    source = JsonSource(text, path)
    cells = _code_cells(source)
    changes = []
    found = False
    for cell in cells:
        for line in _lines(cell):
            for start, end, value in _values(line.value, setting.name):
                found = True
                if value != setting.value:
                    new = line.value[:start] + setting.value + line.value[end:]
                    changes.append(Replacement(line.start, line.end, json.dumps(new, ensure_ascii=False)))
    if found:
        return changes
    for cell in cells:
        body = cell.get("source")
        if body is not None and not "".join(x.value for x in _lines(cell)).lstrip().startswith("%%"):
            return [_insertion(source, body, f"%env {setting.name}={setting.value}")]
    raise EditRefused(f"{setting.name} is not set", reason="the notebook has no code cell in Python", where=path)


def removal_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Delete `%env NAME=VALUE` lines with exactly this value."""
    source = JsonSource(text, path)
    out = []
    for cell in _code_cells(source):
        body = cell.get("source")
        lines = _lines(cell)
        for i, line in enumerate(lines):
            if line.value.rstrip("\n") != f"%env {setting.name}={setting.value}" or body is None or body.kind != "array":
                continue
            if i + 1 < len(lines):
                out.append(Replacement(line.start, lines[i + 1].start, ""))
            elif i > 0:
                out.append(Replacement(lines[i - 1].end, line.end, ""))
            else:
                out.append(Replacement(body.start + 1, body.end - 1, ""))
        if body is not None and body.kind == "string" and body.value.startswith(first := f"%env {setting.name}={setting.value}\n"):
            out.append(Replacement(body.start, body.end, json.dumps(body.value[len(first) :], ensure_ascii=False)))
    return out


def _code_cells(source: JsonSource) -> list[JsonNode]:
    cells = source.root.get("cells")
    language = source.root.get("metadata", "kernelspec", "language") or source.root.get("metadata", "language_info", "name")
    if cells is None or (language is not None and language.value != "python"):
        raise EditRefused("the notebook is not edited", reason="it is no Python notebook of format 4", where=source.path)
    return [c for c in cells.items if (kind := c.get("cell_type")) is not None and kind.value == "code"]


def _lines(cell: JsonNode) -> list[JsonNode]:
    body = cell.get("source")
    if body is None:
        return []
    return body.items if body.kind == "array" else [body]


def _values(line: str, name: str) -> Iterator[tuple[int, int, str]]:
    """The values that a line gives to the variable: %env NAME=v, %env NAME v, os.environ["NAME"] = "v", !NAME=v torchrun."""
    escaped = re.escape(name)
    for pattern in (
        rf"(?m)^\s*%(?:set_)?env\s+{escaped}(?:\s*=\s*|\s+)([^\n]*?)[ \t]*$",
        rf"\benviron\[[\"']{escaped}[\"']\]\s*=\s*[\"']([^\"'\n]*)[\"']",
        rf"\benviron\.setdefault\(\s*[\"']{escaped}[\"']\s*,\s*[\"']([^\"'\n]*)[\"']",
        rf"(?m)^\s*!.*?\b{escaped}=([^\s'\"]*)",
    ):
        for m in re.finditer(pattern, line):
            yield m.start(1), m.end(1), m.group(1)


def _insertion(source: JsonSource, body: JsonNode, line: str) -> Replacement:
    if body.kind == "string":
        return Replacement(body.start, body.end, json.dumps(line + "\n" + body.value, ensure_ascii=False))
    if not body.items:
        return Replacement(body.start, body.end, "[" + json.dumps(line) + "]")
    first = body.items[0]
    gap = source.text[body.start + 1 : first.start]
    return Replacement(first.start, first.start, json.dumps(line + "\n") + "," + (gap or " "))
