"""Finds the Python that runs the laboratory's jobs. Does not install one."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

HELP = "make a virtual environment, `pip install torch==2.13.0 numpy` in it, and set FIRSTFAULT_LAB_PYTHON to its bin/python"


@functools.cache
def lab_python() -> Path | str:
    """The Python with torch, or a sentence that says why there is none."""
    named = os.environ.get("FIRSTFAULT_LAB_PYTHON")
    if sys.platform != "linux":
        return "live jobs were not run: they need Linux"
    if named:
        python = Path(named).absolute()
        question = "import torch.distributed; assert torch.distributed.is_gloo_available()"
        probe = subprocess.run([str(python), "-c", question], capture_output=True, check=False)
        return python if probe.returncode == 0 else f"live jobs were not run: {python} cannot import torch with Gloo; {HELP}"
    if importlib.util.find_spec("torch"):
        return Path(sys.executable).absolute()
    return f"live jobs were not run: this Python has no torch; {HELP}"
