"""The quick reading of prefixes gives what the reader gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from firstfault.lsp.speakers import Speakers
from firstfault.read.lines import make_line
from firstfault.read.origin import family_data

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.log"))


def slowly(raw: str) -> tuple[int | None, int | None, int, str]:
    line = make_line(raw, 0, 1)
    rank = line.origin.rank if line.origin.rank is not None else line.origin.task
    return rank, line.origin.local_rank, line.columns[0] if len(line.columns) else len(raw), line.text


def test_every_prefix_family_reads_alike_the_first_and_the_second_time() -> None:
    raws = [sample["line"] for family in family_data() for sample in family["samples"]]
    assert len(raws) > 20
    speakers = Speakers()
    for raw in raws * 2:
        assert speakers.read(raw) == slowly(raw)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_every_line_of_a_sample_reads_alike(path: Path) -> None:
    speakers = Speakers()
    for raw in path.read_text(encoding="utf-8").split("\n"):
        assert speakers.read(raw) == slowly(raw)


def test_another_rank_of_the_same_shape_is_not_confused() -> None:
    speakers = Speakers()
    assert [speakers.read(f"[rank{n}]: step 1")[0] for n in range(4)] == [0, 1, 2, 3]
    assert speakers.read("[rank3]: \x1b[31mboom\x1b[0m")[0] == 3
