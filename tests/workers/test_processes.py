"""Reading in several processes changes nothing in the report, and ends cleanly whatever happens to the processes."""

import io
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from firstfault.diagnose import Cancelled, diagnose
from firstfault.errors import InputError
from firstfault.knowledge.library import load_library
from firstfault.observe import read_input
from firstfault.read.inputs import find_sources
from firstfault.read.reader import Budget
from firstfault.report import to_json
from firstfault.workers import pool, task
from firstfault.workers.wire import pack, unpack

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*.log"))
LIBRARY = load_library()


@pytest.fixture
def rank_files(tmp_path):
    """One log a rank: rank 3 meets a fault of its own, the others wait for it."""
    for rank in range(8):
        lines = [f"INFO trainer: step {step} loss: 2.{step} world_size: 8" for step in range(400)]
        if rank == 3:
            lines += ["Traceback (most recent call last):", '  File "train.py", line 12, in <module>', "    main()", "KeyError: 'uid'"]
        else:
            work = "WorkNCCL(SeqNum=78, OpType=ALLREDUCE, NumelIn=80, NumelOut=80, Timeout(ms)=600000)"
            lines += [f"[Rank {rank}] Watchdog caught collective operation timeout: {work} ran for 600096 milliseconds before timing out."]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.name)
def test_a_reading_survives_its_journey(sample):
    (source,) = find_sources([sample])
    reading, _ = read_input(LIBRARY, source, 0, Budget())
    arrived = unpack(pickle.loads(pickle.dumps(pack(reading))), 0)
    assert arrived == reading
    assert all(any(f.line is line for line in arrived.lines) for f in arrived.findings)
    assert {line.file for line in unpack(pack(reading), 7).lines} <= {7}


def test_lines_with_codes_and_carriage_returns_survive_their_journey(tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes("[rank3]: \x1b[31mKeyError: 'é'\x1b[0m\n 10%|█ | 1/10\r[rank2]: RuntimeError: CUDA error: oops\rab\n".encode())
    reading, _ = read_input(LIBRARY, find_sources([path])[0], 0, Budget())
    assert len(reading.lines) >= 2
    assert unpack(pickle.loads(pickle.dumps(pack(reading))), 0) == reading


def test_what_travels_is_small_beside_the_log(tmp_path):
    path = tmp_path / "rank_0.log"
    line = b"2026-09-21 14:14:21,960 INFO trainer: step %d loss: 8.02 NCCL WARN retry %d\n"
    path.write_bytes(b"".join(line % (i, i) for i in range(100_000)))
    reading, _ = read_input(LIBRARY, find_sources([path])[0], 0, Budget.for_inputs(1024))
    assert len(pickle.dumps(pack(reading))) < 64_000


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_any_number_of_processes_gives_the_same_report(rank_files, workers):
    whole = to_json(diagnose([rank_files], library=LIBRARY).report)
    assert to_json(diagnose([rank_files], library=LIBRARY, workers=workers).report) == whole


def test_started_processes_give_the_same_report_as_forked_ones(rank_files, monkeypatch):
    whole = to_json(diagnose([rank_files], library=LIBRARY).report)
    # Where other threads run a process is started anew instead of forked.
    monkeypatch.setattr(pool.threading, "active_count", lambda: 2)
    assert to_json(diagnose([rank_files], library=LIBRARY, workers=2).report) == whole


def test_standard_input_is_read_beside_the_workers(rank_files, monkeypatch):
    text = b"[rank7]: RuntimeError: CUDA error: out of memory\n"
    monkeypatch.setattr(sys, "stdin", mock.Mock(buffer=io.BytesIO(text)))
    alone = to_json(diagnose([rank_files, "-"], library=LIBRARY).report)
    monkeypatch.setattr(sys, "stdin", mock.Mock(buffer=io.BytesIO(text)))
    assert to_json(diagnose([rank_files, "-"], library=LIBRARY, workers=2).report) == alone


def _die_once(job, sources):
    if any(source.name.endswith("rank_5.log") for source in sources):
        os.kill(os.getpid(), signal.SIGKILL)
    return [task.read_on_worker(job, source, pool._count) for source in sources]


@pytest.mark.skipif(sys.platform != "linux", reason="the dying worker is forked from this test")
def test_a_killed_process_changes_nothing_in_the_report(rank_files, monkeypatch):
    whole = to_json(diagnose([rank_files], library=LIBRARY).report)
    monkeypatch.setattr(pool, "_read_counted", _die_once)
    monkeypatch.setattr(pool.threading, "active_count", lambda: 1)
    assert to_json(diagnose([rank_files], library=LIBRARY, workers=2).report) == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_an_unreadable_file_of_a_folder_is_a_limit_not_an_error(rank_files, workers):
    (rank_files / "rank_9.log.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    report = diagnose([rank_files], library=LIBRARY, workers=workers).report
    assert len(report.inputs) == 8
    assert any("rank_9.log.gz: was not read" in limit for limit in report.limits)
    with pytest.raises(InputError, match="cannot read"):
        diagnose([rank_files / "rank_9.log.gz", rank_files], library=LIBRARY, workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_stopping_ends_the_reading(rank_files, workers):
    with pytest.raises(Cancelled):
        diagnose([rank_files], library=LIBRARY, workers=workers, cancelled=lambda: True)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_reaches_all_bytes_and_all_inputs(rank_files, workers):
    seen, inputs = [], []
    diagnose(
        [rank_files], library=LIBRARY, workers=workers,
        progress=lambda done, total: seen.append((done, total)), inputs_done=lambda done, total: inputs.append((done, total)),
    )  # fmt: skip
    total = sum(p.stat().st_size for p in rank_files.iterdir())
    assert seen[-1] == (total, total)
    assert inputs[-1] == (8, 8)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_small_inputs_start_no_process(rank_files, monkeypatch):
    monkeypatch.setattr(pool.cf, "ProcessPoolExecutor", lambda *_: pytest.fail("a process was started"))
    assert diagnose([rank_files], library=LIBRARY, workers=None).report.incidents


def test_processes_are_started_for_large_inputs_only(rank_files, monkeypatch):
    sources = find_sources([rank_files])
    assert pool.fitting_workers(sources) == 1
    monkeypatch.setattr(pool, "WORTH_PROCESSES_BYTES", 1)
    monkeypatch.setattr(pool, "processors", lambda: 4)
    assert pool.fitting_workers(sources) == 4
    assert pool.fitting_workers(sources[:3]) == 3
    assert pool.fitting_workers(sources[:1]) == 1


def test_small_inputs_travel_together_and_large_ones_alone(tmp_path, monkeypatch):
    sources = []
    for i, size in enumerate((10, 5_000_000, 20, 300, 7_000_000, 5)):
        path = tmp_path / f"{i}.log"
        path.write_bytes(b"x" * size)
        sources.append(find_sources([path])[0])
    monkeypatch.setattr(pool, "_FEWEST_BATCHES", 4)
    assert list(pool._batches(sources, range(6))) == [[4], [1], [3, 2, 0, 5]]
    assert list(pool._batches(sources, [])) == []


def test_a_worker_with_other_pages_is_refused(rank_files):
    job = task.Job.of(LIBRARY, Budget())
    source = find_sources([rank_files])[0]
    foreign = task.Job(job.version, job.own_pages, "0" * 64, job.budget)
    answer = task.read_on_worker(foreign, source)
    assert answer.packed is None and "pages differ" in answer.error.reason
    older = task.Job("0.0.1", job.own_pages, "1" * 64, job.budget)
    assert "not 0.0.1" in task.read_on_worker(older, source).error.reason


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.skipif(sys.platform != "linux", reason="counts child processes in /proc")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_ends_all_processes_at_once(rank_files, workers):
    """Two pipes into which nobody writes keep every process reading; Ctrl-C in a terminal reaches the whole group."""
    held = []
    for name in ("a.log", "b.log"):
        os.mkfifo(rank_files / name)
        held.append(os.open(rank_files / name, os.O_RDWR))
    program = subprocess.Popen(
        [sys.executable, "-m", "firstfault.cli", "diagnose", *map(str, rank_files.iterdir()), "--workers", workers],
        cwd=ROOT / "server", stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        readers: list[str] = []
        while len(readers) < int(workers):
            assert time.monotonic() < deadline
            time.sleep(0.02)
            readers = [pid for pid in (str(program.pid), *children_of(program.pid)) if _reads(pid, rank_files)]
        children = children_of(program.pid)
        os.killpg(program.pid, signal.SIGINT)
        out, err = program.communicate(timeout=60)
    finally:
        program.kill()
        for pipe in held:
            os.close(pipe)
    assert program.returncode == 130
    assert err.decode().strip() == "interrupted"
    assert out == b""
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def _reads(pid, folder):
    """Whether a process has one of the pipes open."""
    fds = Path(f"/proc/{pid}/fd")
    return any(os.path.realpath(fd) in (f"{folder}/a.log", f"{folder}/b.log") for fd in fds.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_no_worker_outlives_its_parent(rank_files):
    os.mkfifo(rank_files / "a.log")
    held = os.open(rank_files / "a.log", os.O_RDWR)
    program = subprocess.Popen(
        [sys.executable, "-m", "firstfault.cli", "diagnose", *map(str, rank_files.iterdir()), "--workers", "2"], cwd=ROOT / "server"
    )
    deadline = time.monotonic() + 60
    while len(children_of(program.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    children = children_of(program.pid)
    program.kill()
    program.wait()
    os.close(held)
    while any(Path(f"/proc/{child}/cmdline").exists() and Path(f"/proc/{child}/cmdline").read_bytes() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert len(children) == 2
