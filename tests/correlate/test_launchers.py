"""Which rank a launcher's own words are about: Lightning, Composer, srun."""

from .check import check
from .logs import exit_entry, failed, join, summary, traceback

STDERR = "----------{} global rank 5 STDERR----------"


def child(rank, code, before=""):
    return f"{before}[rank: {rank}] Child process with PID 4411 terminated with code {code}. Forcefully terminating all other processes to avoid zombies"


def test_lightning_names_the_child_that_ended_whoever_logs_it():
    check(join("Epoch 1: 10/90", child(2, -9, "INFO: ")), "process-killed", [2], verdict="undetermined")


def test_the_child_that_lightning_saw_end_printed_the_one_exception():
    log = join(traceback("KeyError: 'mask'"), child(3, 1, "2031-05-06 launcher.py:224 "))
    check(log, "python-exception", [3], evidence="KeyError")


def test_composer_names_the_rank_that_crashed():
    log = join(
        "ERROR:composer.cli.launcher:Rank 6 crashed with exit code -7.",
        "Global rank 0 (PID 910) exited with code -15",
        "Global rank 6 (PID 916) exited with code -7",
    )
    check(log, "process-sigbus", [6])


def test_what_composer_quotes_of_a_process_is_that_process_speaking():
    log = join(
        "Global rank 5 (PID 915) exited with code 1",
        STDERR.format("Begin"),
        traceback("ValueError: no shard of split 'val'"),
        STDERR.format("End"),
        "Global rank 4 (PID 914) exited with code -15",
    )
    check(log, "python-exception", [5], evidence="ValueError")


def test_behind_the_quoted_part_composer_speaks_for_itself():
    quoted = [STDERR.format("Begin"), "Building trainer...", STDERR.format("End")]
    check(join(*quoted, traceback("RuntimeError: the launcher lost its socket")), "python-exception", None)


def test_the_one_task_that_srun_saw_exit_printed_the_one_exception():
    log = join(
        traceback("FileExistsError: [Errno 17] File exists: '/data/cache/s1'"),
        "srun: error: n4: task 3: Exited with exit code 1",
        "srun: error: n4: tasks 0-2: Terminated",
    )
    check(log, "python-exception", [3], evidence="FileExistsError")


def test_a_task_that_launches_the_processes_of_its_node_is_no_rank():
    log = join(traceback("KeyError: 'mask'"), "srun: error: n4: task 3: Exited with exit code 1", "srun: error: n5: task 4: Terminated")
    check(log, "python-exception", None)


def test_tasks_that_failed_alike_while_others_had_to_be_stopped_were_the_first():
    oom = "job.trainer | OOM: Ran out of memory with exception: CUDA out of memory. Tried to allocate 9.75 GiB (GPU {}; 39.17 GiB total capacity)"
    log = join(
        *(oom.format(gpu) for gpu in (1, 3)),
        "srun: error: n4: tasks 1,3: Exited with exit code 1",
        "srun: error: n4: tasks 0,2: Terminated",
    )
    check(log, "cuda-out-of-memory", [1, 3])


def test_a_container_that_is_killed_when_the_job_has_failed_is_not_the_first_exit():
    log = join(
        "[2026-11-02 10:43:01] RuntimeError: Horovod detected that one or more processes exited with non-zero status, "
        "thus causing the job to be terminated. The first process to do so was:",
        "[2026-11-02 10:43:01] Exit code: 1",
        "[2026-11-02 10:43:01] Process name: 3",
        "[2026-11-02 10:43:19] INFO: container failed with non-zero exit code:  (exit code 137)",
    )
    check(log, "worker-exit-unexplained", [3], verdict="undetermined", collateral=["exit code 137"])


USAGE = "train.py: error: unrecognized arguments: --local-rank={}"


def test_an_exit_code_is_no_evidence_beside_the_words_of_the_process():
    log = join(
        *("usage: train.py [-h] [--lr LR]\n" + USAGE.format(r) for r in (1, 0)),
        failed(2, 0, 411),
        summary(exit_entry(0, 0, 0, 2, 411), exit_entry(1, 1, 1, 2, 412)),
    )
    incident = check(log, "config-invalid", [], evidence="unrecognized")
    assert not any("exitcode" in e.text for e in incident.evidence if e.role == "initiating")


MEETS = """Traceback (most recent call last):
  File "tools/train.py", line 61, in main
    dist.init_process_group(backend=backend)
  File "/opt/venv/lib/python3.12/site-packages/torch/distributed/rendezvous.py", line 143, in _env_rendezvous_handler
    store = TCPStore(master_addr, master_port, world_size, start_daemon)
RuntimeError: Address already in use"""


def test_only_rank_0_opens_the_store_of_its_workers():
    check(join("WORLD_SIZE=4", MEETS), "port-in-use", [0], evidence="Address already")


def test_an_agent_that_opens_a_store_is_no_rank():
    agent = MEETS.replace("tools/train.py", "/opt/venv/lib/python3.12/site-packages/torch/distributed/run.py")
    check(join("WORLD_SIZE=4", agent), "port-in-use", None, evidence="Address already")


def test_ranks_that_only_the_summary_of_one_node_lists_are_not_all():
    error = traceback("RuntimeError: CUDA error: invalid device ordinal")
    nodes = summary(exit_entry(0, 2, 0, 1, 411, "n2"), exit_entry(1, 3, 1, 1, 412, "n2"))
    check(join(error, error, failed(1, 0, 411), nodes), "invalid-device-ordinal", [2, 3])


def test_a_host_whose_processes_lost_those_of_another_did_not_fail_like_it():
    missing = "ModuleNotFoundError: No module named 'fast_attention'"
    lost = "RuntimeError: [8] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer"
    check(join(traceback(missing, "10.0.0.4: "), "10.0.0.5: " + lost), "python-import-error", None, evidence=missing)
    check(join(traceback(missing, "10.0.0.4: "), traceback(missing, "10.0.0.5: ")), "python-import-error", [])

DEADLOCK = (
    "lightning_fabric.utilities.exceptions.DeadlockDetectedException: DeadLock detected from rank: 5 \n "
    "Traceback (most recent call last):\n"
    '  File "/opt/run/data.py", line 12, in read\n    return open(name)\n'
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/shards/index.json'"
)


def test_lightning_says_which_rank_it_failed_on_as_it_ends_the_others():
    first = DEADLOCK.partition("\n ")[2]
    log = join(first, "", "During handling of the above exception, another exception occurred:", "", traceback(DEADLOCK))
    check(log, "data-missing", [5], evidence="index.json")


def test_what_a_shell_tells_after_lightning_killed_everybody_is_its_work():
    killed = "/opt/ci/run.sh: line 9:  2504 Killed                  python train.py"
    log = join("Epoch 1: 10/90", child(1, 3, "INFO launcher.py:224 "), killed, "Error: Process completed with exit code 137.")
    check(log, "worker-exit-unexplained", [1], verdict="undetermined", evidence="code 3")


def test_an_exit_code_of_argparse_means_no_refusal_once_the_job_has_made_steps():
    step = "Epoch: [1]  [ {}/1217]  eta: 10:27:20  loss: 0.95 (0.94)  time: 3.5 (0.4)  data: 0.1 (0.1)  max mem: 12482"
    log = join(*(step.format(n) for n in (180, 200, 220)), failed(3, 2, 4105), summary(exit_entry(0, 3, 3, 2, 4105)))
    check(log, "worker-exit-unexplained", [3], verdict="undetermined")


def test_the_same_exit_code_of_a_job_without_a_step_is_a_refusal():
    check(join(failed(3, 2, 4105), summary(exit_entry(0, 3, 3, 2, 4105))), "config-invalid", [], verdict="probable")


def test_an_exception_behind_the_summary_is_not_that_of_its_last_entry():
    entries = [exit_entry(i, r, r, 1, 4101 + r) for i, r in enumerate((0, 1, 2, 3))]
    log = join(failed(0, 1, 4101), summary(*entries), traceback("ValueError: no schedule is called 'cosin'"))
    incident = check(log, "python-exception")
    assert incident.initiating.ranks != (3,)

ALONE = "[2026-11-02 10:00:00,163] [INFO] [launch.py:164:main] dist_world_size={0}"


def test_the_only_process_of_a_job_is_rank_0():
    error = traceback("RuntimeError: The size of tensor a (48) must match the size of tensor b (64) at non-singleton dimension 0")
    check(join(ALONE.format(1), error), "tensor-shape-mismatch", [0])
    check(join(ALONE.format(8), error), "tensor-shape-mismatch", None)


def test_an_engine_that_is_a_world_of_its_own_need_not_be_the_first():
    log = join("INFO parallel_state.py:1088] world_size=1 rank=0 local_rank=0", traceback("KeyError: 'scale'", "(EngineCore_DP2 pid=411) "))
    check(log, "python-exception", None)


def test_composers_launcher_names_the_rank_that_a_signal_ended():
    for code, failure in ((-11, "process-segfault"), (-9, "process-killed"), (-7, "process-sigbus"), (-6, "process-aborted")):
        check(f"ERROR:composer.cli.launcher:Global rank 3 (PID 40177) exited with code {code}\n", failure, [3])


LOST = "[rank{0}]: RuntimeError: One of the subprocesses has abruptly died during map operation.To debug the error, disable multiprocessing."
KILLS = "slurmstepd-n1: error: Detected {0} oom_kill events in StepId=4711.batch. Some of the step tasks have been OOM Killed."


def test_the_one_exit_that_the_launcher_saw_is_not_the_only_process_that_ran_out_of_memory():
    end = join(failed(1, 0, 411), summary(exit_entry(0, 0, 0, 1, 411)), KILLS.format(3))
    check(join(*(LOST.format(r) for r in (1, 2, 0)), end), "host-out-of-memory", [], evidence="oom_kill")
    check(end, "host-out-of-memory", [0], evidence="oom_kill")


def test_what_stands_behind_a_summary_is_not_quoted_in_it():
    log = join(LOST.format(2), failed(1, 2, 413), summary(exit_entry(0, 2, 2, 1, 413), exit_entry(1, 0, 0, 1, 411)), KILLS.format(2))
    incident = check(log, "host-out-of-memory", evidence="oom_kill")
    assert incident.initiating.ranks != (0,)


CLOSING = "W0304 05:06:00.{0:03d}000 400 torch/distributed/elastic/multiprocessing/api.py:858] Sending process {0} closing signal SIGTERM"


def test_whoever_is_stopped_was_not_the_first():
    """All that is left of a failure may be that the launcher stopped the others."""
    ranks = [f"(Worker pid={400 + r}) [rank{r}]: step 12 loss: 2.1" for r in range(4)]
    log = join(*ranks, *(CLOSING.format(p) for p in (400, 401, 403)))
    check(log, "worker-exit-unexplained", [2], verdict="undetermined", evidence="closing signal")
    check(join("torchrun --nproc-per-node 4 train.py", *(CLOSING.format(p) for p in (400, 401, 403))), "worker-exit-unexplained", None)


def test_a_launcher_that_stops_workers_and_starts_them_again_reports_no_failure():
    steps = [f"[rank{r}]: step {s} loss: 2.1" for s in range(20, 24) for r in range(2)]
    check(join("torchrun train.py", CLOSING.format(411), *steps), None)
