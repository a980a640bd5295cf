"""What lines cost: work is bounded by counts, and no expression of a page runs away on text made to keep it busy."""

import pytest

from firstfault.diagnose import diagnose_text
from firstfault.knowledge.library import load_library
from firstfault.knowledge.pattern import HAS_TIMEOUT, LONGEST_TEXT, Pattern

LIBRARY = load_library()
JUNK = ("A1:" + "x" * 97) * 1000
GENEROUS_S = 1.0


@pytest.fixture
def searches(monkeypatch):
    """The sources and text lengths of all searches that pages make."""
    made = []
    original = Pattern.search

    def search(self, text, start=0):
        made.append((self.source, len(text)))
        return original(self, text, start)

    monkeypatch.setattr(Pattern, "search", search)
    return made


def test_a_junk_line_of_100_kb_makes_no_search_at_all(searches):
    assert len(JUNK) == 100_000
    diagnose_text(f"torch\n{JUNK}\n" * 20)
    assert searches == []


@pytest.mark.parametrize("needle", sorted(LIBRARY.by_needle)[::60])
def test_a_needle_in_junk_makes_only_the_searches_of_its_pages(needle, searches):
    line = JUNK[:50_000] + needle + JUNK[:50_000]
    own = [page.signatures[i].pattern.source for n, found in LIBRARY.by_needle.items() if n in line for page, i in found]
    diagnose_text(line)
    made = [source for source, _ in searches]
    assert set(made) <= set(own)
    assert 0 < len(made) <= 4 * len(own)


def test_a_search_sees_a_bounded_part_of_a_line():
    seen = []

    class Engine:
        def search(self, text, start=0, timeout=None):
            seen.append((len(text), timeout))

    pattern = Pattern("x")
    pattern._compiled = Engine()
    pattern.search(JUNK)
    assert seen == [(LONGEST_TEXT, 0.25 if HAS_TIMEOUT else None)]
    assert LONGEST_TEXT <= 20_000


FILLERS = ("", " ", "x", "0", "a ", "1.", "/a", "a_", "aE", ": ", "a=1 ", "[0]", "'")


def adversarial(needle):
    """Texts of the greatest length that hold the needle: repeated with a filler between, and once beside many fillers."""
    for filler in FILLERS:
        unit = needle + filler
        yield unit * (LONGEST_TEXT // len(unit))
        if filler:
            yield needle + filler * ((LONGEST_TEXT - len(needle)) // len(filler))
            yield filler * ((LONGEST_TEXT - len(needle)) // len(filler)) + needle


@pytest.mark.skipif(not HAS_TIMEOUT, reason="the standard library's engine has no timeout; it gets shorter text instead")
@pytest.mark.parametrize("page", LIBRARY.pages)
def test_no_expression_runs_away_on_its_own_needle(page):
    """The timeout counts processor time; a linear expression needs a few hundredths of it."""
    for signature in LIBRARY.pages[page].signatures:
        compiled = signature.pattern.compile()
        for text in adversarial(signature.needles[0]):
            try:
                compiled.search(text, timeout=GENEROUS_S)
            except TimeoutError:
                pytest.fail(f"{LIBRARY.pages[page].path}:{signature.line} needs more than {GENEROUS_S} s on {text[:60]!r} …")
