"""Bytes of one input as they are read: decompressed, decoded to UTF-8 where they are UTF-16, and bounded. Knows no lines.

What a log archive may do to its reader is bounded here: an archive that inflates without end is cut, one that ends early gives what it has.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from typing import Any, BinaryIO, cast

from ..errors import InputError

SNIFF_BYTES = 8192
CHUNK_BYTES = 1 << 20
# deflate cannot exceed 1032 to 1; logs compress 5 to 100 to 1.
LARGEST_INFLATION = 250
ALWAYS_INFLATED_BYTES = 1 << 30
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def is_compressed(head: bytes) -> bool:
    """Whether a file that begins with `head` is gzip or zstd."""
    return head.startswith((_GZIP, _ZSTD))


def is_wide(head: bytes) -> bool:
    """Whether a file that begins with `head` is UTF-16."""
    return head.startswith(_UTF_16)


def is_binary(head: bytes) -> bool:
    """Whether a file that begins with `head` is no text.

    Zero bytes alone prove nothing: a log that somebody truncated while others went on writing has holes of them.
    """
    if is_wide(head):
        return False
    text = head.replace(b"\0", b"")
    odd = sum(text.count(bytes([b])) for b in (1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18, 19, 20))
    if odd * 20 > len(text) or (head and not text):
        return True
    return len(text) < len(head) and text.decode("utf-8", "replace").count("\ufffd") * 20 > len(text)


def is_recorder_dump(head: bytes) -> bool:
    """Whether a file that begins with `head` is a flight-recorder dump: a pickle or JSON object with the recorder's keys."""
    keys = (b"pg_config", b"entries", b"nccl_version", b"comm_lib_version")
    if head[:1] == b"\x80":
        return any(key in head[:4096] for key in keys)
    return head.lstrip()[:1] == b"{" and any(b'"' + key + b'"' in head[:4096] for key in keys)


class ByteStream:
    """Reads one input with `readinto`; a context manager that closes it. `notes` says what a reader of the report must know."""

    def __init__(self, raw: Any, name: str, size_bytes: int, *, owned: bool = True) -> None:
        self.name = name
        self.notes: list[str] = []
        self._raw = raw
        self._stream: Any = raw
        self._owned = owned
        self._given = 0
        self._most: int | None = None
        self._waiting = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._errors: tuple[type[BaseException], ...] = (OSError, EOFError, zlib.error)
        try:
            self._begin(size_bytes)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened."""
        if self._owned:
            self._raw.close()

    def readinto(self, view: memoryview) -> int:
        """Read some bytes into `view`; 0 at the end. Raises InputError."""
        if self._waiting:
            count = min(len(view), len(self._waiting))
            view[:count] = self._waiting[:count]
            self._waiting = self._waiting[count:]
        elif self._decoder is not None:
            self._waiting = self._decode()
            return self.readinto(view) if self._waiting else 0
        elif self._most is None:
            count = self._read_plain(view)
        else:
            count = self._read_bounded(view)
        self._given += count
        return count

    def _begin(self, size_bytes: int) -> None:
        head = self._raw.read(SNIFF_BYTES) or b""
        if is_compressed(head):
            if self._owned and self._raw.seekable():
                self._raw.seek(0)
                packed = self._raw
            else:
                packed = cast(BinaryIO, _Prefixed(head, self._raw))
            self._stream = gzip.GzipFile(fileobj=packed) if head.startswith(_GZIP) else self._zstd(packed)
            self._most = max(ALWAYS_INFLATED_BYTES, LARGEST_INFLATION * size_bytes)
            head = self._first_inflated()
        if is_binary(head):
            raise InputError(
                f"{self.name} is a binary file", reason="it holds bytes that no log has", where=self.name,
                help="name a text log, a .gz or .zst of one, or a folder of logs",
            )  # fmt: skip
        if is_wide(head):
            self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
            self._waiting = self._decoder.decode(head).encode()
        else:
            self._waiting = head

    def _read_plain(self, view: memoryview) -> int:
        try:
            return self._stream.readinto(view) or 0
        except self._errors as error:
            raise self._unreadable(error) from error

    def _read_bounded(self, view: memoryview) -> int:
        most = self._most or 0
        if self._given >= most:
            self.notes.append(
                f"{self.name}: inflates to more than {LARGEST_INFLATION} times its size; only its first {self._given} bytes were read"
            )
            self._most = None
            self._stream = _Prefixed(b"", None)
            return 0
        try:
            # `readinto` would lose what it inflated before it met the damage.
            return self._stream.readinto1(view[: most - self._given]) or 0
        except self._errors as error:
            self._end_at_damage(error)
            return 0

    def _first_inflated(self) -> bytes:
        """The first bytes of an archive; fewer where it is damaged or ends early."""
        head = b""
        try:
            while len(head) < SNIFF_BYTES and (piece := self._stream.read1(SNIFF_BYTES - len(head))):
                head += piece
        except self._errors as error:
            if not head:
                raise self._unreadable(error) from error
            self._end_at_damage(error)
        return head

    def _end_at_damage(self, error: BaseException) -> None:
        """Somebody was still writing the archive, or the disk was full: what is there is worth reading."""
        self.notes.append(f"{self.name}: the archive is damaged or ends early ({error}); what stands before was read")
        self._most = None
        self._stream = _Prefixed(b"", None)

    def _decode(self) -> bytes:
        while chunk := self._guarded(lambda: self._stream.read(CHUNK_BYTES)):
            assert self._decoder is not None
            if text := self._decoder.decode(chunk):
                return text.encode("utf-8", "replace")
        return b""

    def _guarded(self, read: Any) -> bytes:
        try:
            return read() or b""
        except self._errors as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: BaseException) -> InputError:
        return InputError(f"cannot read {self.name}", reason=str(error), where=self.name, help="check the path and its permissions")

    def _zstd(self, packed: BinaryIO) -> Any:
        try:
            from compression import zstd

            self._errors += (zstd.ZstdError,)
            return zstd.ZstdFile(packed)
        except ImportError:
            pass
        try:
            import zstandard
        except ImportError as error:
            raise InputError(
                f"{self.name} is compressed with zstd", reason="this Python has no zstd module", where=self.name,
                help=f"pip install zstandard, or: zstd -dc {self.name} | firstfault diagnose -",
            ) from error  # fmt: skip
        self._errors += (zstandard.ZstdError,)
        return _Frames(packed, zstandard.ZstdDecompressor())


class _Frames:
    """Inflates the frames of a zstd archive one after the other. Unlike the package's own reader it tells an end inside a frame."""

    # A block of four bytes may stand for 128 KB, so this much gives 32 MB at most.
    _PIECE_BYTES = 1024

    def __init__(self, packed: BinaryIO, decompressor: Any) -> None:
        self._packed = packed
        self._decompressor = decompressor
        self._frame: Any = None
        self._left = b""
        self._ready = memoryview(b"")

    def read1(self, size: int = -1) -> bytes:
        """Some bytes; none at the end. Raises EOFError for an archive that ends inside a frame."""
        while not self._ready:
            piece = self._left or self._packed.read(self._PIECE_BYTES)
            if not piece:
                if self._frame is not None:
                    raise EOFError("it ends inside a frame")
                return b""
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            self._ready = memoryview(self._frame.decompress(piece))
            self._left = b""
            if self._frame.eof:
                self._left, self._frame = self._frame.unused_data, None
        given = self._ready if size < 0 else self._ready[:size]
        self._ready = self._ready[len(given) :]
        return bytes(given)

    read = read1

    def readinto1(self, view: memoryview) -> int:
        """Read some bytes into `view`; 0 at the end."""
        data = self.read1(len(view))
        view[: len(data)] = data
        return len(data)


class _Prefixed:
    """A stream that gives `head` first and then what `rest` gives: for inputs that cannot be rewound."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if self._head:
            given = self._head if size < 0 else self._head[:size]
            self._head = self._head[len(given) :]
            return given
        return b"" if self._rest is None else self._rest.read(size) or b""

    def readinto(self, view: memoryview) -> int:
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
