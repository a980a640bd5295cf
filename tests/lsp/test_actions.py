"""Quick fixes from a diagnosed line to a launch script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from editor import Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = "FAULT rank 3 host node07: boom\nWAITS rank 1: for rank 3\n"
SBATCH = "#!/bin/bash\n#SBATCH --nodes=2\n# 🔥 run\nsrun torchrun train.py\n"
TRAIN = 'import torch.distributed as dist\n\ndist.init_process_group("nccl")\n'


async def quick_fixes(editor: Editor, line: int = 0, log: str = LOG) -> list[Any]:
    uri = editor.open(log)
    found = (
        list((await editor.pull(uri)).items) if editor.server_capabilities_seen.diagnostic_provider else await editor.diagnostics_for(uri)
    )
    return await editor.actions(uri, [found[line]])


def changed(text: str, edits: list[Any]) -> str:
    """The text after LSP edits; columns of the lines touched here are all in front of any emoji."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start, end = edit.range.start, edit.range.end
        offset = sum(len(line) for line in lines[: start.line]) + start.character
        stop = sum(len(line) for line in lines[: end.line]) + end.character
        whole = "".join(lines)
        lines = (whole[:offset] + edit.new_text + whole[stop:]).splitlines(keepends=True)
    return "".join(lines)


async def test_a_setting_is_inserted_into_the_script_of_the_workspace(full: Editor, scripts: Path) -> None:
    (scripts / "train.sbatch").write_text(SBATCH)
    action = next(a for a in await quick_fixes(full) if "NCCL_DEBUG" in a.title)
    assert action.title == "Set NCCL_DEBUG=INFO in train.sbatch"
    assert (action.kind, action.is_preferred) == (types.CodeActionKind.QuickFix, True)
    assert action.edit is None
    resolved = await full.code_action_resolve_async(action)
    change = resolved.edit.document_changes[0]
    assert change.text_document.uri == (scripts / "train.sbatch").as_uri()
    assert change.text_document.version is None
    assert "export NCCL_DEBUG=INFO\n" in changed(SBATCH, list(change.edits))


async def test_an_edit_of_a_file_that_is_not_open_asks_for_confirmation(full: Editor, scripts: Path) -> None:
    (scripts / "train.sbatch").write_text(SBATCH)
    resolved = await full.code_action_resolve_async((await quick_fixes(full))[0])
    annotation = resolved.edit.change_annotations["firstfault"]
    assert annotation.needs_confirmation is True
    assert annotation.label == "Set NCCL_DEBUG=INFO"
    assert annotation.description == "shows which rank stopped"
    assert {e.annotation_id for e in resolved.edit.document_changes[0].edits} == {"firstfault"}


async def test_an_open_script_is_edited_as_it_stands_in_the_editor(full: Editor, scripts: Path) -> None:
    path = scripts / "train.sbatch"
    path.write_text(SBATCH)
    script = full.open(SBATCH, path.as_uri(), "shellscript", 4)
    full.change(script, 5, ((3, 0), (3, 0), "# one more line\n"))
    resolved = await full.code_action_resolve_async((await quick_fixes(full))[0])
    change = resolved.edit.document_changes[0]
    assert change.text_document.version == 5
    assert resolved.edit.change_annotations["firstfault"].needs_confirmation is False
    assert (
        changed(SBATCH.replace("srun", "# one more line\nsrun"), list(change.edits)).endswith(
            "export NCCL_DEBUG=INFO\nsrun torchrun train.py\n"
        )
        or "NCCL_DEBUG" in change.edits[0].new_text
    )
    full.close_document(script)


async def test_a_collective_timeout_is_raised_in_python_for_a_slow_rank(full: Editor, scripts: Path) -> None:
    (scripts / "train.py").write_text(TRAIN)
    action = next(a for a in await quick_fixes(full, log="SLOW rank 2: swapping\n") if "timeout" in a.title)
    assert action.title == "Raise the collective timeout to 2 h in train.py"
    resolved = await full.code_action_resolve_async(action)
    after = changed(TRAIN, list(resolved.edit.document_changes[0].edits))
    assert "timeout=timedelta(minutes=120)" in after
    compile(after, "train.py", "exec")


async def test_a_collateral_line_offers_the_fix_of_its_cause(full: Editor, scripts: Path) -> None:
    (scripts / "train.sbatch").write_text(SBATCH)
    assert "Set NCCL_DEBUG=INFO in train.sbatch" in [a.title for a in await quick_fixes(full, line=1)]


async def test_a_setting_that_holds_already_is_shown_as_done(full: Editor, scripts: Path) -> None:
    (scripts / "train.sbatch").write_text(SBATCH.replace("srun", "export NCCL_DEBUG=INFO\nsrun"))
    action = next(a for a in await quick_fixes(full) if "NCCL_DEBUG" in a.title)
    assert action.disabled.reason == "NCCL_DEBUG is set already in train.sbatch"


async def test_without_a_script_the_line_can_be_copied(full: Editor, scripts: Path) -> None:
    action = next(a for a in await quick_fixes(full) if "NCCL_DEBUG" in a.title)
    assert action.title == "Copy `export NCCL_DEBUG=INFO` (no launch script in the workspace)"
    assert (action.command.command, list(action.command.arguments)) == ("firstfault.copyText", ["export NCCL_DEBUG=INFO"])
    assert action.edit is None


async def test_a_script_that_is_left_alone_says_why(full: Editor, scripts: Path) -> None:
    (scripts / "train.sbatch").write_text(SBATCH + "# REFUSE\n")
    action = next(a for a in await quick_fixes(full) if "NCCL_DEBUG" in a.title)
    assert "train.sbatch: left alone: it says so" in action.title
    assert action.command.command == "firstfault.copyText"


async def test_a_script_that_changed_meanwhile_is_told_in_four_parts(full: Editor, scripts: Path) -> None:
    path = scripts / "train.sbatch"
    path.write_text(SBATCH)
    action = (await quick_fixes(full))[0]
    path.write_text(SBATCH.replace("srun", "export NCCL_DEBUG=INFO\nsrun"))
    with pytest.raises(JsonRpcException) as raised:
        await full.code_action_resolve_async(action)
    assert raised.value.message.startswith("error: nothing to change")
    assert f"where: {path}" in raised.value.message


async def test_an_editor_that_cannot_resolve_gets_the_edit_at_once(minimal: Editor, scripts: Path) -> None:
    (scripts / "train.sbatch").write_text(SBATCH)
    action = next(a for a in await quick_fixes(minimal) if "NCCL_DEBUG" in a.title)
    assert action.edit is not None
    changes = action.edit.changes or {c.text_document.uri: c.edits for c in action.edit.document_changes}
    assert "export NCCL_DEBUG=INFO\n" in changed(SBATCH, list(changes[(scripts / "train.sbatch").as_uri()]))
    assert action.edit.change_annotations is None


@pytest.mark.parametrize("profile", ["full", "minimal"])
async def test_a_timeout_is_no_cure_for_a_crash(request: pytest.FixtureRequest, scripts: Path, profile: str) -> None:
    (scripts / "train.py").write_text(TRAIN)
    titles = [a.title for a in await quick_fixes(request.getfixturevalue(profile))]
    assert any("NCCL_DEBUG" in t for t in titles)
    assert not any("timeout" in t for t in titles)


@pytest.mark.parametrize(
    ("version", "name"), [("2.6.0+cu124", "TORCH_NCCL_TRACE_BUFFER_SIZE"), ("2.9.1", "TORCH_FR_BUFFER_SIZE"), ("2.0.1", None)]
)
async def test_names_fit_the_torch_version_of_the_log(full: Editor, scripts: Path, version: str, name: str | None) -> None:
    (scripts / "train.sbatch").write_text(SBATCH)
    titles = [a.title for a in await quick_fixes(full, log=f"{LOG}PyTorch version: {version}\n")]
    assert [t for t in titles if "BUFFER_SIZE" in t] == ([f"Set {name}=2000 in train.sbatch"] if name else [])


@pytest.mark.parametrize("profile", ["full", "minimal"])
async def test_an_edit_that_costs_speed_says_so(request: pytest.FixtureRequest, scripts: Path, profile: str) -> None:
    (scripts / "train.sbatch").write_text(SBATCH)
    editor: Editor = request.getfixturevalue(profile)
    action = next(a for a in await quick_fixes(editor, log="SLOW rank 2: swapping\n") if "DETAIL" in a.title)
    assert action.title == "Set TORCH_DISTRIBUTED_DEBUG=DETAIL in train.sbatch (costs speed)"
    if profile == "full":
        resolved = await editor.code_action_resolve_async(action)
        described = resolved.edit.change_annotations["firstfault"].description
        assert described.startswith("names the operation that differs. ") and "slow" in described


async def test_diagnostics_of_others_get_no_actions(full: Editor) -> None:
    uri = full.open(LOG)
    other = types.Diagnostic(types.Range(types.Position(0, 0), types.Position(0, 5)), "spelling", source="cspell")
    assert await full.actions(uri, [other]) == []


async def test_an_action_without_our_data_is_given_back(full: Editor) -> None:
    action = types.CodeAction("something else", data={"path": 3})
    assert (await full.code_action_resolve_async(action)).edit is None
