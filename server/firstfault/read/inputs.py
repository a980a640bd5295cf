"""Opens what the user named: files, folders, standard input, compressed or not. Knows bytes, not lines.

Only here, in the command line and in the server are files touched.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError

CHUNK_BYTES = 1 << 22
_LOG_SUFFIXES = {".log", ".out", ".err", ".txt", ".stdout", ".stderr", ".kmsg", ".dmesg", ".json", ".gz", ".zst", ""}
_SKIPPED_FOLDERS = {".git", "__pycache__", "node_modules", ".venv", "wandb"}
_SNIFF_BYTES = 8192
_LARGEST_INFLATION = 200


@dataclass(frozen=True, slots=True)
class Source:
    """One input: the name the report prints, and where its bytes come from (`None`: standard input)."""

    name: str
    path: Path | None

    @property
    def size_bytes(self) -> int:
        """The size on disk, 0 where it is not known."""
        return self.path.stat().st_size if self.path else 0

    def chunks(self) -> Iterator[bytes]:
        """The (decompressed) bytes in chunks. Raises InputError when the input cannot be read or is binary."""
        try:
            stream = self._open()
            first = stream.read(_SNIFF_BYTES)
            encoding = _encoding(first, self.name)
            if encoding:
                import codecs

                decoder = codecs.getincrementaldecoder(encoding)("replace")
                yield decoder.decode(first).encode()
                while chunk := stream.read(CHUNK_BYTES):
                    yield decoder.decode(chunk).encode()
            else:
                if first:
                    yield first
                while chunk := stream.read(CHUNK_BYTES):
                    yield chunk
        except (OSError, EOFError) as error:
            raise InputError(f"cannot read {self.name}", reason=str(error), where=self.name, help="check the path and its permissions") from error

    def _open(self) -> BinaryIO:
        if self.path is None:
            return sys.stdin.buffer
        raw = open(self.path, "rb")  # noqa: SIM115  the generator that owns it ends with it
        magic = raw.read(4)
        raw.seek(0)
        if magic[:2] == b"\x1f\x8b":
            return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
        if magic == b"\x28\xb5\x2f\xfd":
            return _zstd(raw, self.name)
        return raw


def find_sources(paths: Iterable[str | os.PathLike[str]]) -> list[Source]:
    """The inputs under `paths` (`-` is standard input), sorted and without doubles. Raises InputError."""
    found: dict[str, Source] = {}
    for given in paths:
        name = os.fspath(given)
        if name == "-":
            found["<stdin>"] = Source("<stdin>", None)
            continue
        path = Path(name)
        if not path.exists():
            raise InputError(f"no such file or folder: {name}", reason="nothing is there", where=name, help=_near(path))
        if path.is_dir():
            inside = list(_logs_in(path))
            if not inside:
                raise InputError(
                    f"{name} holds no logs", reason="no file in it looks like text that a job wrote", where=name,
                    help="name the log files themselves: firstfault diagnose FILE...",
                )  # fmt: skip
            for p in inside:
                found[str(p)] = Source(str(p), p)
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


def _logs_in(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED_FOLDERS and not f.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            suffix = path.suffix.lower()
            if name.startswith(".") or not (suffix in _LOG_SUFFIXES or suffix[1:].isdigit() or ".log" in name.lower()):
                continue
            try:
                with open(path, "rb") as f:
                    head = f.read(_SNIFF_BYTES)
            except OSError:
                continue
            if head and (not _is_binary(head) or head[:2] == b"\x1f\x8b" or head[:4] == b"\x28\xb5\x2f\xfd"):
                yield path


def _is_binary(head: bytes) -> bool:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return False
    odd = sum(head.count(bytes([b])) for b in (0, 1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18, 19, 20))
    return odd * 20 > len(head)


def _encoding(head: bytes, name: str) -> str | None:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if _is_binary(head):
        raise InputError(
            f"{name} is a binary file", reason="it holds bytes that no log has", where=name,
            help="name a text log, a .gz or .zst of one, or a folder of logs",
        )  # fmt: skip
    return None


def _zstd(raw: BinaryIO, name: str) -> BinaryIO:
    try:
        from compression import zstd

        return zstd.ZstdFile(raw)  # type: ignore[no-any-return]
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError as error:
        raise InputError(
            f"{name} is compressed with zstd", reason="this Python has no zstd module", where=name,
            help=f"pip install zstandard, or: zstd -dc {name} | firstfault diagnose -",
        ) from error  # fmt: skip
    return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)  # type: ignore[return-value]
