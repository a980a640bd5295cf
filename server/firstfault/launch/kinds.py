"""Tells what kind of launch file a text is, by name and content. Does not know how any kind is edited."""

from __future__ import annotations

import enum
import re


class Kind(str, enum.Enum):
    """A kind of file that starts training, or that carries its environment."""

    SHELL = "shell script"
    PYTHON = "Python file"
    DOCKERFILE = "Dockerfile"
    COMPOSE = "Compose file"
    KUBERNETES = "Kubernetes manifest"
    SKYPILOT = "SkyPilot task"
    TORCHX = "TorchX application"
    ENV_VARS = "configuration with env_vars"
    ACCELERATE = "Accelerate configuration"
    DEEPSPEED_CONFIG = "DeepSpeed configuration"
    DEEPSPEED_ENV = ".deepspeed_env file"
    LAUNCH_JSON = "launch.json"
    TASKS_JSON = "tasks.json"
    DOTENV = ".env file"
    MAKEFILE = "Makefile"
    NOTEBOOK = "notebook"


# #!/bin/bash    #!/usr/bin/env -S bash -e
_SHELL_SHEBANG = re.compile(r"#!\s*\S*(?:/|\benv\s+(?:-S\s+)?)(?:ba|da|k|z|a|c|tc|fi)?sh\b")
_PYTHON_SHEBANG = re.compile(r"#!.*\bpython[\d.]*\b")
_SCHEDULER = re.compile(r"^#(?:SBATCH|PBS|BSUB|COBALT|PJM)\s", re.MULTILINE)
_SHELL_ENDS = tuple(f".{e}" for e in "sh bash sbatch slurm slrm job pbs lsf bsub zsh ksh batch csh tcsh fish".split())
_DOCKERFILE = re.compile(r"(?:.*[._-])?(?:dockerfile|containerfile)(?:[._-].*)?$")
_MAKEFILE = re.compile(r"(?:gnu)?makefile(?:\..*)?$|.*\.(?:mk|mak)$")
_DOTENV = re.compile(r"\.env(?:\..+)?$|.*\.env$")


def detect_kind(path: str, text: str) -> Kind | None:
    """The kind of a file from its path (either slash) and text; None where it is no launch file."""
    parts = re.split(r"[\\/]", path.lower())
    name = parts[-1]
    head = text.lstrip("\ufeff")[:4096]
    if name == ".deepspeed_env":
        return Kind.DEEPSPEED_ENV
    if name.endswith((".py", ".pyw")):
        return Kind.PYTHON
    if name.endswith(".ipynb"):
        return Kind.NOTEBOOK
    if name.endswith(_SHELL_ENDS):
        return Kind.SHELL
    if _DOTENV.match(name):
        return Kind.DOTENV
    if _DOCKERFILE.match(name):
        return Kind.DOCKERFILE
    if _MAKEFILE.match(name):
        return Kind.MAKEFILE
    if name.endswith((".json", ".jsonc", ".json5")):
        return _json_kind(name, text)
    if name.endswith((".yaml", ".yml")):
        return _yaml_kind(text)
    if _PYTHON_SHEBANG.match(head):
        return Kind.PYTHON
    if _SHELL_SHEBANG.match(head) or _SCHEDULER.search(head):
        return Kind.SHELL
    return None


def _json_kind(name: str, text: str) -> Kind | None:
    head = text[:20000]
    if name.startswith("launch.") and '"configurations"' in head:
        return Kind.LAUNCH_JSON
    if name.startswith("tasks.") and '"tasks"' in head:
        return Kind.TASKS_JSON
    if re.search(r'"(?:zero_optimization|train_micro_batch_size_per_gpu|train_batch_size|zero_allow_untested_optimizer)"\s*:', head):
        return Kind.DEEPSPEED_CONFIG
    return None


def _yaml_kind(text: str) -> Kind | None:
    keys = set(re.findall(r"^([A-Za-z_][\w-]*)[ \t]*:(?=\s|$)", text, re.MULTILINE))
    if {"apiVersion", "kind"} <= keys:
        return Kind.KUBERNETES
    if "services" in keys:
        return Kind.COMPOSE
    if {"distributed_type", "num_processes"} <= keys or "compute_environment" in keys:
        return Kind.ACCELERATE
    if "roles" in keys and re.search(r"^[ \t-]+entrypoint[ \t]*:", text, re.MULTILINE):
        return Kind.TORCHX
    if keys & {"run", "setup"} and keys & {"resources", "num_nodes", "envs", "file_mounts", "workdir"}:
        return Kind.SKYPILOT
    if "env_vars" in keys:
        return Kind.ENV_VARS
    return None
