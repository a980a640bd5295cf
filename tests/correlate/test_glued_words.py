"""Exceptions of processes that wrote at once: their words stand on one line more than once."""

from __future__ import annotations

from .check import check

WORDS = "[Errno 2] No such file or directory: '/data/coco/train_index.pt'"
CLOSING = "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process {} closing signal SIGTERM"
AGENT = "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 2 (pid: 169) of binary: /usr/bin/python"
ROOT = """============================================================
train.py FAILED
Root Cause (first observed failure):
[0]:
  time      : 2026-05-03_23:31:24
  host      : node-1
  rank      : 2 (local_rank: 2)
  exitcode  : 1 (pid: 169)
============================================================"""


def job(*printed: str) -> str:
    frame = '  File "/opt/run/data.py", line 31, in load\n    super().__init__(open(name, mode))'
    closing = "\n".join(CLOSING.format(n) for n in (143, 146, 151))
    return "\n".join(["Traceback (most recent call last):", frame, *printed, closing, AGENT, ROOT]) + "\n"


def test_words_that_stand_there_once_a_process_mean_every_rank():
    glued = job("FileNotFoundError", f": FileNotFoundError: {WORDS}{WORDS}", f"FileNotFoundError: {WORDS}", WORDS)
    check(glued, "data-missing", [])


def test_words_of_one_process_mean_the_rank_that_ended():
    check(job(f"FileNotFoundError: {WORDS}"), "data-missing", [2])


def test_a_name_that_lost_its_colon_counts_as_often_as_tracebacks_had_begun():
    heads = "\n".join(["Traceback (most recent call last):\n  File \"train.py\", line 256, in <module>"] * 3)
    torn = [
        "    for name in table.keys():    ", "AttributeErrorfor name in table.keys():: AttributeError", "",
        "'str' object has no attribute 'keys': ", "AttributeError'str' object has no attribute 'keys'AttributeError: ",
        ": 'str' object has no attribute 'keys''str' object has no attribute 'keys'",
    ]  # fmt: skip
    check("\n".join([heads, *torn]) + "\n", "python-exception", [], evidence="AttributeError'str'")
