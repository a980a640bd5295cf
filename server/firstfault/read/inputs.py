"""Opens what the user named: files, folders, standard input, remote addresses, compressed or not. Knows bytes, not lines.

Only here, in the command line and in the server are files touched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from .remote import find_remote, is_address, open_remote
from .stream import SNIFF_BYTES, ByteStream, is_binary, is_compressed, is_recorder_dump

_LOG_SUFFIXES = {".log", ".out", ".err", ".txt", ".stdout", ".stderr", ".kmsg", ".dmesg", ".json", ".gz", ".zst", ""}
_SKIPPED_FOLDERS = {".git", "__pycache__", "node_modules", ".venv", "wandb"}


@dataclass(frozen=True, slots=True)
class Source:
    """One input: the name the report prints, and where its bytes come from.

    `path` is a file; without one `name` is an address that fsspec opens, or `<stdin>`. `listed` tells that a folder held it.
    """

    name: str
    path: Path | None
    listed: bool = False
    known_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        """The size as it is stored, 0 where it is not known."""
        if self.path is None:
            return self.known_bytes
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def head(self) -> bytes:
        """The first bytes of a file as they are stored; nothing for what is no readable file."""
        if self.path is None:
            return b""
        try:
            with open(self.path, "rb") as f:
                return f.read(SNIFF_BYTES)
        except OSError:
            return b""

    def open(self) -> ByteStream:
        """The (decompressed) bytes. Raises InputError when the input cannot be read or is binary."""
        try:
            if self.path is not None:
                return ByteStream(open(self.path, "rb", buffering=0), self.name, self.size_bytes)
            if is_address(self.name):
                return ByteStream(open_remote(self.name), self.name, self.known_bytes)
            return ByteStream(sys.stdin.buffer, self.name, 0, owned=False)
        except OSError as error:
            raise InputError(
                f"cannot read {self.name}", reason=str(error), where=self.name, help="check the path and its permissions"
            ) from error


def find_sources(paths: Iterable[str | os.PathLike[str]]) -> list[Source]:
    """The inputs under `paths` (`-` is standard input), sorted and without doubles. Raises InputError."""
    found: dict[str, Source] = {}
    for given in paths:
        name = os.fspath(given)
        if name == "-":
            found["<stdin>"] = Source("<stdin>", None)
            continue
        if is_address(name):
            for address, size, listed in find_remote(name, _wanted):
                source = Source(address, None, listed, size)
                found[address] = found.get(address, source) if listed else source
            continue
        path = Path(name)
        if not path.exists():
            raise InputError(f"no such file or folder: {name}", reason="nothing is there", where=name, help=_near(path))
        if path.is_dir():
            inside = list(logs_in(path))
            if not inside:
                raise InputError(
                    f"{name} holds no logs", reason="no file in it looks like text that a job wrote", where=name,
                    help="name the log files themselves: firstfault diagnose FILE...",
                )  # fmt: skip
            for p in inside:
                found.setdefault(str(p), Source(str(p), p, True))
        else:
            found[name] = Source(name, path)
    if not found:
        raise InputError("no input was named", help="firstfault diagnose PATH... (`-` reads standard input)")
    return [found[name] for name in sorted(found)]


def _near(path: Path) -> str:
    import difflib

    try:
        names = [p.name for p in path.parent.iterdir()][:2000]
    except OSError:
        return "check the spelling of the path"
    near = difflib.get_close_matches(path.name, names, 1)
    return f"did you mean {path.parent / near[0]}?" if near else "check the spelling of the path"


def _wanted(name: str) -> bool:
    """Whether a file of a folder may be a log, by its name."""
    suffix = os.path.splitext(name)[1].lower()
    return not name.startswith(".") and (suffix in _LOG_SUFFIXES or suffix[1:].isdigit() or ".log" in name.lower())


def logs_in(folder: Path, known: Container[str] = ()) -> Iterator[Path]:
    """The files of a folder and those below that look like logs; what is `known` to be one is not looked into again."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED_FOLDERS and not f.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if str(path) in known:
                yield path
                continue
            if not _wanted(name) or not path.is_file():
                continue
            try:
                with open(path, "rb") as f:
                    head = f.read(SNIFF_BYTES)
            except OSError:
                continue
            if head and (is_compressed(head) or is_recorder_dump(head) or not is_binary(head)):
                yield path
