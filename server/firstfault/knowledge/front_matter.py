"""Reads the TOML head of a page: which keys, of which types, with which values, and where each stands. Knows no section.

The keys are described in CONTRIBUTING.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import PageError
from ..model import Role

MARK = "+++"
REQUIRED = ("title", "role", "scope", "severity", "impact", "on_call")
TEXTS = (*REQUIRED, "retired", "tells")
LISTS = ("tags", "stacks", "explains", "related", "was", "shown_by")
# Tables in double brackets: the keys that each needs, and those that it may have.
TABLES = {
    "settings": (("kind", "name", "value"), ("why",)),
    "missing": (("fact", "command"), ("decides",)),
}
KEYS = {*TEXTS, *LISTS, *TABLES, "alternatives"}
# What a line of this failure tells of its process: it waited for others, lost a peer, could not reach one, only ended, raised any
# exception, ended well, or disagrees with a peer, where either may be wrong.
TELLS = ("waited", "lost-peer", "unreachable", "exit", "exception", "normal-exit", "either")
# What shows this failure although no single line does: see the correlating functions.
SHOWN_BY = ("behind", "late", "absent", "left", "counts", "stacks", "split", "diverged", "slow", "stall", "skips", "stopped")
ALLOWED: Mapping[str, Sequence[str]] = {
    "role": [r.value for r in Role],
    "scope": ["rank", "host", "job"],
    "severity": ["error", "warning"],
    "tells": TELLS,
    "shown_by": SHOWN_BY,
    "kind": ["env", "timeout", "flag"],
}
_KEY = re.compile(r"\s*(?:\[\[?\s*)?([\w-]+)\s*(?:\]|=)")
_QUOTED = re.compile(r"[\"']([a-z0-9]+(?:-[a-z0-9]+)+)[\"']")
_AT_LINE = re.compile(r"at line (\d+)")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values by key, the line of the file on which each key and each quoted id stands first, and how many lines the head takes."""

    values: Mapping[str, Any]
    lines: Mapping[str, int]
    height: int


def read_front_matter(lines: Sequence[str], path: str) -> FrontMatter:
    """The head of a page, from all lines of its file. Raises PageError with the line at fault."""
    end = next((i for i, line in enumerate(lines[1:], 1) if line.strip() == MARK), 0)
    if lines[0].strip() != MARK or not end:
        raise PageError(
            "the front matter is missing" if lines[0].strip() != MARK else "the front matter is not closed",
            reason=f"a page begins with TOML between two lines {MARK}",
            where=f"{path}:1",
            help="begin with `firstfault new ID --from LOG:LINE`, or copy the head of another page",
        )
    places = _places(lines[1:end])
    values = _parse(lines[1:end], path)
    _check_keys(values, places, path)
    for key in TEXTS:
        _text(key, values.get(key, ""), path, places)
    for key in LISTS:
        _list(key, values.get(key, []), path, places)
    for key in TABLES:
        _tables(key, values.get(key, []), path, places)
    alternatives = values.get("alternatives", {})
    if not isinstance(alternatives, dict) or not all(isinstance(v, str) for v in alternatives.values()):
        form = 'an id with its reason a line: some-id = "because …"'
        raise _wrong("alternatives is no table of texts", form, "alternatives", path, places)
    return FrontMatter(values, places, end + 1)


def _parse(lines: Sequence[str], path: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        line = int(found[1]) + 1 if found else len(lines) + 1
        raise PageError(
            "the front matter is not TOML",
            reason=_AT_LINE.sub(f"at line {line}", str(error)),
            where=f"{path}:{line}",
            help='texts stand in quotes, lists in brackets: title = "…", tags = ["…", "…"]',
        ) from error


def _places(lines: Sequence[str]) -> dict[str, int]:
    """The line of the file on which each key stands first (`settings 2` is the second of its tables), and each quoted id."""
    places: dict[str, int] = {}
    tables: dict[str, int] = {}
    for number, line in enumerate(lines, 2):
        if m := _KEY.match(line):
            places.setdefault(m[1], number)
            if line.lstrip().startswith("[["):
                tables[m[1]] = tables.get(m[1], 0) + 1
                places[f"{m[1]} {tables[m[1]]}"] = number
        for m in _QUOTED.finditer(line):
            places.setdefault(m[1], number)
    return places


def _check_keys(values: Mapping[str, Any], places: Mapping[str, int], path: str) -> None:
    for key in values:
        if key not in KEYS:
            near = _near(key, sorted(KEYS))
            raise PageError(
                f"the front matter has an unknown key {key!r}",
                reason=f"did you mean {near[0]!r}?" if near else "a key that nobody reads would look as if it had an effect",
                where=f"{path}:{places.get(key, 1)}",
                help="known: " + ", ".join(sorted(KEYS)),
            )
    for key in REQUIRED:
        if not values.get(key):
            raise PageError(
                f"the front matter lacks {key!r}",
                reason="every page has " + ", ".join(REQUIRED),
                where=f"{path}:{places.get(key, 1)}",
                help=f'add {key} = "…"' + (f" ({', '.join(ALLOWED[key])})" if key in ALLOWED else ""),
            )


def _text(key: str, value: Any, path: str, places: Mapping[str, int], place: str = "") -> None:
    if not isinstance(value, str):
        raise _wrong(f"{key} is no text", f'{key} = "…"', place or key, path, places)
    if key in ALLOWED and value not in ALLOWED[key] and value:
        raise PageError(
            f"{key} is {value!r}",
            reason=f"{key} is one of {', '.join(ALLOWED[key])}",
            where=f"{path}:{places.get(place or key, 1)}",
            help=f'write {key} = "{(_near(value, ALLOWED[key]) or ALLOWED[key])[0]}"',
        )


def _list(key: str, value: Any, path: str, places: Mapping[str, int], place: str = "") -> None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _wrong(f"{key} is no list of texts", f'{key} = ["…", "…"]', place or key, path, places)
    if key in ALLOWED:
        for item in value:
            _text(key, item, path, places, place or key)


def _tables(key: str, value: Any, path: str, places: Mapping[str, int]) -> None:
    needed, optional = TABLES[key]
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise _wrong(f"{key} is no list of tables", f"begin each with a line [[{key}]]", key, path, places)
    for number, table in enumerate(value, 1):
        place = f"{key} {number}"
        for name in needed:
            if not table.get(name):
                raise _wrong(f"a table {key} lacks {name!r}", f"each [[{key}]] has {', '.join(needed)}", place, path, places)
        for name, inner in table.items():
            if name not in (*needed, *optional):
                raise _wrong(f"a table {key} has an unknown key {name!r}", f"known: {', '.join((*needed, *optional))}", place, path, places)
            (_list if name == "decides" else _text)(name, inner, path, places, place)


def _wrong(what: str, form: str, place: str, path: str, places: Mapping[str, int]) -> PageError:
    line = places.get(place) or places.get(place.split(" ")[0], 1)
    return PageError(what, reason="the format of a page says otherwise", where=f"{path}:{line}", help=form)


def _near(word: str, known: Sequence[str]) -> list[str]:
    import difflib  # only for an error

    return difflib.get_close_matches(word, known, 1)
