"""What a server got past: it answers, or came up, after a line that looked like trouble."""

from .check import check


def join(*parts):
    return "\n".join(parts) + "\n"


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
