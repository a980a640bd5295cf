"""How far the clocks of hosts differ, estimated from events that must coincide: every rank prints a synchronous step at about one time.

Knows times and hosts, no failure.
"""

from __future__ import annotations

import statistics
from collections import defaultdict

from .progress import ProgressFacts
from .ranks import Ranks

FEWEST_STEPS = 3
WORTH_TELLING_S = 1.0


def host_skew_s(progress: ProgressFacts, ranks: Ranks) -> dict[str, float]:
    """Seconds by which each host's clock is ahead of the first host's; hosts without common steps are left out."""
    by_step: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for s in progress.steps:
        line = s.line
        if s.step is None or s.bar or line.time_s is None or line.time_of_day:
            continue
        host = line.origin.host or (ranks.host_of.get(s.rank) if s.rank is not None else None) or ranks.file_hosts.get(line.file)
        if host:
            by_step[s.step][host].append(line.time_s)
    hosts = sorted({h for at in by_step.values() for h in at})
    if len(hosts) < 2:
        return {}
    reference = hosts[0]
    out = {reference: 0.0}
    for host in hosts[1:]:
        apart = [
            statistics.median(at[host]) - statistics.median(at[reference]) for at in by_step.values() if host in at and reference in at
        ]
        if len(apart) >= FEWEST_STEPS:
            out[host] = statistics.median(apart)
    return out if len(out) > 1 else {}
