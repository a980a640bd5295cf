"""A message that a container engine or a logger wrapped in JSON reads like the line that was printed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstfault.read.json_line import message_in
from firstfault.read.lines import make_line, segments


def docker(text: str, **more: str) -> str:
    return json.dumps({"log": text, "stream": "stderr", "time": "2026-12-01T04:51:02.000000016Z", **more})


@pytest.mark.parametrize(
    "raw",
    [
        docker("[rank3]: KeyError: 'size'\n"),
        json.dumps({"severity": "ERROR", "timestamp": "2026-12-01T04:51:02Z", "jsonPayload": {"message": "[rank3]: KeyError: 'size'"}}),
        json.dumps({"MESSAGE": "[rank3]: KeyError: 'size'", "_HOSTNAME": "node1", "time": "2026-12-01 04:51:02"}),
        '{"asctime":"2026-12-01 04:51:02","levelname":"ERROR","message":"[rank3]: KeyError: \'size\'"}',
    ],
)
def test_the_message_its_rank_and_the_time_of_the_record(raw: str) -> None:
    line = make_line(raw, 0, 1)
    assert (line.text, line.origin.rank, line.time_of_day) == ("KeyError: 'size'", 3, False)
    assert line.time_s is not None and line.time_s % 86_400 == pytest.approx(4 * 3600 + 51 * 60 + 2, abs=0.01)
    start, end = line.raw_span(0, len("KeyError"))
    assert raw[start - 1 : end - 1] == "KeyError"


def test_a_rank_inside_is_not_parted_from_its_record() -> None:
    raw = docker("[rank3]: ValueError: bad\n")
    assert list(segments(raw)) == [(0, raw)]


def test_escapes_become_what_they_stand_for_and_keep_their_columns() -> None:
    raw = docker('  File "a.py", line 3 — 🔥 boom\n')
    line = make_line(raw, 0, 1)
    assert line.text.strip() == 'File "a.py", line 3 — 🔥 boom'
    at = line.text.index("boom")
    start, end = line.raw_span(at, at + 4)
    assert raw[start - 1 : end - 1] == "boom"


def test_a_traceback_beside_the_message_is_read_too() -> None:
    raw = json.dumps({"level": "ERROR", "message": "job failed", "exc_info": "Traceback (most recent call last):\nKeyError: 'size'"})
    assert make_line(raw, 0, 1).text == "job failed\nTraceback (most recent call last):\nKeyError: 'size'"


def test_a_logger_of_json_inside_a_container_that_writes_json() -> None:
    raw = docker(json.dumps({"level": "error", "msg": "[rank3]: KeyError: 'size'"}) + "\n")
    line = make_line(raw, 0, 1)
    assert (line.text, line.origin.rank) == ("KeyError: 'size'", 3)
    start, end = line.raw_span(0, len("KeyError"))
    assert raw[start - 1 : end - 1] == "KeyError"


def test_the_last_state_of_a_progress_bar() -> None:
    assert make_line(docker("\r 10%|#  | 1/10\r 20%|## | 2/10\n"), 0, 1).text.strip() == "20%|## | 2/10"


@pytest.mark.parametrize("raw", ['{"loss": 1.5, "step": 10}', '{"message": "cut', "{'message': 'a dict of Python'}", 'x {"log": "y"}', "{", ""])
def test_what_is_no_wrapped_message_stays_as_it_is(raw: str) -> None:
    assert message_in(raw) is None
    assert make_line(raw, 0, 1).text == raw


@given(st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"])))
def test_any_message_comes_out_as_it_went_in(text: str) -> None:
    raw = docker(text)
    found = message_in(raw)
    assert found is not None
    message, columns, _ = found
    assert message == text.rstrip("\n")
    assert len(columns) == len(message) and all(raw[c] == m or raw[c] == "\\" for c, m in zip(columns, message, strict=True))
