"""The recorded flight-recorder dumps show the injected fault, and are diagnosed as injected once the engine reads dumps."""

from __future__ import annotations

import importlib.util
import json
import pickle
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from firstfault.diagnose import diagnose
from firstfault.report import to_dict
from tests.lab.fault import Truth
from tests.lab.faults import all_faults
from tests.lab.judge import faults_of
from tests.lab.record import RECORDED_FR

DUMPS = sorted(path.parent.name for path in RECORDED_FR.glob("*/truth.json"))
Group = tuple[str, str]


def truth_of(name: str) -> Truth:
    return Truth.from_dict(json.loads((RECORDED_FR / name / "truth.json").read_text()))


def entries_of(name: str) -> dict[int, list[dict[str, Any]]]:
    """The entries of each rank that left a dump."""
    found = {}
    for path in (RECORDED_FR / name).glob("nccl_trace_rank_*"):
        rank = int(re.sub(r"\D", "", path.name))
        dump = json.loads(path.read_bytes()) if path.suffix == ".json" else pickle.loads(path.read_bytes())
        assert dump["version"] == "2.10"
        found[rank] = dump["entries"]
    return found


def calls(entries: list[dict[str, Any]]) -> dict[Group, dict[int, tuple[str, str]]]:
    """Per process group and sequence number: the operation and the input sizes. JSON has the group as a list."""
    by_group: dict[Group, dict[int, tuple[str, str]]] = defaultdict(dict)
    for entry in entries:
        name, desc = entry["process_group"]
        by_group[(name, desc)][entry["collective_seq_id"]] = (entry["profiling_name"], json.dumps(entry["input_sizes"]))
    return by_group


def lagging(by_rank: dict[int, dict[Group, dict[int, tuple[str, str]]]]) -> set[int]:
    """Ranks that have entered fewer collectives of a group than a peer that still waits there."""
    longest: Counter[Group] = Counter()
    for groups in by_rank.values():
        for group, sequence in groups.items():
            longest[group] = max(longest[group], max(sequence))
    return {rank for rank, groups in by_rank.items() for group, sequence in groups.items() if max(sequence) < longest[group]}


def diverging(by_rank: dict[int, dict[Group, dict[int, tuple[str, str]]]]) -> set[int]:
    """Ranks whose call differs from that of the majority at the first sequence number where calls differ."""
    steps: dict[tuple[Group, int], dict[int, tuple[str, str]]] = defaultdict(dict)
    for rank, groups in by_rank.items():
        for group, sequence in groups.items():
            for number, call in sequence.items():
                steps[(group, number)][rank] = call
    for key in sorted(steps):
        majority, _ = Counter(steps[key].values()).most_common(1)[0]
        odd = {rank for rank, call in steps[key].items() if call != majority}
        if odd:
            return odd
    return set()


@pytest.mark.parametrize("name", DUMPS)
def test_the_dumps_show_the_injected_ranks(name: str) -> None:
    """Read here by hand, so that a diagnosis is measured against dumps that can be understood."""
    truth, entries = truth_of(name), entries_of(name)
    by_rank = {rank: calls(found) for rank, found in entries.items()}
    absent = set(range(truth.world_size)) - set(entries)
    if truth.healthy:
        assert not absent and not lagging(by_rank) and not diverging(by_rank)
        assert all(entry["retired"] for found in entries.values() for entry in found)
    elif truth.cause == "collective-mismatch":
        assert diverging(by_rank) == set(truth.initiating_ranks or ())
    elif absent:
        assert absent == set(truth.initiating_ranks or ())
    else:
        assert set(truth.initiating_ranks or ()) <= lagging(by_rank)


@pytest.mark.parametrize("name", DUMPS)
def test_a_dump_is_one_of_a_known_fault_and_does_not_tell_where_it_was_made(name: str) -> None:
    assert truth_of(name) == all_faults()[name].truth
    for path in (RECORDED_FR / name).glob("nccl_trace_rank_*"):
        assert not [word for word in (b"disturbance", b"/tmp/lab-", b"/home/", b"/root/", b"/work/") if word in path.read_bytes()]


@pytest.mark.skipif(importlib.util.find_spec("firstfault.evidence") is None, reason="the engine does not read flight-recorder dumps yet")
@pytest.mark.parametrize("name", DUMPS)
def test_recorded_dumps_are_diagnosed_as_injected(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    shutil.copytree(RECORDED_FR / name, folder)
    (folder / "truth.json").unlink()
    assert faults_of(to_dict(diagnose([folder]).report), truth_of(name), folder) == []
