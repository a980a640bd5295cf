"""Dumps are parsed without running anything, and compared rank by rank."""

import json
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstfault.diagnose import diagnose
from firstfault.errors import InputError
from firstfault.evidence import flight_recorder
from firstfault.evidence.flight_recorder import compare, parse_dump
from firstfault.read.stream import is_recorder_dump


def entry(seq, op="all_reduce", sizes=((4,),), done=True, group="0", p2p=False):
    return {
        "collective_seq_id": seq,
        "process_group": (group, "default_pg" if group == "0" else "tp"),
        "pg_id": int(group),
        "profiling_name": f"nccl:{op}",
        "input_sizes": [list(s) for s in sizes],
        "state": "completed" if done else "scheduled",
        "retired": done,
        "is_p2p": p2p,
        "time_created_ns": seq * 1_000_000_000,
    }


def dump(rank, entries, ranks=(0, 1, 2, 3)):
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(ranks))}}
    return parse_dump(pickle.dumps({"version": "2.10", "pg_config": config, "entries": entries}), f"nccl_trace_rank_{rank}")


def test_the_rank_that_never_entered_is_behind():
    dumps = [dump(r, [entry(1), entry(2, done=False)]) for r in (0, 1, 3)] + [dump(2, [entry(1)])]
    found = compare(dumps)
    assert (found.kind, found.ranks) == ("behind", (2,))
    assert "all_reduce 2" in found.reason


def test_a_rank_without_a_dump_is_absent():
    found = compare([dump(r, [entry(1), entry(2, done=False)]) for r in (0, 1, 3)])
    assert (found.kind, found.ranks) == ("absent", (2,))


def test_another_size_is_a_divergence():
    dumps = [dump(r, [entry(1), entry(2, sizes=((3,) if r == 1 else (4,),), done=False)]) for r in range(4)]
    found = compare(dumps)
    assert (found.kind, found.ranks) == ("diverged", (1,))


def test_point_to_point_calls_of_different_sizes_are_none():
    dumps = [dump(r, [entry(1), entry(2, op="send", sizes=((r + 1,),), done=False, p2p=True)]) for r in range(4)]
    assert compare(dumps) is None


def test_a_rank_that_waits_for_the_missing_one_elsewhere_is_no_root():
    both = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}, "1": {"name": "1", "desc": "tp", "ranks": "[2, 3]"}}
    raw = {
        0: [entry(1), entry(2, done=False)],
        1: [entry(1), entry(2, done=False)],
        2: [entry(1), entry(5, group="1", done=False)],
        3: [entry(1), entry(4, group="1")],
    }
    dumps = [parse_dump(pickle.dumps({"version": "2.10", "pg_config": both, "entries": e}), f"_dump_{r}") for r, e in raw.items()]
    assert compare(dumps).ranks == (3,)


def test_nobody_is_blamed_where_nobody_waits():
    assert compare([dump(r, [entry(1), entry(2)]) for r in range(4)]) is None


class Trap:
    def __reduce__(self):
        return os.system, ("touch /tmp/firstfault-was-here",)


def test_a_pickle_that_would_run_code_is_refused(tmp_path):
    data = pickle.dumps({"version": "2.10", "pg_config": {}, "entries": [Trap()]})
    assert parse_dump(data, "_dump_0") is None
    assert not os.path.exists("/tmp/firstfault-was-here")


@given(st.binary(max_size=400))
def test_any_bytes_are_no_dump_or_a_dump_but_never_an_exception(data):
    is_recorder_dump(data)
    parse_dump(b"\x80\x04" + data, "_dump_0")
    parse_dump(b"{" + data, "_dump_0.json")


@pytest.mark.parametrize("form", ["pickle", "json"])
def test_a_folder_of_dumps_is_diagnosed(tmp_path, form):
    for rank in (0, 1, 2, 3):
        entries = [entry(1), entry(2, done=False)] if rank != 2 else [entry(1)]
        raw = {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}, "entries": entries}
        if form == "pickle":
            (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(raw))
        else:
            (tmp_path / f"nccl_trace_rank_{rank}.json").write_text(json.dumps(raw))
    report = diagnose([tmp_path]).report
    assert report.incidents[0].initiating.ranks == (2,)
    assert report.incidents[0].verdict.value == "established"
    assert {i.kind for i in report.inputs} == {"flight-recorder"}


def test_a_file_that_is_too_large_for_a_dump_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "trace_0.json"
    path.write_text('{"version": "2.10", "pg_config": {}, "entries": []}')
    monkeypatch.setattr(flight_recorder, "LARGEST_DUMP_BYTES", 20)
    with pytest.raises(InputError, match="too large"):
        diagnose([path])
