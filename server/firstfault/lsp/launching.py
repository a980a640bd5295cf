"""The seam to the launch files of a workspace: which there are, what to change in them. Knows no protocol and no log."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import FirstFaultError
from ..launch import Kind, TextEdit, detect_kind, edits_for
from ..model import Setting

logger = logging.getLogger(__name__)
LARGEST_SCRIPT_BYTES = 512 * 1024
MOST_FILES = 3
MOST_CANDIDATES = 20
MOST_NAMES = 20_000
DEEPEST = 4
_SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm", ".slrm", ".job", ".pbs", ".lsf", ".bsub", ".zsh", ".ksh", ".batch", ".py")
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "build", "dist", "wandb", "outputs", "venv", "tests"})
_JOINS = re.compile(r"\b(?:init_process_group|InitProcessGroupKwargs|ddp_timeout|DDPStrategy|init_distributed)\b")
_LAUNCHES = re.compile(r"\b(?:torchrun|torch\.distributed|srun|mpirun|mpiexec|deepspeed|accelerate|horovodrun)\b")


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

    def candidates(self, folders: Sequence[str], texts: Mapping[str, str]) -> list[str]:
        """The launch files of workspace folders, the likeliest first."""

    def is_launch_file(self, path: str, text: str) -> bool:
        """Whether a file is one that starts a job."""

    def edits(self, setting: Setting, text: str, path: str) -> list[TextEdit]:
        """What to change so that a setting holds. Raises FirstFaultError where the file is to be left alone."""


class BundledLaunch:
    """The launch module of this package."""

    def candidates(self, folders: Sequence[str], texts: Mapping[str, str]) -> list[str]:
        """The launch files of workspace folders: shell scripts before programs, open ones before others, then the newest first."""
        found: list[tuple[int, int, float, str]] = []
        for path, changed in scripts_in(folders):
            text = texts.get(path)
            if text is None:
                text = read_script(path)
            if text is not None and self.is_launch_file(path, text):
                found.append((detect_kind(path, text) is not Kind.SHELL, path not in texts, -changed, path))
        return [path for *_, path in sorted(found)[:MOST_CANDIDATES]]

    def is_launch_file(self, path: str, text: str) -> bool:
        """Whether a file is one that starts a job: a script that launches, or a program that joins a process group."""
        kind = detect_kind(path, text)
        return kind is not None and (_JOINS if kind is Kind.PYTHON else _LAUNCHES).search(text) is not None

    def edits(self, setting: Setting, text: str, path: str) -> list[TextEdit]:
        """What to change so that a setting holds."""
        return edits_for(setting, text, path)


def scripts_in(folders: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Files whose names look like scripts, with the time of their last change; bounded in depth and number for network file systems."""
    seen = 0
    for folder in folders:
        depth = folder.rstrip(os.sep).count(os.sep)
        for base, inner, names in os.walk(folder):
            inner[:] = sorted(f for f in inner if not f.startswith(".") and f not in _SKIPPED)
            if base.count(os.sep) - depth >= DEEPEST:
                inner.clear()
            for name in sorted(names):
                seen += 1
                if seen > MOST_NAMES:
                    return
                if name.lower().endswith(_SUFFIXES):
                    path = os.path.join(base, name)
                    try:
                        yield path, os.stat(path).st_mtime
                    except OSError:
                        continue


def offers(launch: Launch, settings: Sequence[Setting], folders: Sequence[str], texts: Mapping[str, str]) -> list[Offer]:
    """What can be offered: for each setting at most three files it changes; where none changes, the first that has or refuses it.

    `texts` holds the open documents by path, whose content counts instead of the file's.
    """
    paths = launch.candidates(folders, texts)
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


def title_of(setting: Setting) -> str:
    """What applying a setting does, as the beginning of a title."""
    if setting.kind == "env":
        return f"Set {setting.name}={setting.value}"
    if setting.kind == "timeout":
        return f"Raise the collective timeout to {_duration(setting.value)}"
    return f"Pass {setting.name}{' ' + setting.value if setting.value else ''}"


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
