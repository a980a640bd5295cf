"""`firstfault fix` on the command line: shows, writes, refuses."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from firstfault.launch.command import add_arguments, parse_setting, run
from firstfault.launch.edit import Wanted


def fix(*args: str) -> int:
    parser = argparse.ArgumentParser(prog="firstfault fix")
    add_arguments(parser)
    return run(parser.parse_args(args))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "run.sh"
    path.write_bytes(b"#!/bin/bash\ntorchrun train.py\n")
    return path


def test_the_change_is_shown_and_the_file_left_alone(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = script.read_bytes()
    assert fix(str(script), "--set", "NCCL_DEBUG=INFO") == 0
    assert "+export NCCL_DEBUG=INFO\n" in capsys.readouterr().out
    assert script.read_bytes() == before


def test_write_writes_and_a_second_time_nothing_is_left_to_do(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fix(str(script), "--set", "NCCL_DEBUG=INFO", "--set", "TORCH_FR_BUFFER_SIZE=2000", "--torch", "2.6", "--write") == 0
    assert script.read_bytes() == b"#!/bin/bash\nexport NCCL_DEBUG=INFO\nexport TORCH_NCCL_TRACE_BUFFER_SIZE=2000\ntorchrun train.py\n"
    assert fix(str(script), "--set", "NCCL_DEBUG=INFO", "--write") == 0
    assert "nothing to change" in capsys.readouterr().out


def test_unset_takes_it_out_again(script: Path) -> None:
    before = script.read_bytes()
    fix(str(script), "--set", "NCCL_DEBUG=INFO", "--write")
    assert fix(str(script), "--unset", "NCCL_DEBUG", "--write") == 0
    assert script.read_bytes() == before


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf#!/bin/bash\r\ntorchrun train.py\r\n",
        b"# Entra\xeenement\ntorchrun train.py",
        "torchrun train.py # ∂\n".encode("utf-16"),
    ],
    ids=["mark and CRLF", "latin-1", "UTF-16"],
)
def test_bytes_outside_the_edit_stay(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(data)
    assert fix(str(path), "--set", "NCCL_DEBUG=INFO", "--write") == 0
    assert path.read_bytes() != data
    assert fix(str(path), "--unset", "NCCL_DEBUG", "--write") == 0
    assert path.read_bytes() == data


def test_a_setting_that_costs_speed_says_so(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fix(str(script), "--set", "CUDA_LAUNCH_BLOCKING=1") == 0
    assert "slows training down" in capsys.readouterr().err


def test_a_refusal_is_exit_status_1_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.sh"
    path.write_text("if true; then\ntorchrun a.py\n")
    assert fix(str(path), "--set", "NCCL_DEBUG=INFO") == 1
    told = capsys.readouterr().err
    assert "error: the script is not edited" in told and "does not parse" in told and f"{path}:" in told


@pytest.mark.parametrize("args", [(), ("--set", "NCCL_DEBUG"), ("--set", "=x")])
def test_wrong_arguments_are_exit_status_2(script: Path, args: tuple[str, ...]) -> None:
    assert fix(str(script), *args) == 2


def test_a_missing_file_is_exit_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fix(str(tmp_path / "no.sh"), "--set", "A=1") == 2
    assert "No such file" in capsys.readouterr().err


def test_a_folder_names_the_likeliest_file(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fix(str(script.parent), "--set", "NCCL_DEBUG=INFO") == 2
    assert f"help: firstfault fix {script}" in capsys.readouterr().err


def test_the_name_tells_the_kind_of_a_setting() -> None:
    assert parse_setting("NCCL_DEBUG=INFO") == Wanted("env", "NCCL_DEBUG", "INFO")
    assert parse_setting("--rdzv-conf=join_timeout=900") == Wanted("flag", "--rdzv-conf", "join_timeout=900")
    assert parse_setting("init_process_group.timeout=1h") == Wanted("timeout", "init_process_group.timeout", "1h")
