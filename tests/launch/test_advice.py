"""What may be offered: names by version, timeouts only for a slow but living rank, the cost in speed."""

from __future__ import annotations

import pytest

from firstfault.launch import Kind, Wanted, apply_edits, edits_for_all, remove_edits_all
from firstfault.launch.advice import Withheld, hang_diagnostics, judged, offered, present_diagnostics, torch_version_in

PAGE = [
    Wanted("env", "NCCL_DEBUG", "INFO"),
    Wanted("env", "TORCH_FR_BUFFER_SIZE", "2000"),
    Wanted("timeout", "collective_timeout", "3600"),
    Wanted("env", "CUDA_LAUNCH_BLOCKING", "1"),
]


def test_a_timeout_is_no_cure_for_a_crash() -> None:
    names = [o.setting.name for o in offered(PAGE, torch_version="2.6.0")]
    assert names == ["NCCL_DEBUG", "TORCH_NCCL_TRACE_BUFFER_SIZE", "CUDA_LAUNCH_BLOCKING"]
    withheld = judged(PAGE[2])
    assert isinstance(withheld, Withheld) and "slow but alive" in withheld.why


def test_a_timeout_is_offered_for_a_slow_but_living_rank() -> None:
    assert PAGE[2] in [o.setting for o in offered(PAGE, slow_but_living=True)]


@pytest.mark.parametrize("name", ["HCCL_EXEC_TIMEOUT", "DEEPSPEED_TIMEOUT", "--distributed-timeout-minutes"])
def test_other_spellings_of_a_timeout_are_timeouts(name: str) -> None:
    assert isinstance(judged(Wanted("env", name, "60")), Withheld)


def test_an_edit_that_costs_speed_says_so() -> None:
    costs = {o.setting.name: o.costs for o in offered(PAGE)}
    assert "slower" in costs["CUDA_LAUNCH_BLOCKING"] and costs["NCCL_DEBUG"] == ""


def test_a_variable_that_the_torch_version_does_not_know_is_withheld() -> None:
    withheld = judged(Wanted("env", "TORCH_NCCL_DUMP_ON_TIMEOUT", "1"), torch_version="2.1.0")
    assert isinstance(withheld, Withheld) and "2.2" in withheld.why


def test_an_unknown_setting_is_offered_as_it_is() -> None:
    setting = Wanted("flag", "--max-model-len", "8192")
    assert [o.setting for o in offered([setting], torch_version="2.1")] == [setting]


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("2.1.2", ["NCCL_DEBUG"]),
        ("2.5.1", ["NCCL_DEBUG", "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT"]),
        ("2.13.0", ["NCCL_DEBUG", "TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT"]),
        (None, ["NCCL_DEBUG", "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DUMP_ON_TIMEOUT"]),
    ],
)
def test_diagnostics_for_hangs_fit_the_version(version: str | None, names: list[str]) -> None:
    assert [w.name for w in hang_diagnostics(version)] == names


def test_several_settings_go_in_together() -> None:
    text = "#!/bin/bash\n\n# go\ntorchrun train.py\n"
    edits = edits_for_all(hang_diagnostics("2.13.0"), text, "run.sh")
    exports = "export NCCL_DEBUG=INFO\nexport TORCH_FR_BUFFER_SIZE=2000\nexport TORCH_NCCL_DUMP_ON_TIMEOUT=1\n"
    assert apply_edits(text, edits) == f"#!/bin/bash\n\n{exports}# go\ntorchrun train.py\n"
    assert len(edits) == 1


@pytest.mark.parametrize("version", ["2.5.1", "2.13.0", None])
def test_diagnostics_that_were_added_are_found_and_taken_out_again(version: str | None) -> None:
    text = "#!/bin/bash\nexport NCCL_IB_HCA=mlx5\n\ntorchrun train.py\n"
    after = apply_edits(text, edits_for_all(hang_diagnostics(version), text, "run.sh"))
    assert present_diagnostics(text, "run.sh") == []
    assert set(present_diagnostics(after, "run.sh")) == set(hang_diagnostics(version))
    assert apply_edits(after, remove_edits_all(present_diagnostics(after, "run.sh"), after, "run.sh")) == text


@pytest.mark.parametrize(
    ("log", "version"),
    [
        ("PyTorch version: 2.4.0+cu121\n", "2.4.0+cu121"),
        ("Installing collected packages\nSuccessfully installed torch==2.6.0 x\n", "2.6.0"),
        ("[rank0]: torch 2.2.1 on 8 GPUs\n", "2.2.1"),
        ('{"torch_version": "2.13.0"}\n', "2.13.0"),
        ("torchvision 0.15.2, torchrun --nnodes 2\n", None),
        ("pytorch/torch/distributed/run.py line 2.5\n", None),
    ],
)
def test_the_torch_version_is_read_from_the_log(log: str, version: str | None) -> None:
    assert torch_version_in(log) == version


def test_kinds_are_spoken_names() -> None:
    assert all(k.value and k.value[0] != "_" for k in Kind)
