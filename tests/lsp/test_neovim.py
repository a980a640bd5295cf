"""Neovim's built-in client shows the problems, hovers and applies the quick fix; the real thing, headless."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from firstfault.diagnose import diagnose

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NEOVIM = shutil.which("nvim")

pytestmark = pytest.mark.skipif(NEOVIM is None, reason="nvim is not installed")


def in_neovim(workspace: Path, log: Path) -> dict[str, object]:
    """What Neovim saw of a log. A failure shows what it and the server wrote."""
    result = workspace.parent / "seen.json"
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "SERVER": str(ROOT / "server" / "main.py"),
        "WORKSPACE": str(workspace),
        "LOG": str(log),
        "RESULT": str(result),
        "XDG_CACHE_HOME": str(workspace.parent),
        "XDG_STATE_HOME": str(workspace.parent),
    }
    assert NEOVIM is not None
    command = [NEOVIM, "--headless", "-u", "NONE", "-c", f"luafile {HERE / 'neovim.lua'}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
    logs = "".join(p.read_text() for p in workspace.parent.rglob("lsp.log"))
    assert result.exists(), f"{done.stdout}\n{done.stderr}\n{logs}"
    seen: dict[str, object] = json.loads(result.read_text())
    assert "error" not in seen, f"{seen['error']}\n{logs}"
    return seen


def test_a_log_is_diagnosed_hovered_and_fixed_in_neovim(tmp_path: Path) -> None:
    workspace = tmp_path / "my project"
    workspace.mkdir()
    shutil.copy(ROOT / "samples" / "train.sh", workspace / "train.sh")
    log = workspace / "slurm-81.out"
    shutil.copy(ROOT / "samples" / "stuck-rank.log", log)
    incident = diagnose([str(log)]).report.incidents[0]
    seen = in_neovim(workspace, log)
    errors = [p for p in seen["problems"] if p["severity"] == 1]  # type: ignore[attr-defined]
    initiating = sorted(e.line for e in incident.evidence if e.role == "initiating")
    assert [p["line"] for p in errors] == initiating
    assert errors[0]["message"] == incident.summary
    assert all(str(p["message"]).endswith(incident.summary) for p in errors)
    assert "**Initiating line**" in str(seen["hover"])
    assert "Show report" in str(seen["lens"])
    assert seen["applied"] == "Set NCCL_DEBUG=INFO in train.sh"
    assert "\nexport NCCL_DEBUG=INFO\n" in str(seen["script"])
    assert (workspace / "train.sh").read_text() == (ROOT / "samples" / "train.sh").read_text(), "nothing is saved for the user"


def test_neovim_marks_the_right_text_behind_emoji_and_carriage_returns(tmp_path: Path) -> None:
    """Neovim keeps carriage returns inside a line, so its line numbers are not those of VS Code."""
    log = tmp_path / "train.log"
    message = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB."
    log.write_bytes(f"10%|#\r20%|##\r30%|###\n[rank3]: 🔥🔥 {message}\n".encode())
    evidence = diagnose([str(log)]).report.incidents[0].evidence[0]
    seen = in_neovim(tmp_path, log)
    assert seen["problems"][0]["line"] == 2  # type: ignore[index]
    assert seen["marked_text"] == evidence.text[evidence.column - 1 : evidence.end_column - 1]
