"""What a page says of a log: names filled in, and left out with their words where the log does not say them."""

from __future__ import annotations

import pytest

from firstfault.knowledge.page import fill


@pytest.mark.parametrize(
    ("template", "values", "said"),
    [
        ("{rank} failed on {host}.", {}, "One rank failed on its host."),
        ("{rank} failed[ on {host}].", {}, "One rank failed."),
        ("{rank} failed[ on {host}].", {"rank": "Rank 3", "host": "node7"}, "Rank 3 failed on node7."),
        ("Writing[ to {path}] failed[: {errno|no number}].", {}, "Writing failed: no number."),
        ("Got {joined|some}[: {joined} of {world}].", {"joined": "3"}, "Got 3."),
        ("Got[ {joined} of {world}].", {"joined": "3", "world": "4"}, "Got 3 of 4."),
        ("A wait expired[ after {timeout}].", {"timeout_ms": "600000"}, "A wait expired after 10 min."),
        ("A wait expired[ after {timeout}].", {"timeout_ms": "8500"}, "A wait expired after 8.5 s."),
        ("A wait expired[ after {timeout}].", {"timeout_ms": "90000", "timeout": "a while"}, "A wait expired after a while."),
        ("A wait expired[ after {timeout}].", {"timeout_ms": "soon"}, "A wait expired."),
        ("x[0] stays, {rank} too", {"rank": "Rank 3"}, "x[0] stays, rank 3 too"),
    ],
)
def test_a_sentence_says_what_is_known(template, values, said):
    assert fill(template, values) == said
