"""The bundled engine behind the protocol, on the project's own sample logs: what a person sees who opens them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from editor import REAL_SERVER, Editor, full_params, make_editor
from lsprotocol import types
from pytest_lsp import ClientServerConfig

from firstfault.diagnose import diagnose

pytestmark = pytest.mark.asyncio(loop_scope="session")
SAMPLES = Path(__file__).parents[2] / "samples"
STUCK = SAMPLES / "stuck-rank.log"


@pytest_lsp.fixture(scope="session", config=ClientServerConfig(server_command=REAL_SERVER, client_factory=make_editor))
async def real(editor: Editor, workspace: Path) -> AsyncIterator[None]:
    """A client modelled on VS Code, in front of the server as it is shipped."""
    await editor.initialize_session(full_params([workspace]))
    yield
    await editor.shutdown_session()


def open_sample(editor: Editor, path: Path) -> str:
    return editor.open(path.read_text(encoding="utf-8"), path.as_uri())


@pytest.mark.parametrize("name", sorted(p.name for p in SAMPLES.glob("*.log")))
async def test_the_editor_shows_the_lines_the_command_line_reports(real: Editor, name: str) -> None:
    path = SAMPLES / name
    report = diagnose([str(path)]).report
    uri = open_sample(real, path)
    items = (await real.pull(uri)).items
    expected = {e.line - 1 for i in report.incidents for e in i.evidence if e.role == "initiating"}
    severities = (types.DiagnosticSeverity.Error, types.DiagnosticSeverity.Warning)
    assert expected and {d.range.start.line for d in items if d.severity in severities} == expected
    summaries = tuple(i.summary for i in report.incidents)
    assert all(d.message.endswith(summaries) for d in items if d.severity in severities)
    assert {d.message for d in items if d.severity in severities} >= set(summaries)
    answer = await real.ask("firstfault/diagnose", {"path": str(path)})
    assert [i["failure"] for i in answer["report"]["incidents"]] == [i.failure for i in report.incidents]


async def test_the_stuck_rank_is_named_and_explained(real: Editor) -> None:
    uri = open_sample(real, STUCK)
    error = (await real.pull(uri)).items[0]
    assert "Rank 5" in error.message and error.code == "rank-missing-collective"
    text = await real.hover_text(uri, error.range.start.line, error.range.start.character)
    assert text is not None and "**Initiating line**" in text and "NCCL_DEBUG=INFO" in text
    assert "{" not in text
    explained = await real.ask("firstfault/explain", {"id": error.code})
    assert explained["markdown"].startswith("# ")


async def test_three_clicks_from_the_red_line_to_the_changed_script(real: Editor, scripts: Path) -> None:
    shutil.copy(SAMPLES / "train.sh", scripts / "train.sh")
    uri = open_sample(real, STUCK)
    error = (await real.pull(uri)).items[0]
    actions: list[Any] = await real.actions(uri, [error])
    action = next(a for a in actions if a.title == "Set NCCL_DEBUG=INFO in train.sh")
    resolved = await real.code_action_resolve_async(action)
    (edit,) = resolved.edit.document_changes[0].edits
    assert edit.new_text.strip() == "export NCCL_DEBUG=INFO"
    lines = (scripts / "train.sh").read_text().splitlines()
    assert any(line.startswith("torchrun") for line in lines[edit.range.start.line :])


async def test_every_listed_failure_can_be_explained(real: Editor) -> None:
    listed = (await real.ask("firstfault/failures", {}))["failures"]
    assert len(listed) >= 20
    for failure in listed:
        page = await real.ask("firstfault/explain", {"id": failure["id"]})
        assert page["title"] == failure["title"] and page["markdown"]


async def test_a_log_without_a_failure_is_quiet(real: Editor) -> None:
    uri = real.open("".join(f"step: {n}  loss: {2 / (n + 1):.3f}\n" for n in range(500)))
    assert not (await real.pull(uri)).items


async def test_bytes_that_are_no_text_do_not_break_the_server(real: Editor, tmp_path: Path) -> None:
    path = tmp_path / "odd.log"
    path.write_bytes(bytes(range(256)) * 40 + b"\r\r\n\xed\xa0\x80\n")
    await real.pull(path.as_uri())
    await real.pull(real.open("\ud83d \x00 \u2028 \x85 \r\r\n" * 50))
    assert (await real.pull(open_sample(real, STUCK))).items


async def test_a_watched_log_tells_of_the_failure_that_is_appended(real: Editor, tmp_path: Path) -> None:
    lines = STUCK.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "growing.log"
    path.write_text("".join(lines[:40]), encoding="utf-8")
    await real.ask("firstfault/watch", {"path": str(path)})
    await real.until(lambda: [w for w in real.watched if w["path"] == str(path) and w["state"] == "reading"])
    with path.open("a", encoding="utf-8") as file:
        file.writelines(lines[40:])
    told = await real.until(lambda: next((w for w in real.watched if w["path"] == str(path) and w["incidents"]), None))
    assert "Rank 5" in told["summary"]
    assert types.DiagnosticSeverity.Error in [d.severity for d in await real.diagnostics_for(path.as_uri())]
    await real.ask("firstfault/watch", {"path": str(path), "on": False})
