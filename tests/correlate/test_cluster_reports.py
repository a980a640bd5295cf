"""What schedulers, MPI launchers and coordinators report: whose exit was the first, who did not answer, who ended the rest."""

import pytest

from .check import check
from .logs import join, traceback


def test_tasks_that_srun_names_together_are_ranks_where_a_host_runs_several():
    log = join(
        "slurmstepd: error: Detected 2 oom_kill events in StepId=812.0. Some of the step tasks have been OOM Killed.",
        "srun: error: gpu-a4: tasks 8,10-11: Out Of Memory",
        "srun: Terminating StepId=812.0",
        "slurmstepd: error: *** STEP 812.0 ON gpu-a1 CANCELLED AT 2025-03-04T05:06:07 ***",
    )
    check(log, "host-out-of-memory", [8, 10, 11], collateral=["CANCELLED AT"])


def test_peers_that_a_coordinator_lists_below_its_report_are_the_lost_ones():
    log = join(
        "F0304 05:06:07.100001    4410 client.h:77] Terminating process because the JAX distributed service detected fatal errors. "
        "absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):",
        "/job:jax_worker/replica:0/task:6",
        "/job:jax_worker/replica:0/task:11",
        "The tasks have crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, eviction) to debug further.",
    )
    check(log, "peer-heartbeat-lost", [6, 11], verdict="undetermined")


def test_a_list_further_down_is_not_the_one_of_the_report():
    log = join(
        "E0304 05:06:07.100001 4410 coordination_service.cc:1] The following tasks are unhealthy (stopped sending heartbeats):",
        "restarting the service",
        "/job:jax_worker/replica:0/task:6",
    )
    check(log, "peer-heartbeat-lost", None)


SHUT_DOWN = "ERROR: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce"


def test_the_first_exit_that_mpirun_names_says_more_than_peers_that_lost_someone():
    log = join(
        SHUT_DOWN,
        SHUT_DOWN,
        "mpirun detected that one or more processes exited with non-zero status, thus causing",
        "the job to be terminated. The first process to do so was:",
        "",
        "  Process name: [[30211,1],5]",
        "  Exit code:    3",
    )
    check(log, "worker-exit-unexplained", [5], verdict="undetermined", collateral=["Horovod has been shut down"])


def test_the_first_exit_names_the_rank_of_an_exception_that_nobody_signed():
    log = join(
        traceback("ValueError: no shard 7"),
        "the job to be terminated. The first process to do so was:",
        "",
        "  Process name: [[30211,1],5]",
        "  Exit code:    1",
    )
    check(log, "python-exception", [5], evidence="no shard 7")


def test_horovodruns_own_exception_only_repeats_the_exits():
    log = join(
        "Process 2 exit with status code 4.",
        "KVStoreServer INFO: KVStore server finishes.",
        traceback(
            "RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be "
            "terminated. The first process to do so was:",
        ),
        "Process name: 2",
        "Exit code: 4",
    )
    check(log, "worker-exit-unexplained", [2], verdict="undetermined", evidence="Process 2 exit")


def test_skypilot_stopped_the_nodes_that_show_137():
    said = "(A worker failed with return code 3, SkyPilot cleaned up the processes on other nodes with return code 137)"
    log = join("(head, rank=0, pid=4410) step 1", f"ERROR: Job 2 failed with return code list: [137, 137, 3] {said}")
    check(log, "worker-exit-unexplained", verdict="undetermined", evidence="return code list")


def test_a_step_that_srun_ends_because_a_process_called_abort_was_not_cancelled():
    log = join(
        "[gpu-a1:4410] *** An error occurred in MPI_Send",
        "[gpu-a1:4410] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,",
        "In: PMI_Abort(16, N/A)",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "slurmstepd: error: *** STEP 348.0 ON gpu-a1 CANCELLED AT 2025-03-04T05:06:07 ***",
        "srun: error: gpu-a2: task 1: Killed",
        "srun: error: gpu-a1: task 0: Exited with exit code 16",
    )
    check(log, "process-aborted", verdict="undetermined", evidence="MPI_", collateral=["CANCELLED AT"])


def test_a_stalled_rank_that_came_after_all_is_no_failure():
    log = join(
        "[1,0]<stderr>:[2025-03-04 05:06:07.100001: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be "
        "reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.",
        "[1,0]<stderr>:Missing ranks:",
        "[1,0]<stderr>:3: [HorovodBroadcast_conv1_kernel_0, HorovodBroadcast_conv1_bias_0 ...]",
        "[1,0]<stdout>:Step\tImg/sec\ttotal_loss",
        "[1,0]<stdout>:10\timages/sec: 1290.1 +/- 3.1 (jitter = 5.0)\t7.991",
        "[1,0]<stdout>:20\timages/sec: 1291.0 +/- 2.2 (jitter = 5.1)\t7.820",
        "[1,0]<stdout>:30\timages/sec: 1290.8 +/- 1.9 (jitter = 4.4)\t7.611",
    )
    check(log, None)
    check(log[: log.index("[1,0]<stdout>")], "rank-missing-collective", [3])


LOST_PARENT = """Exception in thread Thread-4:
Traceback (most recent call last):
  File "/usr/lib/python3.11/threading.py", line 1038, in _bootstrap_inner
    self.run()
  File "/usr/lib/python3.11/multiprocessing/managers.py", line 822, in _callmethod
    kind, result = conn.recv()
  File "/usr/lib/python3.11/multiprocessing/connection.py", line 399, in _recv
    raise EOFError
EOFError"""
STOPPED = "W0304 05:06:07.100000 4400 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 4410 closing signal SIGTERM"


def test_a_helper_that_loses_its_parent_once_the_launcher_stops_processes_is_not_what_failed():
    check(join("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", STOPPED, LOST_PARENT), "cuda-out-of-memory")
    check(join(STOPPED, LOST_PARENT), "worker-exit-unexplained", None, verdict="undetermined", evidence="closing signal")


def test_a_helper_that_loses_its_parent_before_tells_of_a_failure():
    check(join(LOST_PARENT, STOPPED), "python-exception", evidence="EOFError")


@pytest.mark.parametrize("bare", ["asyncio.exceptions.CancelledError", "asyncio.exceptions.TimeoutError"])
def test_of_a_cancelled_wait_the_exception_with_words_is_told(bare):
    log = join(
        traceback(bare, file="/v/asyncio/tasks.py"),
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        traceback("OSError: Timed out during handshake while connecting to tcp://10.0.0.9:8786 after 30 s"),
    )
    check(log, "python-exception", evidence="during handshake")


def test_a_fault_of_a_device_tells_why_a_rank_did_not_come():
    log = join(
        "[E ProcessGroupGloo.cpp:142] Rank 1 failed to pass monitoredBarrier in 100 ms",
        "[W CUDAGuardImpl.h:112] Warning: CUDA warning: uncorrectable NVLink error detected during the execution (function destroyEvent)",
    )
    check(log, "gpu-nvlink-error", evidence="uncorrectable NVLink")


def test_a_crash_that_a_launcher_tells_behind_a_kill_is_of_a_peer():
    mpd = join(
        "rank 5 in job 7  n14_40120   caused collective abort of all ranks",
        "  exit status of rank 5: killed by signal 9 ",
        "rank 1 in job 7  n14_40120   caused collective abort of all ranks",
        "  exit status of rank 1: killed by signal 11 ",
    )
    check(mpd, "process-killed", [5], verdict="undetermined", evidence="signal 9")
    srun = join(
        "srun: error: gpu-a1: task 2: Killed",
        "srun: error: gpu-a3: tasks 5,7: Segmentation fault (core dumped)",
    )
    check(srun, "process-killed", verdict="undetermined")


def test_a_kill_behind_a_crash_is_the_launchers():
    log = join(
        "srun: error: gpu-a3: task 5: Segmentation fault (core dumped)",
        "srun: error: gpu-a1: task 2: Killed",
    )
    check(log, "process-segfault", collateral=["Killed"])


def test_a_crash_that_its_process_prints_counts_although_a_kill_was_told_before():
    log = join(
        "srun: error: gpu-a1: task 2: Killed",
        "[gpu-a3:4410:0:4410] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x28)",
        "srun: error: gpu-a3: task 5: Segmentation fault (core dumped)",
    )
    check(log, "process-segfault")


CLOSED = "torch.distributed.elastic.rendezvous.api.RendezvousClosedError"


def test_a_restart_that_meets_a_closed_rendezvous_comes_after_the_exit():
    log = join(
        "E0213 12:07:20.086000 4410 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 3) local_rank: 5 (pid: 4477) of binary: /opt/venv/bin/python",
        "I0213 12:07:20.086000 4410 torch/distributed/elastic/agent/server/api.py:889] [default] Worker group FAILED. 2/3 attempts left; will restart worker group",
        "I0213 12:07:20.087000 4410 torch/distributed/elastic/agent/server/api.py:677] [default] Rendezvous'ing worker group",
        "Traceback (most recent call last):",
        '  File "/opt/venv/lib/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py", line 676, in run',
        "    raise RendezvousClosedError",
        CLOSED,
    )
    check(log, "worker-exit-unexplained", verdict="undetermined")


def test_a_closed_rendezvous_is_the_failure_of_a_node_that_only_came_late():
    log = join("Traceback (most recent call last):", '  File "/opt/x/dynamic_rendezvous.py", line 676, in run', "    raise RendezvousClosedError()", CLOSED)
    check(log, "rendezvous-closed", None)


def test_composers_launcher_names_the_rank_of_a_crash():
    log = "Building the trainer of torch...\nERROR:composer.cli.launcher:Rank 5 crashed with exit code -11.\nWaiting up to 30 seconds for all training processes to terminate.\n"
    check(log, "process-segfault", [5], evidence="Rank 5 crashed")


def test_what_composer_prints_between_its_marks_is_that_rank_speaking():
    log = "\n".join([
        "ERROR:composer.cli.launcher:Rank 3 crashed with exit code 1.",
        "Global rank 3 (PID 4410) exited with code 1",
        "----------Begin global rank 3 STDOUT----------",
        "starting",
        "----------End global rank 3 STDOUT----------",
        "----------Begin global rank 3 STDERR----------",
        traceback("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.10 GiB of which 1.22 GiB is free."),
        "----------End global rank 3 STDERR----------",
    ])  # fmt: skip
    check(log, "cuda-out-of-memory", [3], evidence="Tried to allocate")


def test_a_taken_port_that_was_only_logged_does_not_explain_a_kill():
    log = "\n".join([
        "[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29400 (errno: 98 - Address already in use).",
        "[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address.",
        "process rank 2 is bound to device 2",
        "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 811 closing signal SIGTERM",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 2 (pid: 812) of binary: /usr/bin/python3",
    ])  # fmt: skip
    check(log, "process-killed", [2], verdict="undetermined", evidence="exitcode: -9")


def test_a_taken_port_explains_an_error_exit():
    log = "\n".join([
        "[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address.",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 812) of binary: /usr/bin/python3",
    ])  # fmt: skip
    check(log, "port-in-use")


def test_the_reason_of_a_container_outranks_that_it_did_not_start():
    log = "\n".join([
        "slurmstepd: error: pyxis: container start failed with error code: 1",
        "slurmstepd: error: pyxis:     nvidia-container-cli: ldcache error: process /sbin/ldconfig.real failed with error code: 1",
        "slurmstepd: error: pyxis: couldn't start container",
        "srun: error: gpu-07: task 0: Exited with exit code 1",
    ])  # fmt: skip
    check(log, "cuda-device-unavailable", evidence="ldcache error", collateral=["couldn't start", "Exited with"])


def test_a_container_that_did_not_start_is_no_unexplained_exit():
    log = "\n".join([
        "slurmstepd: error: pyxis: couldn't start container",
        "slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1",
        "srun: error: gpu-07: task 0: Exited with exit code 1",
    ])  # fmt: skip
    check(log, "config-invalid", evidence="couldn't start container", collateral=["Exited with"])


def test_the_words_of_an_uncaught_exception_are_evidence_too():
    log = "torch job\nterminate called after throwing an instance of 'acme::runtime_error'\n  what():  the ring is not closed\n"
    check(log, "process-aborted", evidence="the ring is not closed")


def test_an_old_watchdog_names_the_rank_that_printed_the_same_error_unsigned():
    log = "\n".join([
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "[E ProcessGroupNCCL.cpp:916] [Rank 2] NCCL watchdog thread terminated with exception: CUDA error: uncorrectable ECC error encountered",
    ])  # fmt: skip
    check(log, "gpu-ecc-error", [2])


def test_steps_of_the_mnist_style_show_that_the_job_went_on():
    log = "\n".join([
        "gpu-1:39:298 [0] include/alloc.h:48 NCCL WARN Cuda failure 'out of memory'",
        *[f"Train Epoch: 1 [{n * 640}/60000 ({n}%)]\tLoss: 0.{90 - n}1250" for n in range(1, 5)],
    ])  # fmt: skip
    check(log, None)


def test_determined_puts_its_container_in_front_of_horovods_words():
    head = "<>        [2026-03-02 10:00:07] 30a87832 || "
    log = "\n".join(head + x for x in [
        "RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be terminated. The first process to do so was:",
        "Process name: 4",
        "Exit code: 1",
    ])  # fmt: skip
    check(log, "worker-exit-unexplained", [4])


def test_paddles_launcher_names_the_ranks_of_a_crash():
    log = "\n".join([
        "W0302 10:00:00.403934 4410 init.cc:205] *** SIGSEGV (@0x0) received by PID 4410 (TID 0x7f6406bd7740) from PID 0; stack trace: ***",
        "ERROR 2026-03-02 10:00:08,061 launch.py:269] ABORT!!! Out of all 8 trainers, the trainer process with rank=[1, 6] was aborted. Please check its log.",
    ])  # fmt: skip
    check(log, "process-segfault", [1, 6])


def test_paddles_launcher_names_the_rank_of_an_exception():
    log = "\n".join([
        traceback("ValueError: (InvalidArgument) the axis is out of range", code="paddle.sum(x)"),
        "LAUNCH ERROR 2026-03-02 10:00:01,385 Container failed !!!",
        "Container rank 3 status failed cmd ['/usr/bin/python3', '-u', 'train.py'] code 1 log log/workerlog.3",
    ])  # fmt: skip
    check(log, "python-exception", [3])


def test_mpirun_puts_a_time_in_front_of_its_tags():
    log = "Mon Mar  2 10:00:00 2026[1,7]<stderr>:./train.sh: line 207: 10558 Segmentation fault      python train.py\n"
    check(log, "process-segfault", [7])


def test_a_scheduler_reports_memory_after_the_program_that_missed_a_worker():
    log = join(
        traceback("RuntimeError: DataLoader worker (pid 40177) is killed by signal: Killed. ", code="data = next(batches)"),
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=812.0. Some of your processes may have been killed by the cgroup out-of-memory handler.",
    )
    check(log, "host-out-of-memory", None)


def test_a_dated_report_of_memory_from_later_does_not_explain_a_lost_worker():
    log = join(
        "2026-03-02 10:00:00,100 ERROR train: DataLoader worker (pid 40177) is killed by signal: Segmentation fault.",
        "2026-03-02 10:09:00,100 ERROR kernel: Out of memory: Killed process 511 (tensorboard) total-vm:10kB, anon-rss:10kB",
    )
    check(log, "dataloader-worker-crash", None)


def test_a_node_that_ray_lost_explains_the_actor_that_was_on_it():
    log = join(
        "(TrainController pid=4410) The actor died unexpectedly before finishing this task.",
        "(TrainController pid=4410) \tclass_name: RayTrainWorker",
        "(TrainController pid=4410) The actor died because its node has died. Node Id: 5f3c2e1a",
        "(TrainController pid=4410) \tthe actor's node was terminated unexpectedly: health check failed due to missing too many heartbeats",
    )
    check(log, "node-failure", None)


def test_ascends_error_line_signs_the_reason_below_it():
    log = join(
        traceback("RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64", code="dist.barrier()").rstrip("\n"),
        "[ERROR] 2026-03-02-10:00:00 (PID:4410, Device:5, RankID:5) ERR02200 DIST call hccl api failed.",
        "EJ0001: 2026-03-02-10:00:00.167.645 Failed to initialize the HCCP process. Reason: Maybe the last training process is running.",
    )
    check(log, "cuda-device-unavailable", [5])


def test_ascends_error_line_without_a_rank_signs_nothing():
    log = join(
        "[ERROR] 2026-03-02-10:00:00 (PID:4410, Device:0, RankID:-1) ERR02200 DIST call hccl api failed.",
        "EJ0003: [PID: 4410] 2026-03-02-10:00:00.816.428 Failed to bind the IP port. Reason: The IP address and port have been bound already.",
    )
    check(log, "port-in-use", None)


def test_a_crash_that_mpich_names_by_its_code_is_no_unexplained_exit():
    log = join(
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "=   PID 4410 RUNNING AT gpu-01",
        "=   EXIT CODE: 134",
        "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)",
    )
    check(log, "process-aborted", None, verdict="undetermined")


def test_srun_without_the_protocol_of_the_mpi_library_is_a_configuration():
    log = join(
        'The application appears to have been direct launched using "srun",',
        "but OMPI was not built with SLURM's PMI support and therefore cannot",
        "execute. There are several options for building PMI support under",
        "*** An error occurred in MPI_Init",
        "*** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,",
    )
    check(log, "config-invalid", [])


def test_skypilots_rank_is_that_of_a_node():
    error = "KeyError: 'labels'"
    check(traceback(error, "(worker1, rank=1, pid=411, ip=10.0.0.4) [rank9]: "), "python-exception", [9])
    check(join("(head, rank=0, pid=411) step 1", traceback(error, "(worker2, rank=2, pid=412, ip=10.0.0.5) ")), "python-exception", None)
