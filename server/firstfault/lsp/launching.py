"""The seam to the launch files of a workspace: which there are, which settings fit, what to change. Knows no protocol and no log."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import FirstFaultError
from ..launch import TextEdit, advice, edits_for
from ..launch.candidates import LaunchFile, LogHints, find_candidates, launch_files
from ..launch.settings import lookup
from ..model import Setting

logger = logging.getLogger(__name__)
LARGEST_SCRIPT_BYTES = 512 * 1024
MOST_FILES = 3
# How long a walk over the workspace counts.
FRESH_S = 15.0


@dataclass(frozen=True, slots=True)
class Offer:
    """One setting for one launch file. `edits` is empty where the setting holds already; `refusal` says why a file is left alone."""

    setting: Setting
    path: str
    edits: tuple[TextEdit, ...]
    text: str
    refusal: str = ""


class Launch(Protocol):
    """What the server asks of the launch module. May be called from a worker thread."""

    def candidates(self, folders: Sequence[str], hints: LogHints) -> list[str]:
        """The launch files of workspace folders, the likeliest for a log first."""

    def is_launch_file(self, path: str, text: str) -> bool:
        """Whether a file is one that starts a job."""

    def edits(self, setting: Setting, text: str, path: str) -> list[TextEdit]:
        """What to change so that a setting holds. Raises FirstFaultError where the file is to be left alone."""


class BundledLaunch:
    """The launch module of this package."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[tuple[tuple[str, ...], LogHints], tuple[float, list[str]]] = {}

    def candidates(self, folders: Sequence[str], hints: LogHints) -> list[str]:
        """The launch files of workspace folders, the likeliest for a log first. A walk over the folders is good for 15 seconds."""
        key = (tuple(folders), hints)
        walked_s, paths = self._known.get(key, (-FRESH_S, []))
        if self._clock() - walked_s >= FRESH_S:
            found = [candidate for folder in folders for candidate in find_candidates(folder, hints)]
            paths = [c.path for c in sorted(found, key=lambda c: -c.score)]
            self._known = {key: (self._clock(), paths)}
        return paths

    def is_launch_file(self, path: str, text: str) -> bool:
        """Whether a file is one that starts a job."""
        return bool(launch_files([LaunchFile(path, text)]))

    def edits(self, setting: Setting, text: str, path: str) -> list[TextEdit]:
        """What to change so that a setting holds."""
        return edits_for(setting, text, path)


@dataclass(frozen=True, slots=True)
class Withheld:
    """A setting that is not offered, and why."""

    setting: Setting
    why: str


def judged(setting: Setting, torch_version: str | None, *, slow_but_living: bool) -> Setting | Withheld:
    """A setting under the name that a torch version knows, or why it is none for this cause or version."""
    found = advice.judged(setting, torch_version=torch_version, slow_but_living=slow_but_living)
    if isinstance(found, advice.Withheld):
        return Withheld(setting, found.why)
    return Setting(found.setting.kind, found.setting.name, found.setting.value, setting.why)


def cost_in_speed(setting: Setting) -> str:
    """What a setting costs where it slows training down, as a sentence; empty where it does not."""
    info = lookup(setting.name)
    return info.cost if info is not None and info.costs_speed(setting.value) else ""


def offers(launch: Launch, settings: Sequence[Setting], folders: Sequence[str], hints: LogHints, texts: Mapping[str, str]) -> list[Offer]:
    """What can be offered: for each setting at most three files it changes; where none changes, the first that has or refuses it.

    `hints` is what the log says of its launch, `texts` holds the open documents by path, whose content counts instead of the file's.
    """
    paths = launch.candidates(folders, hints)
    # What is open may not be saved yet, or lie outside the workspace.
    paths = [*paths, *(p for p, text in texts.items() if p not in paths and launch.is_launch_file(p, text))]
    out: list[Offer] = []
    for setting in settings:
        found: list[Offer] = []
        other: list[Offer] = []
        for path in paths:
            offer = offer_of(launch, setting, path, texts.get(path))
            if offer is not None:
                (found if offer.edits else other).append(offer)
            if len(found) == MOST_FILES:
                break
        # A file that holds the setting says more than one that cannot carry it.
        out += found or sorted(other, key=lambda o: bool(o.refusal))[:1]
    return out


def offer_of(launch: Launch, setting: Setting, path: str, text: str | None) -> Offer | None:
    """What a setting would change in one file; None when the file cannot be read or is too large to be a script."""
    if text is None:
        text = read_script(path)
    if text is None or len(text) > LARGEST_SCRIPT_BYTES:
        return None
    try:
        return Offer(setting, path, tuple(launch.edits(setting, text, path)), text)
    except FirstFaultError as error:
        return Offer(setting, path, (), text, f"{error.what}: {error.reason}" if error.reason else error.what)
    except Exception:  # One script that trips the editor of its kind must not take the other offers away.
        logger.exception("no edit of %s for %s", path, setting.name)
        return Offer(setting, path, (), text, "the edit failed, see the log")


def read_script(path: str) -> str | None:
    """The text of a script with its line ends; None when it cannot be read, is too large or is no UTF-8."""
    try:
        if os.path.getsize(path) > LARGEST_SCRIPT_BYTES:
            return None
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None


def title_in(setting: Setting, path: str) -> str:
    """What applying a setting to a file does; an edit that costs speed says so."""
    return f"{title_of(setting)} in {os.path.basename(path)}{' (costs speed)' if cost_in_speed(setting) else ''}"


def described(setting: Setting) -> str:
    """Why a setting is offered, and what it costs."""
    return ". ".join(part for part in (setting.why.rstrip("."), cost_in_speed(setting)) if part)


def title_of(setting: Setting) -> str:
    """What applying a setting does, as the beginning of a title."""
    if setting.kind == "env":
        return f"Set {setting.name}={setting.value}"
    if setting.kind == "timeout":
        return f"Raise the collective timeout to {_duration(setting.value)}"
    return f"Pass {setting.name}{' ' + setting.value if setting.value else ''}"


def why_nothing(offer: Offer | None, setting: Setting) -> str:
    """Why a setting changes nothing: no script, a script that holds it, or one that refuses it."""
    if offer is None:
        return "no launch script in the workspace"
    name = os.path.basename(offer.path)
    return f"{name}: {offer.refusal}" if offer.refusal else f"{setting.name} is set already in {name}"


def line_to_copy(setting: Setting) -> str:
    """A line that a person can put into a script by hand."""
    if setting.kind == "env":
        return f"export {setting.name}={setting.value}"
    if setting.kind == "timeout":
        seconds = setting.value if setting.value.isdigit() else None
        value = f"timedelta(seconds={seconds})" if seconds else setting.value
        return f"torch.distributed.init_process_group(timeout={value})"
    return f"{setting.name} {setting.value}".strip()


def _duration(value: str) -> str:
    """Seconds in the largest unit that holds them whole; other spellings as they are."""
    if not value.isdigit():
        return value
    seconds = int(value)
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
