"""How servers and actors end: what the watcher says, what only repeats it, and what somebody outside did."""

from .check import check
from .logs import join

WAITS = "INFO 02-03 04:05:06 [shm_broadcast.py:698] No available shared memory broadcast block found in 60 seconds."
DIED = "ERROR 02-03 04:05:09 [multiproc_executor.py:231] Worker proc VllmWorker-2 died unexpectedly, shutting down executor."


def test_who_waits_for_a_worker_that_died_does_not_hang():
    check(join(WAITS, DIED, WAITS, WAITS), "engine-died", [2], verdict="undetermined", evidence="VllmWorker-2 died")


def test_a_wait_behind_which_nobody_is_reported_dead_is_a_hang():
    check(join(WAITS, WAITS, "INFO 02-03 04:08:06 [loggers.py:1] Engine 000: Running: 1 reqs"), "silent-hang", verdict="undetermined")


CANCELLED = join(
    "ERROR 02-03 04:05:07 async_llm_engine.py:56] Traceback (most recent call last):",
    'ERROR 02-03 04:05:07 async_llm_engine.py:56]   File "/v/vllm/engine/async_llm_engine.py", line 7, in run_engine_loop',
    "ERROR 02-03 04:05:07 async_llm_engine.py:56]     done, _ = await asyncio.wait(",
    "ERROR 02-03 04:05:07 async_llm_engine.py:56] asyncio.exceptions.CancelledError",
).rstrip("\n")


def test_a_task_that_was_cancelled_is_not_why_its_engine_gave_up():
    log = join("ERROR 02-03 04:05:07 async_llm_engine.py:656] Engine iteration timed out. This should never happen!", CANCELLED)
    check(log, "silent-hang", verdict="undetermined", evidence="Engine iteration timed out")


def test_a_cancelled_task_alone_is_all_there_is():
    check(CANCELLED + "\n", "python-exception", evidence="CancelledError")


LATE = "Server failed to start within the timeout period."


def wrapped(first, second):
    return join(
        "Traceback (most recent call last):",
        '  File "/suite/launch.py", line 3, in start',
        "    wait(server)",
        first,
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        "Traceback (most recent call last):",
        '  File "/suite/node.py", line 9, in run',
        "    raise RuntimeError(text)",
        second,
    )


def test_an_exception_that_repeats_one_a_page_knows_gives_way_to_what_the_server_says():
    log = join(
        "[Gloo] Rank 2 is connected to 6 peer ranks. Expected number of connected peer ranks is : 7",
        "[Gloo] Rank 2 is NOT connected to: [5]",
        wrapped(f"TimeoutError: {LATE}", f"RuntimeError: Node 10.0.0.4: {LATE}"),
    )
    check(log, "gloo-connection-closed", verdict="undetermined", evidence="NOT connected to: [5]")


def test_an_exception_with_words_of_its_own_does_not_only_repeat():
    second = "RuntimeError: the license of node 10.0.0.4 has run out"
    log = join("[rank0]: init done", wrapped(f"TimeoutError: {LATE}", second))
    check(log, "python-exception", evidence="license")


def test_a_code_gives_way_to_the_report_of_the_device_behind_it():
    log = join(
        "[rank1]: RuntimeError: run:torch_npu/csrc/OpParamMaker.cpp:90 OPS function error: HcclAllreduce, error code is 6",
        "[rank1]: [ERROR] 2026-03-02-10:00:00 (PID:4410, Device:1, RankID:1) ERR01100 OPS call acl api failed.",
        "[rank1]: EI0006: 2026-03-02-10:00:00.645 Getting socket times out. Reason: Remote Rank did not send the data in time.",
    )
    check(log, "collective-timeout", verdict="undetermined")


SIGTERM = "[2026-03-02 10:00:00,101 E 4711 4711] logging.cc:484: *** SIGTERM received at time=1760000000 on cpu 12 ***"


def test_the_signal_that_a_driver_of_ray_got_came_from_outside():
    check(join("step 40 loss 1.2", SIGTERM), "job-cancelled", [], verdict="undetermined")


def test_the_signal_by_which_ray_ends_its_actors_tells_nothing():
    check(join("step 40 loss 1.2", "(RayWorkerWrapper pid=4711) " + SIGTERM), None)


KILLED = join(
    "(TaskRunner pid=51) Traceback (most recent call last):",
    '(TaskRunner pid=51)   File "/v/torch/utils/data/_utils/signal_handling.py", line 73, in handler',
    "(TaskRunner pid=51)     _error_if_any_worker_fails()",
    "(TaskRunner pid=51) RuntimeError: DataLoader worker (pid 63) is killed by signal: Killed. ",
).rstrip("\n")


def test_a_helper_that_went_before_its_process_said_that_it_was_done_went_with_it():
    check(join(KILLED, "(TaskRunner pid=51) step:6 - actor/loss:0.2", "(TaskRunner pid=51) Final validation metrics: {'acc': 0.5}"), None)


def test_another_process_that_was_done_excuses_nothing():
    check(join(KILLED, "(Critic pid=77) Final validation metrics: {'acc': 0.5}"), "dataloader-worker-crash")


def tracing(level, text):
    return f"2026-03-02T10:00:00.101214Z {level} text_generation_router::server: router/src/server.rs:1672: {text}"


LOST = tracing("ERROR", "Failed to import python tokenizer ModuleNotFoundError: No module named 'transformers'")


def test_what_a_server_does_without_before_it_comes_up_is_no_failure():
    log = join(LOST, tracing(" WARN", "Odd tokenizer detected, falling back on legacy tokenization"), tracing(" INFO", "Connected"))
    check(log, None)


def test_a_server_that_does_not_come_up_did_not_get_past_it():
    check(join(LOST, tracing(" WARN", "Odd tokenizer detected, falling back on legacy tokenization")), "python-import-error")


FEWER = (
    "{} 05-26 18:53:53 [ray_utils.py:342] The number of required GPUs exceeds the total number of available GPUs in the placement group."
)
UP = "INFO:     Application startup complete."


def test_a_warning_before_a_server_came_up_was_got_past():
    check(join(FEWER.format("WARNING"), "(RayWorkerWrapper pid=5) INFO 05-26 18:56:53 [model_runner.py:1110] Loading took 9 s", UP), None)


def test_the_same_warning_is_the_reason_where_no_server_came_up():
    check(join(FEWER.format("WARNING"), "(RayWorkerWrapper pid=5) INFO 05-26 18:56:53 waiting"), "parallelism-misconfigured")


PIPE = join(
    "ERROR:    Traceback (most recent call last):",
    '  File "/usr/lib/python3.10/multiprocessing/connection.py", line 383, in _recv',
    "    raise EOFError",
    "EOFError",
)
SIGNAL = "CRITICAL 04-17 23:05:06 [core_client.py:361] Got fatal signal from worker processes, shutting down. See stack trace above for root cause issue."


def test_a_pipe_whose_child_is_gone_is_not_why_the_child_went():
    check(join(SIGNAL, PIPE), "engine-died", verdict="undetermined", evidence="fatal signal")


def test_a_pipe_that_ends_is_all_there_is_where_nothing_else_speaks():
    check(join("[rank0]: start", PIPE), "python-exception", evidence="EOFError")


def test_a_process_that_ends_the_job_behind_a_lost_peer_does_not_come_first():
    head = "[2026-03-02 10:00:02 TP{0}] Scheduler hit an exception: Traceback (most recent call last):"
    lost = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:544] Connection closed by peer [10.0.0.8]:15006"
    frame = '  File "/s/sglang/scheduler.py", line 9, in recv_requests'
    log = join(*(x for n in (22, 26) for x in (head.format(n), frame, lost, "")), "[2026-03-02 10:00:02] Received sigquit from a child process.")
    check(log, "gloo-connection-closed", verdict="undetermined", evidence="Connection closed by peer")
