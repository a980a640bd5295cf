"""Pages that were kept from an earlier run are the pages that parsing would give, or are parsed again."""

import dataclasses

import pytest

from firstfault.knowledge import stored
from firstfault.knowledge.library import ENCYCLOPEDIA
from firstfault.knowledge.page import Page, parse_page
from firstfault.knowledge.pattern import Pattern
from firstfault.read import cache

TEXTS = [(path.read_text(encoding="utf-8"), str(path)) for path in sorted(ENCYCLOPEDIA.glob("*/*.md"))]


def comparable(value):
    if isinstance(value, Pattern):
        return "pattern", value.source
    if dataclasses.is_dataclass(value):
        return type(value), [comparable(getattr(value, f.name)) for f in dataclasses.fields(value)]
    if isinstance(value, dict):
        return dict, [(k, comparable(v)) for k, v in value.items()]
    if isinstance(value, (tuple, list)):
        return type(value), [comparable(v) for v in value]
    return type(value), value


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRSTFAULT_CACHE", str(tmp_path))
    return tmp_path


def test_every_page_comes_back_as_it_was_parsed(folder, monkeypatch):
    parsed = [parse_page(text, path) for text, path in TEXTS]
    assert comparable(stored.parse_pages(TEXTS)) == comparable(parsed)
    assert len(list(folder.glob("pages-*.json"))) == 1
    monkeypatch.setattr(stored, "parse_page", lambda *_: pytest.fail("parsed again"))
    assert comparable(stored.parse_pages(TEXTS)) == comparable(parsed)


def test_an_edited_page_is_parsed_again(folder):
    stored.parse_pages(TEXTS)
    text, path = TEXTS[0]
    title = parse_page(text, path).title
    changed = stored.parse_pages([(text.replace(title, title + " indeed", 1), path), *TEXTS[1:]])
    assert changed[0].title == title + " indeed"


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 100, "swap", "cut"])
def test_a_damaged_cache_is_ignored(folder, damage):
    stored.parse_pages(TEXTS)
    (path,) = folder.glob("pages-*.json")
    data = path.read_bytes()
    path.write_bytes({"swap": data[:500] + b"?" + data[501:], "cut": data[:-1]}.get(damage, damage) if isinstance(damage, str) else damage)
    assert comparable(stored.parse_pages(TEXTS)) == comparable([parse_page(text, path) for text, path in TEXTS])


@pytest.mark.parametrize("foreign", [b"[]", b"[1]", b'[{"id": 3}]', b"{}", b"null", b'"text"'])
def test_what_something_else_stored_under_the_name_is_ignored(folder, foreign):
    stored.parse_pages(TEXTS)
    (path,) = folder.glob("pages-*.json")
    cache.store_cached(path.name, foreign)
    pages = stored.parse_pages(TEXTS)
    assert [page.id for page in pages] == [parse_page(text, path).id for text, path in TEXTS]
    assert all(isinstance(page, Page) for page in pages)


def test_a_folder_that_cannot_be_written_costs_only_time(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FIRSTFAULT_CACHE", str(tmp_path / "file" / "below"))
    assert len(stored.parse_pages(TEXTS)) == len(TEXTS)


def test_only_the_newest_few_of_a_kind_stay(folder):
    import os

    for i in range(10):
        cache.store_cached(f"pages-{i}.json", b"x")
        os.utime(folder / f"pages-{i}.json", (i, i))
    cache.store_cached("needles-1.hs", b"y")
    cache.store_cached("pages-10.json", b"x")
    names = {p.name for p in folder.iterdir()}
    assert "needles-1.hs" in names and "pages-10.json" in names and "pages-0.json" not in names
    assert len(names) <= 8
