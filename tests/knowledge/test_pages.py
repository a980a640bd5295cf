"""Every page is complete, fires on its examples, stays silent on its near misses, and stands in a consistent graph."""

import pytest

from firstfault.errors import PageError, UnknownFailure
from firstfault.knowledge.check import check_pages
from firstfault.knowledge.library import load_library
from firstfault.knowledge.page import parse_page
from firstfault.read.lines import clean_line

LIBRARY = load_library()


@pytest.mark.parametrize("page", LIBRARY.pages)
def test_page_keeps_its_promises(page):
    assert [str(p) for p in check_pages(LIBRARY, page)] == []


def test_no_two_pages_match_each_others_examples():
    assert list(LIBRARY.ambiguous()) == []


@pytest.mark.parametrize("page", LIBRARY.pages)
def test_a_long_junk_line_ends_quickly_by_count_of_characters_seen(page):
    """A search looks at a bounded part of a line, so that junk of any length costs the same."""
    from firstfault.knowledge.pattern import LONGEST_TEXT

    junk = ("A1:" + "x" * 97) * 1000
    for signature in LIBRARY.pages[page].signatures:
        assert len(junk) > LONGEST_TEXT
        signature.pattern.search(junk)


def test_an_unknown_id_suggests_near_ones():
    with pytest.raises(UnknownFailure) as caught:
        LIBRARY.page("cuda-out-of-memry")
    assert "cuda-out-of-memory" in caught.value.help


MINIMAL = """+++
title = "T"
role = "initiating"
scope = "rank"
severity = "error"
impact = "i"
on_call = "o"
+++

Quick.

{body}
"""


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("## Unheard of\n\nx\n", "unknown section"),
        ("## Fix\n\n### a\n\nx\n\n## Confirm\n\nx\n", "out of order"),
        ("```bash\nx\n", "not closed"),
        ("```signature\nneedle: ab\nab\n```\n", "shorter than three"),
        ("```signature\nabc\n```\n", "needs `needle"),
        ("```signature loud\nneedle: abc\nabc\n```\n", "strength"),
        ("```log silent\nx\n```\n", "named after its trap"),
        ("## Verify\n\n### a\n\nx\n", "lacks a command"),
    ],
)
def test_a_broken_page_says_what_and_where(body, what):
    with pytest.raises(PageError, match=what) as caught:
        parse_page(MINIMAL.replace("{body}", body), "x/some-page.md")
    assert caught.value.where.startswith("x/some-page.md:")


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (("role = \"initiating\"", "role = \"boss\""), "role"),
        (("title = \"T\"\n", ""), "lacks 'title'"),
        (("severity", "severety"), "lacks 'severity'"),
        (("+++\n\nQuick", "Quick"), "front matter"),
    ],
)
def test_broken_front_matter_is_refused(edit, what):
    with pytest.raises(PageError, match=what):
        parse_page(MINIMAL.replace("{body}", "").replace(*edit), "x/some-page.md")


def test_the_less_specific_page_loses():
    assert LIBRARY.beats("cuda-out-of-memory", "python-exception")
    assert not LIBRARY.beats("python-exception", "cuda-out-of-memory")


def test_examples_are_cleaned_as_logs_are():
    assert clean_line("[rank3]: KeyError: 'x'") == "KeyError: 'x'"
