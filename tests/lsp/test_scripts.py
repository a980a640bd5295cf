"""In a launch script: hints while writing with quick fixes, refactorings and their reverse, fix all."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from editor import Editor
from lsprotocol import types

from firstfault.launch import TextEdit, apply_edits

pytestmark = pytest.mark.asyncio(loop_scope="session")
_names = itertools.count(1)

SBATCH = "#!/bin/bash\n#SBATCH --nodes=2\n# 🔥 run\nsrun torchrun train.py\n"
OBSOLETE = "#!/bin/bash\necho 🔥; export NCCL_ASYNC_ERROR_HANDLING=1\nsrun torchrun train.py\n"
LATE = "#!/bin/bash\nsrun torchrun train.py\nexport NCCL_DEBUG=INFO\n"
ADD = "Add diagnostics for hangs (NCCL_DEBUG, flight recorder, …)"
REMOVE = "Remove FirstFault diagnostics"
FIX_ALL = "source.fixAll.firstfault"
CRASH, SLOW = "FAULT rank 3: boom\n", "SLOW rank 2: swapping\n"

# name of the file, its language in VS Code, what launches in it
KINDS = [
    ("job.sbatch", "shellscript", SBATCH),
    ("train.slurm", "plaintext", SBATCH),
    ("train", "plaintext", SBATCH),
    ("run", "shellscript", "torchrun train.py\n"),
    ("train.py", "python", 'import os\nimport torch.distributed as dist\n\ndist.init_process_group("nccl")\n'),
    ("Dockerfile", "dockerfile", 'FROM pytorch/pytorch\nCMD ["torchrun", "train.py"]\n'),
    ("compose.yaml", "dockercompose", "services:\n  train:\n    image: pytorch\n    command: torchrun train.py\n"),
    (
        "job.yaml",
        "yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: train\nspec:\n  template:\n    spec:\n      containers:\n"
        "        - name: train\n          image: pytorch\n          command: [torchrun, train.py]\n",
    ),
    ("Makefile", "makefile", "train:\n\ttorchrun train.py\n"),
    (".env", "dotenv", "NCCL_SOCKET_IFNAME=eth0 # torchrun\n"),
    (
        "launch.json",
        "jsonc",
        '{\n  "version": "0.2.0",\n  "configurations": [\n    {\n      "name": "torchrun",\n      "type": "debugpy",\n'
        '      "request": "launch",\n      "module": "torch.distributed.run"\n    }\n  ]\n}\n',
    ),
]


@pytest.fixture(params=["full", "minimal"])
def either(request: pytest.FixtureRequest) -> Editor:
    editor: Editor = request.getfixturevalue(request.param)
    return editor


def open_script(editor: Editor, text: str, name: str = "job.sbatch", language: str = "shellscript") -> str:
    return editor.open(text, f"file:///nowhere/{next(_names)}/{name}", language)


async def problems(editor: Editor, uri: str, version: int = 1) -> list[types.Diagnostic]:
    """The diagnostics of a document, asked for or published, whichever the client does."""
    if editor.server_capabilities_seen.diagnostic_provider:
        return list((await editor.pull(uri)).items)
    return await editor.diagnostics_for(uri, version)


async def actions(editor: Editor, uri: str, only: list[str] | None = None, diagnostics: tuple[types.Diagnostic, ...] = ()) -> list[Any]:
    at = diagnostics[0].range if diagnostics else types.Range(types.Position(0, 0), types.Position(0, 0))
    context = types.CodeActionContext(list(diagnostics), only=list(only) if only else None)
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), at, context)
    converter = editor.protocol._converter
    found = await editor.ask_raw(types.TEXT_DOCUMENT_CODE_ACTION, converter.unstructure(params))
    return [converter.structure(a, types.CodeAction) for a in found or []]


def applied(text: str, edit: types.WorkspaceEdit) -> str:
    """A text after a workspace edit whose columns count UTF-16 units."""
    if edit.document_changes:
        (change,) = edit.document_changes
        edits: list[Any] = list(change.edits)  # type: ignore[union-attr]
    else:
        assert edit.changes is not None
        ((_, found),) = edit.changes.items()
        edits = list(found)
    lines = text.split("\n")

    def column(position: types.Position) -> int:
        return len(lines[position.line].encode("utf-16-le")[: 2 * position.character].decode("utf-16-le"))

    return apply_edits(
        text, [TextEdit(e.range.start.line, column(e.range.start), e.range.end.line, column(e.range.end), e.new_text) for e in edits]
    )


@pytest.mark.parametrize(("name", "language", "text"), KINDS, ids=[f"{k[0]} as {k[1]}" for k in KINDS])
async def test_diagnostics_are_added_and_taken_out_again(either: Editor, name: str, language: str, text: str) -> None:
    uri = open_script(either, text, name, language)
    offered = {a.title: a for a in await actions(either, uri)}
    assert ADD in offered and REMOVE not in offered
    after = applied(text, offered[ADD].edit)
    assert "NCCL_DEBUG" in after and "TORCH_NCCL_DUMP_ON_TIMEOUT" in after and "_BUFFER_SIZE" in after
    either.close_document(uri)
    uri = open_script(either, after, name, language)
    offered = {a.title: a for a in await actions(either, uri)}
    assert REMOVE in offered and ADD not in offered
    assert "NCCL_DEBUG" not in applied(after, offered[REMOVE].edit)


async def test_names_fit_the_log_that_was_diagnosed_last(full: Editor) -> None:
    await full.ask("firstfault/diagnose", {"text": f"{CRASH}torch==2.9.0\n"})
    uri = open_script(full, SBATCH)
    (action,) = [a for a in await actions(full, uri) if a.title == ADD]
    assert "TORCH_FR_BUFFER_SIZE" in applied(SBATCH, action.edit)
    await full.ask("firstfault/diagnose", {"text": f"{CRASH}torch==2.5.1\n"})
    (action,) = [a for a in await actions(full, uri) if a.title == ADD]
    assert "TORCH_NCCL_TRACE_BUFFER_SIZE" in applied(SBATCH, action.edit)


async def test_the_edit_of_an_open_script_carries_its_version_and_what_it_sets(full: Editor) -> None:
    uri = open_script(full, SBATCH)
    full.change(uri, 2, ((2, 0), (2, 0), "# two\n"))
    (action,) = [a for a in await actions(full, uri) if a.title == ADD]
    assert action.kind == types.CodeActionKind.RefactorRewrite
    assert action.edit.document_changes[0].text_document.version == 2
    note = action.edit.change_annotations["firstfault"]
    assert note.needs_confirmation is False and "NCCL_DEBUG=INFO" in note.description


async def test_a_collective_timeout_can_be_raised_where_no_crash_speaks_against_it(either: Editor) -> None:
    name, language, text = KINDS[4]
    await either.ask("firstfault/diagnose", {"text": SLOW})
    uri = open_script(either, text, name, language)
    raised = [a for a in await actions(either, uri) if "timeout" in a.title]
    assert [a.title for a in raised] == [
        "Raise collective timeout to 30 min (for a slow but living rank)",
        "Raise collective timeout to 1 h (for a slow but living rank)",
    ]
    after = applied(text, raised[1].edit)
    compile(after, name, "exec")
    assert "timedelta(minutes=60)" in after


async def test_a_timeout_is_no_cure_for_the_crash_in_the_last_log(either: Editor) -> None:
    name, language, text = KINDS[4]
    await either.ask("firstfault/diagnose", {"text": CRASH})
    uri = open_script(either, text, name, language)
    raised = [a for a in await actions(either, uri) if "timeout" in a.title]
    if either.server_capabilities_seen.diagnostic_provider:
        assert [a.title for a in raised] == ["Raise collective timeout"]
        assert "slow but alive" in raised[0].disabled.reason and raised[0].edit is None
    else:
        assert not raised


async def test_a_timeout_below_the_checkpoints_of_the_newest_log_is_hinted_at_in_an_open_script(either: Editor) -> None:
    await either.ask("firstfault/diagnose", {"text": "no checkpoint here\n"})
    script = "torchrun pretrain_gpt.py --num-layers 4 --distributed-timeout-minutes 10\n"
    uri = open_script(either, script)
    pulls = bool(either.server_capabilities_seen.diagnostic_provider)
    assert not (await either.pull(uri)).items if pulls else not await either.diagnostics_for(uri)
    refreshes, published = len(either.refreshes), len(either.published)
    await either.ask("firstfault/diagnose", {"text": "Saving checkpoint took 845.31 secs\n"})
    if pulls:
        await either.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in either.refreshes[refreshes:])
        (hint,) = (await either.pull(uri)).items
    else:
        await either.until(lambda: any(p.uri == uri for p in either.published[published:]))
        (hint,) = await either.diagnostics_for(uri)
    assert hint.code == "timeout-below-checkpoint" and "845 s" in hint.message


async def test_a_script_that_launches_nothing_offers_nothing(either: Editor) -> None:
    uri = open_script(either, "echo hello\n", "hello.sh")
    assert await actions(either, uri) == []


async def test_an_obsolete_setting_is_struck_through_and_renamed(either: Editor) -> None:
    uri = open_script(either, OBSOLETE)
    (hint,) = await problems(either, uri)
    assert (hint.source, hint.code, hint.severity) == ("firstfault", "obsolete-setting", types.DiagnosticSeverity.Hint)
    # The emoji in front takes two units.
    assert hint.range == types.Range(types.Position(1, 16), types.Position(1, 16 + len("NCCL_ASYNC_ERROR_HANDLING")))
    if either.server_capabilities_seen.diagnostic_provider:
        assert list(hint.tags or ()) == [types.DiagnosticTag.Deprecated]
    (fix,) = await actions(either, uri, ["quickfix"], (hint,))
    assert fix.title == "Rename to TORCH_NCCL_ASYNC_ERROR_HANDLING"
    assert fix.diagnostics is not None and fix.diagnostics[0].code == hint.code
    assert applied(OBSOLETE, fix.edit) == OBSOLETE.replace("NCCL_ASYNC", "TORCH_NCCL_ASYNC")


async def test_a_setting_behind_the_launch_is_an_information(either: Editor) -> None:
    uri = open_script(either, LATE)
    (hint,) = await problems(either, uri)
    assert (hint.code, hint.severity) == ("set-after-launch", types.DiagnosticSeverity.Information)
    (fix,) = await actions(either, uri, ["quickfix"], (hint,))
    assert applied(LATE, fix.edit) == "#!/bin/bash\nexport NCCL_DEBUG=INFO\nsrun torchrun train.py\n"


async def test_hints_follow_what_is_typed(either: Editor) -> None:
    uri = open_script(either, SBATCH)
    assert await problems(either, uri) == []
    either.change(uri, 2, ((3, 0), (3, 0), "export NCCL_ASYNC_ERROR_HANDLING=1\n"))
    assert [d.code for d in await problems(either, uri, 2)] == ["obsolete-setting"]


@pytest.mark.parametrize("only", ["source.fixAll", FIX_ALL, "source"])
async def test_fix_all_settles_what_is_safe(either: Editor, only: str) -> None:
    text = OBSOLETE + "export NCCL_DEBUG=INFO\n"
    uri = open_script(either, text)
    (action,) = await actions(either, uri, [only])
    assert action.kind == FIX_ALL
    assert applied(text, action.edit) == text.replace("NCCL_ASYNC", "TORCH_NCCL_ASYNC")


async def test_fix_all_is_announced_and_given_only_where_it_is_asked_for(full: Editor) -> None:
    provider = full.server_capabilities_seen.code_action_provider
    assert isinstance(provider, types.CodeActionOptions) and FIX_ALL in (provider.code_action_kinds or ())
    uri = open_script(full, OBSOLETE)
    assert await actions(full, uri, ["source.organizeImports"]) == []
    assert {a.kind for a in await actions(full, uri, ["refactor"])} == {types.CodeActionKind.RefactorRewrite}
    assert await actions(full, open_script(full, SBATCH), [FIX_ALL]) == []


async def test_hints_can_be_switched_off_and_on(either: Editor) -> None:
    uri = open_script(either, OBSOLETE)
    assert await problems(either, uri)
    try:
        await switch(either, uri, False)
        assert await problems(either, uri) == []
        assert await actions(either, uri, [FIX_ALL]) == []
        assert ADD in [a.title for a in await actions(either, uri)]
    finally:
        await switch(either, uri, True)
    assert len(await problems(either, uri)) == 1


async def switch(editor: Editor, uri: str, on: bool) -> None:
    """Send the setting and wait until it shows."""
    refreshes, published = len(editor.refreshes), len(editor.published)
    editor.workspace_did_change_configuration(types.DidChangeConfigurationParams({"firstfault": {"lint": on}}))
    if editor.server_capabilities_seen.diagnostic_provider:
        await editor.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in editor.refreshes[refreshes:])
    else:
        await editor.until(lambda: [p for p in editor.published[published:] if p.uri == uri and bool(p.diagnostics) == on])


async def test_changes_of_the_setting_are_asked_for_where_the_client_can_tell(full: Editor) -> None:
    await full.until(lambda: types.WORKSPACE_DID_CHANGE_CONFIGURATION in full.registrations)


async def test_a_log_with_the_name_of_no_script_stays_a_log(either: Editor) -> None:
    """A log may print the batch script that it was started with."""
    text = f"{SBATCH}{CRASH}"
    uri = either.open(text, f"file:///nowhere/{next(_names)}/slurm-81.out", "plaintext")
    assert [d.code for d in await problems(either, uri)] == ["test-fault"]
    echoed = either.open(f"+ cat job\n{text}", f"file:///nowhere/{next(_names)}/output of the job", "plaintext")
    assert [d.code for d in await problems(either, echoed)] == ["test-fault"]


async def test_a_broken_script_has_no_hints_and_no_actions(either: Editor) -> None:
    uri = open_script(either, 'import os\nos.environ["NCCL_ASYNC_ERROR_HANDLING"] = (\ninit_process_group(\n', "train.py", "python")
    assert await problems(either, uri) == []
    assert await actions(either, uri) == []


async def test_a_setting_in_a_script_is_explained(full: Editor) -> None:
    text = await full.hover_text(open_script(full, OBSOLETE), 1, 20)
    assert text is not None and "TORCH_NCCL_ASYNC_ERROR_HANDLING" in text


async def test_an_untitled_script_has_hints(full: Editor, tmp_path: Path) -> None:
    uri = full.open(OBSOLETE, f"untitled:Untitled-{next(_names)}", "shellscript")
    assert [d.code for d in await problems(full, uri)] == ["obsolete-setting"]
