"""Candidate lines are the same however the bytes are cut, with hyperscan and without, and bounded whatever the bytes are."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstfault.read import reader
from firstfault.read.kept import KEPT_ALIKE
from firstfault.read.reader import LineReader, read_chunks
from firstfault.read.scan import Scanner

NEEDLES = {"Error: ": 0, "Traceback (most": 2, "WARN": 0, "ERR": 0}
FAST, SLOW = Scanner(NEEDLES), Scanner(NEEDLES, use_hyperscan=False)

pieces = st.sampled_from(
    [b"Error: ", b"Traceback (most", b"WARN", b"ERR", b"\n", b"\r\n", b"\r", b"x" * 50, b"\xff", "é🔥".encode(), b"\x1b[0m", b"step 1\n"]
)
texts = st.lists(pieces, max_size=80).map(b"".join)


@given(texts, st.integers(1, 200))
@settings(max_examples=200, deadline=None)
def test_any_chunking_and_either_scanner_give_the_same_lines(data, size):
    whole = read_chunks(FAST, [data], "x")
    cut = read_chunks(SLOW, [data[i : i + size] for i in range(0, len(data), size)], "x")
    assert whole == cut


@given(texts)
@settings(max_examples=200, deadline=None)
def test_line_numbers_count_line_feeds_only(data):
    lines = data.split(b"\n")
    found = read_chunks(FAST, [data], "x")
    for candidate in found.candidates:
        assert lines[candidate.number - 1] == candidate.raw
    for number, raw in found.samples:
        assert lines[number - 1] == raw
    wanted = {i for i, line in enumerate(lines, 1) if any(n.encode() in line for n in NEEDLES)}
    assert wanted <= {c.number for c in found.candidates}
    assert found.lines == len(lines) - (lines[-1] == b"")


def test_small_blocks_change_no_candidate(monkeypatch):
    data = b"".join(b"line %d %s\n" % (i, b"WARN" if i % 7 == 0 else b"Traceback (most" if i % 50 == 0 else b"") for i in range(5000))
    whole = read_chunks(FAST, [data], "x")
    monkeypatch.setattr(reader, "BLOCK_BYTES", 512)
    cut = read_chunks(FAST, [data], "x")
    assert cut.candidates == whole.candidates
    assert cut.lines == whole.lines


def test_lines_behind_a_needle_are_kept_across_blocks(monkeypatch):
    monkeypatch.setattr(reader, "BLOCK_BYTES", 32)
    found = read_chunks(FAST, [b"Traceback (most recent\n frame one\n frame two\n other\n"], "x")
    assert [c.number for c in found.candidates] == [1, 2, 3]


def test_millions_of_alike_lines_cost_a_count_not_a_list():
    line_reader = LineReader(FAST, "x")
    chunk = b"".join(b"WARN queue %d is slow\n" % i for i in range(20_000))
    for _ in range(10):
        line_reader.feed(chunk)
    found = line_reader.finish()
    assert len(found.candidates) <= 2 * KEPT_ALIKE
    assert found.repeated + found.dropped + len(found.candidates) == 200_000
    assert found.candidates[0].number == 1
    assert found.candidates[-1].number == 200_000


FLOOD = b"".join(
    b"ERR the one that matters\n" if i == 30_000 else b"ERR WARN a rare pair\n" if i == 40_000 else b"WARN queue %d\n" % i for i in range(50_000)
)


def test_of_a_flood_the_lines_with_another_needle_are_kept():
    found = read_chunks(FAST, [FLOOD], "x")
    assert len(FLOOD) < reader.BLOCK_BYTES and FLOOD.count(b"WARN") > reader.DENSE
    numbers = [c.number for c in found.candidates]
    assert {1, 30_001, 40_001, 50_000} <= set(numbers)
    assert [c.needles for c in found.candidates if c.number == 40_001] == [tuple(FAST.needles.index(n) for n in ("ERR", "WARN"))]
    assert found.repeated + found.dropped + len(numbers) == 50_000
    assert len(numbers) <= 2 * KEPT_ALIKE + 2


def test_a_flood_is_read_the_same_way_without_hyperscan():
    assert read_chunks(SLOW, [FLOOD], "x") == read_chunks(FAST, [FLOOD], "x")


def test_alike_lines_of_many_ranks_keep_the_first_and_the_last_of_every_rank():
    data = b"".join(b"[rank%d]: WARN round %d is late\n" % (rank, turn) for turn in range(10) for rank in range(500))
    found = read_chunks(FAST, [data], "x")
    for rank in range(500):
        own = [c.raw for c in found.candidates if c.raw.startswith(b"[rank%d]:" % rank)]
        assert own[0].endswith(b"round 0 is late")
        assert own[-1].endswith(b"round 9 is late")
    assert len(found.candidates) <= 2 * 500 + 2 * KEPT_ALIKE


def test_lines_that_differ_only_in_addresses_are_alike():
    data = b"".join(b"WARN comm 0x%x is gone\n" % (0x7F00ABCD0000 + i * 977) for i in range(5000))
    assert len(read_chunks(FAST, [data], "x").candidates) == 2 * KEPT_ALIKE


def test_a_flood_of_different_lines_is_bounded_and_costs_no_line_of_another_kind():
    letters = [chr(97 + i) for i in range(26)]
    flood = [f"WARN {letters[i % 26] * 3}{letters[i // 26 % 26] * 7}{'q' * (i // 676)}\n".encode() for i in range(30_000)]
    flood[15_000] = b"ERR the one that matters\n"
    budget = reader.Budget(lines=1000, bytes=1 << 20)
    line_reader = LineReader(FAST, "x", budget)
    line_reader.feed(b"".join(flood))
    found = line_reader.finish()
    numbers = [c.number for c in found.candidates]
    assert len(numbers) <= 1000
    assert numbers[0] == 1 and numbers[-1] == 30_000 and 15_001 in numbers
    assert found.dropped + found.repeated + len(numbers) == 30_000


def test_a_flood_of_long_lines_is_bounded_in_bytes():
    line_reader = LineReader(FAST, "x", reader.Budget(lines=10_000, bytes=1 << 19))
    for i in range(400):
        line_reader.feed(b"WARN " + (b"abcdefgh"[i % 8 : i % 8 + 1] * (8000 + i)) + b"\n")
    found = line_reader.finish()
    assert sum(len(c.raw) for c in found.candidates) <= 1 << 19
    assert (found.candidates[0].number, found.candidates[-1].number) == (1, 400)


def test_one_huge_line_is_kept_as_excerpts_with_their_true_columns():
    data = "é".encode() * 700_000 + b"\rKeyError: 'x' Error: here\r" + b"b" * 3_000_000
    data += b" Error: there " + b"c" * 9000 + b"\nWARN after\n"
    found = read_chunks(FAST, [data], "x")
    text = data.decode()
    assert {c.number for c in found.candidates} == {1, 2}
    assert found.lines == 2
    for words in ("Error: here", "Error: there"):
        (excerpt,) = [c for c in found.candidates if words.encode() in c.raw]
        assert excerpt.column + excerpt.raw.decode("utf-8", "replace").index(words) == text.index(words)
    assert all(len(c.raw) <= 4 * 1024 for c in found.candidates)
    assert found.cut_lines == 1


def test_a_line_of_gigabytes_costs_a_block():
    line_reader = LineReader(FAST, "x")
    piece = b"Error: again and again " * 40_000
    for _ in range(30):
        line_reader.feed(piece)
    found = line_reader.finish()
    assert found.lines == 1
    assert sum(len(c.raw) for c in found.candidates) < 1 << 20


@pytest.mark.parametrize("data", [b"", b"\n", b"\r", b"\n\n\n", b"no end"])
def test_empty_and_odd_inputs(data):
    found = read_chunks(FAST, [data], "x")
    assert found.bytes == len(data)
    assert found.lines == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@given(texts, texts, st.integers(8, 64))
@settings(max_examples=100, deadline=None)
def test_a_snapshot_is_what_finishing_there_would_give(first, second, block):
    with mock.patch.object(reader, "BLOCK_BYTES", block):
        growing = LineReader(FAST, "x")
        growing.feed(first)
        assert growing.snapshot() == read_chunks(FAST, [first], "x")
        growing.feed(second)
        assert growing.snapshot() == growing.finish() == read_chunks(FAST, [first + second], "x")


def steps(ranks, until):
    """A combined log in which every rank prints its steps; rank r stops before step `until[r]` where that is given."""
    return b"".join(
        b"[rank%d]: step %d loss 2.%d tokens 81920 of a line that is about as long as such lines are\n" % (rank, step, step)
        for step in range(3000) for rank in range(ranks) if step < until.get(rank, 3000)
    )  # fmt: skip


def test_the_last_progress_of_a_rank_that_fell_silent_is_sampled():
    data = steps(16, {5: 1234, 11: 2100})
    assert len(data) > 3 * reader.BLOCK_BYTES
    found = read_chunks(FAST, [data], "x")
    last = {}
    for _, line in found.samples:
        rank, step = line.split(b"]: step ")
        last[int(rank[5:])] = int(step.split()[0])
    assert last == {rank: {5: 1233, 11: 2099}.get(rank, 2999) for rank in range(16)}


def test_samples_stay_few_and_stand_at_their_line_numbers():
    data = steps(16, {})
    found = read_chunks(FAST, [data], "x")
    lines = data.split(b"\n")
    budget = reader.Budget()
    assert len(found.samples) <= budget.samples + budget.end_samples + 64 + 16
    assert found.samples[0][0] == 1
    assert found.samples[-1][0] == len(lines) - 1
    for number, line in found.samples:
        assert lines[number - 1] == line


def test_the_budget_of_many_inputs_is_shared():
    one, many = reader.Budget.for_inputs(1), reader.Budget.for_inputs(1024)
    assert many.samples + many.end_samples < 100
    assert many.bytes * 1024 <= 1 << 27
    assert one == reader.Budget()


@given(st.lists(st.text("abc-é ", min_size=1, max_size=6), min_size=1, max_size=12, unique=True), st.text("abc-é ", max_size=60))
@settings(max_examples=200, deadline=None)
def test_the_slower_scanner_finds_every_needle(needles, text):
    scanner = Scanner(dict.fromkeys(needles, 0), use_hyperscan=False)
    line = text.encode()
    assert scanner.needles_in(line) == tuple(i for i, n in enumerate(scanner.needles) if n.encode() in line)
    assert bool(scanner.hits(line)) == any(n in text for n in needles)
    fast = Scanner(dict.fromkeys(needles, 0))
    assert scanner.every_hit(line) == fast.every_hit(line)
