"""Durations as people write them in settings, code and arguments. Knows no file format and no clock."""

from __future__ import annotations

import re

_UNITS_S = {"": 1, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}
# 3600   30m   1 hour   90 min
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*?)s?\s*$", re.IGNORECASE)
# timedelta(minutes=30)   datetime.timedelta(hours=1, minutes=30)
_TIMEDELTA = re.compile(r"\s*(?:datetime\.|dt\.)?timedelta\(([^()]*)\)\s*$")


def parse_duration_s(text: str) -> int | None:
    """Seconds of `3600`, `30m`, `1 hour`, `timedelta(minutes=30)`; None where the text is none of these."""
    if m := _TIMEDELTA.match(text):
        total = 0
        for part in filter(None, (p.strip() for p in m.group(1).split(","))):
            unit, _, amount = part.partition("=")
            factor = _UNITS_S.get(unit.strip().rstrip("s"))
            if factor is None or not amount.strip().isdigit():
                return None
            total += factor * int(amount)
        return total
    if m := _AMOUNT.match(text):
        factor = _UNITS_S.get(m.group(2).lower())
        return None if factor is None else round(float(m.group(1)) * factor)
    return None


def timedelta_arguments(seconds: int) -> str:
    """The arguments of `timedelta` for a duration: minutes where they are whole, else seconds."""
    return f"minutes={seconds // 60}" if seconds % 60 == 0 and seconds >= 120 else f"seconds={seconds}"
