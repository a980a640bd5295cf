"""The nouns that the stages pass to one another. Holds data only: no reading, no matching, no blame."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Role(str, enum.Enum):
    """What part a failure can play in a chain of failures."""

    INITIATING = "initiating"
    COLLATERAL = "collateral"
    SYMPTOM = "symptom"
    CONTEXT = "context"


class Verdict(str, enum.Enum):
    """How sure an incident is: direct evidence, order or absence, or only symptoms."""

    ESTABLISHED = "established"
    PROBABLE = "probable"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Origin:
    """Who printed a line. `None` means the line does not say; nothing here is guessed."""

    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    host: str | None = None
    pid: int | None = None
    device: int | None = None
    label: str | None = None

    def __bool__(self) -> bool:
        return any(v is not None for v in (self.rank, self.local_rank, self.task, self.host, self.pid, self.device, self.label))


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an input, cleaned of ANSI codes, carriage returns, launcher prefixes and timestamps.

    `number` counts from 1. `raw` is the line without its end; `text` what remains after cleaning;
    `columns[i]` is the 0-based column in `raw` (Unicode characters) of character i of `text`.
    `time_s` is seconds since the epoch when a date is known (`time_of_day` false), else seconds since midnight.
    """

    file: int
    number: int
    raw: str
    text: str
    columns: tuple[int, ...] | range
    origin: Origin
    time_s: float | None = None
    time_of_day: bool = False

    def raw_span(self, start: int, end: int) -> tuple[int, int]:
        """The 1-based raw columns (start, end exclusive) of `text[start:end]`."""
        if not self.text or start >= len(self.columns):
            return 1, len(self.raw) + 1
        last = min(max(end, start + 1), len(self.columns)) - 1
        return self.columns[start] + 1, self.columns[last] + 2


@dataclass(frozen=True, slots=True)
class Finding:
    """A page recognised a line: what was observed, where, by whom, with the captured fields."""

    failure: str
    role: Role
    line: Line
    start: int
    end: int
    captures: Mapping[str, str]
    strength: str = "direct"

    @property
    def column(self) -> int:
        """The 1-based raw column where the match begins."""
        return self.line.raw_span(self.start, self.end)[0]

    @property
    def end_column(self) -> int:
        """The 1-based raw column behind the match."""
        return self.line.raw_span(self.start, self.end)[1]


@dataclass(frozen=True, slots=True)
class Setting:
    """Something a quick fix may insert into a launch script: `kind` is env, timeout or flag."""

    kind: str
    name: str
    value: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fix:
    """One ranked remedy."""

    title: str
    detail: str
    command: str | None = None
    setting: Setting | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A command that verifies a fix, and what it must print."""

    title: str
    command: str
    expect: str


@dataclass(frozen=True, slots=True)
class MissingFact:
    """A fact the input lacks, the command that gets it, and the failure ids it decides between."""

    fact: str
    command: str
    decides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another failure that would also fit, and why."""

    failure: str
    because: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that proves something. `column` and `end_column` are 1-based raw columns, `role` initiating, corroborating or context."""

    file: str
    line: int
    column: int
    end_column: int
    text: str
    role: str
    says: str


@dataclass(frozen=True, slots=True)
class Collateral:
    """A failure that followed from an incident, and why."""

    failure: str
    ranks: tuple[int, ...] | None
    file: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Initiating:
    """Who failed first. `ranks` are global: empty means every rank alike, `None` that the input cannot tell."""

    ranks: tuple[int, ...] | None = None
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """One root failure with everything that follows from it. Cannot be built without evidence."""

    id: int
    failure: str
    title: str
    severity: str
    verdict: Verdict
    summary: str
    initiating: Initiating
    evidence: tuple[Evidence, ...]
    reasons: tuple[str, ...] = ()
    collateral: tuple[Collateral, ...] = ()
    fix: tuple[Fix, ...] = ()
    verify: tuple[Check, ...] = ()
    missing: tuple[MissingFact, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    related: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"incident {self.failure} has no evidence")
        if self.verdict is Verdict.UNDETERMINED and not self.missing:
            raise ValueError(f"incident {self.failure} is undetermined and names no missing fact")


@dataclass(frozen=True, slots=True)
class InputSummary:
    """One input as it was read. `kind` is log, kmsg, flight-recorder or stacks; `bytes` counts what was read."""

    path: str
    kind: str
    bytes: int
    lines: int
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """The last sign of progress: a training step, where it stands and when it was printed."""

    step: int
    time: str | None
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Job:
    """What the inputs say of the job. `outcome` is failed, running, finished or unknown."""

    world_size: int | None = None
    launcher: str | None = None
    frameworks: tuple[str, ...] = ()
    outcome: str = "unknown"
    last_progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Unexplained:
    """An error-like line that no page knows."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One mark on the timeline that led to a verdict: `kind` is initiating, collateral, context, progress, start or exit."""

    file: str
    line: int
    rank: int | None
    host: str | None
    time: str | None
    kind: str
    failure: str | None
    says: str


@dataclass(frozen=True, slots=True)
class Report:
    """The public contract; `firstfault.report.to_dict` gives its JSON form."""

    inputs: tuple[InputSummary, ...]
    job: Job
    incidents: tuple[Incident, ...]
    unexplained: tuple[Unexplained, ...] = ()
    limits: tuple[str, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A report and the findings beneath it, which the editor needs for hovers on every recognised line.

    `findings` holds the findings that were kept (a bounded number), in file and line order; `files[i]` names file index i;
    `counts` maps a failure id to how many lines showed it.
    """

    report: Report
    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
