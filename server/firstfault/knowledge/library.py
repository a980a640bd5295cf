"""All pages together: loading, lookup, which page is more specific. Knows no log."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..errors import PageError, UnknownFailure
from ..model import Role
from .page import Page, parse_page

ENCYCLOPEDIA = Path(__file__).resolve().parent.parent / "encyclopedia"


class Library:
    """The pages by id, the needles that lead to them, and the order of precedence computed from their examples."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self.pages: Mapping[str, Page] = {p.id: p for p in sorted(pages, key=lambda p: p.id)}
        self._was = {old: p.id for p in self.pages.values() for old in p.was}
        self.by_needle: dict[str, list[tuple[Page, int]]] = {}
        for page in self.pages.values():
            if page.retired:
                continue
            for index, signature in enumerate(page.signatures):
                for needle in signature.needles:
                    self.by_needle.setdefault(needle, []).append((page, index))

    def page(self, failure: str) -> Page:
        """The page of a failure id, or of the id it had before. Raises UnknownFailure."""
        found = self.pages.get(failure) or self.pages.get(self._was.get(failure, ""))
        if found is None:
            import difflib

            near = difflib.get_close_matches(failure, self.pages, 3, 0.5)
            hint = f"did you mean {', '.join(near)}?" if near else "`firstfault list` shows every id"
            raise UnknownFailure(f"no page is called {failure!r}", reason="ids are kebab-case names of failures", help=hint)
        return found

    @functools.cached_property
    def less_specific(self) -> Mapping[str, frozenset[str]]:
        """For each page the pages it wins over on the same line: those that match its examples and whose examples it does not match."""
        from ..read.lines import clean_line

        matches: dict[str, set[str]] = {}
        for page in self.pages.values():
            for example in page.fires:
                for raw in example.lines:
                    text = clean_line(raw)
                    hits = set(self._raw_hits(raw, text))
                    if page.id in hits:
                        for other in hits - {page.id}:
                            matches.setdefault(page.id, set()).add(other)
        return {a: frozenset(b for b in others if a not in matches.get(b, ())) for a, others in matches.items()}

    def ambiguous(self) -> Iterator[tuple[str, str]]:
        """Pairs of pages that match each other's examples, so that neither is more specific."""
        for a, winners in self._mutual().items():
            for b in winners:
                if a < b:
                    yield a, b

    def _mutual(self) -> Mapping[str, set[str]]:
        from ..read.lines import clean_line

        matches: dict[str, set[str]] = {}
        for page in self.pages.values():
            for example in page.fires:
                for raw in example.lines:
                    hits = set(self._raw_hits(raw, clean_line(raw)))
                    if page.id in hits:
                        matches.setdefault(page.id, set()).update(hits - {page.id})
        return {a: {b for b in others if a in matches.get(b, ())} for a, others in matches.items()}

    def _raw_hits(self, raw: str, text: str) -> Iterator[str]:
        for page in self.pages.values():
            if page.retired:
                continue
            for s in page.signatures:
                if any(n in raw for n in s.needles) and s.pattern.search(text):
                    yield page.id
                    break

    def role(self, failure: str) -> Role:
        """The role of a failure id."""
        return self.page(failure).role


@functools.lru_cache(maxsize=4)
def load_library(folder: Path = ENCYCLOPEDIA) -> Library:
    """The encyclopedia under `folder`, one page a Markdown file. Raises PageError."""
    pages: dict[str, Page] = {}
    for path in sorted(folder.glob("*/*.md")):
        page = parse_page(path.read_text(encoding="utf-8"), str(path))
        if page.id in pages:
            raise PageError(f"two pages are called {page.id}", where=str(path), help=f"the other one is {pages[page.id].path}")
        pages[page.id] = page
    return Library(pages.values())
