"""Tells what kind of launch file a text is, by name and content. Does not know how any kind is edited."""

from __future__ import annotations

import enum
import re


class Kind(str, enum.Enum):
    """A kind of file that can start training."""

    SHELL = "shell"
    PYTHON = "python"


# #!/bin/bash    #!/usr/bin/env -S bash -e
_SHELL_SHEBANG = re.compile(r"#!\s*\S*(?:/|\benv\s+(?:-S\s+)?)(?:ba|da|k|z|a|c|tc|fi)?sh\b")
_PYTHON_SHEBANG = re.compile(r"#!.*\bpython[\d.]*\b")
_SHELL_ENDS = (
    ".sh",
    ".bash",
    ".sbatch",
    ".slurm",
    ".slrm",
    ".job",
    ".pbs",
    ".lsf",
    ".bsub",
    ".zsh",
    ".ksh",
    ".batch",
    ".csh",
    ".tcsh",
    ".fish",
)


def detect_kind(path: str, text: str) -> Kind | None:
    """The kind of a file from its path (either slash) and text; None where it is no launch file."""
    name = re.split(r"[\\/]", path)[-1].lower()
    head = text.lstrip("\ufeff")[:4096]
    if name.endswith((".py", ".pyw")) or _PYTHON_SHEBANG.match(head):
        return Kind.PYTHON
    if name.endswith(_SHELL_ENDS) or _SHELL_SHEBANG.match(head) or re.search(r"^#SBATCH\b", head, re.MULTILINE):
        return Kind.SHELL
    return None
