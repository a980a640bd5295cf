"""Tracebacks that only their first line signs, and evidence for a frame."""

from .check import check
from .logs import join


def block(who, error="RuntimeError: CUDA error: an illegal memory access was encountered"):
    return join(
        f"[2025-03-04 05:06:07 {who}] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/sglang/srt/managers/scheduler.py", line 1825, in run_scheduler_process',
        "    scheduler.event_loop_overlap()",
        '  File "/srv/sglang/srt/managers/scheduler.py", line 519, in event_loop_overlap',
        "    self.current_stream.synchronize()",
        error,
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.",
        "",
    ).rstrip("\n")


def test_a_traceback_belongs_to_the_rank_that_signed_its_first_line():
    log = join(block("TP2"), "[2025-03-04 05:06:08] Received sigquit from a child process. It usually means the child failed.")
    check(log, "cuda-illegal-memory-access", [2], evidence="illegal memory access", collateral=["Received sigquit"])


def test_of_two_signed_tracebacks_each_keeps_its_own_rank():
    log = join(block("TP1"), block("TP3"))
    check(log, "cuda-illegal-memory-access", [1, 3])


def test_a_signed_traceback_says_nothing_of_a_failure_far_behind_it():
    log = join(
        "[2025-03-04 05:06:07 TP1] The profile was not written: Traceback (most recent call last):",
        *["loading a part of the model"] * 60,
        "Traceback (most recent call last):",
        '  File "/v/torch/serialization.py", line 1, in f',
        "ValueError: no such layer: head",
    )
    check(log, "python-exception", None)


def test_the_exception_behind_a_telling_frame_is_evidence_too():
    log = join(
        "Traceback (most recent call last):",
        '  File "<string>", line 1, in <module>',
        '  File "/opt/py/lib/python3.11/multiprocessing/spawn.py", line 122, in spawn_main',
        '  File "/opt/py/lib/python3.11/multiprocessing/spawn.py", line 132, in _main',
        "    self = reduction.pickle.load(from_parent)",
        "EOFError: Ran out of input",
    )
    check(log, "pickle-spawn-failed", verdict="probable", evidence="EOFError: Ran out of input")
