"""An expression that first looks for a word finds what the expression itself finds."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstfault.knowledge.library import load_library
from firstfault.read.quick import Quick, quick

ROOT = Path(__file__).resolve().parents[2]
LINES = [line for path in sorted((ROOT / "samples").glob("*.log")) for line in path.read_text(encoding="utf-8").split("\n")]
LINES += [raw for page in load_library().pages.values() for e in (*page.fires, *page.silent) for raw in e.lines]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (r"\bcompleted step: (\d+), seconds", ("completed step: ",)),
        (r"(?:start|resum)ing", ("resum", "start")),
        (r"(?i)Training (?:is )?done", ("training ",)),
        (r"(?i:attempt)[ =]\d+", ("attempt",)),
        (r"abc|x", ()),
        (r"\d+/\d+", ()),
        (r"(?:abc)?defg", ("defg",)),
        (r"(?:abcdef)+", ("abcdef",)),
        (r"(?=abcdef)", ()),
        (r"(?!abcdef)xyz", ("xyz",)),
        (r"rank(\d+): (?P<rest>hello|goodbye)", ("rank",)),
        (r"rank(\d+): (?P<rest>hello|goodbye) there", (" there",)),
    ],
)
def test_the_words_are_those_that_every_match_holds(expression, words):
    assert quick(expression).words == words


EXPRESSIONS = sorted({s.pattern.source for page in load_library().pages.values() for s in page.signatures})


def test_expressions_find_the_same_with_and_without_looking_for_a_word_first():
    gated = 0
    for expression in EXPRESSIONS:
        try:
            one, other = Quick(expression), re.compile(expression)
        except re.error:
            continue
        gated += bool(one.words)
        for line in LINES[::7]:
            mine, theirs = one.search(line), other.search(line)
            assert (mine and mine.span()) == (theirs and theirs.span()), expression
    assert gated > len(EXPRESSIONS) // 2


parts = st.recursive(
    st.sampled_from(["abc", "wxyz", r"\d+", ".", "[abc]", "x", " step"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda p: f"(?:{'|'.join(p)})"),
        st.lists(inner, min_size=1, max_size=3).map("".join),
        inner.map(lambda p: f"(?:{p})?"),
        inner.map(lambda p: f"(?i:{p})"),
        inner.map(lambda p: f"(?:{p})+"),
    ),
    max_leaves=8,
)


@given(parts, st.lists(st.sampled_from(["abc", "ABC", "wxyz", "WxYz", "7", "x", " step", " STEP", "-"]), max_size=6).map("".join))
@settings(max_examples=500, deadline=None)
def test_any_expression_finds_the_same(expression, text):
    mine, theirs = quick(expression).search(text), re.search(expression, text)
    assert (mine and mine.span()) == (theirs and theirs.span())
    assert [m.span() for m in quick(expression).finditer(text)] == [m.span() for m in re.finditer(expression, text)]
