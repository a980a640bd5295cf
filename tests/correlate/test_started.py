"""Failures of processes that another program started and reports in its own words."""

from .check import check
from .logs import join


def test_a_bare_exception_that_announces_a_spawned_process_is_not_the_failure():
    log = join(
        "Traceback (most recent call last):",
        '  File "/v/lib/python3.7/site-packages/torch/multiprocessing/spawn.py", line 118, in join',
        "    raise Exception(msg)",
        "Exception:",
        "",
        "-- Process 3 terminated with the following error:",
        "Traceback (most recent call last):",
        '  File "/v/lib/python3.7/site-packages/torch/multiprocessing/spawn.py", line 19, in _wrap',
        "    fn(i, *args)",
        '  File "/job/train.py", line 90, in work',
        "    model.load(state)",
        "KeyError: 'head'",
    )
    check(log, "python-exception", [3], evidence="KeyError: 'head'")


def test_the_servers_launcher_says_which_shard_did_not_start():
    log = join(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 2; 23.65 GiB total capacity; 22.9 GiB allocated)",
        " rank=2",
        "2024-04-05T06:07:08.910111Z ERROR text_generation_launcher: Shard 2 failed to start",
        "2024-04-05T06:07:08.910122Z  INFO text_generation_launcher: Shutting down shards",
        "Error: ShardCannotStart",
    )
    check(log, "cuda-out-of-memory", [2], evidence="CUDA out of memory", collateral=["Shard 2 failed to start"])
