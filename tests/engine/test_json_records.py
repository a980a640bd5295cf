"""A log whose lines a container engine wrapped in JSON gets the verdict of the log that the job printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from firstfault.diagnose import diagnose

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.parametrize("log", sorted(p.name for p in SAMPLES.glob("*.log")))
def test_the_same_verdict(log: str, tmp_path: Path) -> None:
    plain = SAMPLES / log
    wrapped = tmp_path / log
    records = [json.dumps({"log": line, "stream": "stderr"}) for line in plain.read_text().splitlines(keepends=True)]
    wrapped.write_text("\n".join(records) + "\n")
    [expected], [found] = (diagnose([path]).report.incidents for path in (plain, wrapped))
    assert (found.failure, found.verdict, found.initiating.ranks, found.summary) == (
        expected.failure,
        expected.verdict,
        expected.initiating.ranks,
        expected.summary,
    )
    assert [e.line for e in found.evidence] == [e.line for e in expected.evidence]
    assert [(c.failure, c.ranks, c.line, c.why) for c in found.collateral] == [(c.failure, c.ranks, c.line, c.why) for c in expected.collateral]
