"""Tracebacks that Python prints and ignores, and processes that PyTorch/XLA names when they raise."""

from .check import check
from .logs import join, traceback

STEPS = [f"step {n} loss 2.{90 - n}" for n in range(1, 8)]
READER = '  File "/v/lib/python3.9/site-packages/torch/multiprocessing/reductions.py", line 307, in rebuild_storage_fd'


def test_every_line_of_an_ignored_exception_is_ignored():
    log = join(
        *STEPS,
        "Exception ignored in: <function _Iter.__del__ at 0x7f001>",
        "Traceback (most recent call last):",
        READER,
        "    fd = df.detach()",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "step 8 loss 2.80",
    )
    check(log, None)


def test_a_finaliser_that_is_ignored_while_it_is_called():
    log = join(
        *STEPS,
        "Exception ignored while calling deallocator <function Store.__del__ at 0x7f002>:",
        "Traceback (most recent call last):",
        '  File "/job/store.py", line 31, in __del__',
        "    self.handle.close()",
        "AttributeError: 'Store' object has no attribute 'handle'",
    )
    check(log, None)


def test_an_exception_behind_an_ignored_one_without_an_end_counts():
    log = join(
        *STEPS,
        "Exception ignored in: <function Store.__del__ at 0x7f003>",
        "Traceback (most recent call last):",
        '  File "/job/store.py", line 31, in __del__',
        "Traceback (most recent call last):",
        '  File "/job/train.py", line 90, in main',
        "    model.load(state)",
        "ValueError: no such layer: head",
    )
    check(log, "python-exception", verdict="established", evidence="no such layer")


def test_an_xla_process_that_raised_is_named_by_its_core():
    log = join(
        "Exception in device=TPU:5: no such layer: head",
        "Traceback (most recent call last):",
        '  File "/v/torch_xla/distributed/xla_multiprocessing.py", line 330, in _mp_start_fn',
        "    _start_fn(index, pf_cfg, fn, args)",
        '  File "/job/train.py", line 90, in main',
        "    model.load(state)",
        "ValueError: no such layer: head",
    )
    check(log, "python-exception", [5], evidence="ValueError: no such layer")


WANDB_RETRY = (
    "2026-11-26 14:47:41,286 INFO    Thread-5 (wrapped_target):4019212 [retry.py:__call__():164] [no run ID] Retry attempt failed:",
    "urllib3.exceptions.SSLError: [SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol (_ssl.c:1017)",
    "",
    "The above exception was the direct cause of the following exception:",
    "",
    "Traceback (most recent call last):",
    '  File "/env/lib/python3.10/site-packages/requests/adapters.py", line 644, in send',
    "    resp = conn.urlopen(",
    "urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='api.wandb.ai', port=443): Max retries exceeded with url: /graphql",
    "",
    "During handling of the above exception, another exception occurred:",
    "",
    "Traceback (most recent call last):",
    '  File "/env/lib/python3.10/site-packages/wandb/sdk/lib/retry.py", line 157, in __call__',
    "    result = self._call_fn(*args, **kwargs)",
    "requests.exceptions.SSLError: HTTPSConnectionPool(host='api.wandb.ai', port=443): Max retries exceeded with url: /graphql",
)


def test_an_attempt_that_wandb_repeats_is_no_failure():
    check("\n".join((*WANDB_RETRY, "2026-11-26 14:48:12,241 INFO    MainThread:4019212 [wandb_init.py:init():1080] run started")), None)


def test_what_is_raised_behind_a_repeated_attempt_counts():
    log = "\n".join((*WANDB_RETRY, "Traceback (most recent call last):", '  File "train.py", line 4, in <module>', "    x[9]", "KeyError: 9"))
    check(log, "python-exception", evidence="KeyError")


def logged(level):
    head = f"(EngineCore pid=31) {level} 03-04 05:06:07 [import_utils.py:12] "
    return [
        head + "Traceback (most recent call last):",
        head + '  File "/v/vllm/third_party/kernels/__init__.py", line 16, in <module>',
        head + "    from . import _C",
        head + "ImportError: libfast.so.13: cannot open shared object file: No such file or directory",
    ]


def test_a_traceback_that_is_logged_as_a_warning_was_caught():
    check(join(*logged("WARNING"), "(EngineCore pid=31) INFO 03-04 05:06:09 [core.py:3] Graph capturing finished in 10 secs"), None)


def test_a_traceback_that_is_logged_as_an_error_was_not():
    check(join(*logged("ERROR")), "binary-incompatible", evidence="libfast.so.13")


BUILD = [
    "[2031-04-05 06:07:08,101] [WARNING] [engine.py:90:_optimizer] the CUDA build failed (Error building extension 'fused_step': [1/2] c++ -c a.cpp",
    "FAILED: [code=127] a.o",
    "/bin/sh: 1: c++: not found",
    "ninja: build stopped: subcommand failed.",
]
INSTEAD = "), falling back to the optimizer of torch."


def test_a_warning_that_ends_in_what_is_done_instead_accuses_nothing():
    error = traceback("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "[rank1]: ")
    check(join(*BUILD, INSTEAD, "step 1 loss 2.3", error), "cuda-out-of-memory", [1])


def test_a_warning_without_an_instead_may_be_what_the_job_died_of():
    check(join(*BUILD, "step 1 loss 2.3"), "extension-build-failed")


def test_what_another_record_falls_back_to_belongs_to_that_record():
    other = "[2031-04-05 06:07:09,300] [INFO] [kernels.py:12:pick] falling back to eager attention"
    check(join(*BUILD, other), "extension-build-failed")


def test_what_a_finalizer_of_multiprocessing_raises_ends_nothing():
    log = "\n".join([
        "torch job",
        "Traceback (most recent call last):",
        '  File "/opt/py/lib/python3.11/multiprocessing/util.py", line 300, in _run_finalizers',
        "    finalizer()",
        '  File "/opt/py/lib/python3.11/shutil.py", line 763, in _rmtree_safe_fd',
        "    os.unlink(entry.name, dir_fd=topfd)",
        "OSError: [Errno 16] Device or resource busy: '.nfs00000000080a1f4400000d11'",
    ])  # fmt: skip
    check(log, None)


def test_an_agent_that_waited_for_others_at_its_exit_barrier_was_not_first():
    log = "\n".join([
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: 0 (pid: 811) of binary: /usr/bin/python3",
        "ERROR:torch.distributed.elastic.agent.server.api:Error waiting on exit barrier. Elapsed: 300.1 seconds",
        "Traceback (most recent call last):",
        '  File "/v/torch/distributed/elastic/agent/server/api.py", line 906, in _exit_barrier',
        "    store_util.barrier(",
        "RuntimeError: Socket Timeout",
    ])  # fmt: skip
    check(log, "process-aborted", [0], evidence="exitcode: -6")


def test_an_exception_of_pythons_logging_ends_nothing():
    head = ["torch job", "--- Logging error ---"]
    log = "\n".join([
        *head,
        "Traceback (most recent call last):",
        '  File "/opt/py/lib/python3.11/logging/__init__.py", line 1113, in emit',
        "    stream.write(msg + self.terminator)",
        "UnicodeEncodeError: 'ascii' codec can't encode character '\\u2014' in position 4: ordinal not in range(128)",
        "Call stack:",
        '  File "/job/train.py", line 12, in <module>',
        "Message: 'step %d'",
    ])  # fmt: skip
    check(log, None)


def test_an_exception_behind_one_of_logging_counts():
    log = "\n".join([
        "torch job",
        "--- Logging error ---",
        "Traceback (most recent call last):",
        '  File "/opt/py/lib/python3.11/logging/__init__.py", line 1113, in emit',
        "    stream.write(msg + self.terminator)",
        "ValueError: I/O operation on closed file.",
        "Traceback (most recent call last):",
        '  File "/job/train.py", line 12, in <module>',
        "    main()",
        "KeyError: 'labels'",
    ])  # fmt: skip
    check(log, "python-exception", evidence="KeyError")
