"""Who failed first: each test states one fact about logs that would blame a victim if it were missed."""

from .check import check
from .logs import (
    dump_signal,
    exit_entry,
    failed,
    gloo_closed,
    join,
    nccl_init,
    sigterms,
    stamp,
    status,
    steps,
    summary,
    timeout,
    traceback,
)


def test_a_local_exception_outranks_the_closed_connections_it_causes():
    log = join(steps(1, 5), gloo_closed(0), traceback("KeyError: 'label'", "[rank3]: "), gloo_closed(1), gloo_closed(2))
    check(log, "python-exception", [3], verdict="established", evidence="KeyError", collateral=["Connection closed by peer"])


REFUSED = "ncclRemoteError: Last error: socketPollConnect: connect to 10.0.0.7<51922> returned Connection refused, exceeded error retry count after 35 attempts"
NO_MASTER = "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (gpu-01, 29500)."


def test_whoever_raised_before_no_longer_listens():
    log = join(traceback("KeyError: 'optim'", "0: "), traceback(NO_MASTER, "1: "), traceback(NO_MASTER, "2: "))
    check(log, "python-exception", [0], verdict="established", evidence="KeyError", collateral=["1: torch.distributed.DistNetworkError"])
    log = join(traceback("KeyError: 'label'", "[rank3]: "), *(traceback(REFUSED, f"[rank{r}]: ") for r in (0, 1)))
    check(log, "python-exception", [3], evidence="KeyError", collateral=["[rank0]: ncclRemoteError"])


def test_an_exception_behind_an_unreachable_peer_follows_it():
    log = join(*(traceback(REFUSED, f"[rank{r}]: ") for r in (0, 1)), traceback("KeyError: 'label'", "[rank3]: "))
    check(log, "nccl-network-unreachable", evidence="Connection refused")


def test_the_rank_below_the_stuck_sequence_number_is_the_suspect():
    log = join(*(timeout(r, 700 + r / 10) for r in (0, 1, 3)), *(status(r, 701, 43, 41) for r in (0, 1, 3)), dump_signal(2, 702, 41, 41))
    check(log, "rank-missing-collective", [2], verdict="established", evidence="Last enqueued NCCL work: 41", collateral=["[rank0]"])


def test_run_ahead_of_one_collective_accuses_nobody():
    log = join(*(timeout(r, 700) for r in range(4)), *(status(r, 701, 43 + r % 2, 41) for r in range(4)))
    incident = check(log, "collective-timeout", verdict="undetermined")
    assert incident.missing


def test_the_rank_that_reports_no_timeout_is_the_suspect():
    log = join(steps(1, 3, ranks=range(8)), *(timeout(r, 900 + r / 10) for r in range(8) if r != 5))
    check(log, "rank-missing-collective", [5], verdict="probable")


def test_torchruns_first_observed_failure_is_a_victim_in_a_hang():
    log = join(
        steps(1, 3, ranks=range(4)),
        *(timeout(r, 700) for r in (0, 1, 2)),
        sigterms(103),
        failed(-6, 0, 100),
        summary(exit_entry(0, 0, 0, -6, 100), exit_entry(1, 1, 1, -6, 101), exit_entry(2, 2, 2, -6, 102)),
    )
    check(log, "rank-missing-collective", [3])


def own_dump(rank, second, enqueued, completed):
    return dump_signal(rank, second, enqueued, completed).replace("from  rank 1 ", "from this local rank ")


def test_a_rank_that_dumps_for_its_own_timeout_waits_for_what_it_has_not_completed():
    log = join(own_dump(0, 700, 51, 50), own_dump(1, 700, 51, 50), own_dump(2, 700, 52, 50), dump_signal(3, 701, 50, 50, detector=2))
    check(log, "rank-missing-collective", [3], evidence="[rank3]")


def test_a_rank_that_dumps_with_nothing_in_flight_accuses_nobody():
    log = join(own_dump(4, 700, 62, 62), *(dump_signal(r, 701, 62, 62, detector=4) for r in (0, 1, 2)))
    check(log, "collective-timeout", verdict="undetermined")


def test_the_one_rank_that_went_on_where_all_others_stopped_at_one_collective_is_the_odd_one():
    log = join(own_dump(5, 700, 390, 116), *(dump_signal(r, 701, 116, 116, detector=5) for r in (0, 2, 3)))
    check(log, "collective-mismatch", [5], verdict="probable", evidence="[rank5]")


def gathered(rank, members):
    work = f"WorkNCCL(SeqNum=42, OpType=ALLGATHER, NumelIn=8, NumelOut={8 * members}, Timeout(ms)=600000) ran for 600060 milliseconds before timing out."
    return f"[rank{rank}]:[E{stamp(600)} ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: {work}"


def test_the_sizes_of_a_gathering_tell_how_many_ranks_an_excerpt_leaves_out():
    check(join(gathered(1, 3), gathered(2, 3)), "rank-missing-collective", [0])
    check(join(gathered(1, 8), gathered(2, 8)), "collective-timeout", None, verdict="undetermined")


def test_a_rank_whose_report_lost_its_prefix_is_not_absent():
    torn = timeout(1, 700).split("]: ", 1)[-1].split("cpp:632] ", 1)[1]
    log = join("cpp:632] " + torn, *(timeout(r, 700) for r in (0, 2, 3)))
    check(log, "collective-timeout", verdict="undetermined")


def test_reports_that_a_terminal_broke_in_two_are_compared():
    def broken(line, at):
        where = line.index(at) + len(at) // 2
        return line[:where] + "\n" + line[where:]

    log = join(*(broken(timeout(r, 700), "OpType") for r in (0, 2, 3)), broken(timeout(1, 700, numel=4096), "NumelIn"))
    check(log, "collective-mismatch", [1])


def test_another_size_at_the_same_sequence_number_is_a_mismatch():
    log = join(*(timeout(r, 700, numel=8_388_608) for r in (0, 1, 2, 4, 5, 6, 7)), timeout(3, 700.2, numel=1024))
    check(log, "collective-mismatch", [3], evidence="NumelIn=1024")


def test_another_operation_at_the_same_sequence_number_is_a_mismatch_and_a_tie_names_nobody():
    log = join(*(timeout(r, 700, op="REDUCE") for r in (0, 1)), *(timeout(r, 700, op="ALLREDUCE") for r in (2, 3)))
    check(log, "collective-mismatch", None)


def test_sequence_numbers_of_two_groups_are_not_compared():
    tp = "PG ID 5 PG GUID 37(TENSOR_MODEL_PARALLEL_GROUP) Rank {rank}"
    log = join(*(timeout(r, 700, seq=62) for r in (0, 1, 2, 3)), *(timeout(r, 700, seq=49_387, group=tp) for r in (0, 1, 2, 3)))
    check(log, "collective-timeout")


def test_sends_of_different_sizes_are_no_mismatch():
    log = join(*(timeout(r, 700, op="SEND", numel=1024 * (r + 1)) for r in range(4)))
    check(log, "collective-timeout")


def test_a_first_collective_that_never_worked_has_nobody_missing():
    log = join(*(timeout(r, 700, seq=1, op="ALLGATHER") for r in range(4)), *(status(r, 700, 1, -1, stuck=1) for r in range(4)))
    check(log, "collective-timeout", [], verdict="undetermined")


def test_a_rank_that_enters_after_the_others_timed_out_is_late():
    log = join(*(timeout(r, 700) for r in (0, 1, 2)), timeout(3, 1500))
    check(log, "rank-missing-collective", [3], verdict="probable")


def test_an_exit_before_the_timeouts_began_is_the_cause():
    log = join(
        summary(exit_entry(0, 4, 0, 1, 793, host="gpu-02", time="2026-11-02_10:00:01")),
        *(timeout(r, 605) for r in (0, 1, 2, 3)),
    )
    check(log, "worker-exit-unexplained", [4], verdict="undetermined", evidence="exitcode")


def test_an_exception_printed_after_the_timeouts_is_teardown():
    log = join(
        *(timeout(r, 700) for r in (0, 1, 3)),
        dump_signal(2, 701, 41, 41),
        traceback("ValueError: I/O operation on closed file", "[rank1]: 2026-11-02 10:30:00,000 "),
    )
    check(log, "rank-missing-collective", [2])


def test_the_launcher_names_the_rank_of_an_unsigned_traceback():
    log = join(
        traceback("KeyError: 'label'"),
        sigterms(100, 102, 103),
        failed(1, 1, 101),
        summary(exit_entry(0, 1, 1, 1, 101)),
    )
    check(log, "python-exception", [1], evidence="KeyError")


def test_a_local_rank_of_the_second_node_is_not_the_global_rank():
    log = join(traceback("KeyError: 'label'", "[default0]:"), summary(exit_entry(0, 8, 0, 1, 101, host="gpu-02")))
    check(log, "python-exception", [8])


def test_the_only_rank_that_speaks_is_not_the_one_that_the_agent_saw_killed():
    lost = "[rank2]: torch.distributed.DistBackendError: NCCL error in: c10d/NCCLUtils.hpp:275, remote process exited or there was a network error, NCCL version 2.21.5"
    check(join(lost, sigterms(4101, 4102, 4103, 4104), failed(-9, 4, 4105)), "process-killed", [4])


def test_the_only_process_of_a_pod_has_local_rank_0_whatever_its_rank():
    check(join(traceback("KeyError: 'caption'", "[rank3]: "), failed(1, 0, 4105)), "python-exception", [3])


def test_a_local_rank_is_the_rank_where_everything_is_one_node():
    check(join(steps(1, 2), traceback("KeyError: 'label'", "[default3]:")), "python-exception", [3])


def test_the_same_exception_of_every_rank_is_every_rank_alike():
    log = join("world_size: 4", *(traceback("ValueError: hidden size 100 is odd", f"[rank{r}]: ") for r in (2, 0, 3, 1)))
    check(log, "python-exception", [])


def test_two_of_eight_ranks_with_one_exception_are_those_two():
    log = join("world_size: 8", *(traceback("KeyError: 'label'", f"[rank{r}]: ") for r in (2, 5)), *(gloo_closed(r) for r in (0, 1, 3, 4, 6, 7)))
    check(log, "python-exception", [2, 5])


def test_a_kill_by_signal_9_names_the_rank_and_the_missing_fact():
    log = join(steps(1, 3, ranks=range(4)), sigterms(100, 101, 103), failed(-9, 2, 102), summary(exit_entry(0, 2, 2, -9, 102, said="Signal 9 (SIGKILL) received by PID 102")))
    check(log, "process-killed", [2], verdict="undetermined", evidence="-9", missing="dmesg")


def test_a_summary_that_was_indented_tells_when_each_process_ended():
    log = join(summary(exit_entry(0, 4, 0, 1, 4105, time="2026-11-02_10:00:20")), *(timeout(r, 640) for r in (0, 1)))
    indented = "\n".join("    " + line for line in log.split("\n"))
    for text in (log, indented):
        check(text, "worker-exit-unexplained", [4])


def test_entries_that_were_sigtermed_are_not_blamed():
    log = join(
        failed(-11, 3, 103),
        summary(
            exit_entry(0, 3, 3, -11, 103, said="Signal 11 (SIGSEGV) received by PID 103"),
            *(exit_entry(i, i, i, -15, 100 + i, said=f"Signal 15 (SIGTERM) received by PID {100 + i}") for i in (0, 1, 2)),
        ),
    )
    check(log, "process-segfault", [3])


def test_a_kernel_message_on_a_bus_id_names_the_rank_that_ran_there():
    log = join(
        *(nccl_init(r, 4, "gpu-01", 100 + r, r, f"{16 + 16 * r:x}000") for r in range(4)),
        "gpu-01 kernel: NVRM: Xid (PCI:0000:30:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        *(timeout(r, 900) for r in (0, 1, 3)),
    )
    incident = check(log, "gpu-fell-off-bus", [2], verdict="established")
    assert incident.initiating.gpus == ("0000:30:00.0",)


def test_an_out_of_memory_wrapped_in_another_exception_is_still_the_cause():
    log = join(
        traceback("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free.", "[rank1]: "),
        "[rank1]: ",
        "[rank1]: The above exception was the direct cause of the following exception:",
        "[rank1]: ",
        traceback("RuntimeError: [Stage 0] failed to run forward", "[rank1]: "),
    )
    check(log, "cuda-out-of-memory", [1], evidence="Tried to allocate")


def test_a_caught_exception_followed_by_progress_is_recovered():
    log = join(steps(1, 3), traceback("ConnectionError: upload failed", "[rank0]: "), steps(4, 9, second=10))
    check(log, None)


def test_an_exception_of_an_earlier_attempt_is_a_warning_at_most():
    log = join(
        "+ torchrun --nproc-per-node 2 train.py",
        traceback("KeyError: 'label'", "[rank1]: "),
        failed(1, 1, 101),
        *("# filler" for _ in range(80)),
        "+ torchrun --nproc-per-node 2 train.py",
        steps(1, 40, ranks=(0, 1)),
    )
    check(log, None)


def test_the_last_attempt_is_judged():
    log = join(
        "+ torchrun --nproc-per-node 2 train.py",
        traceback("KeyError: 'label'", "[rank1]: "),
        failed(1, 1, 101),
        *("# filler" for _ in range(80)),
        "+ torchrun --nproc-per-node 2 train.py",
        steps(1, 40, ranks=(0, 1)),
        traceback("FileNotFoundError: [Errno 2] No such file or directory: '/data/shard-7.bin'", "[rank0]: "),
        failed(1, 0, 300),
    )
    incident = check(log, "data-missing", [0])
    assert incident.evidence[0].line > 100


def test_progress_that_stops_while_other_lines_go_on_is_a_silent_hang():
    log = join(
        steps(1, 30, each=2.0),
        *(f"2026-11-02 {10 + h}:30:00 PULSE: job 81 is running" for h in range(4)),
    )
    check(log, "silent-hang", None, verdict="undetermined")


def test_a_log_that_ends_in_the_middle_of_training_is_no_hang():
    check(join(steps(1, 300, ranks=(0, 1))), None)


def test_one_rank_with_ten_times_the_step_time_is_a_straggler():
    lines = []
    for step in range(1, 12):
        lines += [f"[rank{r}]: step: {step} loss: 2.1 dt={'9.80' if r == 2 else '0.95'}s" for r in range(4)]
    check(join(*lines), "rank-straggler", [2], verdict="probable")


def test_a_job_that_finished_is_not_blamed_for_its_shutdown():
    log = join(
        steps(1, 20, ranks=(0, 1)),
        "[rank0]: Training completed",
        f"[rank1]:[W{stamp(30)} TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=30, addr=[::1]:1, remote=[::1]:2): failed to recv, got 0 bytes",
    )
    check(log, None)


def test_source_code_in_a_traceback_is_no_message():
    log = join("world_size 2", traceback("KeyError: 'x'", "[rank0]: ", code='raise RuntimeError("CUDA error: device-side assert triggered")'))
    check(log, "python-exception", [0])


def test_a_web_servers_stack_trace_is_none_of_our_business():
    log = "\n".join(
        f"2026-11-02 10:00:{i % 60:02d} [error] worker: " + ("Traceback (most recent call last):" if i % 9 == 0 else "ValueError: bad request" if i % 9 == 3 else "GET /index.html 500")
        for i in range(400)
    )
    check(log + "\n", None)


def test_lightnings_observer_names_the_child_that_ended():
    ended = "[rank: 1] Child process with PID 4102 terminated with code 1. Forcefully terminating all other processes to avoid zombies"
    check(join(traceback("KeyError: 'caption'"), ended), "python-exception", [1], evidence="caption")
    check(join(f"INFO: {ended.replace('code 1', 'code -9')}"), "process-killed", [1], verdict="undetermined")


def test_an_attempt_to_connect_that_failed_at_the_start_does_not_explain_a_timeout_later():
    tried = "[W1102 10:00:01.1 socket.cpp:697] [c10d] The client socket has failed to connect to [node-a]:29500 (errno: 111 - Connection refused)."
    check(join(tried, *(timeout(r, 700) for r in (0, 1))), "collective-timeout", verdict="undetermined", evidence="Watchdog caught")
    check(join(tried), "master-unreachable", verdict="undetermined")


def test_the_rank_whose_exception_is_glued_behind_anothers_lost_peer_is_blamed():
    lost = "[rank0]: torch.distributed.DistBackendError: NCCL error in: c10d/NCCLUtils.hpp:275, remote process exited or there was a network error, NCCL version 2.21.5"
    check(join(lost + "[rank3]: ValueError: bad shard 7"), "python-exception", [3], evidence="bad shard 7")


def test_a_timeout_behind_a_progress_bar_names_its_rank():
    bar = "Epoch 3:  45%|####      | 45/100 [01:12<01:28,  1.61s/it, loss=0.234]"
    check(join(bar + timeout(0, 700), *(timeout(r, 700) for r in (1, 3))), "rank-missing-collective", [2])


def test_what_usually_meets_all_met_one_where_rank_0_went_on_without_it():
    error = "RuntimeError: Error(s) in loading state_dict for Net:\n[rank3]: \tsize mismatch for head.weight: copying a param with shape torch.Size([4, 8]) from checkpoint"
    log = join("[rank0]: torch 2.9: loading", "[rank0]: loaded 4 shards", traceback(error, "[rank3]: "))
    check(log, "checkpoint-incompatible", [3])
    check(log.replace("rank3", "rank0"), "checkpoint-incompatible", [])


def test_workers_that_were_restarted_and_had_only_to_end_got_past_the_exit():
    end = "2026-11-02 10:00:{:02d},786 [rank 2] INFO train: training finished"
    log = join(end.format(5), "terminate called without an active exception", failed(-6, 0, 7383, second=6), end.format(13))
    check(log, None)
    check(join(end.format(5), "terminate called without an active exception", failed(-6, 0, 7383, second=6)), "process-aborted")
