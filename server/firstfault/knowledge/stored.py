"""Keeps parsed pages between runs, since parsing all of them takes longer than diagnosing a log. Knows how a page is built, no format.

The name under which they are kept depends on every page's text and on the parser, so an edited page is parsed again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..model import Alternative, Check, Fix, MissingFact, Role, Setting
from ..read.cache import load_cached, store_cached
from .page import Page, parse_page
from .pattern import Pattern
from .signature import Example, Signature


def parse_pages(texts: Sequence[tuple[str, str]]) -> list[Page]:
    """The pages of (text, path) pairs, from the cache where it holds exactly these. Raises PageError."""
    try:
        name = _name(texts)
    except OSError:  # an installation without its sources
        return [parse_page(text, path) for text, path in texts]
    stored = load_cached(name)
    if stored is not None:
        try:
            return [_page(fields, path) for fields, (_, path) in zip(json.loads(stored), texts, strict=True)]
        except (ValueError, TypeError, LookupError, AttributeError):  # stored by something else under our name
            pass
    pages = [parse_page(text, path) for text, path in texts]
    store_cached(name, json.dumps([_plain(page) for page in pages], ensure_ascii=False).encode())
    return pages


def _name(texts: Sequence[tuple[str, str]]) -> str:
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for module in (*sorted(here.glob("*.py")), here.parent / "model.py"):
        digest.update(module.read_bytes())
    for text, path in texts:
        for part in (path, text):
            data = part.encode()
            digest.update(b"%d " % len(data) + data)
    return f"pages-{digest.hexdigest()[:32]}.json"


def _plain(value: Any) -> Any:
    """A value of JSON: data classes become the list of their values, a page a dictionary."""
    if isinstance(value, Page):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Pattern):
        return value.source
    if isinstance(value, Role):
        return value.value
    if dataclasses.is_dataclass(value):
        return [_plain(getattr(value, f.name)) for f in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _setting(fields: list[Any]) -> Setting:
    return Setting(*fields)


def _fix(fields: list[Any]) -> Fix:
    title, detail, command, setting = fields
    return Fix(title, detail, command, _setting(setting) if setting is not None else None)


def _each(build: Callable[[list[Any]], Any]) -> Callable[[list[Any]], tuple[Any, ...]]:
    return lambda items: tuple(build(fields) for fields in items)


_BUILD: dict[str, Callable[[Any], Any]] = {
    "role": Role,
    "signatures": _each(lambda f: Signature(tuple(f[0]), Pattern(f[1]), *f[2:])),
    "fires": _each(lambda f: Example(tuple(f[0]), *f[1:])),
    "silent": _each(lambda f: Example(tuple(f[0]), *f[1:])),
    "fixes": _each(_fix),
    "checks": _each(lambda f: Check(*f)),
    "settings": _each(_setting),
    "missing": _each(lambda f: MissingFact(f[0], f[1], tuple(f[2]), *f[3:])),
    "alternatives": _each(lambda f: Alternative(*f)),
}


def _page(fields: dict[str, Any], path: str) -> Page:
    values: dict[str, Any] = {}
    for name, value in fields.items():
        build = _BUILD.get(name)
        values[name] = build(value) if build else tuple(value) if isinstance(value, list) else value
    if values["path"] != path:
        raise ValueError("another page")
    return Page(**values)
