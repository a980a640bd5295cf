"""Where marks stand in time: told, between two told times, or only in their order."""

import dataclasses
import json

import pytest

from firstfault.model import Initiating, Job, Progress, Report, TimelineEntry
from firstfault.render.timeline import plot_json, plot_of, stories

from .reports import clock, large_report


def entry(line, rank=0, time=None, kind="collateral", file="a.log", host=None, says="x"):
    return TimelineEntry(file, line, rank, host, time, kind, None, says)


def plot(*entries, **job):
    return plot_of(Report((), Job(**job), (), timeline=entries))


def places(p):
    return {m.entry.line: (m.at_ms, m.low_ms, m.high_ms) for m in p.marks}


def test_a_told_time_is_exact():
    p = plot(entry(10, time=clock(0)), entry(20, time=clock(1500)))
    assert places(p) == {10: (0, 0, 0), 20: (1500, 1500, 1500)}
    assert all(m.exact for m in p.marks)
    assert (p.clock, p.start) == ("date", "2026-12-01T10:00:00.000")


def test_a_line_between_two_told_times_has_their_span():
    p = plot(entry(10, time=clock(0)), entry(15), entry(20, time=clock(1000)))
    assert places(p)[15] == (500, 0, 1000)
    assert not p.marks[1].exact


def test_a_line_behind_the_last_time_has_only_its_order():
    p = plot(entry(10, time=clock(0)), entry(30), entry(20))
    assert places(p)[20] == places(p)[30] == (None, None, None)
    assert [m.entry.line for m in p.marks] == [10, 20, 30]


def test_lines_of_another_file_say_nothing_about_a_line():
    p = plot(entry(10, time=clock(0)), entry(15, file="b.log"), entry(20, time=clock(1000)))
    assert places(p)[15] == (None, None, None)


def test_the_last_progress_of_the_job_is_a_told_time_too():
    p = plot(entry(15), entry(20, time=clock(1000)), last_progress=Progress(3, clock(0), "a.log", 10))
    assert places(p) == {15: (500, 0, 1000), 20: (1000, 1000, 1000)}


def test_a_clock_that_goes_back_gives_no_negative_span():
    p = plot(entry(10, time=clock(900)), entry(15), entry(20, time=clock(0)))
    at, low, high = places(p)[15]
    assert low <= at <= high


@pytest.mark.parametrize(
    ("first", "second", "form"),
    [("12-01T23:59:59.000", "12-02T00:00:01.000", "no-year"), ("23:59:57.000", "23:59:59.000", "time-of-day")],
)
def test_times_without_year_or_date_are_compared_among_themselves(first, second, form):
    p = plot(entry(1, time=first), entry(2, time=second))
    assert p.clock == form and p.start == first
    assert places(p)[2][0] == 2000


def test_a_time_in_another_form_than_most_is_no_time():
    p = plot(entry(1, time=clock(0)), entry(2, time="10:00:01.000", file="b.log"), entry(3, time="yesterday", file="c.log"))
    assert places(p)[2] == places(p)[3] == (None, None, None)


def test_every_rank_has_a_row_also_a_silent_one_and_the_rest_comes_below():
    p = plot(entry(1, rank=1), entry(2, rank=None, host="node01"), entry(3, rank=None), world_size=3)
    assert [(r.label, r.rank) for r in p.rows] == [("rank 0", 0), ("rank 1", 1), ("rank 2", 2), ("node01", None), ("no rank given", None)]
    assert [m.row for m in p.marks] == [1, 3, 4]


def test_an_initiating_rank_is_marked_although_it_never_spoke():
    report = large_report(16, 5)
    silent = tuple(t for t in report.timeline if t.rank != 5)
    p = plot_of(dataclasses.replace(report, timeline=silent))
    assert [r.rank for r in p.rows if r.initiating] == [5]
    assert p.rows[5].host == "node000"


def test_a_rank_beyond_the_world_size_still_has_a_row():
    report = dataclasses.replace(large_report(4, 2), timeline=(entry(1, rank=9),))
    assert 9 in [r.rank for r in plot_of(report).rows]
    incident = dataclasses.replace(report.incidents[0], initiating=Initiating(None))
    assert not any(r.initiating for r in plot_of(dataclasses.replace(report, incidents=(incident,))).rows)


def test_stories_tell_the_plot_in_rows():
    told = stories(plot_of(large_report(64, 5)))
    assert [(s.kind, s.count) for s in told[:2]] == [("progress", 64), ("collateral", 63)]
    assert told[0].ranks == tuple(range(64)) and told[1].first.line == 431
    assert sum(s.count for s in told) == len(large_report(64, 5).timeline)


def test_the_data_of_the_plot_names_each_text_once():
    data = plot_json(plot_of(large_report()))
    assert len(data["marks"]) == 3072 and len(data["rows"]) == 1025
    assert len(data["says"]) == len(set(data["says"])) == 6
    assert len(json.dumps(data)) < 250_000
    row, kind, at, low, high, file, line, failure, says = data["marks"][0]
    assert (data["kinds"][kind], data["files"][file], line, data["says"][says]) == ("progress", f"logs/rank_{row}.log", 400, "step 1200")
