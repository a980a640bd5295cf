"""Explains the number or name under the cursor: fields of collectives, Xids, exit codes, settings. Knows no line as a whole.

What they mean is data: fields.toml beside this module, and the settings catalogue.
"""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..launch.settings import lookup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Around the cursor in a very long line; a field is never longer.
WINDOW = 400
# NCCL_DEBUG and --rdzv-conf
_NAME = re.compile(r"(?<![\w-])(?:[A-Z][A-Z0-9]*_[A-Z0-9_]+|--[a-z][a-z0-9_-]+)(?![\w-])")
_SIGNAL_BASE = 128


@dataclass(frozen=True, slots=True)
class Field:
    """A kind of value in log lines; `table` names the table that explains single values."""

    name: str
    regex: re.Pattern[str]
    text: str
    sample: str
    table: str | None


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation of characters `start` to `end` (exclusive) of a line, as Markdown."""

    start: int
    end: int
    markdown: str


def explain_at(text: str, column: int) -> Explained | None:
    """What the value or name at a 0-based column of a line means; None where nothing is known about it."""
    base = max(0, column - WINDOW)
    part = text[base : column + WINDOW]
    # The whole `NumelIn=80` answers, but the value under the cursor before a longer text around it.
    for group in ("value", 0):
        for known in fields():
            for match in known.regex.finditer(part):
                if base + match.start(group) <= column <= base + match.end("value"):
                    return Explained(base + match.start(), base + match.end("value"), _markdown(known, match["value"]))
    for match in _NAME.finditer(part):
        if base + match.start() <= column <= base + match.end():
            info = lookup(match[0])
            if info is not None:
                return Explained(base + match.start(), base + match.end(), info.hover_markdown(match[0]))
    return None


@functools.lru_cache(maxsize=1)
def fields() -> tuple[Field, ...]:
    """The kinds of value in the order in which they are tried."""
    return tuple(
        Field(f["name"], re.compile(f["regex"]), " ".join(f["text"].split("\n")).strip(), f["sample"], f.get("table"))
        for f in _data()["field"]
    )


def meaning(table: str, value: str) -> str | None:
    """What one value of a table means; exit codes above 128 and below 0 are signals."""
    if table == "exit":
        number = int(value)
        signal = -number if number < 0 else number - _SIGNAL_BASE
        if number < 0 or number > _SIGNAL_BASE:
            told = meaning("signal", str(signal))
            return f"Ended by signal {signal}. {told}" if told else f"Ended by signal {signal}."
    entry = _data()[table].get(value)
    if isinstance(entry, dict):
        return f"{entry['what']} First step: {entry['action'][0].lower()}{entry['action'][1:]}"
    return entry if isinstance(entry, str) else None


def _markdown(known: Field, value: str) -> str:
    title = f"**{known.name} {value}**"
    told = meaning(known.table, value) if known.table else None
    return "\n\n".join(part for part in (title, told, known.text) if part)


@functools.lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("fields.toml").read_text(encoding="utf-8"))
