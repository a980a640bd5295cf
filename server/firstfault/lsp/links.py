"""Links from `File "train.py", line 42` to the file, also where the job ran in a container. Knows no verdict."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from .jobs import StopFlag
from .positions import LineIndex, units_of
from .structure import Structure

if TYPE_CHECKING:
    from .session import Session

MOST_LINKS = 5_000
MOST_PATHS = 1_000
MOST_FILES = 50_000
DEEPEST = 6
SUFFIXES = (".py", ".pyx", ".cpp", ".cc", ".cu", ".h", ".cuh")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "build", "dist", "wandb", "outputs", "venv"})
_FOREIGN = frozenset({"site-packages", "dist-packages"})
# lib/python3.11/runpy.py
_PYTHON_LIBRARY = re.compile(r"python\d(?:\.\d+)?")


async def answer(session: Session, structure: Structure, index: LineIndex) -> list[types.DocumentLink]:
    """The links of an open log, looked up in a worker thread."""
    folders, encoding = session.documents.folder_paths(), session.client.encoding
    return await session.workers.run(lambda _: links_of(structure, index, folders, encoding), StopFlag(), long=False)


def links_of(structure: Structure, index: LineIndex, folders: Sequence[str], encoding: str) -> list[types.DocumentLink]:
    """The links of a log. Asks the disk."""
    workspace = WorkspaceFiles(folders) if structure.mentions else None
    known: dict[str, str | None] = {}
    out: list[types.DocumentLink] = []
    for mention in structure.mentions[:MOST_LINKS]:
        if mention.path not in known:
            if len(known) >= MOST_PATHS:
                continue
            known[mention.path] = workspace.find(mention.path) if workspace else None
        path = known[mention.path]
        if path is None:
            continue
        text = index.line(mention.editor_line)
        start, end = units_of(text[: mention.start], encoding), units_of(text[: mention.end], encoding)
        place = types.Range(types.Position(mention.editor_line, start), types.Position(mention.editor_line, end))
        out.append(types.DocumentLink(place, f"{from_fs_path(path)}#L{mention.line}", f"{path}:{mention.line}"))
    return out


class WorkspaceFiles:
    """The source files of the workspace folders by name. Reads the folders once, when first asked."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self._by_name: dict[str, list[str]] | None = None

    def find(self, path: str) -> str | None:
        """The file a path in a log means here: itself where it exists, else the workspace file that shares its longest ending.

        Two that share equally much give none. A name alone is not enough for a file of Python's library or of a package.
        """
        if _is_absolute(path) and os.path.isfile(path):
            return path
        parts = [p for p in path.replace("\\", "/").split("/") if p not in ("", ".", "..")]
        if not parts or any(p in _FOREIGN or _PYTHON_LIBRARY.fullmatch(p) for p in parts[:-1]):
            return None
        best: list[str] = []
        longest = 0
        for candidate in self._named(parts[-1]):
            shared = _shared_ending(parts, candidate)
            if shared > longest:
                best, longest = [candidate], shared
            elif shared == longest:
                best.append(candidate)
        return best[0] if len(best) == 1 else None

    def _named(self, name: str) -> list[str]:
        if self._by_name is None:
            self._by_name = {}
            for folder in self._folders:
                for path in _sources_in(folder):
                    self._by_name.setdefault(os.path.basename(path), []).append(path)
        return self._by_name.get(name, [])


def _sources_in(folder: str) -> Iterator[str]:
    """The source files under a folder, up to a depth and a number that keep a network file system usable."""
    seen = 0
    depth = folder.rstrip(os.sep).count(os.sep)
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        if base.count(os.sep) - depth >= DEEPEST:
            folders.clear()
        for name in names:
            if name.endswith(SUFFIXES):
                yield os.path.join(base, name)
        seen += len(names)
        if seen > MOST_FILES:
            return


def _shared_ending(parts: Sequence[str], path: str) -> int:
    """How many components at the end of a path are the same."""
    other = path.replace(os.sep, "/").split("/")
    shared = 0
    while shared < min(len(parts), len(other)) and parts[-1 - shared] == other[-1 - shared]:
        shared += 1
    return shared


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or _WINDOWS.match(path) is not None
