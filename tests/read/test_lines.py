"""Cleaning keeps a map back to raw columns, whatever stands in a line."""

from hypothesis import given
from hypothesis import strategies as st

from firstfault.read.lines import clean_line, complete_times, make_line, segments


def test_ansi_codes_come_off_and_columns_point_into_the_raw_line():
    raw = "\x1b[36m(Worker pid=7)\x1b[0m \x1b[31mValueError\x1b[0m: bad"
    line = make_line(raw, 0, 1)
    assert line.text == "ValueError: bad"
    start, end = line.raw_span(0, len("ValueError"))
    assert raw[start - 1 : end - 1] == "ValueError"


def test_columns_count_characters_not_bytes():
    raw = "[rank0]: 🔥 KeyError: 'é'"
    line = make_line(raw, 0, 1)
    at = line.text.index("KeyError")
    start, end = line.raw_span(at, at + 8)
    assert raw[start - 1 : end - 1] == "KeyError"


def test_a_carriage_return_separates_what_a_terminal_showed():
    raw = " 10%|#   |\r 20%|##  |Traceback (most recent call last):\r"
    parts = list(segments(raw))
    assert [p for _, p in parts] == [" 10%|#   |", " 20%|##  |Traceback (most recent call last):"]
    assert all(raw[c : c + len(p)] == p for c, p in parts)


def test_cloud_logs_write_the_escape_byte_as_text():
    assert clean_line("#033[1;36m(W pid=3)#033[0m boom") == "boom"


def test_a_time_without_a_year_takes_the_year_of_its_neighbours():
    lines = [
        make_line("2024-08-20_11:37:36 start", 0, 1),
        make_line("[rank0]:[E820 11:47:24.069865760 ProcessGroupNCCL.cpp:607] x", 0, 2),
        make_line("12:00:00 y", 0, 3),
    ]
    first, second, third = complete_times(lines)
    assert second.time_s - first.time_s == 588.06986576 or abs(second.time_s - first.time_s - 588.06986576) < 1e-4
    assert 1000 < third.time_s - first.time_s < 1400
    assert not third.time_of_day


def test_new_year_between_two_lines_is_seconds_not_a_year():
    lines = complete_times([make_line("2025-12-31 23:59:59 a", 0, 1), make_line("[E0101 00:00:01.000 x.cpp:1] b", 0, 2)])
    assert lines[1].time_s - lines[0].time_s == 2


def test_mpiruns_signature_inside_a_line_of_the_same_process_is_no_text():
    line = make_line("[1,3]<stderr>:[[1,3]<stderr>:2026-03-02 10:00:00[1,3]<stderr>:.[1,3]<stderr>:25[1,3]<stderr>:: W s.cc:9] boom", 0, 1)
    assert (line.text, line.origin.rank) == ("W s.cc:9] boom", 3)
    assert all(line.raw[c] == ch for c, ch in zip(line.columns, line.text, strict=True))
    assert clean_line("[1,3]<stderr>:got [1,4]<stderr>:boom") == "got [1,4]<stderr>:boom"


@given(st.text(max_size=400))
def test_any_text_is_cleaned_and_every_column_is_true(raw):
    raw = raw.replace("\n", " ")
    line = make_line(raw, 0, 1)
    assert len(line.columns) == len(line.text)
    assert all(raw[c] == ch for c, ch in zip(line.columns, line.text, strict=True))
    start, end = line.raw_span(0, len(line.text))
    assert 1 <= start <= end <= len(raw) + 1
