"""What reading costs is bounded by counts, whatever the input is: bytes kept, lines cleaned, expressions tried. No clock is looked at."""

import cProfile
import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from firstfault import observe as observing
from firstfault.correlate import incident
from firstfault.diagnose import diagnose, diagnose_text
from firstfault.knowledge.library import load_library
from firstfault.knowledge.pattern import Pattern
from firstfault.observe import observe, scanner_for
from firstfault.read import stream
from firstfault.read.kept import KEPT_ALIKE
from firstfault.read.reader import BLOCK_BYTES, Budget, LineReader

sys.path.insert(0, str(Path(__file__).parent))
import synthetic_logs  # noqa: E402

SERVER = Path(__file__).resolve().parents[2] / "server"
LIBRARY = load_library()
BUDGET = Budget()
# Whatever the input is, so many lines are cleaned at most: the candidates and the samples, and the parts of a line behind carriage returns.
MOST_SAMPLES = BUDGET.head_samples + BUDGET.samples + BUDGET.end_samples + 1024


class Counted:
    """Reads bytes and counts what that cost."""

    def __init__(self, monkeypatch):
        self.searches = self.cleaned = 0
        search, make = Pattern.search, observing.make_line

        def counted_search(own, *args):
            self.searches += 1
            return search(own, *args)

        def counted_make(*args):
            self.cleaned += 1
            return make(*args)

        monkeypatch.setattr(Pattern, "search", counted_search)
        monkeypatch.setattr(observing, "make_line", counted_make)

    def read(self, chunks):
        scanner = scanner_for(LIBRARY)
        reader = LineReader(scanner, "x")
        for chunk in chunks:
            reader.feed(chunk)
        raw = reader.finish()
        file = observe(LIBRARY, scanner, raw, 0)
        self.kept_bytes = sum(len(c.raw) for c in raw.candidates) + sum(len(line) for _, line in raw.samples)
        return raw, file


@pytest.fixture
def counted(monkeypatch):
    return Counted(monkeypatch)


ERROR = b"[rank%d]: RuntimeError: CUDA error: out of memory while allocating %d bytes\n"

PATHOLOGICAL = {
    "one line of 100 MB": [b"x" * 1_000_000] * 100,
    "one line of 60 MB full of errors": [b"RuntimeError: CUDA error " * 40_000] * 60,
    "a million short lines": [b"ok\n" * 100_000] * 10,
    "thirty million empty lines": [b"\n" * 1_000_000] * 30,
    "all lines match": [b"".join(ERROR % (i % 64, i) for i in range(20_000))] * 10,
    "all lines match and differ": [
        b"".join(b"RuntimeError: %s\n" % (b"%c" % (97 + i % 26) * (i // 26 + part)) for i in range(3000)) for part in range(20)
    ],
    "long lines that all match": [b"RuntimeError: %s %s\n" % (b"a%c" % (97 + i % 26), b"y" * (9000 + 37 * i)) for i in range(2000)],
    "a progress bar of 20 MB without a line end": [b"".join(b" %d%%|##| %d/900 [00:01<00:09, 1.0it/s]\r" % (i % 100, i) for i in range(5000))] * 100,
    "brackets nested a million deep": [b"[" * 1_000_000 + b"]" * 1_000_000 + b"\n"],
    "exceptions chained a hundred thousand times": [
        b'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nKeyError: \'x\'\n\n'
        b"During handling of the above exception, another exception occurred:\n\n"
    ] * 100_000,
    "zero bytes": [b"torch\n" + b"\0" * 10_000_000 + b"\n"],
    "every byte": [bytes(range(256)) * 4000] * 5,
}  # fmt: skip


@pytest.mark.parametrize("chunks", PATHOLOGICAL.values(), ids=PATHOLOGICAL.keys())
def test_whatever_the_input_is_what_is_kept_and_tried_is_bounded(counted, chunks):
    raw, file = counted.read(chunks)
    assert raw.bytes == sum(map(len, chunks))
    assert len(raw.candidates) <= BUDGET.lines
    assert len(raw.samples) <= MOST_SAMPLES
    assert counted.kept_bytes <= BUDGET.bytes + MOST_SAMPLES * 4096
    assert counted.cleaned <= 2 * BUDGET.lines + MOST_SAMPLES
    # A line is tried against the pages whose needle it holds.
    assert counted.searches <= 12 * len(file.lines)


@pytest.mark.parametrize(
    "name",
    ["one line of 60 MB full of errors", "all lines match", "all lines match and differ", "long lines that all match"],
)
def test_what_was_left_out_is_told_in_the_limits(tmp_path, name):
    path = tmp_path / "x.log"
    path.write_bytes(b"".join(PATHOLOGICAL[name]))
    limits = diagnose([path], library=LIBRARY).report.limits
    assert any("counted, not kept" in limit or "shortened" in limit for limit in limits)


def test_identical_warnings_cost_a_count(counted):
    raw, _ = counted.read([b"WARNING: NCCL WARN Missing iommu setting can lead to poor performance\n" * 10_000] * 30)
    assert len(raw.candidates) <= 2 * KEPT_ALIKE
    assert raw.repeated + raw.dropped + len(raw.candidates) == 300_000
    assert counted.kept_bytes < 1 << 17


def test_an_ordinary_log_costs_few_expressions_a_megabyte(counted, tmp_path):
    path = tmp_path / "x.log"
    searches = []
    for size in (2 << 20, 16 << 20):
        synthetic_logs.write_combined(path, size, ranks=16)
        counted.searches = counted.cleaned = 0
        raw, file = counted.read([path.read_bytes()])
        searches.append(counted.searches)
        assert len(file.lines) < 1000
        assert counted.cleaned < 2500
    # Eight times the log is not twice the work.
    assert searches[1] < 2 * searches[0]
    assert searches[1] < 16 * 40


def test_an_ordinary_log_loses_nothing_to_the_bounds(tmp_path):
    path = tmp_path / "x.log"
    synthetic_logs.write_combined(path, 3 << 20, ranks=64)
    report = diagnose([path], library=LIBRARY).report
    assert report.incidents[0].initiating.ranks == (synthetic_logs.FAULTY_RANK,)
    assert not any("kinds that fill the log" in limit for limit in report.limits)
    waited = {r for c in report.incidents[0].collateral for r in c.ranks or ()}
    assert waited == set(range(64)) - {synthetic_logs.FAULTY_RANK}


def test_the_rank_that_did_not_report_is_found_among_a_thousand_that_did(tmp_path):
    work = "WorkNCCL(SeqNum=78, OpType=ALLREDUCE, NumelIn=80, NumelOut=80, Timeout(ms)=600000)"
    path = tmp_path / "x.log"
    with open(path, "w") as out:
        for rank in range(1024):
            out.write(f"[rank{rank}]: rank {rank} of world_size 1024 begins\n")
        for rank in set(range(1024)) - {517}:
            out.write(f"[rank{rank}]:[E ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught collective operation timeout: {work} ran for 600096")
            out.write(" milliseconds before timing out.\n")
    report = diagnose([path], library=LIBRARY).report
    assert report.incidents[0].initiating.ranks == (517,)


def test_an_archive_that_inflates_without_end_is_bounded_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "ALWAYS_INFLATED_BYTES", 4 << 20)
    monkeypatch.setattr(stream, "LARGEST_INFLATION", 20)
    path = tmp_path / "bomb.log.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(64):
            file.write(b"torch says a harmless line\n" * 40_000)
    report = diagnose([path], library=LIBRARY).report
    assert report.inputs[0].bytes == max(4 << 20, 20 * path.stat().st_size)
    assert any("inflates to more than 20 times" in limit for limit in report.limits)


def test_folders_nested_deeply_are_read(tmp_path):
    folder = tmp_path
    for _ in range(60):
        folder = folder / "d"
    folder.mkdir(parents=True)
    (folder / "rank_0.log").write_text("torch\n")
    (folder / "round").symlink_to(tmp_path)
    assert len(diagnose([tmp_path], library=LIBRARY).report.inputs) == 1


_PEAK = """
from firstfault.correlate import incident
from firstfault.diagnose import diagnose, diagnose_text
report = diagnose(["-"]).report
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024, report.inputs[0].bytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize(
    ("piece", "times"),
    [
        (b"x" * (1 << 20), 500),
        (b"".join(ERROR % (i % 64, i) for i in range(16_000)), 40),
        (b"".join(b"[rank%d]: INFO trainer: step %d loss: 2.%d\n" % (i % 64, i, i) for i in range(25_000)), 200),
    ],
    ids=["one line of 500 MB", "all lines match", "steps"],
)
def test_peak_memory_is_that_of_a_small_log(piece, times):
    child = subprocess.Popen([sys.executable, "-c", _PEAK], cwd=SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for _ in range(times):
        child.stdin.write(piece)
    child.stdin.close()
    peak_mb, size = map(int, child.stdout.read().split())
    child.wait()
    assert size == len(piece) * times
    assert peak_mb <= 150


def test_a_block_is_the_unit_of_memory():
    assert BLOCK_BYTES <= 1 << 20
    assert BUDGET.bytes <= 8 << 20


def _ranks_that_all_fail(ranks):
    """A job in which every rank waits in vain, raises and is reported by its launcher twice."""
    out = []
    for r in range(ranks):
        out.append(
            f"[rank{r}]:[E0304 05:06:{r % 60:02d}.{r:06d} ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught collective operation timeout: "
            f"WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600{r:04d} milliseconds before timing out."
        )
        out.append(f"[rank{r}]: Traceback (most recent call last):")
        out.append(f'[rank{r}]:   File "train.py", line {r % 37 + 1}, in main')
        out.append(f"[rank{r}]: RuntimeError: NCCL communicator was aborted on rank {r}.")
    for r in range(ranks):
        out.append(
            f"E0304 05:07:01.000000 {r} torch/distributed/elastic/multiprocessing/api.py:882] "
            f"failed (exitcode: 1) local_rank: {r % 8} (pid: {20_000 + r}) of binary: /usr/bin/python3"
        )
    out.append("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    for r in range(ranks):
        out.append(f"[{r}]:\n  time      : 2025-03-04_05:07:01\n  host      : node{r // 8}\n  rank      : {r} (local_rank: {r % 8})")
        out.append(f"  exitcode  : 1 (pid: {20_000 + r})\n  error_file: <N/A>\n  traceback : To enable traceback see: https://x.org/errors.html")
    return "\n".join(out)


def test_a_line_costs_few_calls_however_many_ranks_fail():
    """Calls of functions are counted, which is repeatable. Comparing every line with every exit of a process would be thrice as many."""
    log = _ranks_that_all_fail(1024)
    diagnose_text("", library=LIBRARY)
    counted = cProfile.Profile()
    counted.runcall(diagnose_text, log, library=LIBRARY)
    assert sum(x.callcount for x in counted.getstats()) < 350 * log.count("\n")


def test_a_thousand_ranks_are_counted_where_not_all_of_their_lines_are_listed(monkeypatch):
    monkeypatch.setattr(incident, "MOST_COLLATERAL", 300)
    log = f"[rank777]: RuntimeError: CUDA error: an illegal memory access was encountered\n{_ranks_that_all_fail(256)}"
    report = diagnose_text(log, library=LIBRARY).report
    assert report.incidents[0].initiating.ranks == (777,)
    assert len(report.incidents[0].collateral) == 300
    assert "256 other ranks" in report.incidents[0].summary
    assert any("more collateral lines were counted, not listed" in note for note in report.limits)
