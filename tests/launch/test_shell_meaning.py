"""What counts in the end: the processes that an edited script starts see the variable. The scripts really run, with stub launchers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from firstfault.launch import apply_edits, edits_for

from .casefile import Case, load_cases
from .grammar import bash

STUBS = ("torchrun", "python", "accelerate", "deepspeed", "mpiexec")
# srun and sbatch hand their environment on; what they start is told by the stub behind them or by themselves.
CASES = [
    c
    for c in load_cases("shell")
    if c.setting.name == "NCCL_DEBUG"
    and not any(w in c.before for w in ("docker", "apptainer", "ssh ", "kubectl", "ray job", "mpirun", "--export", "sbatch", "-genv", "<<"))
    and not c.path.startswith("env")
    and "\r" not in c.before
]


@pytest.fixture(scope="module")
def stub_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("stubs")
    for name in STUBS:
        write_stub(folder / name, f'echo "{name} NCCL_DEBUG=$NCCL_DEBUG"')
    # The real srun starts the words behind its options; options with values are written with = in the cases.
    write_stub(folder / "srun", 'while [ "${1#-}" != "$1" ]; do case "$1" in -w) shift;; esac; shift; done\nexec "$@"')
    write_stub(folder / "scontrol", "echo node0")
    return f"{folder}:{os.environ['PATH']}"


def write_stub(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_every_process_that_the_script_starts_sees_the_variable(case: Case, stub_path: str, tmp_path: Path) -> None:
    text = apply_edits(case.before, edits_for(case.setting, case.before, case.path))
    for name in ("env.sh", "cluster_defaults.sh"):
        (tmp_path / name).write_text("export NCCL_DEBUG=VERSION\n" if name == "cluster_defaults.sh" else "")
    told = run(text.replace("~/venv/bin/activate", "env.sh").replace("/scratch", str(tmp_path)), stub_path, tmp_path)
    assert told, "nothing was started"
    assert {line.split()[1] for line in told} == {"NCCL_DEBUG=INFO"}


def run(text: str, path: str, folder: Path) -> list[str]:
    """The lines of the stubs that a script starts."""
    (folder / "llm").mkdir(exist_ok=True)
    for cwd in (folder, folder / "llm"):
        (cwd / "env.sh").touch()
    script = folder / "script.sh"
    script.write_text(text)
    env = {
        "PATH": path,
        "HOME": str(folder),
        "NODES": "2",
        "SLURM_NNODES": "1",
        "SLURM_JOB_NODELIST": "node0",
        "PBS_O_WORKDIR": str(folder),
    }
    done = subprocess.run([bash(), str(script), "small"], capture_output=True, text=True, env=env, cwd=folder, timeout=30)
    return [line for line in done.stdout.splitlines() if "NCCL_DEBUG=" in line and line.split()[0] in STUBS]
