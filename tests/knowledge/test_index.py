"""The lists of failures in the documentation are those of the pages."""

import re
from pathlib import Path

import pytest

from firstfault.cli import main
from firstfault.knowledge.index import BEGIN, END, LAYERS, failures_block, first_sentence, index_page, with_block
from firstfault.knowledge.library import ENCYCLOPEDIA, load_library

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = load_library()
STALE = "write it again: cd server && python -m firstfault.cli check --index ../README.md"


def test_the_index_is_current():
    assert (ENCYCLOPEDIA / "README.md").read_text(encoding="utf-8") == index_page(LIBRARY), STALE


def test_the_list_in_the_readme_is_current():
    assert failures_block(LIBRARY, "server/firstfault/encyclopedia") in (ROOT / "README.md").read_text(encoding="utf-8"), STALE


def test_every_page_stands_in_both_lists_and_every_link_leads_somewhere():
    for folder, text in ((ENCYCLOPEDIA, index_page(LIBRARY)), (ROOT, failures_block(LIBRARY, "server/firstfault/encyclopedia"))):
        linked = [folder / link for link in re.findall(r"\]\(([^)]+\.md)\)", text)]
        assert all(path.is_file() for path in linked)
        assert sorted(path.stem for path in linked) == sorted(LIBRARY.pages)


def test_every_layer_has_a_heading():
    assert {page.layer for page in LIBRARY.pages.values()} == set(LAYERS)


@pytest.mark.parametrize("page", LIBRARY.pages)
def test_a_sentence_reads_without_a_log(page):
    sentence = first_sentence(LIBRARY.pages[page])
    assert 20 <= len(sentence) <= 400
    assert sentence[0].isalpha() or sentence[0] == "`"
    assert "{" not in sentence and "\n" not in sentence
    assert sentence.count("(") == sentence.count(")") and sentence.count("`") % 2 == 0
    assert not re.search(r"(?<!\\)\|", sentence)


def test_the_block_replaces_what_stands_between_the_marks():
    assert with_block(f"a\n{BEGIN}\nold\n{END}\nb\n", f"{BEGIN}\nnew\n{END}") == f"a\n{BEGIN}\nnew\n{END}\nb\n"
    assert with_block("no marks", "x") is None
    assert with_block(f"{END} {BEGIN}", "x") is None


def test_a_readme_without_marks_is_refused(tmp_path, capsys):
    (tmp_path / "README.md").write_text("nothing\n")
    before = (ENCYCLOPEDIA / "README.md").read_bytes()
    assert main(["check", "python-exception", "--index", str(tmp_path / "README.md")]) == 2
    assert "no place for the list" in capsys.readouterr().err
    assert main(["check", "python-exception", "--index", str(tmp_path / "absent.md")]) == 2
    assert (ENCYCLOPEDIA / "README.md").read_bytes() == before
