"""Reads the time a line carries, in every style that logs of training jobs use. Knows no order between lines.

Times with a date are seconds since the epoch (zone offsets applied, no zone taken as UTC); times without one are
seconds since midnight. A date without a year gets the year 1972, a leap year, so that differences are right.
"""

from __future__ import annotations

import datetime as dt
import re

_MONTHS = {m: i for i, m in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_YEARLESS = 1972
_DAY = r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
_STYLES = tuple(
    re.compile(p)
    for p in (
        # 2026-11-30 12:00:01,512 · 2026-11-30T12:00:01.512+01:00 · 2026/11/30 12:00:01 · 2026-11-30_12:00:01
        r"(?P<y>\d{4})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)[ T_-]" + _DAY + r"(?: (?P<ap>[AP]M)\b)? ?(?P<z>Z|[+-]\d\d:?\d\d)?",
        # glog with year (20261130 12:00:01.512)
        r"\b[IWEF](?P<y>20\d\d)(?P<mo>\d\d)(?P<d>\d\d) " + _DAY,
        # glog E1218 20:27:21.426415540, also E810 03:04:11 where the month lost its zero
        r"\b[IWEF](?P<mo>\d{1,2})(?P<d>\d\d) " + _DAY,
        # Tue 16 Apr 2024 10:01:52 PM CDT
        r"\b(?P<d>\d{1,2}) (?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (?P<y>\d{4}),? " + _DAY + r"(?: (?P<ap>[AP]M)\b)?",
        # Sun Jul 28 09:15:27 2024
        r"(?P<mon>[A-Z][a-z]{2}) +(?P<d>\d{1,2}) " + _DAY + r"(?: (?P<ap>[AP]M))?(?: [A-Z]{2,4})? (?P<y>\d{4})",
        # Feb 22 11:02:03
        r"(?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<d>\d{1,2}) " + _DAY,
        # 01/31/2026 10:00:00 PM · 01/31/26 22:00:00 · 01/31 22:00:00 · 01/31/2026-22:00:00
        r"\b(?P<mo>\d\d)/(?P<d>\d\d)(?:/(?P<y>\d{2,4}))?,?[ -]" + _DAY + r"(?: (?P<ap>[AP]M))?",
        # INFO 02-14 08:23:15
        r"\b(?P<mo>\d\d)-(?P<d>\d\d) " + _DAY,
        # 12:00:01.512, but no duration: eta: 10:27:20 · Total time: 11:59:32 · [10:22:33<12:39:17,  1.37it/s]
        r"(?<![\d:.<])(?<!(?i:eta) )(?<!(?i:eta):)(?<!(?i:eta): )(?<!otal time: )"
        r"(?<!day, )(?<!days, )(?<!lapsed )(?<!lapsed: )(?<!emaining )(?<!emaining: )(?<!took )" + _DAY + r"(?![\d:<])",
    )
)
_QUICK = re.compile(r"\d\d:\d\d:\d\d")


def read_time(text: str) -> tuple[float, bool] | None:
    """The first time in `text` as (seconds, lacks a date), or `None`."""
    if not _QUICK.search(text):
        return None
    for style in _STYLES:
        m = style.search(text)
        if m and (value := _seconds(m.groupdict())) is not None:
            return value
    return None


def _seconds(g: dict[str, str | None]) -> tuple[float, bool] | None:
    hour, minute, second = int(g["h"] or 0), int(g["mi"] or 0), int(g["s"] or 0)
    if g.get("ap") == "PM" and hour < 12:
        hour += 12
    elif g.get("ap") == "AM" and hour == 12:
        hour = 0
    if hour > 23 or minute > 59 or second > 60:
        return None
    fraction = float(f"0.{g['f']}") if g.get("f") else 0.0
    of_day = hour * 3600 + minute * 60 + second + fraction
    month = _MONTHS.get(g["mon"] or "") if g.get("mon") else int(g.get("mo") or 0)
    if not month:
        return of_day, True
    year = int(g.get("y") or _YEARLESS)
    year += 2000 if year < 100 else 0
    try:
        day = dt.datetime(year, month, int(g["d"] or 0), tzinfo=dt.timezone.utc)
    except ValueError:
        return None
    zone = g.get("z")
    offset = 0
    if zone and zone != "Z":
        offset = (1 if zone[0] == "+" else -1) * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)
    return day.timestamp() + of_day - offset, False


def write_time(time_s: float, lacks_date: bool) -> str:
    """A time as the report prints it: ISO with milliseconds; without a date or year only what is known."""
    if lacks_date:
        whole = int(time_s)
        return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{int(time_s % 1 * 1000):03d}"
    stamp = dt.datetime.fromtimestamp(time_s, dt.timezone.utc)
    text = f"{stamp:%m-%dT%H:%M:%S}.{stamp.microsecond // 1000:03d}"
    return text if stamp.year in (_YEARLESS, _YEARLESS - 1) else f"{stamp.year:04d}-{text}"


def is_yearless(time_s: float, lacks_date: bool) -> bool:
    """Whether a time came from a date without a year."""
    return not lacks_date and time_s < _AFTER_YEARLESS


_AFTER_YEARLESS = dt.datetime(_YEARLESS + 1, 1, 2, tzinfo=dt.timezone.utc).timestamp()


def with_year(time_s: float, near_s: float) -> float:
    """A time without a year, moved to the year that brings it nearest to `near_s`."""
    stamp = dt.datetime.fromtimestamp(time_s, dt.timezone.utc)
    year = dt.datetime.fromtimestamp(near_s, dt.timezone.utc).year
    best = time_s
    for y in (year - 1, year, year + 1):
        try:
            moved = stamp.replace(year=y).timestamp()
        except ValueError:  # 29 February
            continue
        if abs(moved - near_s) < abs(best - near_s):
            best = moved
    return best


def with_date(time_s: float, near_s: float) -> float:
    """A time of day, moved to the day that brings it nearest to `near_s`."""
    day = near_s - near_s % 86400
    return min((day + offset + time_s for offset in (-86400, 0, 86400)), key=lambda t: abs(t - near_s))
