"""Growing logs: problems follow the file, a stall is told while the job hangs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from editor import Editor
from fake_engine import FakeEngine
from pygls.exceptions import JsonRpcException

from firstfault.lsp.jobs import Cancelled
from firstfault.lsp.server import create_server
from firstfault.lsp.watch import WATCHED, Watch

pytestmark = pytest.mark.asyncio(loop_scope="session")


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


async def test_a_file_that_is_no_log_is_told_once_and_looked_at_again(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "odd.log"
    path.write_bytes(b"\0\1")
    await full.ask("firstfault/watch", {"path": str(path)})
    told = await full.until(lambda: [w for w in full.watched if w["path"] == str(path)])
    assert [(w["state"], w["message"]) for w in told] == [("failed", f"{path} is no text: it begins with a zero byte")]
    path.write_text("FAULT rank 3: boom\n")
    assert len(await full.diagnostics_for(path.as_uri())) == 1
    told = await full.until(lambda: (all_of := [w for w in full.watched if w["path"] == str(path)])[-1]["incidents"] and all_of)
    assert [w["state"] for w in told].count("failed") == 1 and told[-1]["state"] == "reading"
    await full.ask("firstfault/watch", {"path": str(path), "on": False})


async def test_the_report_of_a_watched_log_is_the_last_one(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("FAULT rank 3: boom\n")
    await full.ask("firstfault/watch", {"path": str(path)})
    await full.diagnostics_for(path.as_uri())
    assert "Rank 3 failed first." in (await full.ask("firstfault/redacted", {"path": str(path)}))["markdown"]
    await full.ask("firstfault/watch", {"path": str(path), "on": False})


async def test_an_end_of_watching_ends_a_long_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    path.write_text("WAIT_UNTIL_CANCELLED\n")
    server = create_server(FakeEngine())
    watch = Watch(server.session, str(path), lambda analysis, before: None)
    looking = asyncio.create_task(watch.look())
    await asyncio.sleep(0.05)
    watch.stop.set()
    with pytest.raises(Cancelled):
        await looking
    server.session.close()


async def test_a_stall_is_told_once_and_a_replaced_file_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bundled engine, which knows what progress looks like."""
    now_s = 0.0
    sent: list[dict[str, Any]] = []
    server = create_server()
    monkeypatch.setattr(server.protocol, "notify", lambda method, params=None: sent.append(params) if method == WATCHED else None)
    published: list[int] = []
    path = tmp_path / "train.log"
    watch = Watch(server.session, str(path), lambda analysis, before: published.append(len(analysis.incidents)), clock=lambda: now_s)
    for step in range(1, 6):
        now_s += 10
        with path.open("a") as file:
            file.write(f"[rank0]: step: {step} loss: {2 / step:.4f} lr: 3.00e-04\n")
        assert await watch.look()
    now_s += 199
    assert not await watch.look()
    assert [s["state"] for s in sent] == ["reading"] * 5 and not any(published)
    now_s += 2
    assert await watch.look()
    assert not await watch.look()
    assert [s["state"] for s in sent] == ["reading"] * 5 + ["stalled"]
    assert sent[-1]["message"] == "no step was printed for 3 min 21 s after step 5"
    assert any("py-spy" in c["command"] for c in sent[-1]["commands"])
    assert published[-1] == 1
    path.unlink()
    assert not await watch.look()
    path.write_text("step: 1 loss: 2.0000 lr: 3.00e-04\n")
    now_s += 1
    assert await watch.look()
    assert [s["state"] for s in sent][6:] == ["waiting", "reading"]
    assert published[-1] == 0
    server.session.close()
