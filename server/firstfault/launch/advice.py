"""Which settings may be offered: names by torch version, timeouts only for a slow but living rank, the cost in speed. Edits nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from firstfault.launch import settings
from firstfault.launch.edit import SettingLike, Wanted
from firstfault.launch.occurrences import occurrences


@dataclass(frozen=True, slots=True)
class Offer:
    """A setting that may be offered: under the name that fits, and what applying it costs (empty where it costs no speed)."""

    setting: Wanted
    costs: str = ""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A setting that is not offered, and why."""

    setting: Wanted
    why: str


def offered(wanted: Iterable[SettingLike], *, torch_version: str | None = None, slow_but_living: bool = False) -> list[Offer]:
    """The settings of a page that fit a log.

    `torch_version` is the version seen in the log (`2.6.0+cu124`), None when unknown. `slow_but_living` says that the cause is a rank
    that was slow but alive: only then is a longer timeout a remedy; for a crash it only delays the same error.
    """
    return [o for s in wanted if isinstance(o := judged(s, torch_version=torch_version, slow_but_living=slow_but_living), Offer)]


def judged(setting: SettingLike, *, torch_version: str | None = None, slow_but_living: bool = False) -> Offer | Withheld:
    """Whether one setting may be offered, under which name, and at which cost."""
    info = settings.lookup(setting.name)
    plain = Wanted(setting.kind, setting.name, setting.value)
    if (setting.kind == "timeout" or (info is not None and info.slow_rank_only)) and not slow_but_living:
        return Withheld(plain, "a longer timeout helps only a rank that was slow but alive; here it would only delay the same failure")
    if info is None:
        return Offer(plain)
    if info.unknown_to(torch_version):
        return Withheld(plain, f"torch {torch_version} does not know {info.name}; it came with torch {info.since['torch']}")
    name = settings.name_for(setting.name, torch_version) if setting.kind == "env" else setting.name
    return Offer(Wanted(setting.kind, name, setting.value), info.cost if info.costs_speed(setting.value) else "")


def hang_diagnostics(torch_version: str | None = None) -> list[Wanted]:
    """What to set so that the next hang leaves evidence: NCCL's log, and the flight recorder where the torch version has it.

    Without a version the flight recorder gets its older name, which every torch since 2.2 reads.
    """
    out = [Wanted("env", "NCCL_DEBUG", "INFO")]
    for name, value in (("TORCH_FR_BUFFER_SIZE", "2000"), ("TORCH_NCCL_DUMP_ON_TIMEOUT", "1")):
        info = settings.lookup(name)
        assert info is not None
        if info.unknown_to(torch_version):
            continue
        fitting = info.name_for(torch_version) if torch_version else next((o.name for o in info.was), info.name)
        out.append(Wanted("env", fitting, value))
    return out


def present_diagnostics(text: str, path: str) -> list[Wanted]:
    """Those diagnostics for hangs that a launch file has, under whichever name and with just the value that they are set with."""
    found = []
    for wanted in (w for version in (None, "99.0") for w in hang_diagnostics(version)):
        if wanted not in found and any(o.value == wanted.value for o in occurrences(wanted.name, text, path)):
            found.append(wanted)
    return found


# PyTorch version: 2.4.0+cu121     torch==2.6.0     torch 2.2.1     "torch_version": "2.8.0"
_VERSION = re.compile(
    r"\b(?:PyTorch|torch)(?:[ _-]?version)?[\"']?\s*(?:==|[:=]|\bv)?\s*[\"']?v?(\d\.\d{1,2}(?:\.\d+)?(?:\+\w+)?)\b", re.IGNORECASE
)


def torch_version_in(log: str) -> str | None:
    """The torch version that a log names, or None; where it names several, the first."""
    m = _VERSION.search(log)
    return m.group(1) if m else None
