"""Reads what was added to a file since the last look, in the state of one LineReader. Knows truncation and rotation, no clock.

A file that shrank, was replaced or does not go on as it did is another file now and is read from its beginning.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import InputError
from .reader import Budget, LineReader, RawFile
from .scan import Scanner
from .stream import SNIFF_BYTES, is_binary, is_compressed, is_recorder_dump, is_wide

_COMPARED_BYTES = 256


class FollowedFile:
    """One file. `look` reads what is new, `snapshot` gives what was read so far.

    `whole` marks what cannot be read piece by piece: archives, dumps, UTF-16. Its `look` only says whether it changed.
    """

    def __init__(self, scanner: Scanner, name: str, path: Path, budget: Budget) -> None:
        self.name = name
        self.path = path
        self.whole = False
        self.restarts = 0
        self.identity: tuple[int, int] | None = None
        self._scanner = scanner
        self._budget = budget
        self._stamp: tuple[int, int] | None = None
        self._begin()

    def _begin(self) -> None:
        self._reader = LineReader(self._scanner, self.name, self._budget)
        self._offset = 0
        self._head = b""
        self._before = b""

    @property
    def settled_bytes(self) -> int:
        """How many bytes from the beginning a checkpoint covers."""
        return self._reader.settled_bytes

    @property
    def read_bytes(self) -> int:
        """How many bytes were read so far."""
        return self._offset

    def rename(self, name: str, path: Path) -> None:
        """The same file has another name now."""
        self.name, self.path = name, path
        self._reader.name = name

    def look(self, told: Callable[[int], None] | None = None) -> bool:
        """Read what is new; whether anything was. `told` is called with the number of bytes just read; what it raises ends the reading.

        Raises InputError for a file that is no text; a file that is gone for the moment has nothing new.
        """
        try:
            with open(self.path, "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                stamp = (status.st_size, status.st_mtime_ns)
                identity = (status.st_dev, status.st_ino)
                if self.identity == identity and self._stamp == stamp:
                    return False
                if self.whole:
                    self.identity, self._stamp = identity, stamp
                    return True
                restarted = self._offset > 0 and not self._goes_on(file, status.st_size, identity)
                if restarted:
                    self.restarts += 1
                    self._begin()
                self.identity = identity
                changed = self._read(file, told) or restarted
                # Only what was read completely needs not be looked at again.
                self._stamp = stamp if self._offset >= status.st_size else None
                return changed
        except FileNotFoundError:
            return False
        except OSError as error:
            raise InputError(
                f"cannot read {self.name}", reason=str(error), where=self.name, help="check the path and its permissions"
            ) from error

    def snapshot(self) -> RawFile:
        """What reading the whole file would give."""
        return self._reader.snapshot()

    def state(self) -> dict[str, Any] | None:
        """A checkpoint as values of JSON; `None` where beginning again costs nothing."""
        if self.whole or not self._reader.settled_bytes:
            return None
        tail = self._reader.tail
        return {"reader": self._reader.state(), "tail": len(tail), "digest": hashlib.sha256(self._head + tail).hexdigest()}

    def restore(self, state: dict[str, Any]) -> bool:
        """Go on at a checkpoint; whether the file is still the one it was made of."""
        settled = state["reader"]["bytes"]
        try:
            with open(self.path, "rb") as file:
                head = file.read(_COMPARED_BYTES)
            tail = self._bytes_before(settled, state["tail"])
        except OSError:
            return False
        if hashlib.sha256(head + tail).hexdigest() != state["digest"]:
            return False
        self._reader.restore(state["reader"], tail)
        self._offset = settled
        self._head = head
        self._before = tail[-_COMPARED_BYTES:]
        return True

    def _bytes_before(self, offset: int, count: int) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(offset - count)
            return file.read(count)

    def _goes_on(self, file: Any, size: int, identity: tuple[int, int]) -> bool:
        """Whether this is the file that was read, with more behind it."""
        if size < self._offset or self.identity not in (None, identity):
            return False
        file.seek(0)
        if file.read(len(self._head)) != self._head:
            return False
        file.seek(self._offset - len(self._before))
        return bool(file.read(len(self._before)) == self._before)

    def _read(self, file: Any, told: Callable[[int], None] | None) -> bool:
        if not self._offset:
            file.seek(0)
            head = file.read(SNIFF_BYTES)
            if not head:
                return False
            if is_compressed(head) or is_wide(head) or is_recorder_dump(head):
                self.whole = True
                return True
            if is_binary(head):
                raise InputError(
                    f"{self.name} is a binary file", reason="it holds bytes that no log has", where=self.name,
                    help="name a text log or a folder of logs",
                )  # fmt: skip
        file.seek(self._offset)
        begun = self._offset
        while count := file.readinto(space := self._reader.space()):
            self._note(space[:count])
            self._reader.commit(count)
            self._offset += count
            if told:
                told(count)
        return self._offset > begun

    def _note(self, data: memoryview) -> None:
        """Remember by which bytes the file is known again."""
        if len(self._head) < _COMPARED_BYTES:
            self._head += bytes(data[: _COMPARED_BYTES - len(self._head)])
        if len(data) >= _COMPARED_BYTES:
            self._before = bytes(data[-_COMPARED_BYTES:])
        else:
            self._before = (self._before + bytes(data))[-_COMPARED_BYTES:]
