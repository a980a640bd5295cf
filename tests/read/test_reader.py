"""Candidate lines are the same however the bytes are cut, with hyperscan and without."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstfault.read import reader
from firstfault.read.reader import LineReader, read_chunks
from firstfault.read.scan import Scanner

NEEDLES = {"Error: ": 0, "Traceback (most": 2, "WARN": 0, "ERR": 0}
FAST, SLOW = Scanner(NEEDLES), Scanner(NEEDLES, use_hyperscan=False)

pieces = st.sampled_from([b"Error: ", b"Traceback (most", b"WARN", b"ERR", b"\n", b"\r\n", b"\r", b"x" * 50, b"\xff\xfe", "é🔥".encode(), b"\x1b[0m", b"step 1\n"])
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
    wanted = {i for i, line in enumerate(lines, 1) if any(n.encode() in line for n in NEEDLES)}
    assert wanted <= {c.number for c in found.candidates}
    assert found.lines == len(lines) - (lines[-1] == b"")


def test_small_blocks_change_nothing(monkeypatch):
    data = b"".join(b"line %d %s\n" % (i, b"WARN" if i % 7 == 0 else b"Traceback (most" if i % 50 == 0 else b"") for i in range(5000))
    whole = read_chunks(FAST, [data], "x")
    monkeypatch.setattr(reader, "BLOCK_BYTES", 512)
    cut = read_chunks(FAST, [data], "x")
    assert [c for c in cut.candidates] == [c for c in whole.candidates]


def test_lines_behind_a_needle_are_kept_across_blocks(monkeypatch):
    monkeypatch.setattr(reader, "BLOCK_BYTES", 16)
    found = read_chunks(FAST, [b"Traceback (most recent\n frame one\n frame two\n other\n"], "x")
    assert [c.number for c in found.candidates] == [1, 2, 3]


def test_millions_of_alike_lines_cost_a_count_not_a_list():
    line_reader = LineReader(FAST, "x")
    chunk = b"".join(b"WARN queue %d is slow\n" % i for i in range(20_000))
    for _ in range(10):
        line_reader.feed(chunk)
    found = line_reader.finish()
    assert len(found.candidates) <= 2 * reader._KEPT_ALIKE
    assert found.repeated + len(found.candidates) == 200_000
    assert found.candidates[0].number == 1
    assert found.candidates[-1].number == 200_000


def test_one_huge_line_is_shortened_and_keeps_what_surrounds_a_needle():
    data = b"a" * 3_000_000 + b"\rKeyError: 'x' Error: here\r" + b"b" * 3_000_000 + b"\nWARN after\n"
    found = read_chunks(FAST, [data], "x")
    assert [c.number for c in found.candidates] == [1, 2]
    assert b"Error: here" in found.candidates[0].raw
    assert found.candidates[0].raw.index(b"Error: here") == data.index(b"Error: here")
    assert found.cut_lines


@pytest.mark.parametrize("data", [b"", b"\n", b"\r", b"\n\n\n", b"no end"])
def test_empty_and_odd_inputs(data):
    found = read_chunks(FAST, [data], "x")
    assert found.bytes == len(data)
    assert found.lines == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
