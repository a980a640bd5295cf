"""What schedulers, MPI launchers and coordinators report: whose exit was the first, who did not answer, who ended the rest."""

import pytest

from .check import check
from .logs import traceback


def join(*lines):
    return "\n".join(lines) + "\n"


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
MPICH = "MPICH ERROR [Rank {}] [job id 4410.0] [Mon Mar  2 10:00:00 2026] [n{}] - Abort(70891919) (rank {} in comm 0): {}"
STACK = "Fatal error in PMPI_Gatherv: Other MPI error, error stack:"
PROTECTION = "MPIDI_OFI_handle_cq_error(1312): OFI poll failed (ofi_events.c:1314:MPIDI_OFI_handle_cq_error:Input/output error - local protection error)"


def test_the_stack_behind_an_mpi_error_is_of_the_rank_that_the_error_names():
    log = join(
        MPICH.format(21, 7, 21, STACK), "MPIR_CRAY_Gatherv(353).........: ", PROTECTION,
        MPICH.format(5, 7, 5, STACK), PROTECTION, "n7: rank 21 exited with code 255", "n2: rank 0 died from signal 15",
    )  # fmt: skip
    check(log, "nccl-ib-fault", [5, 21], evidence="OFI poll failed", collateral=["exited with code 255"])


def test_the_one_rank_that_mpi_ended_printed_what_its_transport_said_before():
    log = join(
        "[1772445600.440695] [n7:11838:0] ib_md.c:325 UCX  ERROR ibv_reg_mr(address=0xab, length=26400, access=0xf) failed: Cannot allocate memory",
        MPICH.format(153, 7, 153, "Fatal error in PMPI_Isend: Other MPI error, error stack:"),
    )
    check(log, "nccl-memory-registration-failed", [153], evidence="ibv_reg_mr")


def test_mpi_names_the_rank_in_the_world_and_that_in_a_communicator_is_another():
    reason = "Fatal error in PMPI_Recv: Other MPI error, error stack:"
    check(f"Abort(1) on node 3 (rank 0 in comm 1140850688): {reason}", "process-aborted", [3], verdict="undetermined")
    check(f"Abort(1) (rank 0 in comm 1140850688): {reason}", "process-aborted", None, verdict="undetermined")


def test_a_node_of_skypilot_is_no_rank():
    log = join(
        "(head, rank=0, pid=4410) step 1", "(worker1, rank=1, pid=4510, ip=10.2.0.9) [rank11]: Traceback (most recent call last):",
        '(worker1, rank=1, pid=4510, ip=10.2.0.9) [rank11]:   File "/srv/train.py", line 4, in <module>',
        "(worker1, rank=1, pid=4510, ip=10.2.0.9) [rank11]: ValueError: no shard of split 'val'",
        "ERROR: Job 2 failed with return code list: [137, 1]",
    )  # fmt: skip
    check(log, "python-exception", [11], evidence="ValueError")


def test_a_file_server_that_answers_again_soon_is_no_failure():
    check(join("[Mon Mar  2 10:00:00 2026] nfs: server filer7 not responding, still trying", "[Mon Mar  2 10:00:04 2026] nfs: server filer7 OK"), None)


def test_a_file_server_that_was_away_for_long_stays_a_failure():
    log = join("[Mon Mar  2 10:00:00 2026] nfs: server filer7 not responding, still trying", "[Mon Mar  2 10:40:00 2026] nfs: server filer7 OK")
    check(log, "filesystem-fault", evidence="not responding")


def test_that_another_file_server_answers_says_nothing():
    log = join("[ 4410.100000] nfs: server filer7 not responding, still trying", "[ 4411.100000] nfs: server filer8 OK")
    check(log, "filesystem-fault", evidence="not responding")


def test_the_driver_says_why_a_device_is_busy():
    log = join(
        "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "[Mon Mar  2 10:00:00 2026] NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) "
        "returned from status @ kernel_channel.c:90",
    )
    check(log, "gpu-reset-required", evidence="Reset required")


DOWN, UP = "[   41.100000] mlx5_core 0000:18:00.0 ens7np0: Link down", "[   43.200000] mlx5_core 0000:18:00.0 ens7np0: Link up"


def test_a_link_that_comes_up_again_is_no_failure():
    check(join(DOWN, UP), None)


def test_a_link_that_another_one_outlives_stays_down():
    check(join(DOWN, UP.replace("18:00", "3b:00")), "nccl-ib-fault", evidence="Link down")


def test_a_link_that_was_away_for_a_moment_counts_where_the_network_failed_for_a_rank():
    lost = "[rank3]: RuntimeError: [/src/gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.2.0.9]:4410"
    check(join(DOWN, UP, lost), "nccl-ib-fault", evidence="Link down")


def test_what_a_switch_survived_is_no_failure():
    log = join(
        "[   38.178720] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt",
        "[   38.180708] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 Sub-engine instance 00",
    )
    check(log, None)
STEPS = join(*(f"2026-03-02T10:0{n}:00 INFO step: {n}0  loss: 2.{9 - n}  tps: 4100" for n in range(1, 9)))
REPLACED = (
    "[2026-03-02 10:00:08,459] [INFO] [reporter.py:68:report] [2026-03-02, 10:00:08][warn][train-edljob-worker-7][status_update]"
    '[Running to Failed][{"from_state": "Running", "to_state": "Failed", "node": "train-edljob-worker-7", "exit reason": "Deleted"}]'
)
NO_QUORUM = "torchft::lighthouse: 2026-03-02T10:00:55.422+00:00 - INFO start: No quorum, only have 1 participants, need 2"
NO_PING = "ping RPC timeout from x1203c6s4b0n0.hostmgmt after 120s"


def test_a_node_that_pals_no_longer_hears_failed():
    check(STEPS + join(NO_PING), "node-failure", None, verdict="probable")


def test_a_worker_that_was_replaced_is_got_past():
    check(join(REPLACED) + STEPS, None)
    check(STEPS + join(REPLACED), "worker-exit-unexplained", None, verdict="undetermined")


def test_a_quorum_that_came_late_is_got_past():
    check(join(NO_QUORUM, NO_QUORUM) + STEPS, None)
    check(join(NO_QUORUM, NO_QUORUM), "rendezvous-timeout", verdict="undetermined")
def hydra(rank: int, end: str) -> str:
    bar = "=" * 83
    title = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"
    return join(bar, title, f"=   RANK {rank} PID {7000 + rank} RUNNING AT gpu-0{rank // 2}", f"=   {end}", bar)


KILLED = "KILLED BY SIGNAL: 9 (Killed)"


def test_of_intel_mpis_report_the_rank_that_was_not_merely_killed_began():
    log = join(hydra(0, KILLED), hydra(1, KILLED), hydra(2, "KILLED BY SIGNAL: 11 (Segmentation fault)"), hydra(3, KILLED))
    check(log, "process-segfault", [2], evidence="SIGNAL: 11")


def test_ranks_that_intel_mpi_only_killed_do_not_sign_the_fault_of_another():
    log = join("CUDA Error: an illegal memory access was encountered", hydra(0, KILLED), hydra(1, KILLED), hydra(2, KILLED))
    check(log, "cuda-illegal-memory-access", None)


def test_a_program_that_hydra_cannot_start_is_a_configuration():
    log = join(
        "[0] [proxy:0:0@gpu-01] HYD_spawn (../libhydra/spawn/intel/hydra_spawn.c:128): "
        "execvp error on file /opt/job/bin/train (No such file or directory)",
        hydra(0, KILLED),
    )
    check(log, "config-invalid", [], evidence="execvp")


def test_a_report_of_the_device_under_mindspores_heading_says_what_the_exception_hands_on():
    log = join(
        "Traceback (most recent call last):",
        '  File "/opt/job/train.py", line 61, in main',
        "    init()",
        '  File "/opt/venv/lib/python3.9/site-packages/mindspore/communication/management.py", line 161, in init',
        "    init_hccl()",
        "RuntimeError: Ascend collective communication initialization failed.",
        "",
        "----------------------------------------------------",
        "- Ascend Error Message:",
        "----------------------------------------------------",
        "EI0004: The ranktable or rank is invalid,Reason:[The number of servers is not consistent]. "
        "Please check the configured ranktable. [/opt/job/hccl.json]",
    )
    check(log, "config-invalid", [], evidence="EI0004")


def test_what_ran_on_the_stream_is_told_by_the_device_and_not_by_the_code_of_the_call():
    log = join(
        "RuntimeError: NPU function error: aclrtSynchronizeStreamWithTimeout, error code is 507011",
        "EE9999: The error from device(chipId:5, dieId:0), serial number is 4, event wait timeout occurred during task execution, "
        "stream_id:31, sq_id:31, task_id:402, event_id=12, timeout=1980s.",
        "        synchronize stream failed, runtime result = 507011[FUNC:ReportCallError][FILE:log_inner.cpp][LINE:161]",
    )
    check(log, "collective-timeout", None, verdict="undetermined", evidence="event wait timeout")


def test_a_failed_condition_of_oneccl_comes_before_the_engine_that_died_of_it():
    log = join(
        "2026:03:02-10:00:00:(4410) |CCL_ERROR| comm_selector.cpp:57 create_comm_impl: condition ccl::global_data::get().ze_data failed",
        "(EngineCore_0 pid=4410) ERROR 03-02 10:00:00 [core.py:684] EngineCore failed to start.",
    )
    check(log, "nccl-internal-error", None, verdict="undetermined", evidence="CCL_ERROR")


def test_a_node_whose_shepherd_died_comes_before_the_ranks_that_the_launcher_ended():
    log = join(
        "step 12 loss 2.41",
        "x3104c5s4b0n0.hsn.example: shepherd died from signal 9",
        "x3101c1s6b0n0.hsn.example: rank 14 died from signal 15",
    )
    incident = check(log, "node-failure", None, verdict="probable", evidence="shepherd died")
    assert "x3104c5s4b0n0.hsn.example" in incident.summary


def test_a_length_that_does_not_fit_in_the_bootstrap_leaves_the_reason_open():
    log = join(
        "gpu-02:4827:6900 [4] bootstrap.cc:77 NCCL WARN Message truncated : received 1024 bytes instead of 256",
        "gpu-02:4827:6900 [4] NCCL INFO bootstrap.cc:554 -> 3",
        "gpu-02:4827:6900 [4] NCCL INFO group.cc:64 -> 3 [Async thread]",
    )
    check(log, "nccl-internal-error", None, verdict="undetermined")
