"""Takes prefixes off a line and says who printed it. Knows prefixes only as data (prefixes.toml), never a failure."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import Any

from ..model import Origin
from .clock import read_time

_MOST_PREFIXES = 10
_NUMBERS = ("rank", "local_rank", "task", "pid", "device")


@functools.lru_cache(maxsize=1)
def families() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The prefix families in the order in which they are tried."""
    return tuple((f["name"], re.compile(f["regex"])) for f in family_data())


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

    The first prefix to name something wins, so a rank printed by the process outranks what it quotes.
    """
    found: dict[str, Any] = {}
    time: tuple[float, bool] | None = None
    at = 0
    for _ in range(_MOST_PREFIXES):
        for name, pattern in families():
            m = pattern.match(text, at)
            if m is None or m.end() == at or (name == "srun-label" and ("task" in found or "rank" in found)):
                continue
            for key, value in m.groupdict().items():
                if value is None:
                    continue
                if key == "time":
                    time = _better(time, read_time(value))
                else:
                    found.setdefault(key, int(value) if key in _NUMBERS else value.strip())
            at = m.end()
            break
        else:
            break
    if time is None or time[1]:
        time = _better(time, read_time(text[at : at + 160]))
    return at, Origin(**found), time


def _better(old: tuple[float, bool] | None, new: tuple[float, bool] | None) -> tuple[float, bool] | None:
    """A time with a date beats one without; else the first one stays."""
    if new is None or (old is not None and (not old[1] or new[1])):
        return old
    return new
