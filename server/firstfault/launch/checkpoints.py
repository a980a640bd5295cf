"""How long the checkpoints of a job took, as its log says. Knows the words of training frameworks, and no launch file."""

from __future__ import annotations

import re

_TIMES = re.compile(
    r"(?i)"
    # torchtitan: Finished saving the checkpoint (or staging if async is enabled) in 86.17 seconds.
    r"\bfinished saving the checkpoint(?: \([^()\n]{1,60}\))? ?in (?P<titan>\d+(?:\.\d+)?) ?s"
    # torchtune: Saving checkpoint took 845.31 secs
    r"|\b(?:saving|writing) (?:the |a )?checkpoint took (?P<took>\d+(?:\.\d+)?) ?(?P<took_ms>ms|s)"
    # checkpoint saved in 12.3 s
    r"|\bcheckpoint (?:was )?(?:saved|written) in (?P<saved>\d+(?:\.\d+)?) ?(?P<saved_ms>ms|s)"
    # Megatron-LM: save-checkpoint ...................: (3413.14, 3413.14), the least and the most of all ranks in milliseconds
    r"|\bsave-checkpoint[\w-]{0,20} ?\.*: ?(?:\(\d+(?:\.\d+)?, ?)?(?P<megatron>\d+(?:\.\d+)?)"
)
_IN_MILLISECONDS = ("megatron",)


def longest_checkpoint_s(text: str) -> float | None:
    """The longest time in seconds that saving a checkpoint took; `None` where no line tells."""
    longest: float | None = None
    for m in _TIMES.finditer(text):
        name = next(n for n in ("titan", "took", "saved", "megatron") if m[n] is not None)
        in_milliseconds = name in _IN_MILLISECONDS or (name in ("took", "saved") and m[f"{name}_ms"].lower() == "ms")
        seconds = float(m[name]) / (1000 if in_milliseconds else 1)
        longest = seconds if longest is None else max(longest, seconds)
    return longest
