"""Exceptions whose names no page knows: the place at the end of a traceback shows them. Knows names only by their form."""

from __future__ import annotations

import re

from ..knowledge.library import Library
from ..model import Finding, Role
from ..read.blocks import Structure, key_of
from .facts import ANY_EXCEPTION
from .reading import FileReading

# socket.gaierror: [Errno -2] … · http.client.RemoteDisconnected: … · TypeError
_NAME = re.compile(
    r"\s*(?P<exception>(?:[A-Za-z_]\w{0,60}\.){1,8}(?:_?[A-Z]\w{0,60}(?<!Warning)|error|timeout|gaierror|herror)"
    r"|_?[A-Z]\w{0,60}(?:Error|Exception))(?:: (?P<message>.*))?$"
)


# RayTaskError(ValueError): ray::Trainer.fit() (pid=… — what it quotes stands below, unless the input ends there.
_QUOTING = re.compile(r"\bRayTaskError\((?P<exception>[\w.]{1,80})\): ray::")


def add_unnamed(library: Library, files: list[FileReading], structures: list[Structure]) -> None:
    """Give each exception that ends a traceback, and that nothing else was found in, a finding of the page for any exception."""
    page = next((p for p in library.pages.values() if p.tells == ANY_EXCEPTION), None)
    if page is None:
        return
    for f, structure in zip(files, structures, strict=True):
        known = {key_of(x.line) for x in f.findings}
        new: list[Finding] = []
        for key, raised in structure.raised.items():
            if key not in known and (m := _NAME.match(raised.line.text)):
                captures = {k: v for k, v in m.groupdict().items() if v}
                new.append(Finding(page.id, page.role, raised.line, m.start("exception"), m.end(), captures, "direct"))
        if not new and all(x.role is Role.CONTEXT or x.strength == "context" for x in f.findings):
            quoting = [(x, m) for x in f.lines if (m := _QUOTING.search(x.text))][-1:]
            new = [Finding(page.id, page.role, x, m.start(), m.end(), {"exception": m["exception"]}, "direct") for x, m in quoting]
        if new:
            f.findings = sorted([*f.findings, *new], key=lambda x: (x.line.number, x.start))
