"""The project's own requests, and what a careless client may send."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from editor import Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = "step 1\nFAULT rank 3: boom\nWAITS rank 1\n"


async def test_a_text_gives_report_markdown_and_summary(full: Editor) -> None:
    answer = await full.ask("firstfault/diagnose", {"text": LOG, "title": "terminal"})
    assert answer["report"]["schema"] == "firstfault.report/1"
    assert answer["report"]["incidents"][0]["evidence"][0]["file"] == "terminal"
    assert answer["summary"] == "Rank 3 failed first."
    assert answer["markdown"].startswith("# Rank 3")
    assert answer["incidents"] == 1


async def test_a_healthy_text_says_so(full: Editor) -> None:
    answer = await full.ask("firstfault/diagnose", {"text": ""})
    assert (answer["summary"], answer["incidents"]) == ("No failure found.", 0)


async def test_a_folder_publishes_diagnostics_for_its_files(full: Editor, tmp_path: Path) -> None:
    (tmp_path / "rank 0.log").write_text("WAITS rank 0\n")
    (tmp_path / "rank 3.log").write_text("10%\r20%\nFAULT rank 3\n")
    (tmp_path / "rank 4.log").write_text("fine\n")
    answer = await full.ask("firstfault/diagnose", {"path": str(tmp_path)})
    assert answer["incidents"] == 1
    cause, waits = (tmp_path / "rank 3.log").as_uri(), (tmp_path / "rank 0.log").as_uri()
    assert [d.range.start.line for d in await full.diagnostics_for(cause)] == [2]
    hint = (await full.diagnostics_for(waits))[0]
    assert hint.message == "Collateral of rank 3 (rank 3.log line 3): waited for it"
    assert hint.related_information and hint.related_information[0].location.uri == cause
    assert not [p for p in full.published if p.uri.endswith("rank%204.log")]


async def test_several_files_are_diagnosed_as_one_job(full: Editor, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("WAITS rank 0\n")
    (tmp_path / "b.log").write_text("FAULT rank 3\n")
    (tmp_path / "c.log").write_text("FAULT rank 9\n")
    names = {"paths": [str(tmp_path / "a.log"), str(tmp_path / "b.log")]}
    answer = await full.ask("firstfault/diagnose", names)
    assert [Path(x["path"]).name for x in answer["report"]["inputs"]] == ["a.log", "b.log"]
    assert answer["report"]["incidents"][0]["initiating"]["ranks"] == [3]
    assert (await full.diagnostics_for((tmp_path / "a.log").as_uri()))[0].message.startswith("Collateral of rank 3 (b.log line 1)")
    # The report view shows this diagnosis again, in whatever order the files are named.
    (tmp_path / "b.log").unlink()
    view = {"nonce": "Zm9vYmFyYmF6cXV4", "cspSource": "https://*.vscode-cdn.net", "paths": names["paths"][::-1]}
    shown = await full.ask("firstfault/view", view)
    assert (shown["title"], shown["incidents"]) == ("2 logs", 1)
    place = await full.ask("firstfault/locate", {**names, "file": answer["report"]["inputs"][0]["path"], "line": 1})
    assert place["uri"] == (tmp_path / "a.log").as_uri()


@pytest.mark.parametrize("paths", [[], [""], [1], "a.log", [None, "a.log"]])
async def test_paths_that_name_nothing_are_refused(full: Editor, paths: object) -> None:
    with pytest.raises(JsonRpcException, match="nothing to diagnose"):
        await full.ask("firstfault/diagnose", {"paths": paths})


async def test_the_problems_of_a_deleted_file_go(full: Editor, tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    kept, gone = tmp_path / "kept.log", tmp_path / "job" / "gone.log"
    for path in (kept, gone):
        path.write_text("FAULT rank 3\n")
        await full.ask("firstfault/diagnose", {"path": str(path)})
        assert len(await full.diagnostics_for(path.as_uri())) == 1
    gone.unlink()
    # VS Code names the folder only when a folder was deleted.
    for uri in (tmp_path / "other").as_uri(), (tmp_path / "job").as_uri():
        full.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([types.FileEvent(uri, types.FileChangeType.Deleted)]))
    await full.until(lambda: not [p for p in full.published if p.uri == gone.as_uri()][-1].diagnostics)
    assert len([p for p in full.published if p.uri == kept.as_uri()][-1].diagnostics) == 1


async def test_an_open_file_of_a_diagnosed_folder_shows_the_folders_verdict_once(full: Editor, tmp_path: Path) -> None:
    waits = tmp_path / "rank_0.log"
    waits.write_text("WAITS rank 0\n")
    (tmp_path / "rank_3.log").write_text("FAULT rank 3\n")
    uri = full.open("WAITS rank 0\n", waits.as_uri())
    assert not (await full.pull(uri)).items
    refreshes = len(full.refreshes)
    await full.ask("firstfault/diagnose", {"path": str(tmp_path)})
    await full.until(lambda: types.WORKSPACE_DIAGNOSTIC_REFRESH in full.refreshes[refreshes:])
    assert [d.message for d in (await full.pull(uri)).items] == ["Collateral of rank 3 (rank_3.log line 1): waited for it"]
    assert not [p for p in full.published if p.uri == uri]
    full.close_document(uri)
    assert len(await full.diagnostics_for(uri)) == 1
    full.open("WAITS rank 0\n", waits.as_uri())
    await full.until(lambda: not [p for p in full.published if p.uri == uri][-1].diagnostics)


async def test_an_edited_file_is_judged_by_itself_again(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "rank_0.log"
    path.write_text("WAITS rank 0\n")
    (tmp_path / "rank_3.log").write_text("FAULT rank 3\n")
    uri = full.open("WAITS rank 0\n", path.as_uri())
    await full.ask("firstfault/diagnose", {"path": str(tmp_path)})
    assert len((await full.pull(uri)).items) == 1
    full.change(uri, 2, ((0, 0), (0, 0), "x\n"))
    assert not (await full.pull(uri)).items


async def test_files_that_became_healthy_lose_their_diagnostics(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("FAULT rank 3\n")
    await full.ask("firstfault/diagnose", {"path": str(path)})
    assert len(await full.diagnostics_for(path.as_uri())) == 1
    path.write_text("fine\n")
    count = len(full.published)
    await full.ask("firstfault/diagnose", {"path": str(path)})
    await full.until(lambda: len(full.published) > count)
    assert not full.published[-1].diagnostics


@pytest.mark.parametrize("form", ["path", "uri"])
async def test_an_unreadable_path_is_told_in_four_parts(full: Editor, tmp_path: Path, form: str) -> None:
    path = tmp_path / "no such.log"
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/diagnose", {"path": str(path) if form == "path" else path.as_uri()})
    assert raised.value.message.startswith("error: no such file")
    for part in ("reason: ", f"where: {path}", "help: "):
        assert part in raised.value.message


@pytest.mark.parametrize("params", [None, {}, [], {"text": 3}, {"path": ""}, "text"])
async def test_a_request_for_nothing_is_refused(full: Editor, params: object) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/diagnose", params)
    assert raised.value.message.startswith("error: nothing to diagnose")


async def test_an_engine_that_breaks_is_told_and_the_server_goes_on(full: Editor) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/diagnose", {"text": "RAISE"})
    assert "error: the diagnosis failed unexpectedly" in raised.value.message
    assert "ValueError: the engine broke" in raised.value.message
    assert (await full.ask("firstfault/diagnose", {"text": LOG}))["incidents"] == 1


async def test_cancelling_a_request_stops_the_reading(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    path.write_text("WAIT_UNTIL_CANCELLED\n")
    full.progress_reports["huge"] = []
    request = full.protocol.send_request("firstfault/diagnose", {"path": str(path), "workDoneToken": "huge"}, msg_id="huge-1")
    await full.until(lambda: any(s["state"] == "busy" and "huge.log" in s["message"] for s in full.statuses))
    full.cancel_request(types.CancelParams("huge-1"))
    with pytest.raises(JsonRpcException) as raised:
        await asyncio.wrap_future(request)
    assert raised.value.code == -32800
    await full.until(lambda: full.statuses[-1]["message"] == "cancelled")
    # The next long job starts only after the worker has left the cancelled one.
    await full.ask("firstfault/diagnose", {"path": str(tmp_path / "huge.log.cancelled")})
    assert (tmp_path / "huge.log.cancelled").exists()


async def test_a_long_read_keeps_no_open_document_waiting(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "endless.log"
    path.write_text("WAIT_UNTIL_CANCELLED\n")
    request = full.protocol.send_request("firstfault/diagnose", {"path": str(path)}, msg_id="endless-1")
    assert len((await full.pull(full.open(LOG))).items) == 2
    assert not request.done()
    full.cancel_request(types.CancelParams("endless-1"))
    with pytest.raises(JsonRpcException):
        await asyncio.wrap_future(request)


async def test_progress_is_reported_on_the_token_of_the_client(full: Editor, tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.log").write_text("x\n")
    full.progress_reports["reading"] = []
    await full.ask("firstfault/diagnose", {"path": str(tmp_path), "workDoneToken": "reading"})
    reports = full.progress_reports["reading"]
    assert [type(r) for r in reports[:1] + reports[-1:]] == [types.WorkDoneProgressBegin, types.WorkDoneProgressEnd]
    assert [r.percentage for r in reports if isinstance(r, types.WorkDoneProgressReport)] == [25, 50, 75, 100]


async def test_a_page_is_explained(full: Editor) -> None:
    answer = await full.ask("firstfault/explain", {"id": "test-fault"})
    assert (answer["id"], answer["title"]) == ("test-fault", "A test fault")
    assert answer["markdown"].startswith("# A test fault")


@pytest.mark.parametrize("params", [{"id": "no-such"}, {}, None])
async def test_an_unknown_page_is_told_in_four_parts(full: Editor, params: object) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/explain", params)
    assert raised.value.message.startswith("error: no page is called")
    assert "help: " in raised.value.message


async def test_all_failures_are_listed(full: Editor) -> None:
    answer = await full.ask("firstfault/failures", {})
    assert answer["failures"][0] == {
        "id": "test-fault", "title": "A test fault", "layer": "test", "role": "initiating", "tags": ["test"],
    }  # fmt: skip
    assert [f["id"] for f in answer["failures"]] == ["test-fault", "test-slow", "test-waits"]


async def test_a_request_of_the_wrong_shape_gets_an_error(full: Editor) -> None:
    with pytest.raises(JsonRpcException):
        await full.ask_raw("textDocument/hover", {"textDocument": 3})
    assert len((await full.pull(full.open(LOG))).items) == 2


async def test_an_unknown_request_gets_an_error(full: Editor) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/nonsense", {})
    assert raised.value.code == -32601


async def test_a_change_of_an_unknown_document_is_survived(full: Editor) -> None:
    full.change("file:///nowhere/never-opened.log", 2, ((0, 0), (0, 0), "x"))
    full.close_document("file:///nowhere/never-opened.log")
    assert len((await full.pull(full.open(LOG))).items) == 2
    assert not full.messages
