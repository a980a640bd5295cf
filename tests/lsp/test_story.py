"""An open log tells its story: hints, navigation, outline, folds, highlights, links, fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor import Editor
from lsprotocol import types

from firstfault.lsp import fields
from firstfault.lsp.links import WorkspaceFiles
from firstfault.lsp.positions import LineIndex
from firstfault.lsp.structure import CHATTER, NOBODY, REPEATED, TRACEBACK, structure_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = """\
[rank0]: step 1
[rank3]: step 1
[rank3]: FAULT rank 3 host node07: 🔥 boom
PROOF of it
[rank0]: Traceback (most recent call last):
[rank0]:   File "/job/train.py", line 12, in <module>
[rank0]:     WAITS_for()
[rank0]: RuntimeError: WAITS rank 0
[rank1]: WAITS rank 1: for rank 3
"""


def at(uri: str, line: int, character: int = 0) -> tuple[types.TextDocumentIdentifier, types.Position]:
    return types.TextDocumentIdentifier(uri), types.Position(line, character)


async def test_collateral_lines_carry_a_hint_that_leads_to_the_cause(full: Editor) -> None:
    uri = full.open(LOG)
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    found = await full.text_document_inlay_hint_async(types.InlayHintParams(types.TextDocumentIdentifier(uri), everything))
    hints = list(found or [])
    assert [h.position.line for h in hints] == [6, 7, 8]
    label = hints[2].label
    assert not isinstance(label, str)
    assert "".join(part.value for part in label) == "collateral of rank 3 · line 3"
    assert label[1].location and label[1].location.range.start.line == 2
    assert hints[2].position.character == len("[rank1]: WAITS rank 1: for rank 3")


async def test_only_the_hints_of_the_visible_range_are_given(full: Editor) -> None:
    uri = full.open(LOG)
    visible = types.Range(types.Position(8, 0), types.Position(9, 0))
    found = await full.text_document_inlay_hint_async(types.InlayHintParams(types.TextDocumentIdentifier(uri), visible))
    assert [h.position.line for h in found or []] == [8]


async def test_the_definition_of_a_collateral_line_is_its_cause(full: Editor) -> None:
    uri = full.open(LOG)
    found = await full.text_document_definition_async(types.DefinitionParams(*at(uri, 8)))
    assert isinstance(found, (list, tuple))
    (link,) = found
    assert isinstance(link, types.LocationLink)
    assert (link.target_uri, link.target_range.start) == (uri, types.Position(2, 9))
    assert link.origin_selection_range and link.origin_selection_range.start.line == 8


async def test_a_client_without_links_gets_a_location(minimal: Editor) -> None:
    minimal_caps = minimal.capabilities
    assert minimal_caps and minimal_caps.text_document and minimal_caps.text_document.definition
    uri = minimal.open(LOG)
    found = await minimal.text_document_definition_async(types.DefinitionParams(*at(uri, 8)))
    if minimal_caps.text_document.definition.link_support:
        assert isinstance(found, (list, tuple)) and isinstance(found[0], types.LocationLink)
    else:
        assert isinstance(found, types.Location) and found.range.start.line == 2


async def test_the_references_of_a_cause_are_its_collateral(full: Editor) -> None:
    uri = full.open(LOG)
    context = types.ReferenceContext(include_declaration=False)
    found = await full.text_document_references_async(types.ReferenceParams(context, *at(uri, 2)))
    assert [r.range.start.line for r in found or []] == [3, 6, 7, 8]


async def test_other_lines_have_neither_definition_nor_references(full: Editor) -> None:
    uri = full.open(LOG)
    assert await full.text_document_definition_async(types.DefinitionParams(*at(uri, 0))) is None
    context = types.ReferenceContext(include_declaration=True)
    assert not await full.text_document_references_async(types.ReferenceParams(context, *at(uri, 0)))


async def test_the_lines_of_the_rank_under_the_cursor_are_highlighted(full: Editor) -> None:
    uri = full.open(LOG)
    found = await full.text_document_document_highlight_async(types.DocumentHighlightParams(*at(uri, 1)))
    assert [(h.range.start.line, h.range.end.character) for h in found or []] == [(1, 8), (2, 8)]
    assert not await full.text_document_document_highlight_async(types.DocumentHighlightParams(*at(uri, 3)))


async def test_the_outline_lists_incidents_and_ranks(full: Editor) -> None:
    uri = full.open(LOG)
    found = list(await full.text_document_document_symbol_async(types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))) or [])
    incident, *ranks = found
    assert isinstance(incident, types.DocumentSymbol)
    assert (incident.name, incident.selection_range.start.line) == ("A test fault", 2)
    assert [c.name for c in incident.children or []][:2] == ["the first to fail", "supports it"]
    assert [(r.name, r.detail) for r in ranks if isinstance(r, types.DocumentSymbol)] == [
        ("rank 0", "5 lines · collateral"),
        ("rank 1", "1 line · collateral"),
        ("rank 3", "2 lines · initiating"),
    ]
    assert ranks[2].selection_range.start.line == 2
    for symbol in [incident, *(incident.children or []), *ranks]:
        assert symbol.range.start <= symbol.selection_range.start and symbol.selection_range.end <= symbol.range.end


async def test_tracebacks_fold(full: Editor) -> None:
    uri = full.open(LOG)
    found = await full.text_document_folding_range_async(types.FoldingRangeParams(types.TextDocumentIdentifier(uri)))
    assert [(f.start_line, f.end_line) for f in found or []] == [(4, 7)]


async def test_a_program_keeps_the_folds_of_its_editor(full: Editor) -> None:
    """An empty list would mean that there is nothing to fold; no answer leaves the document to others."""
    uri = full.open("def f():\n    pass\n", "file:///nowhere/model.py", "python")
    document = types.TextDocumentIdentifier(uri)
    assert await full.ask_raw(types.TEXT_DOCUMENT_FOLDING_RANGE, {"textDocument": {"uri": uri}}) is None
    assert await full.text_document_document_symbol_async(types.DocumentSymbolParams(document)) is None


async def test_a_collateral_traceback_fades_as_a_whole(full: Editor) -> None:
    uri = full.open(LOG)
    hint = next(d for d in (await full.pull(uri)).items if d.range.end.line == 7)
    assert hint.range.start == types.Position(4, 0)


async def test_a_frame_links_to_the_workspace_file_of_a_container_path(full: Editor, scripts: Path) -> None:
    (scripts / "train.py").write_text("pass\n")
    uri = full.open(LOG)
    found = await full.text_document_document_link_async(types.DocumentLinkParams(types.TextDocumentIdentifier(uri)))
    (link,) = found or []
    assert link.target == (scripts / "train.py").as_uri() + "#L12"
    assert (link.range.start.line, link.range.start.character) == (5, len('[rank0]:   File "'))


async def test_a_number_explains_itself(full: Editor) -> None:
    line = "[rank3]:[E1201] WorkNCCL(SeqNum=418, OpType=ALLREDUCE, NumelIn=1024, Timeout(ms)=600000) ran for 600096 milliseconds"
    uri = full.open(line)
    text = await full.hover_text(uri, 0, line.index("NumelIn") + 2)
    assert text is not None and text.startswith("**NumelIn 1024**") and "elements this rank put in" in text
    assert "Collateral" not in text


async def test_a_setting_explains_itself_in_scripts_and_logs(full: Editor) -> None:
    script = full.open("export NCCL_DEBUG=INFO\n", "file:///nowhere/run.sh", "shellscript")
    text = await full.hover_text(script, 0, 10)
    assert text is not None and text.startswith("**`NCCL_DEBUG`**")
    assert await full.hover_text(script, 0, 2) is None


async def test_a_line_with_both_shows_both(full: Editor) -> None:
    uri = full.open("FAULT rank 3: exitcode  : -9 (pid: 44)\n")
    text = await full.hover_text(uri, 0, "FAULT rank 3: exitcode  : -9".index("-9"))
    assert text is not None
    assert text.index("**exit code -9**") < text.index("SIGKILL") < text.index("**A test fault**")


@pytest.mark.parametrize("known", fields.fields(), ids=lambda f: f.name)
async def test_every_kind_of_value_matches_its_sample(known: fields.Field) -> None:
    match = known.regex.search(known.sample)
    assert match is not None and known.text
    explained = fields.explain_at(known.sample, match.start("value"))
    assert explained is not None and explained.markdown.startswith(f"**{known.name} {match['value']}**")
    if known.table:
        assert fields.meaning(known.table, match["value"])


@pytest.mark.parametrize(
    ("code", "words"),
    [("-9", "SIGKILL"), ("137", "SIGKILL"), ("-15", "SIGTERM"), ("1", "Python"), ("139", "SIGSEGV"), ("-99", "signal 99")],
)
async def test_exit_codes_above_128_and_below_0_are_signals(code: str, words: str) -> None:
    assert words in (fields.meaning("exit", code) or "")


async def test_an_sxid_is_no_xid() -> None:
    line = "nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 12"
    assert fields.explain_at(line, line.index("12028")) is None


async def test_a_local_rank_is_the_rank_its_lines_show() -> None:
    text = "[default1]:[rank 5] INFO step 1\n[default1]:Traceback\nfrom nobody\n"
    structure = structure_of(LineIndex(text))
    assert structure is not None
    assert list(structure.speakers)[:3] == [5, 5, NOBODY]


async def test_chatter_repetition_and_each_traceback_fold_by_themselves() -> None:
    chatter = "".join(f"node07:44:{n} [0] NCCL INFO Channel {n:02d}/0 : 0 1 2 3\n" for n in range(4))
    steps = "".join(f"step {n} loss {n}.5\n" for n in range(9))
    traceback = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nKeyError: 1\n'
    structure = structure_of(LineIndex(chatter + steps + traceback * 2 + "Traceback (most recent call last):\n"))
    assert structure is not None
    assert [(f.first, f.last, f.kind) for f in structure.folds] == [
        (0, 3, CHATTER),
        (4, 12, REPEATED),
        (13, 16, TRACEBACK),
        (17, 20, TRACEBACK),
    ]


async def test_a_stopped_pass_gives_nothing() -> None:
    assert structure_of(LineIndex("a\nb\n"), lambda: True) is None


async def test_the_longest_shared_ending_names_the_file(tmp_path: Path) -> None:
    for name in ("pkg/src/train.py", "other/train.py", "model.py", "runpy.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = WorkspaceFiles([str(tmp_path)])
    assert files.find("/workspace/pkg/src/train.py") == str(tmp_path / "pkg/src/train.py")
    assert files.find("/opt/other/train.py") == str(tmp_path / "other/train.py")
    assert files.find("model.py") == str(tmp_path / "model.py")
    assert files.find("C:\\job\\model.py") == str(tmp_path / "model.py")
    assert files.find("/elsewhere/train.py") is None
    assert files.find("/nowhere/lib/python3.11/runpy.py") is None
    assert files.find("/venv/lib/python3.11/site-packages/torch/model.py") is None
    assert files.find("<string>") is None
