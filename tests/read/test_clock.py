"""Times in every style that logs of training jobs use."""

import datetime as dt

import pytest

from firstfault.read.clock import read_time, with_year, write_time


def utc(*parts):
    return dt.datetime(*parts, tzinfo=dt.timezone.utc).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-30 12:00:01,512 x", utc(2026, 11, 30, 12, 0, 1, 512000)),
        ("2026-11-30T12:00:01.512+01:00 x", utc(2026, 11, 30, 11, 0, 1, 512000)),
        ("2026-11-30T12:00:01Z x", utc(2026, 11, 30, 12, 0, 1)),
        ("2026/11/30 12:00:01 x", utc(2026, 11, 30, 12, 0, 1)),
        ("  time      : 2026-11-30_12:00:01", utc(2026, 11, 30, 12, 0, 1)),
        ("[Sun Jul 28 09:15:27 2024] NVRM", utc(2024, 7, 28, 9, 15, 27)),
        ("01/31/2026 10:00:00 PM", utc(2026, 1, 31, 22, 0, 0)),
        ("01/31/26 12:00:00 AM", utc(2026, 1, 31, 0, 0, 0)),
        ("ENDING RUN AT 2026-05-17 12:38:43 AM", utc(2026, 5, 17, 0, 38, 43)),
        ("Tue 16 Apr 2024 10:01:52 PM CDT", utc(2024, 4, 16, 22, 1, 52)),
        ("[Sun May 10 01:56:47 PM UTC 2026] done", utc(2026, 5, 10, 13, 56, 47)),
        ("[E1218 20:27:21.426415540 P.cpp:1]", utc(1972, 12, 18, 20, 27, 21, 426415)),
        ("[E810 03:04:11.5 P.cpp:1]", utc(1972, 8, 10, 3, 4, 11, 500000)),
        ("Feb 29 11:02:03 host x", utc(1972, 2, 29, 11, 2, 3)),
        ("INFO 02-14 08:23:15 [a.py:1]", utc(1972, 2, 14, 8, 23, 15)),
    ],
)
def test_dated_styles(text, expected):
    time_s, lacks_date = read_time(text)
    assert not lacks_date
    assert abs(time_s - expected) < 1e-3


def test_a_time_of_day_has_no_date():
    assert read_time("[12:00:01.250] x") == (43201.25, True)


@pytest.mark.parametrize("text", ["no time", "ratio 12:34", "0000:3b:00.0", "99:99:99", "[01:12<50:34,  3.55s/it]", "2026-13-40 12:00:00 "])
def test_look_alikes_are_no_dates(text):
    found = read_time(text)
    assert found is None or found[1]


def test_a_29_february_moves_to_a_year_that_has_one():
    assert with_year(utc(1972, 2, 29), utc(2024, 2, 28)) == utc(2024, 2, 29)


def test_times_are_written_with_what_is_known():
    assert write_time(utc(2026, 11, 30, 12, 0, 1, 512000), False) == "2026-11-30T12:00:01.512"
    assert write_time(43201.25, True) == "12:00:01.250"
    assert write_time(utc(1972, 12, 18, 20, 27, 21), False) == "12-18T20:27:21.000"


@pytest.mark.parametrize("text", ["eta: 10:27:20", "ETA 11:00:59", "Epoch 3 Total time: 11:59:32", "12%| 5/9 [10:22:33<12:39:17,  1.37it/s]", "elapsed 11:00:01", "eta: 2 days, 13:42:05"])
def test_a_duration_is_no_time_of_day(text):
    assert read_time(text) is None
