"""Checks pages against the format, their own examples and each other. Knows no log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..model import Role
from .library import Library
from .match import match_example
from .page import SECTIONS, Page
from .pattern import PatternError

_SHORTEST_SECTION = 40


@dataclass(frozen=True, slots=True)
class Problem:
    """A page breaks a rule: `where` is `file:line`."""

    page: str
    where: str
    what: str
    help: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.page}: {self.what}" + (f" ({self.help})" if self.help else "")


def check_pages(library: Library, only: str | None = None) -> Iterator[Problem]:
    """Every problem of the pages, or of one page: sections, examples, graph, precedence."""
    for page in library.pages.values():
        if only is None or page.id == only:
            yield from _complete(page)
            yield from _examples(library, page)
            yield from _graph(library, page)
    for a, b in library.ambiguous(only):
        yield Problem(only or a, library.pages[only or a].path, f"{a} and {b} match each other's examples", "make one signature narrower")


def _complete(page: Page) -> Iterator[Problem]:
    if page.retired:
        return
    context = page.role is Role.CONTEXT
    needed = ("What you see", "Why it happens", "Does not prove", "References") if context else SECTIONS
    for name in needed:
        if len(page.sections.get(name, "")) < (_SHORTEST_SECTION if name != "References" else 10):
            yield Problem(page.id, page.path, f"section {name!r} is missing or nearly empty")
    if "https://" not in page.sections.get("References", ""):
        yield Problem(page.id, page.path, "References cites no URL")
    if not context and not (page.fixes and page.checks):
        yield Problem(page.id, page.path, "no fix or no verification")
    if page.role is Role.SYMPTOM and not page.missing:
        yield Problem(page.id, page.path, "a symptom names no missing fact", "add [[missing]] fact, command, decides")
    if len(page.fires) < 2 and page.signatures:
        yield Problem(page.id, page.path, "fewer than two `log fires` examples")
    if not page.silent and page.signatures:
        yield Problem(page.id, page.path, "no `log silent` example")
    for signature in page.signatures:
        where = f"{page.path}:{signature.line}"
        try:
            if signature.pattern.search("") is not None:
                yield Problem(page.id, where, "the regex matches the empty line")
            re.compile(signature.pattern.source)
        except PatternError as error:
            yield Problem(page.id, where, f"the regex does not compile: {error}", "use what both regex and re know")


def _examples(library: Library, page: Page) -> Iterator[Problem]:
    for example in page.fires:
        where = f"{page.path}:{example.line}"
        found = [f for f in match_example(library, example.lines) if f.failure == page.id]
        if not found:
            others = sorted({f.failure for f in match_example(library, example.lines)})
            yield Problem(page.id, where, f"the example does not fire (found: {', '.join(others) or 'nothing'})")
            continue
        for key, value in example.captures.items():
            if all(f.captures.get(key) != value for f in found):
                got = [f.captures.get(key) for f in found]
                yield Problem(page.id, where, f"capture {key} is {got}, the example says {value!r}")
    for trap in page.silent:
        hits = [f for f in match_example(library, trap.lines) if f.failure == page.id]
        if hits:
            yield Problem(page.id, f"{page.path}:{trap.line}", f"the near miss {trap.trap!r} fires: {hits[0].line.text[:120]!r}")


def _graph(library: Library, page: Page) -> Iterator[Problem]:
    named = [*page.explains, *page.related, *(d for m in page.missing for d in m.decides), *(a.failure for a in page.alternatives)]
    for other in named:
        if other not in library.pages:
            yield Problem(page.id, page.path, f"names the unknown failure {other!r}")
    if page.id in (*page.explains, *page.related):
        yield Problem(page.id, page.path, "names itself as explained or related")
