"""Reading on a dask cluster changes nothing in the report, also when a worker is killed in the middle."""

import os
import signal
import sys
from pathlib import Path

import pytest

from firstfault.cli import main
from firstfault.diagnose import diagnose
from firstfault.errors import InputError
from firstfault.knowledge.library import load_library
from firstfault.report import to_json
from firstfault.workers import pool

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = load_library()
WORKERS = 3

try:
    import distributed
except ImportError:
    distributed = None

needs_dask = pytest.mark.skipif(
    distributed is None or sys.platform == "win32",
    reason="SKIPPED: reading on a cluster is not tested here, for want of the package distributed (pip install 'firstfault[cluster]')",
)


@pytest.fixture(scope="module")
def cluster():
    import dask

    # A worker's death must not take the test's patience: it is noticed when its connection breaks.
    with dask.config.set({"distributed.worker.daemon": True, "distributed.comm.retry.count": 0}):
        with distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as started:
            yield started


@pytest.fixture(scope="module")
def rank_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    for rank in range(24):
        lines = [f"[rank{rank}]: INFO trainer: step {step} loss: 2.{step} {'x' * 60}" for step in range(12_000)]
        if rank == 17:
            lines += ["Traceback (most recent call last):", '  File "train.py", line 12, in <module>', "    main()", "KeyError: 'uid'"]
        else:
            work = "WorkNCCL(SeqNum=78, OpType=ALLREDUCE, NumelIn=80, NumelOut=80, Timeout(ms)=600000)"
            lines += [f"[Rank {rank}] Watchdog caught collective operation timeout: {work} ran for 600096 milliseconds before timing out."]
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def whole(rank_files):
    report = diagnose([rank_files], library=LIBRARY).report
    assert report.incidents[0].initiating.ranks == (17,)
    return to_json(report)


@needs_dask
def test_a_cluster_gives_the_same_report(cluster, rank_files, whole):
    assert to_json(diagnose([rank_files], library=LIBRARY, scheduler=cluster.scheduler_address).report) == whole


@needs_dask
def test_a_worker_killed_in_the_middle_changes_nothing_in_the_report(cluster, rank_files, whole):
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        client.wait_for_workers(WORKERS)
        pids = sorted(client.run(os.getpid).values())
    killed, done_at_kill = [], []

    def kill_one(done, total):
        if done and not killed:  # The first call says 0 of the total.
            killed.append(pids[0])
            done_at_kill.append((done, total))
            os.kill(pids[0], signal.SIGKILL)

    report = diagnose([rank_files], library=LIBRARY, scheduler=cluster.scheduler_address, inputs_done=kill_one).report
    assert killed and 0 < done_at_kill[0][0] < done_at_kill[0][1]
    assert to_json(report) == whole
    assert not Path(f"/proc/{pids[0]}").exists() or Path(f"/proc/{pids[0]}/stat").read_text().split()[2] == "Z" or sys.platform != "linux"


@needs_dask
def test_the_command_line_reads_on_a_cluster(cluster, rank_files, whole, capsys, monkeypatch):
    monkeypatch.chdir(rank_files.parent)
    # The workers have another working folder; the report keeps the names that were given.
    assert main(["diagnose", rank_files.name, "--scheduler", cluster.scheduler_address, "--format", "json"]) == 1
    out = capsys.readouterr().out
    assert out.replace(f"{rank_files.name}/rank_", f"{rank_files}/rank_") == whole


@needs_dask
def test_an_absent_scheduler_is_told_in_four_parts(monkeypatch):
    monkeypatch.setattr(pool, "_CONNECT", "1s")
    with pytest.raises(InputError) as caught:
        diagnose([ROOT / "samples"], library=LIBRARY, scheduler="tcp://127.0.0.1:9")
    assert caught.value.what and caught.value.reason and caught.value.where == "tcp://127.0.0.1:9" and "dask scheduler" in caught.value.help


@needs_dask
def test_standard_input_cannot_go_to_a_cluster(cluster):
    with pytest.raises(InputError, match="standard input"):
        diagnose(["-"], library=LIBRARY, scheduler=cluster.scheduler_address)


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError) as caught:
        diagnose([ROOT / "samples"], library=LIBRARY, scheduler="tcp://head:8786")
    assert "firstfault[cluster]" in caught.value.help
