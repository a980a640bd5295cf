"""Takes prefixes off a line and says who printed it. Knows prefixes only as data (prefixes.toml), never a failure."""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model import Origin
from .clock import read_time

_MOST_PREFIXES = 10
_NUMBERS = ("rank", "local_rank", "task", "pid", "device")
_PROCESS = frozenset(("label", "pid"))
_SIGNS = ("rank", "local_rank", "pid", "device")
_MOST_BLANKS = 24


@functools.lru_cache(maxsize=1)
def families() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The prefix families in the order in which they are tried."""
    return tuple((f["name"], re.compile(f["regex"])) for f in family_data())


# A task label says nothing new behind a rank or another task: there `3: ` is the line's own text.
_ONLY_FIRST = "srun-label"
_GROUP = re.compile(r"\(\?P<(\w+)>")


@dataclass(frozen=True, slots=True)
class _Stage:
    """Neighbouring families joined into one expression, since trying thirty one after the other takes most of the time of a line.

    `fields[i]` are the (field, group) pairs of the family that group i belongs to: the last group that matched tells the family.
    """

    pattern: re.Pattern[str]
    fields: list[list[tuple[str, int]]]
    only_first: bool


@functools.lru_cache(maxsize=1)
def _stages() -> tuple[_Stage, ...]:
    """The families in the order in which they are tried."""
    runs: list[list[dict[str, Any]]] = [[]]
    for family in family_data():
        if family["name"] == _ONLY_FIRST:
            runs += [[family], []]
        else:
            runs[-1].append(family)
    return tuple(_join(run) for run in runs if run)


def _join(run: list[dict[str, Any]]) -> _Stage:
    fields: list[list[tuple[str, int]]] = [[]]
    for family in run:
        own = [(field, len(fields) + i) for i, field in enumerate(_GROUP.findall(family["regex"]))]
        fields += [own] * len(own)
    # The groups lose their names, which may occur once only; an expression that begins with a bracket is skipped at another letter.
    pattern = re.compile("|".join(_GROUP.sub("(", family["regex"]) for family in run))
    if pattern.groups != len(fields) - 1:
        raise ValueError("a prefix family has a group without a name")
    return _Stage(pattern, fields, run[0]["name"] == _ONLY_FIRST)


def family_data() -> list[dict[str, Any]]:
    """The families with their samples, as prefixes.toml has them."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = Path(__file__).with_name("prefixes.toml").read_text(encoding="utf-8")
    data: list[dict[str, Any]] = tomllib.loads(text)["family"]
    return data


def read_origin(text: str) -> tuple[int, Origin, tuple[float, bool] | None]:
    """How many characters of `text` are prefixes, who printed the line, and when, as far as it says.

    The first prefix to name something wins, so a rank printed by the process outranks what it quotes. Only a process that stands
    behind a service, or behind the process that hands its lines on, is the one that speaks: `engine-1 | (Worker_TP0 pid=7) …`.
    """
    found: dict[str, Any] = {}
    time: tuple[float, bool] | None = None
    at = 0
    stages = _stages()
    for _ in range(_MOST_PREFIXES):
        # A block that was indented as a whole keeps its prefixes behind the blanks.
        begin = at + _indented(text, at)
        for stage in stages:
            if stage.only_first and ("task" in found or "rank" in found):
                continue
            m = stage.pattern.match(text, at)
            if (m is None or m.end() == at) and begin > at and not stage.only_first:
                m = stage.pattern.match(text, begin)
                if m is not None and not any(m[group] for key, group in stage.fields[m.lastindex or 0] if key in _SIGNS):
                    m = None
            if m is None or m.end() == at:
                continue
            fields = stage.fields[m.lastindex or 0]
            if "label" in found and _PROCESS <= {key for key, group in fields if m[group] is not None}:
                found = {key: value for key, value in found.items() if key not in _PROCESS}
            for key, group in fields:
                value = m[group]
                if value is None:
                    continue
                if key == "time":
                    time = _better(time, read_time(value))
                else:
                    found.setdefault(key, int(value) if key in _NUMBERS else value.strip())
            at = m.end()
            break
        else:
            # What torch writes in front of a rank's lines stays what it is behind a label that no family knows.
            if "rank" in found or (m := _behind_a_label(text, at)) is None:
                break
            found["rank"], at = int(m[1]), m.end()
    if time is None or time[1]:
        time = _better(time, read_time(text[at : at + 160]))
    return at, _origin(tuple(found.items())) if found else _NOBODY, time


_RANK = re.compile(r"\[rank(\d{1,6})\]: ?")
_LONGEST_LABEL = 100
_SPEAKS = re.compile(r"Error|Exception|Traceback|\brank\b|it/s|s/it|%\||['\"]\Z|(?:\b[a-z]{2,} ){2}\Z")


def _behind_a_label(text: str, at: int) -> re.Match[str] | None:
    """torch's own sign of a rank behind a few words that say nothing themselves."""
    where = text.find("[rank", at, at + _LONGEST_LABEL)
    m = _RANK.match(text, where) if where > at else None
    return None if m is None or _SPEAKS.search(text[at:where]) else m


def _indented(text: str, at: int) -> int:
    """How many blanks stand before a letter or bracket that a prefix can begin with."""
    if text[at : at + 1] not in (" ", "\t"):
        return 0
    end = at
    while end < len(text) and end - at <= _MOST_BLANKS and text[end] in " \t":
        end += 1
    return end - at if end - at <= _MOST_BLANKS and end < len(text) else 0


_NOBODY = Origin()


@functools.lru_cache(maxsize=4096)
def _origin(found: tuple[tuple[str, Any], ...]) -> Origin:
    """One object for all lines of one process: there are few processes and many lines."""
    return Origin(**dict(found))


def _better(old: tuple[float, bool] | None, new: tuple[float, bool] | None) -> tuple[float, bool] | None:
    """A time with a date beats one without; else the first one stays."""
    if new is None or (old is not None and (not old[1] or new[1])):
        return old
    return new
