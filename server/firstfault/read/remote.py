"""Inputs behind an address such as s3://bucket/run-7/, through fsspec. Knows no log and no file system by name.

fsspec and what it needs for a protocol are optional: nothing is imported before an address is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import InputError

MOST_FILES = 100_000
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+(?:::[a-z][a-z0-9+.-]+)*://", re.IGNORECASE)
# What fsspec needs beyond itself, as the extras of this package name it.
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "ssh": "ssh", "sftp": "ssh"}


def is_address(name: str) -> bool:
    """Whether `name` is an address rather than a path."""
    return _ADDRESS.match(name) is not None


def find_remote(address: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, int, bool]]:
    """(address, size in bytes, whether a folder held it) of the file at `address`, or of the files below it whose name is wanted.

    Raises InputError.
    """
    system, path = _system(address)
    try:
        if not system.isdir(path):
            if not system.exists(path):
                raise InputError(
                    f"no such file or folder: {address}", reason="nothing is there", where=address,
                    help="check the address and your access to it",
                )  # fmt: skip
            yield address, int(system.size(path) or 0), False
            return
        count = 0
        for name, info in sorted(system.find(path, detail=True).items()):
            if wanted(name.rpartition("/")[2]) and (info.get("size") or 0) > 0:
                count += 1
                if count > MOST_FILES:
                    raise InputError(
                        f"{address} holds more than {MOST_FILES} logs", reason="that is no single job", where=address,
                        help="name a folder below it",
                    )  # fmt: skip
                yield system.unstrip_protocol(name), int(info.get("size") or 0), True
    except InputError:
        raise
    except Exception as error:  # every file system has errors of its own
        raise _unreachable(address, error) from error
    if not count:
        raise InputError(
            f"{address} holds no logs", reason="no file in it is named like text that a job wrote", where=address,
            help="name the log files themselves",
        )  # fmt: skip


def open_remote(address: str) -> Any:
    """A binary stream of the file at `address`. Raises InputError."""
    system, path = _system(address)
    try:
        return system.open(path, "rb")
    except Exception as error:
        raise _unreachable(address, error) from error


def _system(address: str) -> tuple[Any, str]:
    protocol = address.split("://")[0]
    try:
        import fsspec
    except ImportError as error:
        raise InputError(
            f"{address} is a remote address", reason="fsspec, which reads such addresses, is not installed", where=address,
            help=f'pip install "firstfault[{_EXTRAS.get(protocol, "remote")}]", or copy the logs and name the copy',
        ) from error  # fmt: skip
    try:
        system, path = fsspec.core.url_to_fs(address)
        return system, path
    except ImportError as error:
        raise InputError(
            f"{address} cannot be reached", reason=str(error), where=address,
            help=f'pip install "firstfault[{_EXTRAS.get(protocol, "remote")}]"',
        ) from error  # fmt: skip
    except Exception as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> InputError:
    return InputError(
        f"{address} cannot be reached", reason=f"{type(error).__name__}: {error}", where=address,
        help="check the address, the network and your credentials",
    )  # fmt: skip
