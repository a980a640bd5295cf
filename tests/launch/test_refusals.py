"""Files that are left alone, each with a reason that a person can act on."""

from __future__ import annotations

import builtins

import pytest

from firstfault.launch import EditRefused, Wanted, edits_for

DEBUG = Wanted("env", "NCCL_DEBUG", "INFO")
TIMEOUT = Wanted("timeout", "collective_timeout", "1h")
DIST = "import torch.distributed as dist\n"
FROM_SECRET = (
    "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: a\n    env:\n    - name: NCCL_DEBUG\n"
    "      valueFrom: {secretKeyRef: {name: s, key: k}}\n"
)

REFUSED = [
    ("a script without its fi", DEBUG, "run.sh", "if true; then\n  torchrun x.py\n", "does not parse"),
    ("a C shell script", DEBUG, "run.csh", "#!/bin/csh\nsetenv A 1\npython x.py\n", "written for csh"),
    ("a script that starts nothing", DEBUG, "clean.sh", "#!/bin/bash\nrm -rf out\n", "nothing in this script starts training"),
    ("sbatch without the environment", DEBUG, "submit.sh", "sbatch --export=NONE train.sbatch\n", "without the environment"),
    ("a Ray environment in a file", DEBUG, "run.sh", "ray job submit --runtime-env=env.yaml -- python x.py\n", "env.yaml"),
    ("a value in Python that is computed", DEBUG, "a.py", 'import os\nos.environ["NCCL_DEBUG"] = level()\n', "computed: level()"),
    ("Python that does not parse", DEBUG, "a.py", "def f(:\n", "does not parse"),
    ("a timeout that is computed", TIMEOUT, "a.py", DIST + "dist.init_process_group(timeout=args.t)\n", "args.t"),
    ("arguments from a variable", TIMEOUT, "a.py", DIST + "dist.init_process_group(**kw)\n", "variable"),
    ("a project's own function of that name", TIMEOUT, "a.py", "def init_process_group(x): ...\ninit_process_group(1)\n", "no call"),
    ("a script whose timeout is in Python", TIMEOUT, "run.sh", "torchrun train.py\n", "set in the Python code"),
    ("a flag that the program may not know", Wanted("flag", "--ddp_timeout", "60"), "run.sh", "torchrun t.py\n", "Hugging Face Trainer"),
    ("a Helm template", DEBUG, "job.yaml", "apiVersion: v1\nkind: Job\nspec:\n  {{- if .x }}\n  a: {{ .y }}\n  {{- end }}\n", "template"),
    ("YAML that does not parse", DEBUG, "compose.yaml", "services:\n  a: [\n", "does not parse"),
    ("a manifest without pods", DEBUG, "svc.yaml", "apiVersion: v1\nkind: Service\nspec: {}\n", "no pod template"),
    ("a value from a secret", DEBUG, "pod.yaml", FROM_SECRET, "valueFrom"),
    ("several services and no sign", DEBUG, "compose.yaml", "services:\n  a: {image: a}\n  b: {image: b}\n", "which service trains: a, b"),
    ("an Accelerate configuration", DEBUG, "acc.yaml", "compute_environment: LOCAL_MACHINE\n", "no place for environment"),
    ("a DeepSpeed configuration", DEBUG, "ds.json", '{"zero_optimization": {"stage": 3}}\n', "no place for it"),
    ("a comment in .deepspeed_env", DEBUG, ".deepspeed_env", "# fabric\nNCCL_IB_HCA=mlx5\n", "a line without ="),
    ("JSON that does not parse", DEBUG, ".vscode/launch.json", '{"configurations": [}\n', "does not parse"),
    ("no configuration that starts Python", DEBUG, ".vscode/launch.json", '{"configurations": [{"type": "chrome"}]}\n', "starts Python"),
    ("a Dockerfile with an unknown instruction", DEBUG, "Dockerfile", "FROM a\nRUNN x\n", "line 2 is no instruction"),
    ("a Dockerfile without FROM", DEBUG, "Dockerfile", "RUN x\n", "no FROM"),
    ("a Makefile without training", DEBUG, "Makefile", "all:\n\tcc a.c\n", "starts training"),
    ("a notebook in another language", DEBUG, "a.ipynb", '{"cells": [], "metadata": {"language_info": {"name": "R"}}}', "no Python"),
    ("a file of no known kind", DEBUG, "notes.md", "torchrun train.py\n", "no launch file"),
    ("a value with a line end", Wanted("env", "A", "x\ny"), "run.sh", "torchrun x.py\n", "line ends"),
    ("a timeout that is no duration", Wanted("timeout", "collective_timeout", "soon"), "a.py", "x = 1\n", "no duration"),
    ("a timeout for a .env file", TIMEOUT, ".env", "A=1\n", "cannot carry a timeout"),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "path", "text", "why"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_the_refusal_says_why_and_where(setting: Wanted, path: str, text: str, why: str) -> None:
    with pytest.raises(EditRefused) as refusal:
        edits_for(setting, text, path)
    assert why in refusal.value.reason
    assert refusal.value.what


def test_without_ruamel_yaml_only_yaml_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The editor may run on a plain Python: all other kinds need no package."""
    real = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name.split(".")[0] in {"ruamel", "tree_sitter", "tree_sitter_bash"}:
            raise ImportError(name)
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    assert edits_for(DEBUG, "torchrun x.py\n", "run.sh")
    with pytest.raises(EditRefused, match="YAML") as refusal:
        edits_for(DEBUG, "services:\n  a: {image: a}\n", "compose.yaml")
    assert "ruamel.yaml" in refusal.value.reason and "pip install" in refusal.value.help
