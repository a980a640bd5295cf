"""Lines around a line of a file that no editor opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from editor import Editor
from pygls.exceptions import JsonRpcException

from firstfault.lsp import excerpt
from firstfault.lsp.excerpt import excerpt_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    path = tmp_path / "large.log"
    path.write_text("".join(f"line {n}\r\n" if n % 3 else f"line {n}\n" for n in range(1, 1001)))
    return path


@pytest.mark.parametrize("chunk_bytes", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("line", [1, 2, 499, 998, 1000])
async def test_the_lines_are_those_of_the_file_however_it_is_cut(
    numbered: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int, line: int
) -> None:
    monkeypatch.setattr(excerpt, "CHUNK_BYTES", chunk_bytes)
    found = excerpt_of(str(numbered), line, 2)
    expected = range(max(1, line - 2), min(1000, line + 2) + 1)
    assert (found.first, list(found.lines)) == (expected[0], [f"line {n}" for n in expected])


async def test_a_long_line_is_cut_and_the_next_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "bar.log"
    path.write_text("x" * 100_000 + "\nnext\n")
    found = excerpt_of(str(path), 1, 1)
    assert [len(line) for line in found.lines] == [2_000, 4]


async def test_a_line_behind_the_end_gives_nothing(numbered: Path) -> None:
    assert excerpt_of(str(numbered), 5000, 2).lines == ()


async def test_the_request_answers_and_refuses(full: Editor, numbered: Path) -> None:
    answer = await full.ask("firstfault/excerpt", {"path": str(numbered), "line": 10, "context": 1})
    assert answer == {"first": 9, "lines": ["line 9", "line 10", "line 11"]}
    for params in ({"path": str(numbered)}, {"path": str(numbered.parent / "gone"), "line": 1}):
        with pytest.raises(JsonRpcException) as raised:
            await full.ask("firstfault/excerpt", params)
        assert raised.value.message.startswith("error: ") and "help: " in raised.value.message
