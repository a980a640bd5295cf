"""Text copied from a screen: what its edge broke is put together, and every line keeps its number."""

import random

from firstfault.diagnose import diagnose_text
from firstfault.read.wrapped import unwrap

LOG = [
    "[rank2]: Traceback (most recent call last):",
    '[rank2]:   File "/opt/conda/envs/train/lib/python3.11/site-packages/trainer/loops/fit_loop_of_the_second_stage.py", line 184, in advance',
    "[rank2]:     batch = next(self._prefetched_batches_of_this_rank_for_the_current_accumulation_window)",
    "[rank2]: RuntimeError: The size of tensor a (4096) must match the size of tensor b (2048) at non-singleton dimension 2, in the attention mask of layer 7",
    "[rank0]:[E1102 10:14:07.160837201 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=BROADCAST, "
    "NumelIn=64, NumelOut=64, Timeout(ms)=900000) ran for 900014 milliseconds before timing out.",
]  # fmt: skip


def wrapped(lines, width):
    return [line[i : i + width] for line in lines for i in range(0, len(line), width)]


def test_broken_lines_stand_in_the_first_of_their_lines():
    halves = wrapped(LOG, 80)
    text, parts = unwrap("\n".join(halves).encode())
    whole = text.decode().split("\n")
    assert len(whole) == len(halves)
    assert [line for line in whole if line] == LOG
    assert parts[2] == (80, len(LOG[1]) - 80)


def test_text_that_no_edge_broke_stays_as_it_is():
    bars = [f"{n:3d}%|{'#' * (n // 4):25s}| {n:3d}/100 [00:{n % 60:02d}<00:59,  1.02it/s]" for n in range(100)]
    alike = [f"W1102 10:00:0{n}.431000 4000 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 410{n} closing signal SIGTERM" for n in range(9)]
    steps = [f"step:{n}/2000 val_loss:{3 + n / 1000:.4f} train_time:{n * 43:06d}ms step_avg:{43 + n / 1000:.2f}ms" for n in range(1000, 1100)]
    rulers = ["=" * 80, "-" * 80, "|" + "x" * 78 + "|"] * 5
    for lines in (LOG, bars, alike, steps, rulers, [], ["a"]):
        data = "\n".join(lines).encode()
        assert unwrap(data) == (data, {})


def test_the_numbers_of_a_viewer_become_blanks_and_steps_stay():
    for style in ("{:>5}\t{}", "{:>4} {}", "[{}] {}", "{}: {}"):
        numbered = [style.format(n, line) for n, line in enumerate(LOG * 2, 311)]
        text, parts = unwrap("\n".join(numbered).encode())
        assert parts == {}
        assert [line.strip() for line in text.decode().split("\n")] == [line.strip() for line in LOG * 2]
        assert [len(line) for line in text.decode().split("\n")] == [len(line) for line in numbered]
    steps = "\n".join(f"{n * 10} loss={3 - n / 100:.3f} lr=1e-5" for n in range(20)).encode()
    assert unwrap(steps) == (steps, {})


def test_no_bytes_are_too_strange():
    random.seed(7)
    for _ in range(200):
        data = bytes(random.choice(b"ab\n \xff\xc3[]/") for _ in range(random.randrange(2000)))
        text, _ = unwrap(data)
        assert text.count(b"\n") == data.count(b"\n")


def test_evidence_stands_where_the_words_are():
    halves = wrapped(LOG, 80)
    incident = diagnose_text("\n".join(halves)).report.incidents[0]
    assert (incident.failure, incident.initiating.ranks) == ("tensor-shape-mismatch", (2,))
    for e in incident.evidence:
        assert e.text == halves[e.line - 1].rstrip()
        assert 0 <= e.column <= e.end_column <= len(e.text)


def test_a_record_that_begins_with_its_level_goes_on_with_nothing():
    stats = "INFO 03-04 12:00:{}1 metrics.py:345] Avg prompt throughput: 88.1 tokens/s, Avg generation throughput: 301.2 tokens/s."
    log = "\n".join(
        [stats.format(0), 'INFO:     10.0.0.3:512 - "POST /v1/completions HTTP/1.1" 200 OK', stats.format(1), "ERROR:    Exception in application"]
    )
    assert unwrap(log.encode()) == (log.encode(), {})


def test_a_few_lines_of_one_length_that_begin_alike_are_lines():
    ticks = [f"tick {n}     kimg {n}.0      time 13m 32s      sec/tick 224.1   maintenance 0.1    cpumem 4.30" for n in range(4)]
    text = "\n".join(["Evaluating metrics...", *ticks, ""]).encode()
    assert unwrap(text) == (text, {})
