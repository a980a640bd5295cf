"""Hovers and lenses of logs."""

from __future__ import annotations

import re

import pytest
from editor import Editor
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = "step 1\nFAULT rank 3 host node07: boom\nPROOF of it\nWAITS rank 1: for rank 3\nKNOWN rank 2: harmless\n"


async def lenses(editor: Editor, uri: str) -> list[types.CodeLens]:
    return list(await editor.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri))) or [])


async def test_the_initiating_line_tells_what_it_is_and_what_to_do(full: Editor) -> None:
    text = await full.hover_text(full.open(LOG), 1, 3)
    assert text is not None
    assert "**A test fault** `test-fault`" in text
    assert "Initiating line" in text and "established by direct evidence" in text
    assert "Rank 3 failed first." in text and "Then look there first on node07." in text
    assert "**First fix** Restart it" in text and "```sh\nrestart --now\n```" in text
    assert "[Open the page](command:firstfault.explain?%5B%22test-fault%22%5D)" in text


async def test_a_collateral_line_links_to_its_cause(full: Editor) -> None:
    uri = full.open(LOG)
    text = await full.hover_text(uri, 3)
    assert text is not None
    assert f"**Collateral** of rank 3, [line 2]({uri}#L2): waited for it" in text
    assert "Fix the cause, not this line: Restart it." in text


async def test_supporting_evidence_and_harmless_lines_have_a_hover(full: Editor) -> None:
    uri = full.open(LOG)
    assert "**Supports** the verdict" in (await full.hover_text(uri, 2) or "")
    known = await full.hover_text(uri, 4) or ""
    assert "A line of rank 2 that is known, and no part of a failure here." in known
    assert "Rank 2 failed on its host." in known


async def test_other_lines_have_no_hover(full: Editor) -> None:
    uri = full.open(LOG)
    assert await full.hover_text(uri, 0) is None
    assert await full.hover_text(uri, 999) is None


async def test_markdown_in_a_log_is_shown_as_it_is(full: Editor) -> None:
    uri = full.open("FAULT rank 3: [x](command:evil) *y*\nWAITS rank 1\n")
    text = await full.hover_text(uri, 1)
    assert text is not None
    # Commands stand only where the server links its own pages.
    assert set(re.findall(r"\(command:[^)]*", text)) == {f"(command:firstfault.explain?%5B%22{page}%22%5D" for page in ("test-waits", "test-fault")}


async def test_neovim_07_gets_markdown_too(minimal: Editor) -> None:
    text = await minimal.hover_text(minimal.open(LOG), 1) or ""
    assert "**Initiating line**" in text and "/test-fault.md)" in text and "command:" not in text


async def test_the_first_line_carries_the_verdict(full: Editor) -> None:
    uri = full.open(LOG)
    report, first, verdict = await lenses(full, uri)
    assert all(x.range.start == types.Position(0, 0) for x in (report, first, verdict))
    assert report.command and verdict.command and first.command
    assert (report.command.title, verdict.command.title) == ("Show report", "Rank 3 failed first · 1 collateral")
    for lens in (report, verdict):
        assert (lens.command.command, list(lens.command.arguments)) == ("firstfault.showReport", [uri])
    assert (first.command.title, first.command.command) == ("Go to first fault", "firstfault.goToFirstFault")
    assert list(first.command.arguments) == [uri, {"line": 1, "character": 0}]


async def test_a_healthy_log_has_no_lens(full: Editor) -> None:
    assert await lenses(full, full.open("step 1\nstep 2\n")) == []


async def test_the_status_tells_the_result(full: Editor) -> None:
    uri = full.open(LOG)
    await full.pull(uri)
    status = await full.until(lambda: next((s for s in full.statuses if s.get("uri") == uri and s["state"] == "idle"), None))
    assert status["message"] == "1 cause · 4 ranks"


async def test_an_editor_without_the_commands_runs_them_on_the_server(minimal: Editor) -> None:
    uri = minimal.open(LOG)
    lens = (await lenses(minimal, uri))[1]
    assert lens.command
    count = len(minimal.messages)
    await minimal.workspace_execute_command_async(types.ExecuteCommandParams(lens.command.command, lens.command.arguments))
    assert minimal.messages[count].message == f"The first fault is at {uri.rpartition('/')[2]}:2."
    await minimal.workspace_execute_command_async(types.ExecuteCommandParams("firstfault.showReport", [uri]))
    assert minimal.messages[count + 1].message == "Rank 3 failed first."


async def test_the_own_extension_keeps_its_commands_to_itself(full: Editor) -> None:
    """VS Code would register the server's commands a second time and fail."""
    provider = full.server_capabilities_seen.execute_command_provider
    assert provider is None or not provider.commands
