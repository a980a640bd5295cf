"""What CONTRIBUTING says of the format of a page is what the parser does."""

import re
from pathlib import Path

from firstfault.knowledge.front_matter import ALLOWED, KEYS, REQUIRED, SHOWN_BY, TABLES, TELLS
from firstfault.knowledge.page import SECTIONS
from firstfault.knowledge.signature import STRENGTHS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
FORMAT = TEXT[TEXT.index("## The format of a page") : TEXT.index("## Add a prefix")]


def test_every_key_of_the_head_is_described_and_no_other():
    rows = re.findall(r"^\| (`.*?) \|", FORMAT[FORMAT.index("### The head") : FORMAT.index("### The quick answer")], re.MULTILINE)
    assert {name.strip("`[]") for row in rows for name in row.split(", ")} == KEYS


def test_required_keys_values_sections_and_strengths_are_named():
    for word in (*REQUIRED, *TELLS, *SHOWN_BY, *(v for values in ALLOWED.values() for v in values)):
        assert f"`{word}`" in FORMAT, word
    for needed, optional in TABLES.values():
        assert all(f"`{name}`" in FORMAT for name in (*needed, *optional))
    assert " · ".join(SECTIONS) in FORMAT
    assert all(f"`{strength}`" in FORMAT for strength in STRENGTHS)


def test_its_links_and_paths_exist():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / ".github" / link).exists(), link
    for path in re.findall(r"`((?:server|tests|extension|scripts|syntaxes)/[\w./-]*)`", TEXT):
        assert (ROOT / path).exists(), path


def test_one_sentence_a_line():
    prose = re.sub(r"^````.*?^````|^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    for line in prose.split("\n"):
        if not line.startswith(("|", "-", "1.", "2.", "3.", "4.", "5.", "   ", "In this order")):
            assert not re.search(r"[a-z`)]\. [A-Z]", line), line
