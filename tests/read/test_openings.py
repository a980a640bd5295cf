"""Where the first lines of an input come again, whatever the chunks."""

import pytest

from firstfault.read.reader import BLOCK_BYTES, LineReader
from firstfault.read.scan import Scanner

START = b"Loading python/3.11.4\nJob 4801 runs on gpu07\n"


def places(data, chunk=1 << 16):
    reader = LineReader(Scanner({"never seen": 0}), "x.log")
    for at in range(0, len(data), chunk):
        reader.feed(data[at : at + chunk])
    return reader.finish().openings


def test_first_lines_are_found_again_with_other_digits():
    again = b"Loading python/3.12.0\nJob 4911 runs on gpu11\n"
    assert places(START + b"x\n" * 5 + again) == [[1, 8], [2, 9]]


@pytest.mark.parametrize("chunk", [7, 4096, BLOCK_BYTES])
def test_chunks_and_blocks_change_nothing(chunk):
    data = START + b"y" * 99 + b"\n" + b"z = 1\n" * 200_000 + START
    assert places(data, chunk) == [[1, 200_004], [2, 200_005]]


def test_lines_that_recur_in_one_job_open_none():
    assert places((b"step 1 of many steps\n[rank0]: hello everybody\n" + b"    indented line of text\n") * 3) == []


def test_an_input_that_begins_within_a_traceback_has_no_opening():
    assert places((b"KeyError: 'labels' was raised\nModel card: tiny encoder\n") * 3) == []


def test_what_comes_everywhere_is_dropped():
    assert places(b"GET /health of the server\n" * 2_000) == []


def test_a_copy_goes_on_by_itself():
    reader = LineReader(Scanner({"never seen": 0}), "x.log")
    reader.feed(START + b"y" * BLOCK_BYTES + b"\n")
    copy = reader.copy()
    reader.feed(START)
    assert reader.finish().openings == [[1, 4], [2, 5]]
    assert copy.finish().openings == []
