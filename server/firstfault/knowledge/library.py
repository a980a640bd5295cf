"""All pages together: loading, lookup, which page is more specific. Knows no log."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import PageError, UnknownFailure
from ..model import Role
from .page import Page, parse_page
from .pattern import PatternError
from .stored import parse_pages

ENCYCLOPEDIA = Path(__file__).resolve().parent.parent / "encyclopedia"


class Library:
    """The pages by id, the needles that lead to them, and the order of precedence computed from their examples."""

    def __init__(self, pages: Iterable[Page], problems: Iterable[PageError] = (), own: tuple[Path, ...] = ()) -> None:
        self.problems = tuple(problems)
        self.own = own
        self.pages: Mapping[str, Page] = {p.id: p for p in sorted(pages, key=lambda p: p.id)}
        self._was = {old: p.id for p in self.pages.values() for old in p.was}
        self._beats: dict[tuple[str, str], bool] = {}
        self._lines: dict[str, list[tuple[str, str]]] = {}
        self.by_needle: dict[str, list[tuple[Page, int]]] = {}
        for page in self.pages.values():
            if page.retired:
                continue
            for index, signature in enumerate(page.signatures):
                for needle in signature.needles:
                    self.by_needle.setdefault(needle, []).append((page, index))

    @functools.cached_property
    def digest(self) -> str:
        """Tells apart libraries that recognise lines differently: a digest of all signatures and examples."""
        digest = hashlib.sha256()
        for page in self.pages.values():
            signatures = [(s.needles, s.pattern.source, s.strength) for s in page.signatures]
            digest.update(repr((page.id, page.role.value, page.retired, page.tells, signatures, [e.lines for e in page.fires])).encode())
        return digest.hexdigest()

    def page(self, failure: str) -> Page:
        """The page of a failure id, or of the id it had before. Raises UnknownFailure."""
        found = self.pages.get(failure) or self.pages.get(self._was.get(failure, ""))
        if found is None:
            import difflib

            near = difflib.get_close_matches(failure, self.pages, 3, 0.5)
            hint = f"did you mean {', '.join(near)}?" if near else "`firstfault list` shows every id"
            raise UnknownFailure(f"no page is called {failure!r}", reason="ids are kebab-case names of failures", help=hint)
        return found

    def beats(self, a: str, b: str) -> bool:
        """Whether page `a` is more specific than page `b`: b matches examples of a, and a matches no example of b."""
        key = (a, b)
        if key not in self._beats:
            self._beats[key] = self._matches_example(b, a) and not self._matches_example(a, b)
        return self._beats[key]

    def ambiguous(self, only: str | None = None) -> Iterator[tuple[str, str]]:
        """Pairs of pages (or those with one page) that match each other's examples, so that neither is more specific."""
        names = sorted(self.pages)
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                if only in (None, a, b) and self._matches_example(a, b) and self._matches_example(b, a):
                    yield a, b

    def _matches_example(self, page: str, of: str) -> bool:
        """Whether a page matches a line of another page's firing examples that the other page itself matches."""
        mine, theirs = self.pages[page], self.pages[of]
        return any(_hits(mine, raw, text) and _hits(theirs, raw, text) for raw, text in self._example_lines(of))

    def _example_lines(self, page: str) -> list[tuple[str, str]]:
        from ..read.lines import clean_line

        if page not in self._lines:
            self._lines[page] = [(raw, clean_line(raw)) for e in self.pages[page].fires for raw in e.lines]
        return self._lines[page]

    def shown_by(self, sign: str) -> Page | None:
        """The page of the failure that a sign shows, such as a rank that is behind its peers."""
        return next((p for p in self.pages.values() if sign in p.shown_by), None)

    def role(self, failure: str) -> Role:
        """The role of a failure id."""
        return self.page(failure).role


def _hits(page: Page, raw: str, text: str) -> bool:
    return not page.retired and any(any(n in raw for n in s.needles) and s.pattern.search(text) for s in page.signatures)


OWN_LAYER = "own"


def load_library(own: tuple[Path, ...] = ()) -> Library:
    """The encyclopedia, one page a Markdown file, and the user's own pages in the folders `own`, which add or override.

    A broken page of the encyclopedia raises PageError; a broken page of the user's is left out and kept in `problems`.
    The same library is given as long as the user's files do not change.
    """
    return _load(own, tuple(_stamp(path) for folder in own for path in sorted(folder.glob("*.md"))))


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:  # it went away in between, which reading it will tell
        return str(path), 0, 0
    return str(path), status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=8)
def _load(own: tuple[Path, ...], stamps: tuple[tuple[str, int, int], ...]) -> Library:
    pages: dict[str, Page] = {}
    for page in parse_pages([(path.read_text(encoding="utf-8"), str(path)) for path in sorted(ENCYCLOPEDIA.glob("*/*.md"))]):
        if page.id in pages:
            raise PageError(f"two pages are called {page.id}", where=page.path, help=f"the other one is {pages[page.id].path}")
        pages[page.id] = page
    problems: list[PageError] = []
    for name, _, _ in stamps:
        try:
            page = replace(parse_page(Path(name).read_text(encoding="utf-8-sig"), name), layer=OWN_LAYER)
            _compile(page)
            pages[page.id] = page
        except PageError as error:
            problems.append(error)
        except (OSError, UnicodeDecodeError) as error:
            problems.append(
                PageError(f"cannot read {Path(name).name}", reason=str(error), where=f"{name}:1", help="save it as UTF-8 text")
            )
    return Library(pages.values(), problems, own)


def _compile(page: Page) -> None:
    for signature in page.signatures:
        try:
            signature.pattern.compile()
        except PatternError as error:
            raise PageError(
                "the regex does not compile", reason=str(error), where=f"{page.path}:{signature.line}",
                help="use what both regex and Python's re know",
            ) from error  # fmt: skip
