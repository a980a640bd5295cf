"""What a server got past: it answers, or came up, after a line that looked like trouble."""

from .check import check
from .logs import join

WAITS = (
    "(EngineCore pid=274) INFO 02-03 04:05:06 [shm_broadcast.py:698] No available shared memory broadcast block found in 60 seconds. "
    "This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation)."
)
UP = "(APIServer pid=228) INFO:     Application startup complete."
ANSWER = '(APIServer pid=228) INFO:     127.0.0.1:44542 - "POST /v1/completions HTTP/1.1" 200 OK'
REFUSED = '(APIServer pid=228) INFO:     127.0.0.1:44542 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error'


def failure(who):
    return join(
        f"({who}) ERROR 02-03 04:05:06 [core.py:9] Traceback (most recent call last):",
        f'({who}) ERROR 02-03 04:05:06 [core.py:9]   File "/v/vllm/worker.py", line 7, in run',
        f"({who}) ERROR 02-03 04:05:06 [core.py:9]     kernel(x)",
        f"({who}) ERROR 02-03 04:05:06 [core.py:9] RuntimeError: Check failed: (status == ok) is false: invalid argument",
        *["(APIServer pid=228) INFO 02-03 04:05:06 [loggers.py:1] Engine 000: Running: 1 reqs"] * 12,
    ).rstrip("\n")


def test_a_server_that_came_up_did_not_hang_while_it_warmed_up():
    check(join(WAITS, UP), None)


def test_a_server_that_never_came_up_hangs():
    check(join(WAITS, WAITS), "silent-hang", verdict="undetermined")


def test_a_request_that_failed_while_others_were_answered_is_no_incident():
    check(join(UP, failure("EngineCore pid=274"), ANSWER, ANSWER, ANSWER), None)


def test_a_server_that_only_refuses_has_failed():
    check(join(UP, ANSWER, failure("EngineCore pid=274"), REFUSED, REFUSED), "python-exception", evidence="invalid argument")


def test_workers_that_fail_each_for_itself_did_not_catch_it():
    log = join(UP, *(failure(f"Worker_TP{n} pid={300 + n}") for n in (0, 1, 0, 1)), failure("EngineCore pid=274"), *[REFUSED] * 16)
    check(log, "python-exception", evidence="invalid argument")


GENERATES = (
    "(APIServer pid=228) INFO 02-03 04:09:16 [loggers.py:127] Engine 000: Avg prompt throughput: 8.0 tokens/s, "
    "Avg generation throughput: {} tokens/s, Running: 3 reqs, Waiting: 0 reqs"
)


def test_a_server_that_generates_again_did_not_hang():
    check(join(UP, WAITS, GENERATES.format("71.4")), None)


def test_a_server_that_has_requests_and_generates_nothing_hangs():
    check(join(UP, WAITS, GENERATES.format("0.0")), "silent-hang", verdict="undetermined")


def test_a_worker_that_failed_is_no_less_failed_where_others_generate():
    check(join(UP, failure("Worker_TP1 pid=301"), *[GENERATES.format("71.4")] * 4), "python-exception", evidence="invalid argument")


def test_an_exception_that_only_says_that_time_is_over_is_not_what_was_waited_for():
    rows = [
        "Traceback (most recent call last):",
        '  File "/v/vllm/shm_broadcast.py", line 7, in acquire_read',
        "    raise TimeoutError",
        "TimeoutError",
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        "Traceback (most recent call last):",
        '  File "/v/vllm/multiproc_executor.py", line 9, in get_response',
        '    raise TimeoutError(f"RPC call to {method} timed out.") from e',
        "TimeoutError: RPC call to execute_model timed out.",
    ]
    log = join(*(f"(EngineCore_DP0 pid=274) ERROR 02-03 04:05:06 [core.py:9] {r}" for r in rows))
    check(log, "collective-timeout", verdict="undetermined", evidence="RPC call to execute_model")


def test_the_place_a_worker_is_called_after_tells_its_rank():
    for who, rank in (("VllmWorker rank=5", 5), ("VllmWorker TP3", 3), ("Worker_TP2_EP2", 2), ("Worker_DP1_TP0_EP2", 2), ("Worker_PP0_TP3", 3)):
        check(join(failure(f"{who} pid=301")), "python-exception", [rank])


def test_a_place_that_does_not_tell_the_rank_is_none():
    for who in ("Worker_PP1_TP0", "Worker_DP1_TP0", "EngineCore_DP1"):
        check(join(failure(f"{who} pid=301")), "python-exception", None)


def test_the_process_whose_lines_another_hands_on_is_the_one_that_speaks():
    for by in ("engine-1  | ", "(EngineCore_DP0 pid=8) ", "(MapWorker(MapBatches(Scorer)) pid=7) (EngineCore_DP0 pid=8) "):
        log = "".join(by + row + "\n" for row in failure("Worker_TP1 pid=301").split("\n")[:4])
        check(log, "python-exception", [1])


def test_a_worker_that_could_not_start_speaks_for_itself():
    log = "(Worker_TP2 pid=301) ERROR 02-03 04:05:06 [multiproc_executor.py:9] WorkerProc failed to start.\n"
    check(log, "engine-died", [2], verdict="undetermined")


def test_an_actor_on_a_node_that_went_away_did_not_die_by_itself():
    log = join(
        "2026-02-15 16:53:52,096\tWARNING worker.py:1462 -- The node with node id: 77aa01c2b3 and ip: 10.4.0.71 has been marked dead "
        "because the detector has missed too many heartbeats from it.",
        "(Executor pid=5126, ip=10.4.0.32) The actor died unexpectedly before finishing this task.",
        "(Executor pid=5126, ip=10.4.0.32) \tclass_name: Trainer",
        "(Executor pid=5126, ip=10.4.0.32) The actor is dead because its node has died. Node Id: 77aa01c2b3",
    )
    check(log, "peer-heartbeat-lost", verdict="undetermined", evidence="marked dead", collateral=["died unexpectedly"])


def of_request(status, who="APIServer pid=228"):
    return join(
        f"({who}) ERROR 02-03 04:05:06 [serving_chat.py:237] Error in preprocessing prompt inputs",
        f"({who}) ERROR 02-03 04:05:06 [serving_chat.py:237] Traceback (most recent call last):",
        f'({who}) ERROR 02-03 04:05:06 [serving_chat.py:237]   File "/v/vllm/entrypoints/openai/serving_engine.py", line 7, in _validate',
        f"({who}) ERROR 02-03 04:05:06 [serving_chat.py:237]     raise ValueError(text)",
        f"({who}) ERROR 02-03 04:05:06 [serving_chat.py:237] ValueError: the prompt has 9000 tokens, and 8192 are allowed",
        *([f'({who}) INFO:     127.0.0.1:44542 - "POST /v1/chat/completions HTTP/1.1" {status}'] if status else ()),
    ).rstrip("\n")


def test_a_request_that_the_server_refuses_is_at_fault_itself():
    check(join(UP, of_request("400 Bad Request")), None)


def test_a_request_that_the_server_cannot_serve_is_an_incident():
    check(join(UP, of_request("500 Internal Server Error")), "python-exception", evidence="9000 tokens")


def test_a_refusal_next_to_a_failure_excuses_nothing():
    log = join(UP, of_request("500 Internal Server Error"), of_request("400 Bad Request"))
    check(log, "python-exception", evidence="9000 tokens")


def test_the_refusal_of_another_process_excuses_nothing():
    log = join(UP, of_request("", "EngineCore pid=274"), of_request("400 Bad Request").splitlines()[-1])
    check(log, "python-exception", evidence="9000 tokens")


def test_a_worker_lost_before_a_wait_was_given_up_comes_first():
    log = join(
        "step 1 loss 2.31",
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. Worker ID: 0c Worker PID: 1942",
        "ray.exceptions.GetTimeoutError: Get timed out: some object(s) not ready.",
    )
    check(log, "engine-died", verdict="undetermined", evidence="A worker died")


GONE = "(TaskRunner pid=11) aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected"
REFUSED_HERE = (
    "(TaskRunner pid=11) requests.exceptions.ConnectionError: HTTPConnectionPool(host='10.4.0.2', port=30001): Max retries exceeded with url: "
    "/generate (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f>: [Errno 111] Connection refused'))"
)


def test_a_client_that_lost_its_server_gives_way_to_what_the_server_says():
    log = join("step 1 loss 2.31", GONE, failure("EngineCore pid=274"), REFUSED_HERE)
    check(log, "python-exception", evidence="invalid argument")


def test_a_client_alone_does_not_know_why_its_server_is_gone():
    check(join("step 1 loss 2.31", REFUSED_HERE), "engine-died", verdict="undetermined", evidence="port=30001")
