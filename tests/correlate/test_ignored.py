"""Tracebacks that Python prints and ignores, and processes that PyTorch/XLA names when they raise."""

from .check import check


def join(*parts):
    return "\n".join(parts) + "\n"


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
