"""Gathers findings into hypotheses: one failure that may have been first, with who, when and which lines.

Decides which findings can count at all (not recovered, not of an earlier attempt, not shutdown noise), not which one is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..knowledge.library import Library
from ..knowledge.page import Page
from ..model import Finding, Line, Role
from ..read.blocks import Structure, is_warned_of, key_of
from ..read.quick import quick
from .attempts import Attempt
from .launchers import Exit, Launchers
from .progress import ProgressFacts
from .ranks import Ranks
from .reading import Reading

STEPS_THAT_PROVE_RECOVERY = 3
STEPS_THAT_END_A_WAIT = 2
STEPS_THAT_OUTWEIGH_AN_EXIT = 6
# Ascend's runtime numbers its reports (EI0006, EZ9999); they follow the exception that hands them on.
LINES_TO_THE_REPORT = 4
LONGEST_QUOTE = 400
LINES_TO_THE_NEXT_IN_A_CHAIN = 80
_DEVICE_REPORT = quick(r"(?:^|\s)E[A-Z]\d{4}\)?: ")
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

    def _ended_rank(self, finding: Finding) -> tuple[int, ...] | None:
        """The rank that a launcher names on the line on which it tells of an exit."""
        line = finding.line
        if self.library.page(finding.failure).tells != EXIT:
            return None
        ended = {e.rank for e in self.launchers.between(line.file, line.number, line.number) if e.rank is not None}
        return tuple(ended) if len(ended) == 1 else None

    def _entry_rank(self, line: Line) -> tuple[int, ...] | None:
        """The rank whose traceback a launcher's summary quotes around this line."""
        for e in self.launchers.quoting(line.file, line.number - LONGEST_QUOTE, line.number):
            t = e.traceback_line
            if t is not None and e.rank is not None and all(o is e for o in self.launchers.between(line.file, t.number + 1, line.number)):
                return (e.rank,)
        return None


@dataclass(slots=True)
class Hypothesis:
    """A failure that may have been first. `ranks` maps each rank it is about to its findings; `nobody` holds those without a rank."""

    failure: str
    page: Page
    findings: list[Finding] = field(default_factory=list)
    ranks: dict[int, list[Finding]] = field(default_factory=dict)
    nobody: list[Finding] = field(default_factory=list)
    detail: str = ""
    op: str = ""
    strength: str = "direct"
    named: tuple[int, ...] | None = None
    lines: tuple[Line, ...] = ()
    reasons: list[str] = field(default_factory=list)
    kind: str = "finding"

    @property
    def role(self) -> Role:
        """The role of the failure."""
        return self.page.role

    @property
    def tells(self) -> str:
        """What its lines tell of the process that printed them; nothing where it was concluded from several lines."""
        return self.page.tells if self.kind == "finding" else ""

    def all_lines(self) -> list[Line]:
        """The lines that show it."""
        return [f.line for f in self.findings] or list(self.lines)

    def first(self) -> Line:
        """The first line, by time where all lines have one, else by place."""
        lines = self.all_lines()
        if all(x.time_s is not None for x in lines) and len({x.time_of_day for x in lines}) == 1:
            return min(lines, key=lambda x: (x.time_s or 0, x.file, x.number))
        return min(lines, key=lambda x: (x.file, x.number))

    def first_time(self, facts: Facts) -> tuple[float, bool] | None:
        """When it was first seen as (seconds, lacks a date): the earliest of the times that are known."""
        times = [t for x in self.all_lines() if (t := facts.time_of(x)) is not None]
        return min(times, key=lambda t: (t[1], t[0])) if times else None


def usable_findings(facts: Facts) -> tuple[list[Finding], list[Finding]]:
    """(findings that may be blamed, findings that the job got past): context, quotes of code and shutdown noise are in neither."""
    usable: list[Finding] = []
    recovered: list[Finding] = []
    judged = facts.judged = _judged_attempts(facts)
    for f in facts.reading.files:
        structure = facts.structures[f.index]
        for finding in f.findings:
            line = finding.line
            if finding.role is Role.CONTEXT or finding.strength == "context" or key_of(line) in structure.code:
                continue
            if line.number in structure.ignored or _is_cut_off(facts, finding) or _is_of_a_tracker(facts, finding):
                continue
            if facts.progress.set_aside and facts.progress.set_aside_behind(line):
                continue
            if _is_passed_over(line) and key_of(line) not in structure.raised:
                continue
            if facts.library.page(finding.failure).tells == ANY_EXCEPTION and (is_warned_of(line) or line.number in structure.logged):
                continue
            if facts.attempt_of(line) != judged[f.index]:
                if facts.attempt_of(line) < judged[f.index]:
                    recovered.append(finding)
                continue
            if _recovered(facts, finding):
                recovered.append(finding)
            else:
                usable.append(finding)
    same_attempt = [f for f in recovered if facts.attempt_of(f.line) == judged[f.line.file]]
    set_aside = _caught_again_and_again(facts, [*usable, *same_attempt]) | _still_waiting(usable)
    return [f for f in usable if id(f) not in set_aside], recovered


# ignoring corrupt image/label: … · Handling webdataset error (…). Ignoring. · …, skipping this sample
_PASSED_OVER = quick(
    r"(?i)\bignoring (?:corrupt|bad|broken|invalid|unreadable)\b|\. ignoring\.?\s*$"
    r"|\bskipp(?:ing|ed) (?:(?:this|the|that|bad|broken|corrupt(?:ed)?|invalid) ){0,2}"
    r"(?:sample|image|file|record|example|document|shard|video|row|utterance)\b"
)


def _is_passed_over(line: Line) -> bool:
    """Whether a line that tells of an item of data says itself that the program does without it."""
    return _PASSED_OVER.search(line.text) is not None


_CUT_OFF = ("EOFError", "BrokenPipeError", "ConnectionResetError", "ConnectionRefusedError", "ConnectionAbortedError")


def _is_cut_off(facts: Facts, finding: Finding) -> bool:
    """Whether a helper process or thread of Python's multiprocessing lost its parent only after the launcher began to stop processes."""
    if facts.library.page(finding.failure).tells != ANY_EXCEPTION or _exception_class(finding) not in _CUT_OFF:
        return False
    raised = facts.structures[finding.line.file].raised.get(key_of(finding.line))
    if raised is None or not raised.frames or "/multiprocessing/" not in raised.frames[-1].file:
        return False
    stopped = [*facts.launchers.closed_pids.values(), *([facts.launchers.ended_from_outside] if facts.launchers.ended_from_outside else [])]
    return any(x.file == finding.line.file and x.number < raised.first.number for x in stopped)


_TIMES_CAUGHT = 4
_APART_LINES = 12


def _still_waiting(usable: Sequence[Finding]) -> set[int]:
    """Notices that members are still awaited, of barriers for which nobody printed a second one: that is how a slow start looks."""
    waits: dict[tuple[int, str], list[Finding]] = {}
    for f in usable:
        if f.strength == "symptom" and "joined" in f.captures and (key := f.captures.get("key")):
            waits.setdefault((f.line.file, key), []).append(f)
    out: set[int] = set()
    for found in waits.values():
        if len({f.captures.get("reporter") for f in found}) == len(found):
            out.update(id(f) for f in found)
    return out


def _caught_again_and_again(facts: Facts, usable: Sequence[Finding]) -> set[int]:
    """Exceptions of a kind that processes of one name printed many times, far apart, while none ended: they catch them."""
    if facts.own_failures():
        return set()
    kinds: dict[tuple[int, str, str], list[Finding]] = {}
    for f in usable:
        if facts.library.page(f.failure).tells == ANY_EXCEPTION:
            o = f.line.origin
            kinds.setdefault((f.line.file, _exception_class(f), f"{o.rank} {o.label}"), []).append(f)
    out: set[int] = set()
    for (file, _, _), found in kinds.items():
        numbers = sorted(f.line.number for f in found)
        spread = sum(b - a > _APART_LINES for a, b in zip(numbers, numbers[1:], strict=False))
        goes_on = facts.reading.files[file].line_count - numbers[-1] > _APART_LINES
        if spread >= _TIMES_CAUGHT * (1 if goes_on else 3):
            out.update(id(f) for f in found)
    return out


def _judged_attempts(facts: Facts) -> list[int]:
    """For each input the attempt to judge: the last one, or the one before where the last shows nothing at all."""
    out: list[int] = []
    for f in facts.reading.files:
        attempts = facts.attempts[f.index]
        chosen = attempts[-1].index
        for a in reversed(attempts):
            inside = [
                x for x in f.findings if a.first <= x.line.number <= a.last and x.role is not Role.CONTEXT and x.strength != "context"
            ]
            signs = [*(s.line for s in facts.progress.in_file(f.index)), *(x for x in facts.progress.ends if x.file == f.index)]
            alive = any(a.first <= x.number <= a.last for x in signs)
            if inside or alive or a.last - a.first > 400:
                chosen = a.index
                break
        out.append(chosen)
    return out


def _recovered(facts: Facts, finding: Finding) -> bool:
    """Whether the rank went on training, or the job had finished, after this line."""
    ranks = facts.ranks_of(finding)
    if finding.captures.get("absent") or finding.captures.get("ready"):
        # Others say that these ranks are late: whoever says it, and goes on, has met them.
        ranks = None if (reporter := facts.ranks.of_line(finding.line)) is None else (reporter,)
    rank = ranks[0] if ranks and len(ranks) == 1 else None
    if finding.captures.get("absent") or finding.captures.get("ready"):
        # Who waits for another goes on only when that one came.
        rank = facts.ranks.of_line(finding.line)
    tells = facts.library.page(finding.failure).tells
    if tells == LOST_PEER:
        # A job that does without the peer goes on with any rank.
        rank = None
    later = facts.progress.after(finding.line, rank)
    same_rank = any(s.rank is not None and s.rank == rank for s in later)
    # Where the launcher saw this rank fail, a step or two behind the error may only be output that was buffered longer.
    failed = rank is not None and any(e.rank == rank for e in facts.own_failures())
    enough = STEPS_THAT_OUTWEIGH_AN_EXIT if failed else 1 if same_rank else STEPS_THAT_PROVE_RECOVERY
    if enough == STEPS_THAT_PROVE_RECOVERY and not facts.own_failures():
        if _is_caught(facts, finding) or any(facts.progress.resumes_between(finding.line, s.line) for s in later):
            enough = 1
        elif tells == WAITED and finding.strength != "direct":
            enough = STEPS_THAT_END_A_WAIT
    if len(later) >= enough:
        return True
    if facts.progress.serves_after(finding.line) or (_is_of_a_request(facts, finding) and facts.progress.works_after(finding.line)):
        return True
    if facts.library.page(finding.failure).tells == ANY_EXCEPTION and facts.progress.refuses_after(finding.line):
        return True
    if finding.strength == "symptom" and (facts.progress.starts_after(finding.line) or facts.progress.generates_after(finding.line)):
        return True
    if finding.strength == "symptom" and (key := finding.captures.get("key")) and facts.progress.meets_after(finding.line, key):
        return True
    if finding.role is Role.COLLATERAL and _after_normal_exit(facts, finding):
        return True
    done = facts.progress.finished
    if done is None or done.file != finding.line.file or facts.attempt_of(done) != facts.attempt_of(finding.line):
        return False
    if done.number < finding.line.number:
        return not _fails_after(facts, done)
    # A normal end proves that every wait before it ended, and that what only looked like trouble was none.
    passed = finding.strength == "symptom" or facts.library.page(finding.failure).tells == WAITED
    # A library that only noted that a peer went away, and raised nothing, noted how that peer ended.
    noted = finding.role is Role.COLLATERAL and key_of(finding.line) not in facts.structures[finding.line.file].raised
    passed = passed or noted and "NCCL WARN" in finding.line.raw
    return passed and not facts.own_failures() and not _fails_after(facts, done)


# A thread that feeds a queue or sends metrics prints its own exception, and the program goes on without it.
_TRACKER = quick(r"/site-packages/(?:comet_ml|wandb|mlflow|clearml|neptune|tensorboardX?|aim|swanlab)/|/threading\.py$")
_HELPER = quick(
    r"/(?:multiprocessing/(?:queues|connection|resource_sharer|managers|pool)|threading|concurrent/futures/\w+)\.py$"
    r"|/(?:comet_ml|wandb|mlflow|clearml|neptune|tensorboardX?|aim|swanlab)/"
)
# 2031-02-03 04:05:06,345 WARNING … · | WARNING | …
_WARNED = re.compile(r"[\s\d,.:T|\[\]-]{0,40}WARN(?:ING)?\b")
_REQUEST = quick(r"/(?:uvicorn|starlette|fastapi|hypercorn)/")


def _is_caught(facts: Facts, finding: Finding) -> bool:
    """Whether the program says that it caught this or logs it as a warning, or the exception is that of a thread that only helps."""
    if (is_warned_of(finding.line) or _WARNED.match(finding.line.text)) and "NCCL WARN" not in finding.line.raw:
        return True
    structure = facts.structures[finding.line.file]
    raised = structure.raised.get(key_of(finding.line))
    first = raised.first.number if raised else finding.line.number
    if facts.progress.caught_near(finding.line.file, first, finding.line.number):
        return True
    return raised is not None and bool(raised.frames) and all(_HELPER.search(f.file.replace("\\", "/")) for f in raised.frames)


def _is_of_a_tracker(facts: Facts, finding: Finding) -> bool:
    """Whether no frame of a whole chain of exceptions is outside a client that records metrics: a thread of its own raised it."""
    structure = facts.structures[finding.line.file]
    raised = structure.raised.get(key_of(finding.line))
    if raised is None:
        return False
    chain = [r for r in structure.raised.values() if r.chain == raised.chain]
    frames = [f.file.replace("\\", "/") for r in chain for f in r.frames]
    whole = all("Traceback (most recent call last)" in r.first.text for r in chain)
    return whole and any("/site-packages/" in f for f in frames) and all(_TRACKER.search(f) for f in frames)


def _is_of_a_request(facts: Facts, finding: Finding) -> bool:
    """Whether the exception came out of the handler of one request: that request failed, and no more."""
    raised = facts.structures[finding.line.file].raised.get(key_of(finding.line))
    return raised is not None and bool(raised.frames) and _REQUEST.search(raised.frames[0].file) is not None


def _after_normal_exit(facts: Facts, finding: Finding) -> bool:
    """Whether a page tagged `normal-exit` fired before, and no process failed: connections then end because the job did."""
    return not facts.own_failures() and any(
        f.line.file == finding.line.file and f.line.number < finding.line.number and facts.library.page(f.failure).tells == NORMAL_EXIT
        for f in facts.reading.files[finding.line.file].findings
    )


def _fails_after(facts: Facts, done: Line) -> bool:
    return any(e.line.file == done.file and e.line.number > done.number and e.code not in (0, None) for e in facts.launchers.exits)


def gather(facts: Facts, findings: Iterable[Finding]) -> list[Hypothesis]:
    """One hypothesis a failure id (and exception class, where only the class is known).

    In a chain of exceptions a page that knows one of them outranks the general one: wrappers say less than what they wrap.
    """
    found: dict[tuple[str, str], Hypothesis] = {}
    findings = list(findings)
    known = {
        facts.chain_of(f) for f in findings if f.role is Role.INITIATING and facts.library.page(f.failure).tells != ANY_EXCEPTION
    } - {None}  # fmt: skip
    worded = {
        facts.chain_of(f) for f in findings if f.captures.get("message") and facts.library.page(f.failure).tells == ANY_EXCEPTION
    } - {None}  # fmt: skip
    for f in findings:
        page = facts.library.page(f.failure)
        if page.tells == ANY_EXCEPTION and (
            facts.chain_of(f) in known
            or (facts.chain_of(f) in worded and _only_cancels(f))
            or _is_remnant(f, findings)
            or _is_only_a_timeout(facts, f, findings)
            or _device_reports_behind(f, findings)
            or _announces_a_process(facts, f)
        ):
            continue
        detail = _exception_class(f) if page.tells == ANY_EXCEPTION else ""
        h = found.setdefault((f.failure, detail), Hypothesis(f.failure, page, detail=detail))
        h.findings.append(f)
        ranks = facts.ranks_of(f)
        if ranks is None:
            h.nobody.append(f)
        else:
            for r in ranks:
                h.ranks.setdefault(r, []).append(f)
    for h in found.values():
        h.strength = min((f.strength for f in h.findings), key=("direct", "probable", "symptom").index)
    return list(found.values())


def _only_cancels(f: Finding) -> bool:
    """Whether the exception is how asyncio ends a wait: of a chain the one with words of its own says what was waited for."""
    return not f.captures.get("message") and _exception_class(f) in ("CancelledError", "TimeoutError")


def _is_only_a_timeout(facts: Facts, f: Finding, findings: Sequence[Finding]) -> bool:
    """Whether an exception says only that a time is over, and the one that was raised for it says what was waited for."""
    return (
        _exception_class(f).endswith("TimeoutError")
        and not f.captures.get("message")
        and any(
            facts.library.page(o.failure).tells == WAITED
            and o.line.file == f.line.file
            and o.line.origin == f.line.origin
            and 0 < o.line.number - f.line.number <= LINES_TO_THE_NEXT_IN_A_CHAIN
            for o in findings
        )
    )


def _is_remnant(f: Finding, findings: Sequence[Finding]) -> bool:
    """Whether a bare exception name was torn off a line next to it, in which ranks that wrote at once glued the same name."""
    name = _exception_class(f)
    return not f.captures.get("message") and any(
        o is not f and o.line.file == f.line.file and 0 < abs(o.line.number - f.line.number) <= 2 and name + name in o.line.text
        for o in findings
    )


def _device_reports_behind(f: Finding, findings: Sequence[Finding]) -> bool:
    """Whether the exception only hands on what the device's runtime reports, with a code of its own, in the lines behind it."""
    return any(
        o.failure != f.failure
        and o.line.file == f.line.file
        and 0 < o.line.number - f.line.number <= LINES_TO_THE_REPORT
        and _DEVICE_REPORT.search(o.line.text)
        for o in findings
    )


def _announces_a_process(facts: Facts, f: Finding) -> bool:
    """Whether the exception has no words of its own and only announces that of a spawned process, which stands below it."""
    spawned = facts.structures[f.line.file].spawn_index
    return not f.captures.get("message") and any(f.line.number + n in spawned for n in range(1, LINES_TO_THE_REPORT + 1))


def _exception_class(f: Finding) -> str:
    name = f.captures.get("exception", "")
    return re.split(r"[.]", name)[-1]


def strongest(findings: Sequence[Finding]) -> Finding:
    """The finding that says most: direct before probable, more captures, then the earliest."""
    order = {"direct": 0, "probable": 1, "symptom": 2, "context": 3}
    return min(findings, key=lambda f: (order[f.strength], -len(f.captures), f.line.file, f.line.number, f.start))
