"""Checks pages against the format, their own examples and each other. Knows no log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..errors import PageError
from ..model import Role
from .library import OWN_LAYER, Library
from .match import match_example
from .page import OPTIONAL, PLACEHOLDER, SECTIONS, Page, parse_page
from .pattern import PatternError
from .scaffold import HINTS

CONTEXT_SECTIONS = ("What you see", "Why it happens", "Does not prove", "References")
_SHORTEST_SECTION = 40
_SHORTEST_REFERENCES = 10
# What the engine knows of every finding, whether a signature captured it or not.
_ALWAYS_KNOWN = {"rank", "host", "pid"}


@dataclass(frozen=True, slots=True)
class Problem:
    """A page breaks a rule: what, why, on which line of which file, and what to do. `blocks` is false where only prose is missing."""

    page: str
    path: str
    line: int
    what: str
    reason: str
    help: str
    blocks: bool = True

    @property
    def where(self) -> str:
        """The place as `file:line`."""
        return f"{self.path}:{self.line}"

    def __str__(self) -> str:
        """The four parts, as every error shows them."""
        return str(PageError(self.what, reason=self.reason, where=self.where, help=self.help))


def check_pages(library: Library, only: str | None = None) -> Iterator[Problem]:
    """Every problem of the pages, or of one page: sections, examples, graph, precedence."""
    for page in library.pages.values():
        if only is None or page.id == only:
            if not page.retired:
                yield from _complete(page)
            broken = list(_expressions(page))
            yield from broken
            if not broken:
                yield from _examples(library, page)
            yield from _graph(library, page)
    for a, b in library.ambiguous(only):
        mine, other = (library.pages[b], a) if only == b else (library.pages[a], b)
        line = mine.fires[0].line if mine.fires else 1
        yield Problem(
            mine.id, mine.path, line, f"{mine.id} and {other} match each other's examples",
            "neither page is the more specific one", f"make a signature narrower, so that it leaves the lines of {other} alone",
        )  # fmt: skip


def check_text(library: Library, text: str, path: str) -> list[Problem]:
    """Every problem of the user's own page in `text`, as if it stood in `path`, next to the pages of the library."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        page = replace(parse_page(text, path), layer=OWN_LAYER)
    except PageError as error:
        return [problem_of(error, path)]
    others = {**library.pages, page.id: page}
    return list(check_pages(Library(others.values()), page.id))


def problem_of(error: PageError, path: str) -> Problem:
    """A mistake that keeps a page from being read, as a problem."""
    place, _, line = error.where.rpartition(":")
    if not (place and line.isdigit()):
        place, line = path, "1"
    stem = re.split(r"[/\\]", place)[-1].removesuffix(".md")
    return Problem(stem, place, int(line), error.what, error.reason, error.help)


def _complete(page: Page) -> Iterator[Problem]:
    def incomplete(section: str, what: str, reason: str, help: str) -> Problem:
        return Problem(page.id, page.path, page.lines.get(f"## {section}", 1), what, reason, help, blocks=False)

    needed = CONTEXT_SECTIONS if page.role is Role.CONTEXT else SECTIONS
    reason = "who reads the page has no one else to ask"
    if missing := [name for name in needed if name not in page.sections]:
        headings = " · ".join(f"## {name}" for name in missing)
        yield incomplete("", f"sections are missing: {', '.join(missing)}", reason, f"write {headings}")
    for name in (n for n in needed if n not in missing):
        text = page.sections[name].strip()
        if text == HINTS[name]:
            yield incomplete(name, f"section {name!r} still holds the text of the template", "it says nothing yet", "write it")
        elif len(text) < (_SHORTEST_REFERENCES if name == "References" else _SHORTEST_SECTION):
            yield incomplete(name, f"section {name!r} is nearly empty", reason, f"write what belongs under ## {name}")
        elif name == "References" and "https://" not in text:
            yield incomplete(name, "References cites no URL", "facts are cited from their source", "add a link to documentation")
        elif (name == "Fix" and not page.fixes) or (name == "Verify" and not page.checks):
            yield incomplete(name, f"section {name!r} has no items", "a report lists them one by one", "write ### items with commands")
    if page.role is Role.SYMPTOM and not page.missing:
        yield Problem(
            page.id, page.path, page.lines.get("role", 1), "a symptom names no missing fact", "what would decide is all that it can say",
            "add [[missing]] with fact, command and decides",
        )  # fmt: skip
    if page.signatures and len(page.fires) < 2:
        yield Problem(
            page.id, page.path, page.signatures[0].line, "fewer than two `log fires` examples", "one line shows no generality",
            "add the line of another version or rank",
        )  # fmt: skip
    if page.signatures and not page.silent:
        yield Problem(
            page.id, page.path, page.signatures[0].line, "no `log silent` example", "nothing shows what it must not be taken for",
            "add a line that looks alike and is no failure",
        )  # fmt: skip
    for m in PLACEHOLDER.finditer(OPTIONAL.sub("", page.quick_answer)):
        if m[1] not in _ALWAYS_KNOWN and m[2] is None:
            yield Problem(
                page.id, page.path, page.lines.get("## ", 1), f"the quick answer may show {m[0]} as it stands",
                "it has no text for a log that does not say", f"write {{{m[1]}|what to say without it}}, or put the part in brackets",
            )  # fmt: skip


def _expressions(page: Page) -> Iterator[Problem]:
    """Whether the expressions compile in both engines and match something rather than everything."""
    for s in page.signatures:
        try:
            empty = s.pattern.search("") is not None
            re.compile(s.pattern.source)
        except PatternError as error:
            yield Problem(page.id, page.path, s.line, "the regex does not compile", str(error), "use what both regex and Python's re know")
            continue
        if empty:
            yield Problem(page.id, page.path, s.line, "the regex matches the empty line", "it would match every line", "require words")


def _examples(library: Library, page: Page) -> Iterator[Problem]:
    for example in page.fires:
        everything = match_example(library, example.lines)
        found = [f for f in everything if f.failure == page.id]
        if not found:
            others = sorted({f.failure for f in everything})
            yield Problem(
                page.id, page.path, example.line, "the example does not fire",
                f"found: {', '.join(others)}" if others else "no needle and regex fit one of its lines",
                "compare it with the signatures; prefixes such as [rank3]: and times are gone when the regex runs",
            )  # fmt: skip
            continue
        for key, value in example.captures.items():
            if all(f.captures.get(key) != value for f in found):
                got = found[0].captures.get(key)
                yield Problem(
                    page.id, page.path, example.line, f"capture {key} is {got!r}", f"the example says {value!r}", "correct one of the two"
                )
    for trap in page.silent:
        # A line that only adds to what is known accuses nobody.
        found = [f for f in match_example(library, trap.lines) if f.failure == page.id]
        hits = [f for f in found if f.strength != "context" or page.role is Role.CONTEXT]
        if hits:
            yield Problem(
                page.id, page.path, trap.line, f"the near miss {trap.trap!r} fires", f"on {hits[0].line.text[:120]!r}",
                "make the signature narrower",
            )  # fmt: skip


def _graph(library: Library, page: Page) -> Iterator[Problem]:
    named = [*page.explains, *page.related, *(d for m in page.missing for d in m.decides), *(a.failure for a in page.alternatives)]
    for other in dict.fromkeys(named):
        if other not in library.pages:
            import difflib

            near = difflib.get_close_matches(other, library.pages, 1)
            yield Problem(
                page.id, page.path, page.lines.get(other, 1), f"names the unknown failure {other!r}", "no page has this id",
                f"did you mean {near[0]}?" if near else "firstfault list shows every id",
            )  # fmt: skip
    if page.id in (*page.explains, *page.related):
        yield Problem(
            page.id, page.path, page.lines.get(page.id, 1), "names itself as explained or related", "a failure is no cause of itself",
            "take it out",
        )  # fmt: skip
