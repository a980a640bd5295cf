"""Position encodings are negotiated: the client's first choice that the server knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor import FAKE_SERVER, Editor, full_params, make_editor
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 9), ("utf-16", 5), ("utf-32", 3)])
async def test_columns_use_the_encoding_the_client_prefers(workspace: Path, encoding: str, column: int) -> None:
    editor: Editor = make_editor()
    await editor.start_io(*FAKE_SERVER)
    kinds = tuple(types.PositionEncodingKind(e) for e in dict.fromkeys([encoding, "utf-16"]))
    result = await editor.initialize_session(full_params([workspace], kinds))
    assert result.capabilities.position_encoding == encoding
    uri = editor.open("🔥🔥 FAULT rank 3\nx")
    assert (await editor.pull(uri)).items[0].range.start.character == column
    editor.change(uri, 2, ((0, 0), (0, column), "é"), ((1, 0), (1, 1), "WAITS rank 1"))
    items = (await editor.pull(uri)).items
    assert [d.range.start.character for d in items] == [{"utf-8": 2}.get(encoding, 1), 0]
    await editor.shutdown_session()
    await editor.stop()


async def test_a_client_that_offers_nothing_gets_utf16(minimal: Editor) -> None:
    uri = minimal.open("🔥🔥 FAULT rank 3\n")
    assert (await minimal.diagnostics_for(uri))[0].range.start.character == 5
