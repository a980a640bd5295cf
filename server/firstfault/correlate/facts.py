"""Everything that was worked out of the inputs, for those that decide. Decides nothing itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..knowledge.library import Library
from ..model import Finding, Line
from ..read.blocks import Structure, key_of
from .attempts import Attempt
from .launchers import Exit, Launchers
from .progress import ProgressFacts
from .ranks import Ranks
from .reading import Reading

LONGEST_QUOTE = 400
_QUOTES = "Traceback (most recent call last)"
# What a page says its lines tell of a process (page.tells).
WAITED, LOST_PEER, UNREACHABLE = "waited", "lost-peer", "unreachable"
EXIT, ANY_EXCEPTION, NORMAL_EXIT, EITHER = "exit", "exception", "normal-exit", "either"


@dataclass(slots=True)
class Facts:
    """Everything the correlating functions worked out, for those that decide."""

    reading: Reading
    library: Library
    structures: list[Structure]
    launchers: Launchers
    ranks: Ranks
    progress: ProgressFacts
    attempts: list[list[Attempt]]
    skew_s: dict[str, float] = field(default_factory=dict)
    judged: list[int] = field(default_factory=list)
    _own: tuple[list[int], list[Exit]] | None = None

    def own_failures(self) -> list[Exit]:
        """Exits of processes that nobody stopped, in the attempts that are judged."""
        judged = self.judged
        if self._own is None or self._own[0] is not judged:
            own = [e for e in self.launchers.own_failures() if not judged or self.attempt_of(e.line) == judged[e.line.file]]
            self._own = (judged, own)
        return self._own[1]

    def speaking_ranks(self) -> set[int]:
        """The ranks that printed anything that was kept."""
        out = {self.ranks.of_line(line) for f in self.reading.files for line in (*f.lines, *f.samples)}
        return {r for r in out if r is not None}

    def chain_of(self, finding: Finding) -> tuple[int, int] | None:
        """The chain of exceptions a finding stands in, as (file, chain)."""
        chain = self.structures[finding.line.file].chain_at.get(key_of(finding.line))
        return None if chain is None else (finding.line.file, chain)

    def host_of(self, line: Line) -> str | None:
        """The host that printed a line, as far as it is known."""
        if line.origin.host:
            return line.origin.host
        rank = self.ranks.of_line(line)
        return (self.ranks.host_of.get(rank) if rank is not None else None) or self.ranks.file_hosts.get(line.file)

    def time_of(self, line: Line) -> tuple[float, bool] | None:
        """When a line was printed as (seconds, lacks a date): its own time, or that of the launcher's entry it stands in.

        Where hosts' clocks are known to differ the time is that of the first host's clock.
        """
        if line.time_s is not None:
            if self.skew_s and not line.time_of_day:
                return line.time_s - self.skew_s.get(self.host_of(line) or "", 0.0), False
            return line.time_s, line.time_of_day
        for e in self.launchers.between(line.file, line.number - 3, line.number + 3):
            if e.time_s is not None:
                return e.time_s, False
        return None

    def attempt_of(self, line: Line) -> int:
        """The index of the attempt a line stands in."""
        for a in self.attempts[line.file]:
            if a.first <= line.number <= a.last:
                return a.index
        return 0

    def ranks_of(self, finding: Finding) -> tuple[int, ...] | None:
        """The ranks a finding is about, quoted text included."""
        structure = self.structures[finding.line.file]
        number = finding.line.number
        if (quoted := structure.quoted_rank.get(number)) is not None:
            return quoted
        if (pid := structure.quoted_pid.get(number)) is not None and pid in self.ranks.by_pid:
            return (self.ranks.by_pid[pid],)
        if (index := structure.spawn_index.get(number)) is not None and self.ranks.one_node:
            return (index,)
        named = self.ranks.of_finding(finding)
        if named is None:
            named = self._entry_rank(finding.line)
        if named is None:
            # A launcher's line about one process is about that process, whoever printed it.
            ended = {e.rank for e in self.launchers.between(finding.line.file, number, number) if e.rank is not None}
            named = tuple(sorted(ended)) or None
        if named is None and (head := structure.headed.get(number)) is not None and (rank := self.ranks.of_line(head)) is not None:
            return (rank,)
        return named

    def says_whose(self, finding: Finding) -> bool:
        """Whether the line itself says whose failure it is, apart from who printed it."""
        pid = self.structures[finding.line.file].quoted_pid.get(finding.line.number)
        return pid in self.ranks.by_pid or any(finding.captures.get(k) for k in ("rank", "ranks"))

    def _entry_rank(self, line: Line) -> tuple[int, ...] | None:
        """The rank whose traceback a launcher's summary quotes around this line."""
        for e in self.launchers.quoting(line.file, line.number - LONGEST_QUOTE, line.number):
            t = e.traceback_line
            if t is None or (line.number > t.number and not (_QUOTES in t.text and line.text[:1].isspace())):
                continue  # Behind a summary that quotes nothing, or whose quote has ended, others speak.
            if e.rank is not None and all(o is e for o in self.launchers.between(line.file, t.number + 1, line.number)):
                return (e.rank,)
        return None


def exception_class(f: Finding) -> str:
    name = f.captures.get("exception", "")
    return re.split(r"[.]", name)[-1]
