"""Own pages: their mistakes are diagnostics, and in a trusted workspace they take part in diagnoses. With the real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from editor import REAL_SERVER, Editor, full_params, make_editor, minimal_params
from lsprotocol import types
from pytest_lsp import ClientServerConfig

pytestmark = pytest.mark.asyncio(loop_scope="session")

REAL = ClientServerConfig(server_command=REAL_SERVER, client_factory=make_editor)

PAGE = """\
+++
title = "A widget exploded"
role = "initiating"
scope = "rank"
severity = "error"
impact = "The job stops."
on_call = "Restart it."
related = ["port-in-use"]
+++

{rank} lost a widget.

## Signatures

```signature
needle: widget exploded
widget exploded
```

```log fires
[rank1]: the widget exploded
```

```log fires
the widget exploded at once
```

```log silent advice
a widget can explode
```
"""
LOG = "torch 2.9\n[rank3]: the widget exploded\n"


@pytest_lsp.fixture(scope="session", config=REAL)
async def trusted(editor: Editor, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    """A client modelled on VS Code, in a workspace that is trusted."""
    folder = tmp_path_factory.mktemp("trusted")
    (folder / ".firstfault" / "pages").mkdir(parents=True)
    await editor.initialize_session(full_params([folder]))
    editor.folder = folder
    yield
    await editor.shutdown_session()


@pytest_lsp.fixture(scope="session", config=REAL)
async def untrusted(editor: Editor, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    """The same client in a workspace that is not trusted and has a page."""
    folder = tmp_path_factory.mktemp("untrusted")
    pages = folder / ".firstfault" / "pages"
    pages.mkdir(parents=True)
    (pages / "widget-exploded.md").write_text(PAGE)
    params = full_params([folder])
    params.initialization_options = {**params.initialization_options, "trusted": False}
    await editor.initialize_session(params)
    editor.folder = folder
    yield
    await editor.shutdown_session()


@pytest_lsp.fixture(scope="session", config=REAL)
async def plain(editor: Editor, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[None]:
    """A client that is told diagnostics and knows no trust, modelled on Neovim."""
    folder = tmp_path_factory.mktemp("plain")
    await editor.initialize_session(minimal_params(folder))
    editor.folder = folder
    yield
    await editor.shutdown_session()


def page_path(editor: Editor, name: str = "widget-exploded") -> Path:
    return editor.folder / ".firstfault" / "pages" / f"{name}.md"


def errors(items):
    return [d for d in items if d.severity == types.DiagnosticSeverity.Error]


async def test_a_mistake_is_a_diagnostic_on_its_line_with_all_four_parts(trusted: Editor) -> None:
    path = page_path(trusted, "some-page")
    text = PAGE.replace('role = "initiating"', 'role = "boss"')
    uri = trusted.open(text, path.as_uri(), "markdown")
    (found,) = (await trusted.pull(uri)).items
    assert found.range == types.Range(types.Position(2, 0), types.Position(2, len('role = "boss"')))
    assert (found.severity, found.source, found.code) == (types.DiagnosticSeverity.Error, "firstfault", "own-page")
    parts = [part.strip().split(":")[0] for part in found.message.split("\n")]
    assert parts == ["error", "reason", "where", "help"]
    assert "some-page.md:3" in found.message
    trusted.close_document(uri)


async def test_what_is_missing_from_the_prose_is_a_warning(trusted: Editor) -> None:
    uri = trusted.open(PAGE, page_path(trusted, "some-page").as_uri(), "markdown")
    items = (await trusted.pull(uri)).items
    assert items and errors(items) == []
    assert {d.severity for d in items} == {types.DiagnosticSeverity.Warning}
    trusted.close_document(uri)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_diagnostics_follow_every_change(trusted: Editor, ending: str) -> None:
    uri = trusted.open(PAGE.replace("\n", ending), page_path(trusted, "some-page").as_uri(), "markdown")
    assert errors((await trusted.pull(uri)).items) == []
    lines = PAGE.split("\n")
    row = lines.index('related = ["port-in-use"]')
    trusted.change(uri, 2, ((row, len('related = ["')), (row, len('related = ["port-in-use')), "port-in-us"))
    (found,) = errors((await trusted.pull(uri)).items)
    assert found.range.start.line == row and "did you mean port-in-use?" in found.message
    fence = lines.index("the widget exploded at once")
    trusted.change(uri, 3, ((row, len('related = ["')), (row, len('related = ["port-in-us')), "port-in-use"))
    trusted.change(uri, 4, ((fence, 0), (fence, len(lines[fence])), "the widget burst"))
    (found,) = errors((await trusted.pull(uri)).items)
    assert found.range.start.line == fence - 1 and "does not fire" in found.message
    trusted.close_document(uri)


async def test_columns_count_the_units_of_the_editor(trusted: Editor) -> None:
    text = PAGE.replace('impact = "The job stops."', 'impact = "🔥"\nnonsense = "🔥🔥"')
    uri = trusted.open(text, page_path(trusted, "some-page").as_uri(), "markdown")
    (found,) = (await trusted.pull(uri)).items
    assert found.range == types.Range(types.Position(6, 0), types.Position(6, len('nonsense = ""') + 4))
    trusted.close_document(uri)


async def test_other_markdown_is_left_alone(trusted: Editor) -> None:
    for name in ("README.md", ".firstfault/notes.md", "pages/some-page.md", ".firstfault/pages/deeper/some-page.md"):
        uri = trusted.open("no page at all", (trusted.folder / name).as_uri(), "markdown")
        assert not (await trusted.pull(uri)).items
        trusted.close_document(uri)


async def test_a_saved_page_takes_part_in_diagnoses_in_a_trusted_workspace(trusted: Editor) -> None:
    log = trusted.open(LOG)
    assert not (await trusted.pull(log)).items
    path = page_path(trusted)
    path.write_text(PAGE)
    before = len(trusted.refreshes)
    page = trusted.open(PAGE, path.as_uri(), "markdown")
    trusted.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(page)))
    await trusted.until(lambda: len(trusted.refreshes) > before)
    (found,) = (await trusted.pull(log)).items
    assert (found.code, found.range.start.line) == ("widget-exploded", 1)
    assert found.code_description.href == "firstfault-page:/widget-exploded/A%20widget%20exploded"
    assert "Rank 3 lost a widget." in found.message
    explained = await trusted.ask("firstfault/explain", {"id": "widget-exploded"})
    assert (explained["title"], explained["uri"]) == ("A widget exploded", found.code_description.href)
    assert "widget-exploded" in {f["id"] for f in (await trusted.ask("firstfault/failures", {}))["failures"]}

    path.write_text(PAGE.replace("lost a widget", "is without a widget"))
    trusted.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(page)))
    await trusted.until(lambda: len(trusted.refreshes) > before + 3)
    assert "Rank 3 is without a widget." in (await trusted.pull(log)).items[0].message
    path.write_text(PAGE.replace("+++", "---"))
    trusted.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(page)))
    await trusted.until(lambda: len(trusted.refreshes) > before + 6)
    assert not (await trusted.pull(log)).items, "a page that cannot be read is left out"
    path.unlink()
    trusted.close_document(page)
    trusted.close_document(log)


async def test_own_pages_never_take_part_in_an_untrusted_workspace(untrusted: Editor) -> None:
    log = untrusted.open(LOG)
    assert not (await untrusted.pull(log)).items
    page = untrusted.open(PAGE, page_path(untrusted).as_uri(), "markdown")
    untrusted.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(page)))
    answer = await untrusted.ask("firstfault/diagnose", {"text": LOG})
    assert answer["incidents"] == 0
    assert "widget-exploded" not in {f["id"] for f in (await untrusted.ask("firstfault/failures", {}))["failures"]}
    assert not (await untrusted.pull(log)).items


async def test_mistakes_are_told_in_an_untrusted_workspace_too(untrusted: Editor) -> None:
    uri = untrusted.open(PAGE.replace("needle: widget exploded", "needle: w"), page_path(untrusted, "other-page").as_uri(), "markdown")
    (found,) = (await untrusted.pull(uri)).items
    assert "shorter than three" in found.message


async def test_a_client_that_is_told_gets_the_diagnostics_of_pages(plain: Editor) -> None:
    path = page_path(plain)
    uri = plain.open(PAGE.replace("```log silent advice", "```log silent"), path.as_uri(), "markdown")
    (found,) = await plain.diagnostics_for(uri)
    assert "named after its trap" in found.message
    lines = PAGE.split("\n")
    row = lines.index("```log silent advice")
    plain.change(uri, 2, ((row, len("```log silent")), (row, len("```log silent")), " advice"))
    assert errors(await plain.diagnostics_for(uri, 2)) == []
    plain.close_document(uri)
    await plain.until(lambda: plain.published[-1].uri == uri and not plain.published[-1].diagnostics)


async def test_any_text_under_that_name_is_answered(trusted: Editor) -> None:
    for text in ("", "+++", "+++\n+++\n", "\ufeff" + PAGE, PAGE[:100], PAGE + "```signature\n", "\r\r\n+++\r+++"):
        uri = trusted.open(text, page_path(trusted, "some-page").as_uri(), "markdown")
        for found in (await trusted.pull(uri)).items:
            assert found.message.startswith("error: ") and found.range.start.line <= text.count("\n") + text.count("\r")
        trusted.close_document(uri)
