"""Growing logs: problems follow the file, a stall is told while the job hangs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from editor import Editor
from fake_engine import FakeEngine
from pygls.exceptions import JsonRpcException

from firstfault.lsp.server import create_server
from firstfault.lsp.watch import WATCHED, Pace, Watch
from firstfault.model import Progress

pytestmark = pytest.mark.asyncio(loop_scope="session")


def progress(step: int) -> Progress:
    return Progress(step, None, "a.log", step)


async def test_new_lines_of_a_file_that_is_not_open_update_its_problems(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("step 1\n")
    answer = await full.ask("firstfault/watch", {"path": str(path)})
    assert answer == {"watching": [str(path)]}
    await full.until(lambda: [w for w in full.watched if w["path"] == str(path) and w["state"] == "reading"])
    with path.open("a") as file:
        file.write("FAULT rank 3: boom\n")
    assert [d.range.start.line for d in await full.diagnostics_for(path.as_uri())] == [1]
    update = await full.until(lambda: next((w for w in full.watched if w["path"] == str(path) and w["incidents"]), None))
    assert (update["summary"], update["uri"]) == ("Rank 3 failed first.", path.as_uri())
    path.write_text("step 1\n")
    await full.until(lambda: not next(p for p in reversed(full.published) if p.uri == path.as_uri()).diagnostics)
    assert await full.ask("firstfault/watch", {"path": path.as_uri(), "on": False}) == {"watching": []}


async def test_a_file_that_does_not_exist_yet_is_waited_for(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "later.log"
    await full.ask("firstfault/watch", {"path": str(path)})
    await full.until(lambda: [w for w in full.watched if w["path"] == str(path) and w["state"] == "waiting"])
    path.write_text("FAULT rank 3: boom\n")
    assert len(await full.diagnostics_for(path.as_uri())) == 1
    await full.ask("firstfault/watch", {"path": str(path), "on": False})


@pytest.mark.parametrize("params", [None, {}, {"path": 3}])
async def test_a_watch_of_nothing_is_refused(full: Editor, params: object) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/watch", params)
    assert raised.value.message.startswith("error: nothing to watch")


async def test_a_folder_is_refused(full: Editor, tmp_path: Path) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/watch", {"path": str(tmp_path)})
    assert "error: a folder cannot be watched" in raised.value.message


async def test_a_pace_is_learnt_from_steps() -> None:
    pace = Pace(factor=10, shortest_s=60)
    for step, now_s in enumerate((0.0, 20.0, 40.0)):
        pace.observe(progress(step), now_s)
    assert pace.stalled_for_s(230.0) is None
    assert pace.stalled_for_s(241.0) == 201.0
    pace.observe(progress(3), 241.0)
    assert pace.stalled_for_s(300.0) is None


async def test_without_two_steps_nothing_is_called_a_stall() -> None:
    pace = Pace()
    assert pace.stalled_for_s(1e9) is None
    pace.observe(progress(1), 0.0)
    pace.observe(None, 10.0)
    assert pace.stalled_for_s(1e9) is None


async def test_quick_steps_need_a_minute_of_silence() -> None:
    pace = Pace(factor=10, shortest_s=60)
    pace.observe(progress(1), 0.0)
    pace.observe(progress(100), 9.9)
    assert pace.stalled_for_s(60.0) is None
    assert pace.stalled_for_s(70.0) == pytest.approx(60.1)


async def test_a_stall_is_told_once_and_a_rotated_file_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    sent: list[dict[str, Any]] = []
    server = create_server(FakeEngine())
    monkeypatch.setattr(server.protocol, "notify", lambda method, params=None: sent.append(params) if method == WATCHED else None)
    path = tmp_path / "train.log"
    watch = Watch(server.session, str(path), lambda analysis, before: None, clock=lambda: now_s)
    for step in range(1, 4):
        now_s += 10
        with path.open("a") as file:
            file.write(f"STEP {step}\n")
        assert await watch.look()
    now_s += 99
    assert not await watch.look()
    assert [s["state"] for s in sent] == ["reading"] * 3
    now_s += 1
    await watch.look()
    await watch.look()
    assert [s["state"] for s in sent] == ["reading"] * 3 + ["stalled"]
    assert sent[-1]["message"] == "no progress for 1 min 40 s after step 3"
    path.unlink()
    assert not await watch.look()
    path.write_text("STEP 1\n")
    now_s += 1
    assert await watch.look()
    now_s += 1000
    await watch.look()
    assert [s["state"] for s in sent][4:] == ["waiting", "reading"]
    server.session.close()
