"""How long a checkpoint took is read off what training frameworks print."""

from __future__ import annotations

import pytest

from firstfault.launch.checkpoints import longest_checkpoint_s


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("[rank0]:[titan] 2026-05-09 - root - INFO - Finished saving the checkpoint (or staging if async is enabled) in 86.17 seconds.", 86.17),
        ("- root - INFO - Finished saving the checkpoint (or staging if async is enabled)in 5.53 seconds.", 5.53),
        ("[titan] Finished saving the checkpoint in 0.60 seconds.", 0.6),
        ("INFO:torchtune.utils._logging:Saving checkpoint took 845.31 secs", 845.31),
        ("    save-checkpoint ................................: (3413.14, 913413.14)", 913.41314),
        ("    save-checkpoint-non-persistent .................: (20.50, 21.00)", 0.021),
        (" time (ms) | save-checkpoint: 27133.61", 27.13361),
        ("Checkpoint saved in 12.5 s", 12.5),
        ("checkpoint saved in 1250ms", 1.25),
    ],
)
def test_the_words_of_the_frameworks(line: str, seconds: float) -> None:
    assert longest_checkpoint_s(f"step 1\n{line}\nstep 2\n") == pytest.approx(seconds)


@pytest.mark.parametrize(
    "line",
    ["Checkpoint saved in /scratch/run7", "Saving checkpoint to /scratch", "loading the checkpoint took 400 s", "save-checkpoint: yes", ""],
)
def test_what_tells_no_time(line: str) -> None:
    assert longest_checkpoint_s(line) is None


def test_the_longest_counts() -> None:
    assert longest_checkpoint_s("\n".join(f"Saving checkpoint took {n}.0 secs" for n in (12, 90, 15))) == 90.0
