"""One line tells whether a log is about a job only where it names what only such jobs have."""

import pytest

from firstfault.correlate.reading import FileReading
from firstfault.correlate.subject import EXCERPT_LINES, Subject, subject_of
from firstfault.read.lines import make_line


def subject(*lines, count=None):
    read = [make_line(line, 0, number) for number, line in enumerate(lines, 1)]
    return subject_of([FileReading(0, "x.log", 1, count or len(lines), read, [()] * len(read), [])])


@pytest.mark.parametrize(
    "line",
    [
        "[rank3]: boom",
        "step: 40  loss: 2.31  tps: 4,400",
        "epoch 3 | batch 120 | train_loss=0.41",
        "{'loss': 1.72, 'learning_rate': 2e-05}",
        "CUDA error: an illegal memory access was encountered",
        "node-1:4:9 [0] NCCL INFO Bootstrap : Using eth0",
        "slurmstepd: error: *** STEP 7.0 ON node-1 CANCELLED ***",
        "srun: error: node-1: task 3: Killed",
        '  File "/job/train.py", line 12, in main',
        "(raylet) the node is full",
        "NVRM: Xid (PCI:0000:4e:00): 79, GPU has fallen off the bus.",
        "Out of memory: Killed process 812 (python3) total-vm:1kB",
        "import torch",
        "INFO vllm.engine: starting",
    ],
)
def test_these_lines_are_about_a_job(line):
    assert subject(line) is Subject.JOB


@pytest.mark.parametrize(
    "line",
    [
        "Task shop.tasks.export[e9cc8746-ddc0-c10d-3f5a-6596a3d8156d] succeeded",
        "open /usr/lib/libicudata.so.72: No space left on device",
        "SELECT rank() OVER (ORDER BY total) FROM orders",
        "leader epoch 12, high watermark 400",
        "user [elastic], cluster elastic-prod",
        "GET /training/courses/4 HTTP/1.1",
        "GPU process exited unexpectedly: exit_code=139",
        "loss of 3 packets, retrying in step 2",
        "lightning node synced",
        "frame = transformers.apply(frame, batch_size=500)",
        "step=120 funnel=checkout avg_order_value=nan",
        "nvidia: module license 'NVIDIA' taints kernel.",
        "the accelerated page loads faster",
    ],
)
def test_these_lines_are_not(line):
    assert subject(line) is not Subject.JOB


def test_an_excerpt_that_names_neither_says_nothing():
    assert subject("OSError: [Errno 28] No space left on device") is Subject.UNSAID
    assert subject("ModuleNotFoundError: No module named 'flash_attention_kernels'") is Subject.UNSAID


def test_an_excerpt_of_another_program_is_about_something_else():
    assert subject("nginx[812]: segfault at 0 ip 00007f") is Subject.OTHER
    assert subject("\tat java.base/java.lang.Thread.run(Thread.java:1583)") is Subject.OTHER


def test_a_long_log_that_names_neither_is_about_something_else():
    assert subject("OSError: [Errno 28] No space left on device", count=EXCERPT_LINES + 1) is Subject.OTHER


def test_one_word_in_a_month_of_messages_is_no_job():
    quiet = [f"postfix/smtpd[{n}]: connect from unknown" for n in range(2000)]
    assert subject(*quiet, "import torch") is Subject.OTHER
    assert subject(*quiet, *["import torch"] * 8) is Subject.JOB
