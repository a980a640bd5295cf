"""Logs that are not about training get no diagnosis, however loud they are."""

from __future__ import annotations

import functools
import random

import pytest

from firstfault.correlate.subject import EXCERPT_LINES
from firstfault.diagnose import diagnose_text
from firstfault.knowledge.library import load_library
from tests.fuzz.foreign import FAMILIES, lines_of, mixed_lines

LIBRARY = load_library()
LOUD = (
    *("ERROR", "FATAL", "Traceback (most recent call last)", "\tat ", "panic:", "NaN", "timed out", "exit code 137", "SIGKILL"),
    *("Connection refused", "ddress already in use", "o space left on device", "not responding"),
    *("oom-kill", "segfault", "CrashLoopBackOff", "OOMKilled"),
)


@functools.lru_cache(maxsize=1)
def mixture() -> list[str]:
    return mixed_lines(30_000)


def incidents(lines):
    found = diagnose_text("\n".join(lines)).report.incidents
    return [(i.severity, i.failure, i.evidence[0].line, i.evidence[0].text[:160]) for i in found]


def test_the_lines_are_loud_and_always_the_same():
    lines = mixture()
    assert len(lines) == 30_000
    assert lines == mixed_lines(30_000)
    text = "\n".join(lines)
    assert {word: text.count(word) >= 10 for word in LOUD} == dict.fromkeys(LOUD, True)


def test_pages_recognise_many_of_these_lines():
    """Silence comes from knowing what a log is about: single lines of it do look like failures."""
    diagnosis = diagnose_text("\n".join(mixture()))
    assert len(diagnosis.counts) >= 10
    assert sum(diagnosis.counts.values()) >= 500


def test_30_000_lines_of_other_programs_give_no_incident():
    assert incidents(mixture()) == []


@pytest.mark.parametrize("seed", [2, 3])
def test_other_mixtures_give_no_incident(seed):
    assert incidents(mixed_lines(10_000, seed)) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_log_of_one_program_gives_no_incident(family):
    for seed in (1, 2):
        assert incidents(lines_of(family, 700, seed)) == []


def test_random_windows_give_no_incident():
    chance = random.Random(11)
    lines = mixture()
    accused = []
    for _ in range(60):
        size = chance.randrange(EXCERPT_LINES + 1, 1500)
        start = chance.randrange(len(lines) - size)
        accused += [(start, size, *found) for found in incidents(lines[start : start + size])]
    assert accused == []


def test_a_short_excerpt_is_accused_of_nothing_general():
    """Somebody who selects one line on a full disk wants to know; a stack trace of another program stays what it is."""
    chance = random.Random(12)
    lines = mixture()
    general, accused, windows = [], 0, 200
    for _ in range(windows):
        size = chance.randrange(3, 120)
        start = chance.randrange(len(lines) - size)
        found = incidents(lines[start : start + size])
        accused += bool(found)
        general += [f for f in found if LIBRARY.page(f[1]).tells == "exception"]
    assert general == []
    assert accused <= windows // 20


def test_a_traceback_that_ended_a_script_is_told_to_whoever_selects_it():
    script = [
        "Traceback (most recent call last):",
        '  File "/home/u/proj/main.py", line 88, in <module>',
        "    main(args)",
        '  File "/home/u/proj/data.py", line 31, in __getitem__',
        "    return self.rows[key]",
        "KeyError: 'label'",
    ]
    assert [f[1] for f in incidents(script)] == ["python-exception"]
    assert incidents([*script, *["GET /health 200"] * 8]) == [], "the program went on"
    assert incidents([line.replace("<module>", "handle") for line in script]) == [], "no script ended here"


def test_a_job_behind_many_other_lines_is_still_found():
    """A log that a collector wrote holds messages of many programs; they do not hide the job."""
    job = [f"[rank{r}]: step {s} loss: 2.{s} lr: 1e-4" for s in range(1, 40) for r in range(4)]
    job += [
        "[rank2]: Traceback (most recent call last):",
        '[rank2]:   File "/job/train.py", line 80, in <module>',
        "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has a total capacity of 79.15 GiB",
    ]
    fire = {f.line.number for f in diagnose_text("\n".join(mixture()[:6000])).findings}
    lines = [line for number, line in enumerate(mixture()[:6000], 1) if number not in fire]
    assert len(lines) > 4000
    found = diagnose_text("\n".join([*lines, *job])).report.incidents
    assert (found[0].failure, found[0].initiating.ranks) == ("cuda-out-of-memory", (2,))
