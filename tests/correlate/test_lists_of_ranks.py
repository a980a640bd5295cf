"""Who is meant by lists of ranks that stand below a report: RAS, JAX, desync reports, tables of the flight recorder."""

from .check import check
from .logs import join, timeout

BARRIER = (
    "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: save_done.7. This usually happens because a task "
    "triggered the barrier too early or too slowly. Please look at the task logs (both timed out and first task) to debug further."
)
MISMATCH = "  Communicator ranks have different AllGather operation counts"


def member(rank):
    return f"  Rank {rank} -- GPU {rank % 8} managed by process {70000 + rank} on node gpu-0{rank // 8}"


def test_the_tasks_below_a_barrier_that_counts_them_are_absent():
    log = join(
        BARRIER,
        "# of tasks that reached the barrier: 2/4.",
        "The first task at the barrier: /job:jax_worker/replica:0/task:2. Some timed out task names:",
        "/job:jax_worker/replica:0/task:3",
        "/job:jax_worker/replica:0/task:1",
    )
    check(log, "rank-missing-collective", [1, 3], evidence="Barrier timed out")


def test_the_ranks_below_a_count_of_missing_ranks_are_lost():
    log = join("#0-0 (cf26) INCOMPLETE", "  Missing communicator data from 2 ranks", member(11), member(13))
    check(log, "peer-heartbeat-lost", [11, 13], verdict="undetermined")


def test_a_list_is_as_long_as_its_heading_says():
    log = join("#0-0 (cf26) INCOMPLETE", "  Missing communicator data from 1 rank", member(11), member(13))
    check(log, "peer-heartbeat-lost", [11])


def test_the_one_rank_that_launched_clearly_less_is_behind():
    log = join(MISMATCH, "  15 ranks have launched up to operation 311", "  Rank 9 has launched up to operation 290 -- GPU 1 managed by process 4410 on node gpu-01")
    check(log, "rank-missing-collective", [9], verdict="probable", evidence="operation 290")


def test_ranks_that_are_listed_below_a_lower_count_are_behind():
    log = join(MISMATCH, "  30 ranks have launched up to operation 311", "  2 ranks have not launched any operations", member(4), member(5))
    check(log, "rank-missing-collective", [4, 5], verdict="probable")


def test_the_few_that_are_ahead_are_not_blamed():
    log = join(MISMATCH, "  30 ranks have launched up to operation 311", "  2 ranks have launched up to operation 340", member(4), member(5))
    check(log, "rank-straggler", None, verdict="probable")


def test_a_difference_of_one_operation_blames_nobody():
    log = join(MISMATCH, "  14 ranks have launched up to operation 311", "  2 ranks have launched up to operation 310", member(4), member(5))
    check(log, "rank-straggler", None, verdict="probable")


def test_where_a_desync_report_lists_everybody_as_waiting_nobody_is_missing():
    log = join(
        "[rank1]:[E1102 10:11:02.118234567 ProcessGroupNCCL.cpp:1563] ",
        "	 - [1] Timeout at collective: ALLREDUCE, #31",
        "	   - [0, 1, 2, 3] joined but didn't finish collective #31 (count from 1)",
    )
    check(log, "collective-timeout", [], verdict="undetermined", evidence="Timeout at collective")


def test_a_desync_report_that_lists_a_few_as_waiting_clears_nobody_else():
    log = join("	 - [1] Timeout at collective: ALLREDUCE, #31", "	   - [1, 2] joined but didn't finish collective #31 (count from 1)")
    check(log, "collective-timeout", None, verdict="undetermined")


def test_a_row_that_ends_in_missing_ranks_names_them():
    log = join(
        "--- Collectives ---",
        "  id  group_id    pass_check  collective_seq_id  collective_name    collective_state  missing_ranks",
        "  20  dp_group    True        91                 nccl:all_reduce    completed",
        "  21  dp_group    True        92                 nccl:all_reduce    scheduled         {2, 6}",
    )
    check(log, "rank-missing-collective", [2, 6], evidence="{2, 6}")


WAITS = (
    "RuntimeError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', "
    "but store->get('0') got error: Socket Timeout"
)


def test_rank_0_whose_bar_goes_on_keeps_those_waiting_that_wait_for_it():
    log = join("Running tokenizer on dataset:  12%|#2        | 41000/340000 [30:05<3:21:11, 24.78 examples/s]" + WAITS)
    check(log, "collective-timeout", [0], verdict="undetermined")


def test_a_bar_that_came_to_its_end_keeps_nobody_waiting():
    log = join("Running tokenizer on dataset: 100%|##########| 340000/340000 [30:05<00:00, 188.3 examples/s]", WAITS)
    check(log, "collective-timeout", None, verdict="undetermined")


def test_a_training_bar_says_nothing_of_rank_0():
    log = join(" 12%|#2        | 410/3400 [30:05<3:21:11,  4.78s/it]", WAITS)
    check(log, "collective-timeout", None, verdict="undetermined")


def test_one_rank_in_another_operation_than_all_others_is_named():
    log = join(timeout(0, 700), timeout(1, 700), timeout(2, 700, op="BROADCAST", numel=9))
    check(log, "collective-mismatch", [2], evidence="BROADCAST")


def test_two_against_four_in_different_operations_name_nobody():
    log = join(*(timeout(r, 700) for r in range(4)), *(timeout(r, 700, op="REDUCE") for r in (4, 5)))
    check(log, "collective-mismatch", None)


def test_words_that_the_end_of_the_log_cut_off_are_no_exception_of_their_own():
    whole = "[2026-11-02 10:00:00 TP{}] RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] Read error [10.0.0.9]:4410: Connection timed out"
    log = join(whole.format(1), whole.format(2)) + whole.format(3)[:76]
    check(log, "gloo-connection-closed", verdict="undetermined", evidence="Read error")


def test_a_size_that_the_end_of_the_log_cut_off_is_no_other_size():
    last = timeout(3, 700)
    log = join(*(timeout(r, 700) for r in range(3))) + last[: last.index(", NumelOut")]
    check(log, "collective-timeout", verdict="undetermined")


REACHED = "Rank {} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
ENDED = "E1102 10:02:25.394000 13993 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: {}) local_rank: {} (pid: 7090) of binary: /opt/venv/bin/python"


def test_the_one_that_exited_is_first_where_all_others_wait_for_it():
    log = join("[rank0]: loading the data", "[rank1]: RuntimeError: " + REACHED.format(1), ENDED.format(1, 0))
    check(log, "worker-exit-unexplained", [0], verdict="undetermined")


def test_the_one_that_waited_and_then_exited_is_not_first():
    log = join("[rank0]: loading the data", "[rank1]: RuntimeError: " + REACHED.format(1), ENDED.format(1, 1))
    check(log, "collective-timeout", verdict="undetermined")


def test_a_bar_on_which_a_rank_gives_up_is_that_of_rank_0():
    bar = "Tokenizing train split (num_proc=8): 100%|#########9| 998120/999400 [30:02<00:02, 553.7 examples/s]"
    warned = "[rank{}]:[W1102 10:30:02.778279096 socket.cpp:428] [c10d] While waitForInput, poolFD failed with (errno: 0 - Success)."
    check(join(bar + warned.format(2), warned.format(1)), "collective-timeout", [0], verdict="undetermined")
