"""Knows the user's folders, keeps there what is costly to compute, and gives back only what is intact. Knows not what it keeps.

A name carries a digest of everything its content depends on, so nothing is ever out of date; what is damaged counts as absent.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

_KEPT_OF_A_KIND = 6
_DIGEST_BYTES = 32


def load_cached(name: str) -> bytes | None:
    """What was stored under a name; `None` where there is nothing, or nothing intact."""
    try:
        stored = (cache_folder() / name).read_bytes()
    except OSError:
        return None
    data = stored[_DIGEST_BYTES:]
    return data if hashlib.sha256(data).digest() == stored[:_DIGEST_BYTES] else None


def store_cached(name: str, data: bytes) -> bool:
    """Store data under a name; whether that succeeded. Of what has the same prefix up to `-` only the newest few stay."""
    folder = cache_folder()
    path = folder / name
    part = folder / f"{name}.{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(hashlib.sha256(data).digest() + data)
        part.replace(path)
        kind = name.partition("-")[0] + "-"
        alike = sorted(folder.glob(kind + "*"), key=lambda p: p.stat().st_mtime_ns, reverse=True)
        for old in alike[_KEPT_OF_A_KIND:]:
            old.unlink()
        return True
    except OSError:  # a read-only or full home only costs the time again
        return False


def cache_folder() -> Path:
    """Where caches may lie: FIRSTFAULT_CACHE, else the user's cache folder."""
    if given := os.environ.get("FIRSTFAULT_CACHE"):
        return Path(given)
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", os.path.expanduser("~"))) / "firstfault" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "firstfault"


def config_folder() -> Path:
    """Where the user's own pages may lie: FIRSTFAULT_CONFIG, else the user's configuration folder."""
    if given := os.environ.get("FIRSTFAULT_CONFIG"):
        return Path(given)
    if os.name == "nt":
        return Path(os.environ.get("APPDATA", os.path.expanduser("~"))) / "firstfault"
    return Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")) / "firstfault"
