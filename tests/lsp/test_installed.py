"""The server as an extension installs it: under a path with blanks, with the bundled packages and the standard library only."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from editor import Editor, full_params, make_editor, minimal_params
from lsprotocol import types

ROOT = Path(__file__).parents[2]
STUCK = ROOT / "samples" / "stuck-rank.log"
SAFE = {"nonce": "Zm9vYmFyYmF6cXV4", "cspSource": "https://*.vscode-cdn.net"}
COMPOSE = "services:\n  train:\n    image: pytorch\n    command: torchrun train.py\n"


def bundled_names() -> list[str]:
    """The packages that an extension carries."""
    locks = "".join((ROOT / "scripts" / f"bundled-{kind}.txt").read_text() for kind in ("pure", "binary"))
    return re.findall(r"^([A-Za-z0-9._-]+)==", locks, re.MULTILINE)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The entry point of a copy of the server with its packages beside it, as in a VSIX."""
    server = tmp_path_factory.mktemp("extensions") / "first fault 0.1 (ä)" / "server"
    unwanted = shutil.ignore_patterns("__pycache__", "bundled", "*.egg-info", "build")
    shutil.copytree(ROOT / "server", server, ignore=unwanted)
    for name in bundled_names():
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:  # One that only other Python versions need.
            continue
        for file in files:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                target = server / "bundled" / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), target)
    return server / "main.py"


def command(entry: Path) -> list[str]:
    """Without -S the packages of this environment would stand in for bundled ones."""
    return [sys.executable, "-I", "-S", "-X", "utf8", str(entry)]


def test_the_packages_of_this_environment_are_out_of_reach() -> None:
    probe = subprocess.run([sys.executable, "-I", "-S", "-c", "import pygls"], capture_output=True, text=True)
    assert "No module named 'pygls'" in probe.stderr


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("profile", ["full", "minimal"])
async def test_an_installed_server_does_its_work(installed: Path, tmp_path: Path, profile: str) -> None:
    editor: Editor = make_editor()
    await editor.start_io(*command(installed), cwd=str(tmp_path))
    try:
        await editor.initialize_session(full_params([tmp_path]) if profile == "full" else minimal_params(tmp_path))
        uri = editor.open(STUCK.read_text(encoding="utf-8"))
        found = list((await editor.pull(uri)).items) if profile == "full" else await editor.diagnostics_for(uri)
        assert types.DiagnosticSeverity.Error in [d.severity for d in found]
        view = await editor.ask("firstfault/view", {"uri": uri, **SAFE})
        assert view["incidents"] == 1 and view["html"].startswith("<!DOCTYPE html>")
        assert (await editor.ask("firstfault/redacted", {"uri": uri}))["markdown"].startswith("# ")
        # YAML needs a package of its own.
        script = editor.open(COMPOSE, (tmp_path / "compose.yaml").as_uri(), "yaml")
        assert any(a.title.startswith("Add diagnostics for hangs") for a in await editor.actions(script, []))
        setting = {"kind": "env", "name": "NCCL_DEBUG", "value": "INFO"}
        assert (await editor.ask("firstfault/applyFix", {"setting": setting, "uri": uri}))["edit"]
    finally:
        await editor.shutdown_session()
        await editor.stop()
