"""Diagnostics of logs, pulled by the full client and pushed to the minimal one."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor import Editor
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = "step 1\nstep 2\nFAULT rank 3 host node07: boom\nPROOF of it\nWAITS rank 1: for rank 3\nWAITS rank 2: for rank 3\n"


async def test_the_initiating_line_is_an_error_with_the_summary(full: Editor) -> None:
    uri = full.open(LOG)
    error = (await full.pull(uri)).items[0]
    assert error.severity == types.DiagnosticSeverity.Error
    assert error.message == "Rank 3 failed first."
    assert (error.source, error.code) == ("firstfault", "test-fault")
    assert error.code_description.href == "firstfault-page:/test-fault/A%20test%20fault"
    assert error.range == types.Range(types.Position(2, 0), types.Position(2, 30))
    assert error.data == {"failure": "test-fault", "incident": 1, "role": "initiating"}


async def test_the_other_evidence_is_related_information(full: Editor) -> None:
    uri = full.open(LOG)
    related = (await full.pull(uri)).items[0].related_information
    assert [(r.location.uri, r.location.range.start.line, r.message) for r in related] == [
        (uri, 3, "supports it"),
        (uri, 4, "2 collateral lines, the first one here: waited for it"),
    ]


async def test_collateral_is_faded_and_says_whose_fault_it_is(full: Editor) -> None:
    uri = full.open(LOG)
    hints = (await full.pull(uri)).items[1:]
    assert [h.range.start.line for h in hints] == [4, 5]
    assert {h.severity for h in hints} == {types.DiagnosticSeverity.Hint}
    assert list(hints[0].tags) == [types.DiagnosticTag.Unnecessary]
    assert hints[0].message == "Collateral of rank 3 (line 3): waited for it"
    assert hints[0].code == "test-waits"
    assert [r.location.range.start.line for r in hints[0].related_information] == [2]


async def test_at_most_200_collateral_lines_are_marked(full: Editor) -> None:
    uri = full.open("FAULT rank 3\n" + "WAITS rank 1\n" * 500)
    items = (await full.pull(uri)).items
    assert len(items) == 201


async def test_columns_behind_an_emoji_count_utf16_units(full: Editor) -> None:
    uri = full.open("🔥🔥 FAULT rank 3: 🔥 boom")
    error = (await full.pull(uri)).items[0]
    assert (error.range.start.character, error.range.end.character) == (5, 26)


async def test_a_line_behind_carriage_returns_is_found(full: Editor) -> None:
    """VS Code ends a line at a lone carriage return, the report does not."""
    uri = full.open("10%\r20%\r30%\nnext\u2028line\r\nsome \rFAULT rank 3\r\nWAITS rank 1\n")
    error, hint = (await full.pull(uri)).items
    assert (error.range.start.line, error.range.start.character) == (5, 0)
    assert hint.range.start.line == 6


async def test_neovim_keeps_carriage_returns_inside_a_line(minimal: Editor) -> None:
    uri = minimal.open("10%\r20%\r30%\nsome \rFAULT rank 3\n")
    error = (await minimal.diagnostics_for(uri))[0]
    assert (error.range.start.line, error.range.start.character) == (1, 6)


async def test_an_unchanged_document_is_not_sent_twice(full: Editor) -> None:
    uri = full.open(LOG)
    first = await full.pull(uri)
    second = await full.pull(uri, first.result_id)
    assert second.kind == types.DocumentDiagnosticReportKind.Unchanged


async def test_an_edit_moves_the_diagnostics(full: Editor) -> None:
    uri = full.open(LOG)
    first = await full.pull(uri)
    full.change(uri, 2, ((0, 0), (0, 0), "one line more\n"))
    second = await full.pull(uri, first.result_id)
    assert second.items[0].range.start.line == 3


async def test_many_edits_in_a_row_give_the_last_state(full: Editor) -> None:
    uri = full.open("")
    for version in range(2, 40):
        full.change(uri, version, ((0, 0), (0, 0), "x"))
    full.change(uri, 40, ((0, 0), (0, 0), "FAULT rank 3\n"))
    assert [d.range.start.line for d in (await full.pull(uri)).items] == [0]


async def test_a_pushed_set_belongs_to_the_version_it_was_made_for(minimal: Editor) -> None:
    uri = minimal.open(LOG)
    assert len(await minimal.diagnostics_for(uri, 1)) == 3
    for version in range(2, 8):
        minimal.change(uri, version, ((0, 0), (0, 0), "x\n"))
    diagnostics = await minimal.diagnostics_for(uri, 7)
    assert diagnostics[0].range.start.line == 8
    assert not [p for p in minimal.published if p.uri == uri and p.version in range(2, 7)]


async def test_a_minimal_client_gets_only_what_it_knows(minimal: Editor) -> None:
    uri = minimal.open(LOG)
    error = (await minimal.diagnostics_for(uri))[0]
    assert error.data is None and error.code_description is None
    assert not minimal.statuses


async def test_closing_clears_pushed_diagnostics(minimal: Editor) -> None:
    uri = minimal.open(LOG)
    assert await minimal.diagnostics_for(uri)
    count = len(minimal.published)
    minimal.close_document(uri)
    await minimal.until(lambda: len(minimal.published) > count)
    assert minimal.published[-1].uri == uri and not minimal.published[-1].diagnostics


async def test_nothing_is_pushed_to_a_client_that_pulls(full: Editor) -> None:
    uri = full.open(LOG)
    await full.pull(uri)
    full.close_document(uri)
    await full.pull(uri)
    assert not [p for p in full.published if p.uri == uri]


async def test_a_program_is_no_log(full: Editor) -> None:
    uri = full.open("FAULT rank 3\n", "file:///nowhere/train.py", "python")
    assert not (await full.pull(uri)).items


async def test_an_engine_that_breaks_gives_no_diagnostics_and_the_server_goes_on(full: Editor) -> None:
    broken, sound = full.open("RAISE\nFAULT rank 3\n"), full.open(LOG)
    assert not (await full.pull(broken)).items
    assert len((await full.pull(sound)).items) == 3


async def test_a_document_that_is_not_open_is_read_from_disk(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "large.log"
    path.write_bytes(b"10%\r20%\r\n\xff\nFAULT rank 3\n")
    items = (await full.pull(path.as_uri())).items
    assert [(d.range.start.line, d.severity) for d in items] == [(3, types.DiagnosticSeverity.Error)]


async def test_a_document_above_the_limit_is_read_from_disk(full: Editor, tmp_path: Path) -> None:
    """The limit of the full client is 100,000 bytes; the text the editor sends differs here so that the source shows."""
    path = tmp_path / "large.log"
    path.write_text("FAULT rank 3\n" + "x\n" * 60_000)
    uri = full.open("nothing\n" + "x\n" * 60_000, path.as_uri())
    assert len((await full.pull(uri)).items) == 1


async def test_a_file_that_is_gone_gives_nothing(full: Editor, tmp_path: Path) -> None:
    assert not (await full.pull((tmp_path / "gone.log").as_uri())).items
