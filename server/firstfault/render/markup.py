"""HTML that is escaped by construction: text becomes text, and only what this module built is markup. Knows no report."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

_VOID = {"meta", "br", "hr"}
# XML and HTML know no other control characters, and a browser may read them in surprising ways.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|[\ud800-\udfff]")


class Markup(str):
    """A text that is HTML already. Only `element` and functions that sanitise may make one."""

    __slots__ = ()


Child: TypeAlias = "str | int | None | Iterable[Child]"


def text(value: str) -> str:
    """A text with everything escaped that means something to HTML, in an element or in a quoted attribute."""
    return html.escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", value), quote=True)


def markup(children: Child) -> Markup:
    """Children as HTML: `Markup` as it is, any other text escaped, None as nothing, other iterables one after the other."""
    if children is None:
        return Markup("")
    if isinstance(children, Markup):
        return children
    if isinstance(children, (str, int)):
        return Markup(text(str(children)))
    return Markup("".join(markup(child) for child in children))


def element(name: str, /, *children: Child, **attributes: Any) -> Markup:
    """An element. An attribute's `_` stands for `-` (one at the end is dropped); None and False leave it out, True gives it no value."""
    parts = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        parts.append(f" {shown}" if value is True else f' {shown}="{text(str(value))}"')
    opening = f"<{name}{''.join(parts)}>"
    return Markup(opening if name in _VOID else f"{opening}{markup(children)}</{name}>")


def code_spans(value: str) -> Markup:
    """A sentence whose `back-quoted` words are code; nothing else in it means anything."""
    parts = value.split("`")
    if len(parts) % 2 == 0:
        return markup(value)
    return markup(element("code", part) if i % 2 else part for i, part in enumerate(parts))
