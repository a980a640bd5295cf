"""Writes logs that have nothing to do with training, of any length: the same family, size and seed give the same lines.

Each family is a file of entries in `foreign_lines/`, loud ones included. Knows nothing of FirstFault.

An entry stands behind a line `--- WEIGHT` and may have several lines. `%name%` is replaced by a value of that kind, and by the same
value everywhere in the entry; `%name2%` is another value of the kind.
"""

from __future__ import annotations

import datetime as dt
import functools
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "foreign_lines"
FAMILIES = tuple(sorted(p.stem for p in FOLDER.glob("*.txt")))
_START = dt.datetime(2026, 3, 4, 6, 25, 1)
_PLACE = re.compile(r"%([a-z_]+?)(\d?)%")


def lines_of(family: str, count: int, seed: int = 1) -> list[str]:
    """`count` lines of one family."""
    chance = random.Random(f"{family} {seed}")
    clock = _Clock(chance)
    out: list[str] = []
    entries, weights = _entries(family)
    while len(out) < count:
        clock.tick()
        out += _filled(chance.choices(entries, weights)[0], clock, chance)
    return out[:count]


def mixed_lines(count: int, seed: int = 1) -> list[str]:
    """`count` lines of all families, in stretches as collectors of logs write them: now one program, now a few interleaved."""
    chance = random.Random(f"mixed {seed}")
    clock = _Clock(chance)
    out: list[str] = []
    while len(out) < count:
        together = chance.sample(FAMILIES, chance.choice((1, 1, 2, 4)))
        for _ in range(chance.randrange(5, 60)):
            clock.tick()
            entries, weights = _entries(chance.choice(together))
            out += _filled(chance.choices(entries, weights)[0], clock, chance)
    return out[:count]


@functools.cache
def _entries(family: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The entries of a family and how often each comes."""
    entries: list[str] = []
    weights: list[int] = []
    for part in re.split(r"^--- ", (FOLDER / f"{family}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        weight, _, text = part.partition("\n")
        entries.append(text.rstrip("\n"))
        weights.append(int(weight))
    return tuple(entries), tuple(weights)


class _Clock:
    """A time that goes on by a fraction of a second, now and then by minutes."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.now = _START

    def tick(self) -> None:
        pause = self._chance.expovariate(2) if self._chance.random() < 0.99 else self._chance.uniform(30, 900)
        self.now += dt.timedelta(seconds=pause)


def _filled(entry: str, clock: _Clock, chance: random.Random) -> Iterator[str]:
    given: dict[str, str] = {}

    def value(m: re.Match[str]) -> str:
        name, which = m[1], m[2]
        if name in _TIMES:
            return _TIMES[name](clock.now)
        key = name + which
        if key not in given:
            given[key] = _VALUES[name](chance)
        return given[key]

    yield from _PLACE.sub(value, entry).split("\n")


_TIMES: dict[str, Callable[[dt.datetime], str]] = {
    "syslog": lambda t: f"{t:%b} {t.day:2d} {t:%H:%M:%S}",
    "iso": lambda t: f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond // 1000:03d}Z",
    "isonano": lambda t: f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06d}417Z",
    "stamp": lambda t: f"{t:%Y-%m-%d %H:%M:%S}",
    "stampms": lambda t: f"{t:%Y-%m-%d %H:%M:%S}.{t.microsecond // 1000:03d}",
    "stampcomma": lambda t: f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d}",
    "slashes": lambda t: f"{t:%Y/%m/%d %H:%M:%S}",
    "clf": lambda t: f"{t:%d/%b/%Y:%H:%M:%S} +0000",
    "apache": lambda t: f"{t:%a %b %d %H:%M:%S}.{t.microsecond:06d} {t:%Y}",
    "klog": lambda t: f"{t:%m%d %H:%M:%S}.{t.microsecond:06d}",
    "clock": lambda t: f"{t:%H:%M:%S}",
    "uptime": lambda t: f"{(t - _START).total_seconds() + 88_410.25:12.6f}",
    "redis": lambda t: f"{t:%d %b %Y %H:%M:%S}.{t.microsecond // 1000:03d}",
    "epoch_s": lambda t: f"{t.timestamp():.3f}",
}

_WORDS = {
    "user": "alice bob carol deploy jenkins postgres www-data backup svc_reports root nobody olga admin".split(),
    "host": "web-1 web-2 db-3 cache-1 mail gw-eu edge-07 build-4 ip-10-20-3-41 bastion".split(),
    "service": "checkout billing catalog search-api notifier ledger gateway invoice-export course-portal thumbnails".split(),
    "table": "orders users invoices sessions audit_log course_progress shipments products events".split(),
    "path": "/ /login /api/v2/orders /api/v1/users/812 /static/app.js /health /training/courses/4 /cart  /search?q=rank".split(),
    "agent": "curl/8.5.0|Mozilla/5.0 (X11; Linux x86_64) Chrome/131.0|kube-probe/1.31|python-requests/2.32|Googlebot/2.1".split("|"),
    "method": "GET GET GET POST PUT DELETE HEAD".split(),
    "status": "200 200 200 200 304 301 404 403 500 502 503 504 499".split(),
    "ns": "default shop payments monitoring kube-system staging".split(),
    "unit": "nginx.service postgresql.service cron.service php8.2-fpm.service docker.service redis-server.service backup.service".split(),
    "dev": "sda sdb nvme0n1 dm-2 md0 vdb".split(),
    "daemon": "nginx mysqld postgres java node redis-server php-fpm gunicorn beam.smp ruby".split(),
    "package": "left-pad webpack react-scripts lodash eslint-plugin-import node-sass sharp".split(),
    "wheel": "psycopg2 lxml cryptography uwsgi mysqlclient pyodbc".split(),
    "class": "OrderService InvoiceRepository PaymentGateway SessionFilter ReportScheduler StockClient".split(),
    "image": "shop/web:1.42 registry.local/billing:2026.3 redis:7-alpine nginx:1.27 busybox:latest".split(),
    "topic": "orders-events invoices payments.dlq user-activity stock-levels".split(),
}


def _number(low: int, high: int) -> Callable[[random.Random], str]:
    return lambda chance: str(chance.randrange(low, high))


def _hexadecimal(digits: int) -> Callable[[random.Random], str]:
    return lambda chance: f"{chance.randrange(16**digits):0{digits}x}"


def _ip(chance: random.Random) -> str:
    return f"{chance.choice((10, 172, 192, 203))}.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(1, 255)}"


def _uuid(chance: random.Random) -> str:
    text = f"{chance.randrange(16**32):032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _word(name: str) -> Callable[[random.Random], str]:
    return lambda chance: chance.choice(_WORDS[name])


_VALUES: dict[str, Callable[[random.Random], str]] = {
    **{name: _word(name) for name in _WORDS},
    "ip": _ip,
    "uuid": _uuid,
    "pid": _number(300, 65_000),
    "port": _number(1024, 65_000),
    "n": _number(1, 9),
    "nn": _number(10, 99),
    "num": _number(100, 999_999),
    "big": _number(10**6, 10**10),
    "line": _number(10, 900),
    "ms": _number(1, 30_000),
    "hex": _hexadecimal(8),
    "addr": _hexadecimal(12),
    "sha": _hexadecimal(64),
    "float": lambda chance: f"{chance.uniform(0, 100):.2f}",
    "value": lambda chance: chance.choice(("NaN", "+Inf", "0", f"{chance.uniform(0, 1e4):.3f}")),
}
