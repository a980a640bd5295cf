"""Following a log gives what reading it whole gives, and costs what was added."""

import gzip
import os
import random
from pathlib import Path

import pytest

from firstfault import observe as observing
from firstfault.diagnose import diagnose
from firstfault.errors import InputError
from firstfault.follow import Follower, Pace
from firstfault.knowledge.library import load_library
from firstfault.model import Progress
from firstfault.read import reader, scan
from firstfault.report import to_json

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*.log"))
LIBRARY = load_library()


def report(diagnosis):
    return to_json(diagnosis.report)


def whole(*paths):
    return report(diagnose(paths, library=LIBRARY))


def append(path, data):
    with open(path, "ab") as file:
        file.write(data)


def steps(first, last, ranks=4):
    return b"".join(
        b"[rank%d]: 2026-09-21 14:%02d:%02d,000 INFO trainer: step %d loss: 2.%d tokens/s: 81920\n" % (r, s // 60 % 60, s % 60, s, s)
        for s in range(first, last) for r in range(ranks)
    )  # fmt: skip


FAULT = (
    b"[rank2]: Traceback (most recent call last):\n"
    b'[rank2]:   File "/job/train.py", line 12, in <module>\n'
    b"[rank2]:     main()\n"
    b"[rank2]: KeyError: 'uid'\n"
)


def broken_at(column, data):
    """The lines as copied from a terminal that is so wide."""
    return b"\n".join(line[i : i + column] for line in data.split(b"\n") for i in range(0, max(len(line), 1), column))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.name)
@pytest.mark.parametrize(("seed", "column"), [(0, None), (1, None), (2, None), (3, 100)])
def test_a_log_followed_in_any_pieces_gives_the_report_of_the_whole(sample, seed, column, tmp_path):
    chance, data = random.Random(seed), sample.read_bytes()
    if column:
        data = broken_at(column, data)
    path = tmp_path / "x.log"
    path.touch()
    follower = Follower([path], library=LIBRARY)
    at, last = 0, None
    while at < len(data):
        piece = data[at : at + chance.choice((1, 30, 700, 5000))]
        at += len(piece)
        append(path, piece)
        last = follower.poll()
        if chance.random() < 0.1:
            assert report(last) == whole(path)
    assert report(last) == whole(path)
    assert follower.poll() is None


def test_small_blocks_followed_and_resumed_give_the_report_of_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "BLOCK_BYTES", 4096)
    path = tmp_path / "x.log"
    late = b"".join(b"[rank%d]: KeyError: 'late %d'\n" % (r, i) for i in range(90) for r in (0, 1, 3))
    data = steps(0, 300) + FAULT + late + steps(300, 310, 1)
    follower, chance, at = Follower([path], library=LIBRARY), random.Random(5), 0
    while at < len(data):
        size = chance.randrange(1, 9000)
        append(path, data[at : at + size])
        at += size
        given = follower.poll()
        assert report(given) == whole(path)
        if chance.random() < 0.5:
            follower = Follower([path], library=LIBRARY, checkpoint=follower.checkpoint())
            assert report(follower.poll()) == report(given)
    assert "KeyError" in report(given)


class Counts:
    """Counts what reading costs: bytes scanned, lines cleaned, lines matched."""

    def __init__(self, monkeypatch):
        self.scanned = self.cleaned = self.matched = 0
        hits, make, match = scan.Scanner.hits, observing.make_line, observing.match_line

        def counted_hits(own, block):
            self.scanned += len(block)
            return hits(own, block)

        def counted_make(*args):
            self.cleaned += 1
            return make(*args)

        def counted_match(*args):
            self.matched += 1
            return match(*args)

        monkeypatch.setattr(scan.Scanner, "hits", counted_hits)
        monkeypatch.setattr(observing, "make_line", counted_make)
        monkeypatch.setattr(observing, "match_line", counted_match)

    def taken(self):
        out = self.scanned, self.cleaned, self.matched
        self.scanned = self.cleaned = self.matched = 0
        return out


def test_appending_to_a_large_log_costs_what_was_added_not_what_was_there(tmp_path, monkeypatch):
    addition = steps(100_000, 102_800) + FAULT
    assert len(addition) > 900_000
    alone, large = tmp_path / "alone.log", tmp_path / "large.log"
    large.write_bytes(steps(0, 100_000))
    assert large.stat().st_size > 30 * len(addition)
    counts = Counts(monkeypatch)
    alone.write_bytes(addition)
    Follower([alone], library=LIBRARY).poll()
    scanned_alone, cleaned_alone, matched_alone = counts.taken()
    follower = Follower([large], library=LIBRARY)
    follower.poll()
    counts.taken()
    append(large, addition)
    assert "python-exception" in report(follower.poll())
    scanned, cleaned, matched = counts.taken()
    # What is not settled yet, at most one block, is scanned again.
    assert scanned <= len(addition) + reader.BLOCK_BYTES
    assert cleaned <= cleaned_alone
    assert matched <= matched_alone
    append(large, b"one more line\n")
    follower.poll()
    scanned, cleaned, matched = counts.taken()
    assert scanned <= reader.BLOCK_BYTES
    assert cleaned <= 8 and matched <= 8


def test_a_look_at_an_unchanged_log_reads_nothing(tmp_path, monkeypatch):
    path = tmp_path / "x.log"
    path.write_bytes(steps(0, 1000))
    follower = Follower([path], library=LIBRARY)
    follower.poll()
    counts = Counts(monkeypatch)
    assert follower.poll() is None
    assert counts.taken() == (0, 0, 0)


def test_a_line_that_is_still_being_written_is_read_again(tmp_path):
    path = tmp_path / "x.log"
    append(path, steps(0, 50) + FAULT[:-9])
    follower = Follower([path], library=LIBRARY)
    follower.poll()
    append(path, FAULT[-9:])
    assert report(follower.poll()) == whole(path)


def test_a_truncated_log_is_read_anew(tmp_path):
    path = tmp_path / "x.log"
    append(path, steps(0, 500) + FAULT)
    follower = Follower([path], library=LIBRARY)
    assert follower.poll().report.incidents
    path.write_bytes(steps(0, 20))
    given = follower.poll()
    assert not given.report.incidents
    assert report(given) == whole(path)
    assert follower.restarts == 1


def test_a_log_truncated_and_grown_beyond_its_old_size_between_two_looks_is_read_anew(tmp_path):
    path = tmp_path / "x.log"
    append(path, steps(0, 100) + FAULT)
    follower = Follower([path], library=LIBRARY)
    follower.poll()
    path.write_bytes(steps(0, 5000))
    assert report(follower.poll()) == whole(path)
    assert follower.restarts == 1


def test_a_rotated_log_is_read_anew_under_its_name(tmp_path):
    path = tmp_path / "x.log"
    append(path, steps(0, 100) + FAULT)
    follower = Follower([path], library=LIBRARY)
    follower.poll()
    path.rename(tmp_path / "x.log.1")
    assert follower.poll() is None
    append(path, steps(100, 300))
    assert report(follower.poll()) == whole(path)
    assert follower.restarts == 1


def test_rotation_in_a_followed_folder_costs_no_second_reading(tmp_path, monkeypatch):
    path = tmp_path / "x.log"
    append(path, steps(0, 6000) + FAULT)
    follower = Follower([tmp_path], library=LIBRARY)
    follower.poll()
    counts = Counts(monkeypatch)
    path.rename(tmp_path / "x.log.1")
    append(path, steps(6000, 6010))
    given = follower.poll()
    assert counts.taken()[0] <= 2 * reader.BLOCK_BYTES
    assert report(given) == whole(tmp_path)


def test_files_that_appear_in_a_folder_are_followed_too(tmp_path):
    append(tmp_path / "rank_0.log", steps(0, 40, 1))
    follower = Follower([tmp_path], library=LIBRARY)
    assert report(follower.poll()) == whole(tmp_path)
    for rank in range(1, 9):
        append(tmp_path / f"rank_{rank}.log", steps(0, 40, 1) + (FAULT if rank == 2 else b""))
        append(tmp_path / "rank_0.log", steps(40 + rank, 41 + rank, 1))
        assert report(follower.poll()) == whole(tmp_path)
    (tmp_path / "rank_5.log").unlink()
    assert report(follower.poll()) == whole(tmp_path)


def test_a_path_that_does_not_exist_yet_is_waited_for(tmp_path):
    path = tmp_path / "slurm-7.out"
    follower = Follower([path], library=LIBRARY)
    assert follower.poll() is None
    assert follower.waiting_for == (str(path),)
    append(path, FAULT)
    assert report(follower.poll()) == whole(path)
    assert follower.waiting_for == ()


def test_an_archive_in_a_followed_folder_is_read_whole_when_it_changes(tmp_path):
    append(tmp_path / "a.log", steps(0, 10))
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(steps(0, 5) + FAULT))
    follower = Follower([tmp_path], library=LIBRARY)
    assert report(follower.poll()) == whole(tmp_path)
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(steps(0, 7)))
    assert report(follower.poll()) == whole(tmp_path)
    assert follower.poll() is None


@pytest.mark.parametrize("path", ["-", "s3://bucket/x.log"])
def test_what_is_no_file_cannot_be_followed(path):
    with pytest.raises(InputError, match="cannot be followed"):
        Follower([path], library=LIBRARY)


def test_a_binary_file_is_refused(tmp_path):
    (tmp_path / "x.bin").write_bytes(bytes(range(256)) * 50)
    with pytest.raises(InputError, match="binary"):
        Follower([tmp_path / "x.bin"], library=LIBRARY).poll()


def test_a_resumed_follower_reads_only_what_is_new(tmp_path, monkeypatch):
    path = tmp_path / "x.log"
    append(path, steps(0, 20_000) + FAULT + steps(20_000, 20_100))
    assert path.stat().st_size > 6 * reader.BLOCK_BYTES
    first = Follower([path], library=LIBRARY)
    before = report(first.poll())
    checkpoint = first.checkpoint()
    append(path, b"a last line\n")
    counts = Counts(monkeypatch)
    second = Follower([path], library=LIBRARY, checkpoint=checkpoint)
    given = report(second.poll())
    assert counts.taken()[0] <= reader.BLOCK_BYTES
    assert given == whole(path) != before


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"[]", b"{}", b'{"files": []}', b'{"files": {"x": 1}}', b"\xff\xfe"])
def test_a_damaged_checkpoint_is_ignored(tmp_path, damage):
    path = tmp_path / "x.log"
    append(path, steps(0, 100) + FAULT)
    assert report(Follower([path], library=LIBRARY, checkpoint=damage).poll()) == whole(path)


def test_a_checkpoint_with_a_state_that_makes_no_sense_is_ignored(tmp_path):
    path = tmp_path / "x.log"
    append(path, steps(0, 20_000))
    checkpoint = Follower([path], library=LIBRARY)
    checkpoint.poll()
    data = checkpoint.checkpoint()
    for broken in (data.replace(b'"kept"', b'"kopt"'), data.replace(b'"even": [[', b'"even": [[[')):
        assert broken != data
        assert report(Follower([path], library=LIBRARY, checkpoint=broken).poll()) == whole(path)


def test_a_checkpoint_of_a_log_that_was_replaced_is_ignored(tmp_path):
    path = tmp_path / "x.log"
    append(path, steps(0, 20_000) + FAULT)
    follower = Follower([path], library=LIBRARY)
    follower.poll()
    path.unlink()
    append(path, steps(1, 30_000))
    resumed = Follower([path], library=LIBRARY, checkpoint=follower.checkpoint())
    assert report(resumed.poll()) == whole(path)


def test_a_checkpoint_of_other_pages_is_ignored(tmp_path, monkeypatch):
    path = tmp_path / "x.log"
    append(path, steps(0, 20_000))
    follower = Follower([path], library=LIBRARY)
    follower.poll()
    data = follower.checkpoint().replace(LIBRARY.digest.encode(), b"0" * 64)
    counts = Counts(monkeypatch)
    Follower([path], library=LIBRARY, checkpoint=data).poll()
    assert counts.taken()[0] >= path.stat().st_size


def hang(path, follower, at=100):
    """Steps seen every two seconds until step `at`; the follower's last diagnosis."""
    given = None
    for step in range(at):
        append(path, steps(step, step + 1))
        given = follower.poll(now_s=2.0 * step) or given
    return given


def test_a_job_that_stands_still_is_told_once_and_while_it_hangs(tmp_path):
    path = tmp_path / "x.log"
    follower = Follower([path], library=LIBRARY)
    assert not hang(path, follower).report.incidents
    assert follower.poll(now_s=198 + 59) is None
    stalled = follower.poll(now_s=198 + 61)
    (incident,) = stalled.report.incidents
    assert incident.failure == LIBRARY.shown_by("stall").id
    assert incident.verdict.value == "undetermined" and incident.missing
    assert incident.evidence[0].line == 400 and "step 99" in incident.evidence[0].text
    assert "1 min 1 s" in incident.reasons[0]
    assert follower.poll(now_s=198 + 600) is None


def test_a_job_that_goes_on_after_standing_still_may_stand_still_again(tmp_path):
    path = tmp_path / "x.log"
    follower = Follower([path], library=LIBRARY)
    hang(path, follower)
    assert follower.poll(now_s=300).report.incidents
    append(path, steps(100, 101))
    assert not follower.poll(now_s=310).report.incidents
    assert follower.poll(now_s=320) is None
    assert follower.poll(now_s=310 + 61).report.incidents


def test_other_lines_are_no_progress(tmp_path):
    path = tmp_path / "x.log"
    follower = Follower([path], library=LIBRARY)
    hang(path, follower)
    append(path, b"[rank0]: still alive\n")
    assert not follower.poll(now_s=230).report.incidents
    append(path, b"[rank0]: still alive\n")
    assert follower.poll(now_s=270).report.incidents


def test_without_a_time_nothing_stands_still(tmp_path):
    path = tmp_path / "x.log"
    follower = Follower([path], library=LIBRARY)
    hang(path, follower)
    assert follower.poll() is None


def test_a_failed_or_finished_job_does_not_stand_still(tmp_path):
    for name, end in (("a.log", FAULT), ("b.log", b"[rank0]: Training completed\n")):
        path = tmp_path / name
        follower = Follower([path], library=LIBRARY)
        hang(path, follower)
        append(path, end)
        follower.poll(now_s=200)
        assert follower.poll(now_s=9000) is None


def test_the_pace_is_that_of_the_median_step():
    pace = Pace(steps=20, shortest_s=1.0)
    for i, at in enumerate((0, 10, 20, 30, 900, 910, 920)):
        pace.observe(Progress(i, None, "x", i), float(at))
    assert pace.stalled_s(920 + 199) is None
    assert pace.stalled_s(920 + 200) == 200


def test_the_engine_reads_no_clock_and_does_not_sleep():
    import firstfault.follow as follow
    import firstfault.read.follow as read_follow

    for module in (follow, read_follow):
        source = Path(module.__file__).read_text(encoding="utf-8")
        assert "import time" not in source and "datetime" not in source and "sleep" not in source.replace("never sleeps", "")


def test_reading_can_be_stopped_and_goes_on_later(tmp_path):
    class Stop(Exception):
        pass

    path = tmp_path / "x.log"
    append(path, steps(0, 20_000) + FAULT)
    follower = Follower([path], library=LIBRARY)
    seen = []

    def told(count):
        seen.append(count)
        if len(seen) == 3:
            raise Stop

    with pytest.raises(Stop):
        follower.poll(told=told)
    assert report(follower.poll(told=seen.append)) == whole(path)
    assert sum(seen) == path.stat().st_size


def test_a_file_that_cannot_be_opened_is_told(tmp_path):
    if os.name == "nt" or os.geteuid() == 0:
        pytest.skip("root may read everything")
    path = tmp_path / "x.log"
    append(path, b"x\n")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot read"):
        Follower([path], library=LIBRARY).poll()
