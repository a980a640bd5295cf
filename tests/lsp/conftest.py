"""One server a profile for all protocol tests. What a server writes to standard error is shown with a failed test by pytest-lsp."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_lsp
from pytest_lsp import ClientServerConfig

sys.path.insert(0, str(Path(__file__).parent))

from editor import FAKE_SERVER, OPENED, Editor, full_params, make_editor, minimal_params  # noqa: E402

FAKE = ClientServerConfig(server_command=FAKE_SERVER, client_factory=make_editor)


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace folder of both profiles; a blank in its name, as people have."""
    folder = tmp_path_factory.mktemp("lsp") / "my project"
    folder.mkdir()
    return folder


@pytest.fixture
def scripts(workspace: Path) -> Path:
    """The workspace folder, empty at the beginning of the test."""
    for path in workspace.iterdir():
        path.unlink()
    return workspace


@pytest.fixture(autouse=True)
def _closed_behind_each_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """A script left open by one test would be offered in the next one that shares the client."""
    shared = [request.getfixturevalue(name) for name in ("full", "minimal", "either") if name in request.fixturenames]
    yield
    for editor in shared:
        for uri in sorted(OPENED.get(id(editor), ())):
            editor.close_document(uri)


@pytest_lsp.fixture(scope="session", config=FAKE)
async def full(editor: Editor, workspace: Path) -> AsyncIterator[None]:
    """A client modelled on VS Code."""
    await editor.initialize_session(full_params([workspace]))
    yield
    await editor.shutdown_session()


@pytest_lsp.fixture(scope="session", config=FAKE)
async def minimal(editor: Editor, workspace: Path) -> AsyncIterator[None]:
    """A client modelled on Neovim 0.7."""
    await editor.initialize_session(minimal_params(workspace))
    yield
    await editor.shutdown_session()
