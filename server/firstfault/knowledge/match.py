"""An event and a page give a finding. Knows pages and one line at a time; knows no order, rank or blame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..model import Finding, Line
from .library import Library
from .page import Page
from .signature import Signature

ANY_EXCEPTION = "exception"
_WEAKEST_LAST = {"direct": 0, "probable": 1, "symptom": 2, "context": 3}


def match_line(library: Library, line: Line, needles: Iterable[str] | None = None, without: str = "") -> list[Finding]:
    """The findings of one line, the less specific pages dropped, most specific first.

    `needles` are the literals that a scan saw in the raw line; without them every needle is tried. `without` is a page that does not count.
    """
    raw = line.raw
    seen = needles if needles is not None else (n for n in library.by_needle if n in raw)
    tried: set[tuple[str, int]] = set()
    best: dict[str, Finding] = {}
    for needle in seen:
        for page, index in library.by_needle.get(needle, ()):
            if (page.id, index) in tried or page.id == without:
                continue
            tried.add((page.id, index))
            found = _try(page, page.signatures[index], line)
            old = best.get(page.id)
            if found and (old is None or _rank(found) < _rank(old)):
                best[page.id] = found
    if len(best) < 2:
        return list(best.values())
    general = {i for i in best if library.pages[i].tells == ANY_EXCEPTION}
    beaten = general if len(general) < len(best) else set()
    beaten |= {loser for winner in best for loser in best if winner != loser and library.beats(winner, loser)}
    return sorted((f for f in best.values() if f.failure not in beaten), key=lambda f: (_rank(f), f.failure))


def _rank(f: Finding) -> tuple[int, int]:
    return _WEAKEST_LAST[f.strength], -len(f.captures)


def _try(page: Page, signature: Signature, line: Line) -> Finding | None:
    m = signature.pattern.search(line.text)
    if m is None:
        return None
    captures = {k: v for k, v in m.groupdict().items() if v is not None}
    return Finding(page.id, page.role, line, m.start(), m.end(), captures, signature.strength)


def match_example(library: Library, lines: Sequence[str]) -> list[Finding]:
    """The findings of an example's raw lines, in order."""
    from ..read.lines import make_line, segments

    found: list[Finding] = []
    for number, raw in enumerate(lines, 1):
        for column, part in segments(raw):
            found += match_line(library, make_line(part, 0, number, column, raw))
    return found
