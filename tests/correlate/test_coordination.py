"""Who is blamed in hangs, timeouts and lost peers: facts that real excerpts taught."""

from .check import check
from .logs import failed, join, timeout, traceback


def test_an_operation_cut_off_at_the_end_of_an_excerpt_is_no_mismatch():
    whole = [timeout(r, 700) for r in (0, 1, 2, 3)]
    log = join(*whole[:3]) + whole[3][: whole[3].index("OpType=") + len("OpType=ALLR")]
    check(log, "collective-timeout", verdict="undetermined")


def test_tasks_that_srun_saw_end_on_one_host_are_ranks():
    log = join(
        "srun: error: gpu-04: task 9: Segmentation fault",
        "srun: error: gpu-04: task 10: Segmentation fault",
        "2026-11-02 10:06:30.684022: E xla/coordination_service.cc:956] /job:jax_worker/replica:0/task:9 has been set to ERROR in "
        "coordination service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:9 heartbeat timeout.",
    )
    check(log, "process-segfault", [9, 10], evidence="Segmentation fault", collateral=["heartbeat timeout"])


def test_one_task_a_host_may_be_a_launcher_and_names_no_rank():
    log = join("srun: error: gpu-04: task 9: Segmentation fault", "srun: error: gpu-05: task 10: Segmentation fault")
    check(log, "process-segfault", None)


def test_the_task_that_stopped_its_heartbeats_is_the_first_and_not_a_victim():
    log = join(
        "I1102 16:00:39.451247 1406417 train.py:501] Training: step 198",
        "2026-11-02 16:03:15.140058: E xla/coordination_service.cc:954] /job:jax_worker/replica:0/task:5 has been set to ERROR in "
        "coordination service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:5 heartbeat timeout.",
    )
    check(log, "peer-heartbeat-lost", [5], verdict="undetermined")


def test_a_bare_name_torn_off_a_glued_line_is_no_failure_of_its_own():
    glued = "RuntimeErrorRuntimeErrorRuntimeError: RuntimeError: : : [2] is setting up NCCL communicator and retrieving ncclUniqueId "
    log = join("RuntimeError", glued + "from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout")
    check(log, "collective-timeout", verdict="undetermined", evidence="Socket Timeout")


def test_a_bare_name_at_the_end_of_a_traceback_still_is_the_failure():
    check(join(traceback("NotImplementedError", "[rank1]: ")), "python-exception", [1], evidence="NotImplementedError")


def test_a_notice_that_prrte_broke_in_two_still_names_the_rank():
    log = join(
        "frame #4: c10d::ProcessGroupNCCL::WorkNCCL::isCompleted() + 0x58 (0x14 in /opt/venv/lib/libtorch_cuda.so)",
        "prterun noticed that process rank 5 with PID 0 on node gpu-04 exited on",
        "signal 6 (Aborted).",
    )
    check(log, "process-aborted", [5], verdict="undetermined")


def test_a_failed_hip_call_on_one_device_outranks_what_the_proxy_of_another_says():
    log = join(
        "gpu-04:31965:31971 [0] /opt/rccl/src/proxy.cc:1190 NCCL WARN Socket recv failed while polling for opId=0x7d9e",
        "gpu-04:31965:31965 [1] NCCL INFO /opt/rccl/src/group.cc:437 -> 1",
        "gpu-04: Test NCCL failure common.cu.cpp:1291 'unhandled cuda error (run with NCCL_DEBUG=INFO for details) / '",
    )
    check(log, "nccl-cuda-failure", verdict="undetermined", evidence="unhandled cuda error")


def test_a_fault_of_a_program_that_is_not_of_the_job_yields_to_a_fault_of_the_gpu():
    log = join(
        "[31387.607699] indexer[33417]: segfault at 656c6c6f ip 000055d26855077c sp 00007ffff2eeaab0 error 4 in indexer[55d268550000+1000]",
        "[31483.897230] NVRM: Xid (PCI:0000:18:00): 79, pid=33750, name=python, GPU has fallen off the bus.",
    )
    check(log, "gpu-fell-off-bus", evidence="Xid")


def test_the_last_line_of_a_message_of_several_lines_proves_more_than_its_first():
    log = join(
        "[rank1]:[E1102 21:17:08.996319560 ProcessGroupNCCL.cpp:552] [Rank 1] Collective WorkNCCL(SeqNum=335, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network "
        "error, NCCL version 2.21.5",
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        "Last error:",
        "socketProgress: Connection closed by remote peer gpu-09<32926>",
    )
    incident = check(log, "nccl-remote-error", verdict="undetermined", evidence="Connection closed by remote peer")
    assert not any("async exception" in e.text for e in incident.evidence if e.role == "initiating")


def test_an_entry_of_the_summary_on_one_line_gives_rank_host_and_exit():
    entry = (
        "[{0}]: time : 2026-11-02_10:20:00 host : gpu-02 rank : {1} (local_rank: {0}) "
        "exitcode : {2} (pid: {3}) error_file: <N/A> traceback : {4}"
    )
    log = join(
        "train.py FAILED",
        entry.format(0, 8, -15, 310, "Signal 15 (SIGTERM) received by PID 310"),
        entry.format(1, 9, -9, 311, "Signal 9 (SIGKILL) received by PID 311"),
        "Root Cause (first observed failure):",
        entry.format(1, 9, -9, 311, "Signal 9 (SIGKILL) received by PID 311"),
    )
    incident = check(log, "process-killed", [9])
    assert incident.initiating.hosts == ("gpu-02",)


def test_an_exception_hands_on_what_the_device_reports_behind_it():
    log = join(
        "Traceback (most recent call last):",
        '  File "serve.py", line 404, in step',
        "    dist.broadcast_object_list(inputs)",
        "RuntimeError: ACL stream synchronize failed.",
        "EI9999: Inner Error!",
        "EI9999: 2026-11-02-10:42:00.358.410  The error from device(chipId:3, dieId:0), serial number is 9, "
        "hccl fftsplus task timeout occurred during task execution, stream_id:5, sq_id:5, task_id:38827",
    )
    check(log, "collective-timeout", verdict="undetermined", evidence="hccl fftsplus task timeout")


def test_an_exception_without_a_report_behind_it_stands_for_itself():
    log = join(
        "Traceback (most recent call last):",
        '  File "serve.py", line 404, in step',
        "    dist.broadcast_object_list(inputs)",
        "RuntimeError: ACL stream synchronize failed.",
        "        Rectify the fault based on the error information in the ascend log.",
    )
    check(log, "python-exception")


def test_the_proxy_that_passes_a_lost_peer_on_is_no_internal_error():
    log = join(
        "gpu-07:4410:4702 [1] misc/socket.cc:518 NCCL WARN Net : Call to recv from 10.0.0.9<58355> failed : Broken pipe",
        "gpu-07:4410:4702 [1] NCCL INFO misc/socket.cc:535 -> 6",
        "gpu-07:4410:4702 [1] proxy.cc:1119 NCCL WARN [Proxy Service 9] Failed to execute operation Connect from rank 9, retcode 6",
    )
    check(log, "nccl-remote-error", verdict="undetermined", evidence="Broken pipe")


def test_a_long_kernel_log_in_which_only_the_driver_speaks_of_gpus_is_one_of_ours():
    kernel = "\n".join(f"[{100 + i}.000001] systemd[1]: Started Session {i} of user root." for i in range(400))
    log = join(kernel, "[520.000001] NVRM: GPU 0000:19:00.0: RmInitAdapter failed! (0x31:0xffff:2477)")
    check(log, "gpu-reset-required", evidence="RmInitAdapter")


STALL = (
    "[2026-11-02 17:25:45.673562: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered "
    "or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds."
)


def test_a_wait_that_ended_before_the_job_did_is_none():
    end = ':::MLLOG {"namespace": "", "time_ms": 1621297664645, "key": "run_stop", "metadata": {"status": "success"}}'
    check(join(STALL, "Missing ranks:", "13: [horovod_allreduce.0:176_10of61]", end), None)
    check(join(STALL, "Missing ranks:", "13: [horovod_allreduce.0:176_10of61]"), "collective-timeout")


def test_the_end_of_a_job_is_seen_before_a_long_teardown():
    batch = "2026-11-02 00:{0:02d}:{1:02d} Node[0] Epoch[3] Batch [{2}-{3}]\tSpeed: 1650.0 samples/sec"
    steps_ = "\n".join(batch.format(i // 60, i % 60, i, i + 1) for i in range(900))
    gone = "\n".join(f"gpu-{i % 40:02d}:4410:{i} [{i % 8}] NCCL INFO comm 0x1472ab29 rank {i} - Destroy COMPLETE" for i in range(6000))
    tail = "\n".join("RESULT,IMAGE_CLASSIFICATION,,536,root,2026-11-02 12:29:46 PM" for _ in range(20))
    check(join(steps_, "Training complete", gone, tail), None)


def barrier(reporter, joined, world=4, prefix=""):
    return traceback(
        f"RuntimeError: Timed out initializing process group in store based barrier on rank: {reporter}, for key: "
        f"store_based_barrier_key:1 (world_size={world}, worker_count={joined}, timeout=0:30:00)",
        prefix,
    )


def test_whoever_reports_that_others_did_not_come_is_not_the_one_that_failed():
    ended = failed(1, 0, 5876)
    check(join(barrier(1, 8, world=2), barrier(0, 8, world=2), ended), "rendezvous-timeout", None)
    check(join(barrier(2, 2, prefix="[rank2]: "), ended), "rendezvous-timeout", None)


def test_the_one_that_is_missing_among_as_many_reporters_as_came_is_named():
    check(join(*(barrier(r, 3) for r in (0, 1, 3)), failed(1, 0, 5876)), "rendezvous-timeout", [2])


STALL = (
    "WARNING: One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks "
    "for more than 60 seconds. This may indicate that different ranks are trying to submit different tensors or that only subset of ranks is "
    "submitting tensors, which will cause deadlock. Stalled ops:"
)


def test_a_stall_after_which_the_reporting_rank_makes_steps_is_over():
    log = join(
        f"[0]<stderr>:{STALL}", "[0]<stderr>:HorovodAllreduce_grads_0 [missing ranks: 3]",
        *(f"[0]<stdout>:INFO:tensorflow:loss = 1.{n}, step = {n}00 (0.214 sec)" for n in range(4, 8)),
    )  # fmt: skip
    check(log, None)


def test_a_stall_behind_which_nothing_follows_accuses_the_missing_rank():
    log = join(
        *(f"[0]<stdout>:INFO:tensorflow:loss = 1.{n}, step = {n}00 (0.214 sec)" for n in range(4, 8)),
        f"[0]<stderr>:{STALL}", "[0]<stderr>:HorovodAllreduce_grads_0 [missing ranks: 3]",
    )  # fmt: skip
    check(log, "rank-missing-collective", [3])


def test_the_rank_that_lost_a_host_says_more_than_the_engine_that_reports_its_exception():
    log = join(
        "[2026-11-02 10:06:30 TP9] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/opt/sglang/utils/common.py", line 1455, in broadcast_pyobj', "    work.wait()",
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Read error [10.0.0.7]:41234: Connection timed out",
    )  # fmt: skip
    check(log, "gloo-connection-closed", verdict="undetermined", evidence="Connection timed out")


def test_the_ranks_that_are_in_no_list_of_those_that_came_are_the_missing_ones():
    log = join(f"{STALL} allreduce.a.weight [ready ranks: 4, 1, 2, 5], allreduce.a.bias [ready ranks: 5, 2, 1, 4], allreduce.b.bias [ready ranks: 1, 4]")
    check(log, "rank-missing-collective", [0, 3], verdict="probable", evidence="ready ranks")


def test_two_stalled_operations_that_share_no_rank_are_a_mismatch():
    log = join(f"{STALL} HorovodAllreduce_loss_0 [ready ranks: 2], HorovodAllreduce_grads_0 [ready ranks: 0, 3, 1], HorovodAllreduce_grads_1 [ready ranks: 0, 1]")
    check(log, "collective-mismatch", [2], verdict="probable")


def test_lists_of_one_operation_a_line_are_read_together():
    log = join(STALL, "HorovodAllreduce_grads_0 [ready ranks: 0, 3]", "HorovodAllreduce_grads_1 [ready ranks: 3, 0, 2]")
    check(log, "rank-missing-collective", [1], verdict="probable", evidence="ready ranks")


def test_two_stalled_operations_with_as_many_ranks_each_name_nobody():
    check(join(f"{STALL} HorovodAllreduce_loss_0 [ready ranks: 1], HorovodAllreduce_grads_0 [ready ranks: 0]"), "collective-mismatch", None)


PLAIN = "Rank {rank}"


def test_the_second_half_of_a_ranks_report_is_its_own_although_nobody_signed_it():
    ended = (
        "bench.node-c [stderr] [rank6]:[E1102 10:09:35.2 ProcessGroupNCCL.cpp:1515] [PG 0 (default_pg) Rank 6] Process group watchdog thread terminated \n"
        "with exception: [Rank 6] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42, OpType=REDUCE, NumelIn=1024, NumelOut=1024, "
        "Timeout(ms)=600000) ran for 600022 \nmilliseconds before timing out."
    )
    log = join(*(f"bench.node-d [stderr] {timeout(r, 580, group=PLAIN)}" for r in (8, 9, 11)), ended)
    check(log, "collective-mismatch", [6])


def waits(ranks, joined, world=4, key="store_based_barrier_key:1"):
    return [
        f"INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: {r}, "
        f"key: {key} (world_size={world}, worker_count={joined}, timeout=0:30:00)"
        for r in ranks
    ]


def test_a_log_that_ends_in_waiting_for_members_names_the_one_that_did_not_come():
    log = join(*waits([0, 3, 1], 3), *waits([3, 0, 1], 3))
    check(log, "rendezvous-timeout", [2], verdict="undetermined", missing="did not arrive")


def test_more_members_than_the_barrier_is_for_never_meet():
    check(join(*waits([0, 0, 0], 6)), "rendezvous-timeout", None, verdict="undetermined")


def test_a_slow_start_is_no_failure():
    done = "INFO:torch.distributed.distributed_c10d:Rank 0: Completed store-based barrier for key:store_based_barrier_key:1 with 4 nodes."
    check(join(*waits([0, 3, 1], 3)), None)
    check(join(*waits([0, 3, 1], 3), *waits([3, 0, 1], 3), done), None)
    again = waits([0, 1], 3, key="store_based_barrier_key:2")
    check(join(*waits([0, 3], 2), *waits([3, 0], 2), done, *again, *again), "rendezvous-timeout", evidence="barrier_key:2")


def test_what_nccl_says_of_a_refused_call_explains_its_class_and_the_class_alone_proves_nothing():
    error = "torch.distributed.DistBackendError: NCCL error in: /src/torch/csrc/distributed/c10d/NCCLUtils.hpp:317, invalid usage, NCCL version 2.21.5"
    refused = [f"[rank{r}]: {error}" for r in (1, 2)]
    meaning = "[rank{}]: ncclInvalidUsage: This usually reflects invalid usage of NCCL library."
    told = "[rank{}]: Duplicate GPU detected : rank {} and rank {} both on CUDA device b1000"
    log = join(*refused, meaning.format(1), "[rank1]: Last error:", told.format(1, 1, 2), meaning.format(2), "[rank2]: Last error:", told.format(2, 2, 1))
    check(log, "duplicate-gpu", [1, 2], evidence="both on CUDA device", collateral=["reflects invalid usage"])
    check(join(*refused, meaning.format(1)), "nccl-internal-error", verdict="undetermined", missing="NCCL WARN")


def test_a_barrier_that_counts_more_than_there_are_misses_nobody_for_sure():
    line = "RuntimeError: Timed out initializing process group in store based barrier on rank: 1, for key: store_based_barrier_key:1 (world_size={}, worker_count={}, timeout=0:30:00)\n"
    check(line.format(2, 4), "rendezvous-timeout", None, verdict="probable")
    check(line.format(4, 3), "rendezvous-timeout", None, verdict="established")


def test_an_abort_that_the_runtime_and_the_shell_both_tell_of_is_explained_by_what_the_exception_said():
    log = join(
        "terminate called after throwing an instance of 'gloo::IoException'",
        "  what():  [/opt/build/third_party/gloo/gloo/transport/tcp/pair.cc:724] connect [10.0.0.7]:3210: Connection refused",
        "Aborted (core dumped)",
    )
    check(log, "gloo-connection-closed", None, verdict="undetermined", evidence="refused")
