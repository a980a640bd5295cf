"""Prefix families are data: each sample says what remains of a line and who printed it."""

import dataclasses

import pytest

from firstfault.model import Origin
from firstfault.read.clock import read_time
from firstfault.read.lines import make_line, segments
from firstfault.read.origin import family_data

SAMPLES = [(f["name"], s) for f in family_data() for s in f["samples"]]


@pytest.mark.parametrize(("family", "sample"), SAMPLES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(SAMPLES)])
def test_sample_gives_its_origin_and_nothing_else(family, sample):
    line = make_line(sample["line"], 0, 1)
    assert line.text == sample["rest"], family
    said = {k: v for k, v in dataclasses.asdict(line.origin).items() if v is not None}
    extra = {k: v for k, v in said.items() if k not in sample["origin"]}
    assert {k: said.get(k) for k in sample["origin"]} == sample["origin"]
    assert not extra


def test_every_family_has_a_sample():
    assert all(f["samples"] for f in family_data())


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: rank 3 is not in the group",
        "mlx5_0: link down",
        "step10: loss 2.0",
        "cuda:0 is not available",
        "https://host-1: 80",
        "Epoch 3: 10%",
        "[INFO] no rank here",
        "[utils2.py:45]: boom",
        "[Epoch1:3]: boom",
    ],
)
def test_look_alikes_name_nobody(text):
    line = make_line(text, 0, 1)
    assert line.origin == Origin(), line


def test_rank_inside_a_group_is_not_the_printing_rank():
    line = make_line("[rank9]:[E1102 10:00:00.1 ProcessGroupNCCL.cpp:607] [PG ID 5 PG GUID 37(TENSOR_MODEL_PARALLEL_GROUP) Rank 1] x", 0, 1)
    assert line.origin.rank == 9


def test_nccl_device_is_not_a_rank():
    line = make_line("gpu-07:4021:4077 [3] NCCL INFO comm 0x1 rank 11 nranks 16 cudaDev 3 busId e0000 - Init COMPLETE", 0, 1)
    assert (line.origin.rank, line.origin.device, line.origin.host, line.origin.pid) == (None, 3, "gpu-07", 4021)


@pytest.mark.parametrize("sample", [s["line"] for _, s in SAMPLES if read_time(s["line"][:160])])
def test_no_prefix_takes_a_time_away(sample):
    assert make_line(sample, 0, 1).time_s is not None


INDENTED = [
    ("    [rank3]:   File \"a.py\", line 3, in f", '  File "a.py", line 3, in f', 3),
    ("\t[rank3]: boom", "boom", 3),
    ("      [2026-11-02 10:00:00 TP2] boom", "      [2026-11-02 10:00:00 TP2] boom", None),
    ("    [default1]:[rank9]: boom", "boom", 9),
    ("  File \"a.py\", line 3, in f", '  File "a.py", line 3, in f', None),
    ("    rank = int(os.environ['RANK'])", "    rank = int(os.environ['RANK'])", None),
    ("    7: the number of a list", "    7: the number of a list", None),
]


@pytest.mark.parametrize(("raw", "rest", "rank"), INDENTED)
def test_a_block_that_was_indented_as_a_whole_keeps_who_printed_it(raw, rest, rank):
    line = make_line(raw, 0, 1)
    assert line.origin.rank == rank
    if rank is not None:
        assert line.text == rest


LABELLED = [
    ("train-big.node-4.run [stderr] [rank14]:[E1102 10:00:00.1 ProcessGroupNCCL.cpp:607] boom", 14),
    ("wandb: [rank2]: boom", 2),
    ("^C[rank1]: boom", 1),
    ("[node-0] [rank5]: boom", 5),
    ("2026-11-30 12:00:01,512 - INFO - [rank7]: boom", 7),
    ("ValueError: no shard for '[rank3]: '", None),
    ("INFO gathered the state from [rank3]: 4 tensors", None),
    ("the first line of rank 4 begins with [rank4]: boom", None),
]


@pytest.mark.parametrize(("raw", "rank"), LABELLED)
def test_a_label_that_no_family_knows_does_not_hide_the_rank(raw, rank):
    assert make_line(raw, 0, 1).origin.rank == rank


def test_a_rank_that_speaks_behind_a_progress_bar_is_a_line_of_its_own():
    bar = "Epoch 3:  45%|####      | 45/100 [01:12<01:28,  1.61s/it, loss=0.234]"
    parts = list(segments(bar + "[rank0]:[E1102 10:00:00.1 ProcessGroupNCCL.cpp:607] boom"))
    assert [column for column, _ in parts] == [0, len(bar)]
    assert make_line(parts[1][1], 0, 1, len(bar)).origin.rank == 0
    assert list(segments(bar)) == [(0, bar)]


def test_two_ranks_that_wrote_into_one_line_are_two_lines():
    first, second = "[rank0]: RuntimeError: lost a peer, version 2.21.5", "[rank3]: ValueError: bad shard 7"
    assert [part for _, part in segments(first + second)] == [first, second]
    for whole in ("[rank7]:[rank7]: ValueError: boom", "see [rank3]: the third", "left [rank3]: ValueError: boom"):
        assert [part for _, part in segments(whole)] == [whole]
