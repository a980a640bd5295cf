"""Gathers findings into hypotheses: one failure that may have been first, with who, when and which lines. Knows not which is right."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..knowledge.page import Page
from ..model import Finding, Line, Role
from ..read.blocks import key_of
from ..read.quick import quick
from .facts import ANY_EXCEPTION, WAITED, Facts, exception_class

# Ascend's runtime numbers its reports (EI0006, EZ9999); they follow the exception that hands them on, in MindSpore under a heading.
LINES_TO_THE_REPORT = 8
LINES_TO_THE_NEXT_IN_A_CHAIN = 80
SHORTEST_QUOTE = 20
ENOUGH_WORDS = 24
_DEVICE_REPORT = quick(r"(?:^|\s)E[A-Z]\d{4}\)?: ")


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


class _Around:
    """What stands around a finding, found without comparing every finding with every other."""

    def __init__(self, facts: Facts, findings: Sequence[Finding]) -> None:
        self._by_file: dict[int, list[Finding]] = {}
        for f in sorted(findings, key=lambda f: f.line.number):
            self._by_file.setdefault(f.line.file, []).append(f)
        self._numbers = {file: [f.line.number for f in inside] for file, inside in self._by_file.items()}
        self._texts: dict[int, list[tuple[str, str]]] = {}
        known = [f for f in findings if facts.library.page(f.failure).tells != ANY_EXCEPTION]
        self.files_with_known = {f.line.file for f in known}
        self.known_in_chain: dict[tuple[int, int], list[Finding]] = {}
        for f in known:
            if (chain := facts.chain_of(f)) is not None:
                self.known_in_chain.setdefault(chain, []).append(f)

    def near(self, f: Finding, before: int, behind: int) -> Sequence[Finding]:
        """The findings at most so many lines before and behind one in the same input, those on its own line too."""
        numbers = self._numbers[f.line.file]
        first = bisect.bisect_left(numbers, f.line.number - before)
        return self._by_file[f.line.file][first : bisect.bisect_right(numbers, f.line.number + behind)]

    def whole(self, f: Finding) -> bool:
        """Whether another failure has a line of the same input that begins with all of this one's and goes on."""
        file = f.line.file
        if file not in self._texts:
            self._texts[file] = sorted({(o.line.text.strip(), o.failure) for o in self._by_file[file]})
        texts, said = self._texts[file], f.line.text.strip()
        for text, failure in texts[bisect.bisect_left(texts, (said, "")) :]:
            if not text.startswith(said):
                return False
            if failure != f.failure and text != said:
                return True
        return False


def gather(facts: Facts, findings: Iterable[Finding]) -> list[Hypothesis]:
    """One hypothesis a failure id (and exception class, where only the class is known).

    In a chain of exceptions a page that knows one of them outranks the general one: wrappers say less than what they wrap.
    """
    found: dict[tuple[str, str], Hypothesis] = {}
    findings = list(findings)
    around = _Around(facts, findings)
    known = {chain for chain, inside in around.known_in_chain.items() if any(f.role is Role.INITIATING for f in inside)}
    worded = {
        facts.chain_of(f) for f in findings if f.captures.get("message") and facts.library.page(f.failure).tells == ANY_EXCEPTION
    } - {None}  # fmt: skip
    for f in findings:
        page = facts.library.page(f.failure)
        if page.tells == ANY_EXCEPTION and (
            facts.chain_of(f) in known
            or (facts.chain_of(f) in worded and _only_cancels(f))
            or _is_remnant(f, around)
            or _is_cut_short(f, around)
            or _is_only_a_timeout(facts, f, around)
            or _device_reports_behind(f, around)
            or _is_only_cancelled(f, around)
            or _only_lost_a_pipe(facts, f, around)
            or _only_quotes(facts, f, around)
            or _announces_a_process(facts, f)
        ):
            continue
        if f.strength == "symptom" and _device_reports_behind(f, around):
            continue
        detail = exception_class(f) if page.tells == ANY_EXCEPTION else ""
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
    return not f.captures.get("message") and exception_class(f) in ("CancelledError", "TimeoutError")


def _is_only_a_timeout(facts: Facts, f: Finding, around: _Around) -> bool:
    """Whether an exception says only that a time is over, and the one that was raised for it says what was waited for."""
    return (
        exception_class(f).endswith("TimeoutError")
        and not f.captures.get("message")
        and any(
            facts.library.page(o.failure).tells == WAITED and o.line.origin == f.line.origin and o.line.number > f.line.number
            for o in around.near(f, 0, LINES_TO_THE_NEXT_IN_A_CHAIN)
        )
    )


def _is_only_cancelled(f: Finding, around: _Around) -> bool:
    """Whether an exception says only that asyncio cancelled a task, and something else says what went wrong."""
    return exception_class(f) == "CancelledError" and not f.captures.get("message") and f.line.file in around.files_with_known


def _only_lost_a_pipe(facts: Facts, f: Finding, around: _Around) -> bool:
    """Whether an exception says only that the process at the other end of a pipe ended, and something else says what ended it."""
    raised = facts.structures[f.line.file].raised.get(key_of(f.line))
    return (
        exception_class(f) in ("EOFError", "BrokenPipeError", "ConnectionResetError")
        and raised is not None
        and bool(raised.frames)
        and raised.frames[-1].file.replace("\\", "/").endswith("multiprocessing/connection.py")
        and f.line.file in around.files_with_known
    )


def _only_quotes(facts: Facts, f: Finding, around: _Around) -> bool:
    """Whether an exception repeats the words of one before it in its chain that another page knows."""
    message, chain = f.captures.get("message", ""), facts.chain_of(f)
    if chain is None or len(message) < SHORTEST_QUOTE:
        return False
    for o in around.known_in_chain.get(chain, ()):
        words = o.line.text.partition(": ")[2].strip().rstrip(".")
        if o.line.number < f.line.number and len(words) >= SHORTEST_QUOTE and words in message:
            return True
    return False


def _is_remnant(f: Finding, around: _Around) -> bool:
    """Whether a bare exception name was torn off a line next to it, in which ranks that wrote at once glued the same name."""
    name = exception_class(f)
    return not f.captures.get("message") and any(
        o.line.number != f.line.number and name + name in o.line.text for o in around.near(f, 2, 2)
    )


def _is_cut_short(f: Finding, around: _Around) -> bool:
    """Whether the line ends in the middle of words that another line has whole: then that line says what it was."""
    return len(f.line.text[f.start :].rstrip()) >= ENOUGH_WORDS and around.whole(f)


def _device_reports_behind(f: Finding, around: _Around) -> bool:
    """Whether the exception only hands on what the device's runtime reports, with a code of its own, in the lines behind it."""
    return any(
        o.failure != f.failure and o.line.number > f.line.number and _DEVICE_REPORT.search(o.line.text)
        for o in around.near(f, 0, LINES_TO_THE_REPORT)
    )


def _announces_a_process(facts: Facts, f: Finding) -> bool:
    """Whether the exception has no words of its own and only announces that of a spawned process, which stands below it."""
    spawned = facts.structures[f.line.file].spawn_index
    return not f.captures.get("message") and any(f.line.number + n in spawned for n in range(1, LINES_TO_THE_REPORT + 1))


def strongest(findings: Sequence[Finding]) -> Finding:
    """The finding that says most: direct before probable, more captures, then the earliest."""
    order = {"direct": 0, "probable": 1, "symptom": 2, "context": 3}
    return min(findings, key=lambda f: (order[f.strength], -len(f.captures), f.line.file, f.line.number, f.start))
