"""The addresses under which an editor shows a page of the encyclopedia. Knows no page."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from urllib.parse import quote

from pygls.uris import from_fs_path

if TYPE_CHECKING:
    from ..knowledge.page import Page

_SCHEME = "firstfault-page"
_EXPLAIN = "firstfault.explain"


def rendered(page: Page) -> str:
    """What our own client opens rendered. The title is in it because it becomes the name of the tab."""
    return f"{_SCHEME}:/{quote(page.id)}/{quote(page.title.replace('/', '∕'))}"


def explaining(page: Page) -> str:
    """A command of our own client. Inside a hover an editor follows only commands that it trusts, files and web addresses."""
    return f"command:{_EXPLAIN}?{quote(json.dumps([page.id]))}"


def source(page: Page) -> str:
    """The page's Markdown file, for other clients."""
    return from_fs_path(os.path.abspath(page.path)) or ""
