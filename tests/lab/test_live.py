"""The faults, injected into real jobs now, are diagnosed as injected. Needs a Python with torch, and minutes.

FIRSTFAULT_LAB_PYTHON names that Python (of a virtual environment); without it the current one is taken if it has torch.
FIRSTFAULT_LAB_ONLY chooses faults by a pattern.
"""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path

import pytest

from firstfault.diagnose import diagnose
from firstfault.report import to_dict
from tests.lab.faults import all_faults
from tests.lab.judge import diagnosable, faults_of
from tests.lab.layouts import run
from tests.lab.python import lab_python
from tests.lab.record import store

ONLY = os.environ.get("FIRSTFAULT_LAB_ONLY", "*")
REPEATABLE = {name: fault for name, fault in all_faults().items() if fault.repeatable and fault.layout != "flight"}
FAULTS = {name: fault for name, fault in REPEATABLE.items() if fnmatch.fnmatch(name, ONLY)}


@pytest.mark.parametrize("name", FAULTS)
def test_an_injected_fault_is_diagnosed(name: str, tmp_path: Path) -> None:
    python = lab_python()
    if isinstance(python, str):
        pytest.skip(python)
    folder = tmp_path / "job"
    store(FAULTS[name], run(FAULTS[name], tmp_path / "work", python), folder)
    (folder / "truth.json").unlink()
    report = to_dict(diagnose([diagnosable(folder)]).report)
    assert faults_of(report, FAULTS[name].truth, folder) == [], f"the log is in {folder}"
