"""The report view and what it asks for: rendered from the last diagnosis, redacted, with lines that can be opened."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from editor import Editor
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = "step 1\nFAULT rank 3 host node07: boom\nWAITS rank 1\n"
SAFE = {"nonce": "Zm9vYmFyYmF6cXV4", "cspSource": "https://*.vscode-cdn.net"}


@pytest.fixture(params=["full", "minimal"])
def either(request: pytest.FixtureRequest) -> Editor:
    """Each profile in turn: no editor needs an ability for its own requests."""
    editor: Editor = request.getfixturevalue(request.param)
    return editor


async def test_a_text_is_shown_with_the_policy_of_the_webview(either: Editor) -> None:
    answer = await either.ask("firstfault/view", {"text": LOG, "title": "terminal", **SAFE})
    assert answer["html"].startswith("<!DOCTYPE html>")
    assert f"script-src 'nonce-{SAFE['nonce']}'" in answer["html"].replace("&#39;", "'").replace("&#x27;", "'")
    assert "Rank 3 failed first." in answer["html"]
    assert (answer["title"], answer["incidents"]) == ("terminal", 1)


async def test_an_open_log_is_shown_as_it_stands(either: Editor) -> None:
    uri = either.open("nothing yet\n")
    assert (await either.ask("firstfault/view", {"uri": uri, **SAFE}))["incidents"] == 0
    either.change(uri, 2, ((1, 0), (1, 0), LOG))
    answer = await either.ask("firstfault/view", {"uri": uri, **SAFE})
    assert (answer["incidents"], answer["title"]) == (1, uri.rpartition("/")[2])


async def test_a_log_that_was_closed_is_still_shown(either: Editor) -> None:
    uri = either.open(LOG, "untitled:closed.log")
    await either.ask("firstfault/view", {"uri": uri, **SAFE})
    either.close_document(uri)
    assert (await either.ask("firstfault/view", {"uri": uri, **SAFE}))["incidents"] == 1


@pytest.mark.parametrize("form", ["path", "uri"])
async def test_the_last_diagnosis_of_a_path_is_shown_without_reading_it_again(either: Editor, tmp_path: Path, form: str) -> None:
    path = tmp_path / "slurm 81.out"
    path.write_text(LOG)
    await either.ask("firstfault/diagnose", {"path": str(path)})
    path.unlink()
    about = {"path": str(path)} if form == "path" else {"uri": path.as_uri()}
    answer = await either.ask("firstfault/view", {**about, **SAFE})
    assert (answer["title"], answer["incidents"]) == ("slurm 81.out", 1)
    assert "Rank 3 failed first." in (await either.ask("firstfault/redacted", about))["markdown"]


async def test_a_path_that_was_never_diagnosed_is_diagnosed_now(either: Editor, tmp_path: Path) -> None:
    (tmp_path / "0.log").write_text("WAITS rank 0\n")
    (tmp_path / "3.log").write_text(LOG)
    answer = await either.ask("firstfault/view", {"path": str(tmp_path), **SAFE})
    assert (answer["title"], answer["incidents"]) == (tmp_path.name, 1)
    assert await either.diagnostics_for((tmp_path / "3.log").as_uri())


async def test_an_open_log_that_went_on_is_not_shown_as_it_was(either: Editor, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("step 1\n")
    await either.ask("firstfault/diagnose", {"path": str(path)})
    path.write_text(f"step 1\n{LOG}")
    uri = either.open(f"step 1\n{LOG}", path.as_uri())
    assert (await either.ask("firstfault/view", {"path": str(path), **SAFE}))["incidents"] == 1
    either.close_document(uri)


async def test_a_text_that_was_diagnosed_is_not_read_again(full: Editor) -> None:
    text = {"text": f"{LOG}once more\n", "title": "clipboard of today"}
    await full.ask("firstfault/diagnose", text)
    count = len(full.statuses)
    await full.ask("firstfault/view", {**text, **SAFE})
    await full.ask("firstfault/redacted", text)
    assert len(full.statuses) == count


async def test_what_is_redacted_names_no_host(either: Editor) -> None:
    markdown = (await either.ask("firstfault/redacted", {"text": LOG}))["markdown"]
    assert "Rank 3 failed first." in markdown
    assert "node07" not in markdown and "host-1" in markdown


async def test_the_buttons_of_the_view_carry_what_they_send(full: Editor) -> None:
    html = (await full.ask("firstfault/view", {"text": LOG, **SAFE}))["html"]
    assert set(re.findall(r'data-action="(\w+)"', html)) >= {"open", "copy", "applyFix"}
    setting = re.search(r'data-setting="([^"]*)"', html)
    assert setting is not None
    assert json.loads(setting[1].replace("&quot;", '"').replace("&#34;", '"'))["name"] == "NCCL_DEBUG"


@pytest.mark.parametrize(
    "bad",
    [{}, {"nonce": "short", "cspSource": ""}, {"nonce": SAFE["nonce"], "cspSource": "x; script-src *"}, {"nonce": 3, "cspSource": ""}],
)
async def test_a_view_without_a_safe_policy_is_refused(full: Editor, bad: dict[str, Any]) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/view", {"text": LOG, **bad})
    assert raised.value.message.startswith("error: the report cannot be shown")
    assert "help: " in raised.value.message and "reason: " in raised.value.message


@pytest.mark.parametrize("method", ["view", "redacted"])
@pytest.mark.parametrize("params", [None, {}, [], {"text": 3}, {"uri": "untitled:never-seen"}])
async def test_a_view_of_nothing_is_refused(full: Editor, method: str, params: Any) -> None:
    if isinstance(params, dict):
        params = {**params, **SAFE}
    with pytest.raises(JsonRpcException) as raised:
        await full.ask(f"firstfault/{method}", params)
    assert raised.value.message.startswith("error: no report to show")


@pytest.mark.parametrize("method", ["view", "redacted"])
async def test_a_view_of_a_missing_file_is_refused_in_four_parts(either: Editor, tmp_path: Path, method: str) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await either.ask(f"firstfault/{method}", {"path": str(tmp_path / "gone.log"), **SAFE})
    assert raised.value.message.startswith("error: no such file")
    assert "help: " in raised.value.message


async def test_a_line_of_a_report_is_found_behind_carriage_returns(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("10%\r20%\r30%\nFAULT rank 3: boom\n")
    await full.ask("firstfault/diagnose", {"path": str(path)})
    answer = await full.ask("firstfault/locate", {"path": str(path), "file": str(path), "line": 2})
    assert (answer["uri"], answer["range"]["start"]["line"]) == (path.as_uri(), 3)


async def test_a_line_of_a_text_without_a_file_is_told(full: Editor) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/locate", {"text": LOG, "title": "terminal", "file": "terminal", "line": 2})
    assert raised.value.message.startswith("error: terminal cannot be opened")


@pytest.mark.parametrize("params", [None, {"text": LOG}, {"text": LOG, "file": "selection", "line": 0}])
async def test_no_line_is_told(full: Editor, params: Any) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/locate", params)
    assert raised.value.message.startswith("error: no line to go to")
