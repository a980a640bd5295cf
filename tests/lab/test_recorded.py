"""Every recorded log of the laboratory is diagnosed as its injected fault says. Needs no torch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from firstfault.diagnose import diagnose
from firstfault.report import to_dict
from tests.lab.fault import Truth
from tests.lab.faults import all_faults
from tests.lab.judge import diagnosable, faults_of, places
from tests.lab.record import RECORDED, SAMPLE_OF, SAMPLES

RECORDINGS = sorted(path.parent.name for path in RECORDED.glob("*/truth.json"))


def truth_of(name: str) -> Truth:
    return Truth.from_dict(json.loads((RECORDED / name / "truth.json").read_text()))


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_fault_is_diagnosed_as_injected(name: str, tmp_path: Path) -> None:
    """The folder gets a neutral name first: a case's own name gives its answer away."""
    folder = tmp_path / "job"
    shutil.copytree(RECORDED / name, folder)
    truth = truth_of(name)
    (folder / "truth.json").unlink()
    report = to_dict(diagnose([diagnosable(folder)]).report)
    assert faults_of(report, truth, folder) == [], f"to see the report: firstfault diagnose {diagnosable(RECORDED / name)}"


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_shows_the_lines_that_decide(name: str) -> None:
    """A text that no line contains would make the evidence of a diagnosis unchecked."""
    truth = truth_of(name)
    assert truth.healthy or not truth.evidence_contains or places(RECORDED / name, truth.evidence_contains)


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_is_one_of_a_known_fault_and_its_truth_is_current(name: str) -> None:
    """`python -m tests.lab.record --truth-only` rewrites the truth of recorded logs."""
    assert truth_of(name) == all_faults()[name].truth


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_does_not_tell_where_it_was_made(name: str) -> None:
    for path in (RECORDED / name).rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert not [word for word in ("disturbance", "LAB_", "/tmp/lab-", "/home/", "/root/", "/work/") if word in text]
            assert text.count("site-packages") == text.count("/opt/venv/lib/python3.11/site-packages")


@pytest.mark.parametrize("sample", SAMPLE_OF)
def test_a_sample_is_a_recorded_log(sample: str) -> None:
    """`python -m tests.lab.record --samples` copies them."""
    assert (SAMPLES / sample).read_bytes() == (RECORDED / SAMPLE_OF[sample] / "log.txt").read_bytes()
