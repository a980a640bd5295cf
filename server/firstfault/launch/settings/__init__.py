"""The settings catalogue: what each environment variable, flag and timeout means, costs and decides. Does not edit anything.

The TOML files beside this module hold one `[[setting]]` a name:
    name, kind (env, flag, timeout), meaning      a name that ends in * stands for a whole prefix
    values     [value, what it does] pairs        default    what happens when it is unset
    since      {torch = "2.8", nccl = "2.24"}     until      the version from which it is gone
    was        old names: {name, since, until}, or {name, alias = true} for one that stays valid
    requires   a setting without which it does nothing
    cost       what it costs; slow_values are those that slow training down
    slow_rank_only   true where it only helps if a rank was slow but alive
    decides    the question it helps to answer    note, url
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class OldName:
    """A former name: the torch versions that knew it, and whether it stays valid beside the new one."""

    name: str
    since: str | None = None
    until: str | None = None
    alias: bool = False


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """What is known about one setting; versions are strings such as `2.8`."""

    name: str
    kind: str
    meaning: str
    values: tuple[tuple[str, str], ...]
    default: str
    since: Mapping[str, str]
    until: Mapping[str, str]
    was: tuple[OldName, ...]
    requires: str | None
    cost: str
    slow_values: tuple[str, ...]
    slow_rank_only: bool
    decides: str
    note: str
    url: str

    def costs_speed(self, value: str) -> bool:
        """Whether this value slows training down; a comma-separated value does if one of its parts does."""
        parts = {p.strip().upper() for p in value.split(",")}
        return any(v.upper() in parts for v in self.slow_values)

    def name_for(self, torch_version: str | None) -> str:
        """The name that a torch version knows; without a version, the current one."""
        if torch_version is None or "torch" not in self.since or at_least(torch_version, self.since["torch"]):
            return self.name
        return next((o.name for o in self.was), self.name)

    def unknown_to(self, torch_version: str | None) -> bool:
        """Whether a torch version knows neither this name nor an old one."""
        if torch_version is None or "torch" not in self.since or at_least(torch_version, self.since["torch"]):
            return False
        return not any(o.since is None or at_least(torch_version, o.since) for o in self.was)

    def hover_markdown(self, name: str | None = None) -> str:
        """What a hover shows: meaning, values, default, versions, cost, what it decides and the documentation; one sentence a line."""
        shown = name or self.name
        out = [f"**`{shown}`** · {_KINDS[self.kind]}", "", self.meaning]
        old = next((o for o in self.was if o.name == shown), None)
        if old is not None:
            out.append(
                f"`{shown}` is {'an alias' if old.alias else 'the old name'} of `{self.name}`"
                + (f", renamed in torch {old.until}." if old.until else ".")
            )
        elif self.was:
            out.append("Also known as " + ", ".join(f"`{o.name}`" for o in self.was) + ".")
        if self.values:
            out += ["", "| value | what it does |", "|---|---|"]
            out += [f"| {_code(value)} | {what} |" for value, what in self.values]
        out += ["", f"- Default: {self.default}."]
        if self.since:
            out.append("- Since " + ", ".join(f"{_PRODUCTS[k]} {v}" for k, v in self.since.items()) + ".")
        if self.until:
            out.append("- Gone since " + ", ".join(f"{_PRODUCTS[k]} {v}" for k, v in self.until.items()) + ".")
        if self.requires:
            out.append(f"- Does nothing without `{self.requires}`.")
        out.append(f"- Cost: {self.cost}")
        out.append(f"- Helps to decide: {self.decides}")
        if self.note:
            out.append(f"- {self.note}")
        out += ["", f"[Documentation]({self.url})"]
        return "\n".join(out)


_KINDS = {"env": "environment variable", "flag": "command-line flag", "timeout": "timeout in code"}
_PRODUCTS = {"torch": "torch", "nccl": "NCCL"}


def lookup(name: str) -> SettingInfo | None:
    """The entry of a name: current, old, with either kind of dash in a flag, or by its prefix (`VLLM_*`); None where it is unknown."""
    table = _by_name()
    if name.startswith("-"):
        name = "--" + name.lstrip("-").split("=")[0]
        return table.get(name) or table.get(name.replace("_", "-")) or table.get("--" + name[2:].replace("-", "_"))
    if name in table:
        return table[name]
    m = re.match(r"[A-Z]+_", name)
    return table.get(m.group() + "*") if m and len(name) > m.end() else None


def all_settings() -> tuple[SettingInfo, ...]:
    """Every entry of the catalogue, in the order of the files."""
    return _load()


def name_for(name: str, torch_version: str | None) -> str:
    """The name of a setting that fits a torch version; a name that is unknown stays as it is."""
    info = lookup(name)
    return info.name_for(torch_version) if info is not None and not info.name.endswith("*") else name


def at_least(version: str, minimum: str) -> bool:
    """Whether a version such as `2.10.0+cu128` is at least `2.8`."""
    return _numbers(version) >= _numbers(minimum)


def _numbers(version: str) -> tuple[int, ...]:
    m = re.match(r"v?(\d+)\.(\d+)", version.strip())
    return (int(m.group(1)), int(m.group(2))) if m else (0, 0)


def _code(value: str) -> str:
    return f"`{value}`" if value else "(empty)"


@functools.lru_cache(maxsize=1)
def _load() -> tuple[SettingInfo, ...]:
    return tuple(_info(raw) for raw in _raw_settings())


@functools.lru_cache(maxsize=1)
def _by_name() -> dict[str, SettingInfo]:
    table: dict[str, SettingInfo] = {}
    for info in _load():
        for name in (info.name, *(o.name for o in info.was)):
            if name in table:
                raise ValueError(f"the settings catalogue names {name} twice")
            table[name] = info
    return table


def _raw_settings() -> Iterator[dict[str, Any]]:
    folder = resources.files(__name__)
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            yield from tomllib.loads(entry.read_text(encoding="utf-8"))["setting"]


def _info(raw: dict[str, Any]) -> SettingInfo:
    return SettingInfo(
        name=raw["name"],
        kind=raw["kind"],
        meaning=raw["meaning"],
        values=tuple((v, what) for v, what in raw.get("values", [])),
        default=raw["default"],
        since=raw.get("since", {}),
        until=raw.get("until", {}),
        was=tuple(OldName(**o) for o in raw.get("was", [])),
        requires=raw.get("requires"),
        cost=raw["cost"],
        slow_values=tuple(raw.get("slow_values", [])),
        slow_rank_only=raw.get("slow_rank_only", False),
        decides=raw["decides"],
        note=raw.get("note", ""),
        url=raw["url"],
    )
