"""Decides which findings can count at all: not what the job got past, not an earlier attempt, not shutdown noise. Blames nobody."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..knowledge.match import match_line
from ..model import Finding, Line, Role
from ..read.blocks import Raised, is_warned_of, key_of
from ..read.quick import quick
from .facts import ANY_EXCEPTION, LOST_PEER, NORMAL_EXIT, WAITED, Facts, exception_class
from .launchers import ENDS_ALL

STEPS_THAT_PROVE_RECOVERY = 3
STEPS_THAT_END_A_WAIT = 2
STEPS_THAT_OUTWEIGH_AN_EXIT = 6
LINES_BEHIND_THE_LAST = 3


def usable_findings(facts: Facts) -> tuple[list[Finding], list[Finding]]:
    """(findings that may be blamed, findings that the job got past): context, quotes of code and shutdown noise are in neither."""
    usable: list[Finding] = []
    recovered: list[Finding] = []
    judged = facts.judged = _judged_attempts(facts)
    ready = _threads_that_came_up(facts)
    for f in facts.reading.files:
        structure = facts.structures[f.index]
        told = -1
        for finding in _meant(facts, f.findings):
            line = finding.line
            if finding.role is Role.CONTEXT or finding.strength == "context" or key_of(line) in structure.code:
                continue
            if line.number in structure.ignored or _is_cut_off(facts, finding) or _is_of_a_tracker(facts, finding):
                continue
            if _is_told_of_the_end(facts, finding):
                continue
            if finding.captures.get("caught") and line.origin.label:
                # Ray ends its actors by a signal too; only the driver's own says that somebody ended the job.
                continue
            if facts.progress.set_aside and facts.progress.set_aside_behind(line):
                continue
            if _is_passed_over(line) and key_of(line) not in structure.raised:
                continue
            if facts.library.page(finding.failure).tells == ANY_EXCEPTION and (is_warned_of(line) or line.number in structure.logged):
                continue
            if _is_only_told(facts, finding) or (told == line.number - 1 and line.text[:1].isspace()):
                # What is indented below belongs to it.
                told = line.number
                continue
            if facts.attempt_of(line) != judged[f.index]:
                if facts.attempt_of(line) < judged[f.index]:
                    recovered.append(finding)
                continue
            if _came_up_all_the_same(finding, ready) or _recovered(facts, finding):
                recovered.append(finding)
            else:
                usable.append(finding)
    same_attempt = [f for f in recovered if facts.attempt_of(f.line) == judged[f.line.file]]
    set_aside = _caught_again_and_again(facts, [*usable, *same_attempt]) | _still_waiting(usable)
    return [f for f in usable if id(f) not in set_aside], recovered


def counts_by_itself(facts: Facts, finding: Finding) -> bool:
    """Whether a finding counts in an excerpt in which nothing speaks of a job: a specific failure, or an exception that ended a script."""
    if facts.library.page(finding.failure).tells != ANY_EXCEPTION:
        return True
    line = finding.line
    raised = facts.structures[line.file].raised.get(key_of(line))
    at_the_end = facts.reading.files[line.file].line_count - line.number <= LINES_BEHIND_THE_LAST
    return at_the_end and raised is not None and any(frame.function == "<module>" for frame in raised.frames[:1])


# ignoring corrupt image/label: … · Handling webdataset error (…). Ignoring. · …, skipping this sample
_PASSED_OVER = quick(
    r"(?i)\bignoring (?:corrupt|bad|broken|invalid|unreadable)\b|\. ignoring\.?\s*$"
    r"|\bskipp(?:ing|ed) (?:(?:this|the|that|bad|broken|corrupt(?:ed)?|invalid) ){0,2}"
    r"(?:sample|image|file|record|example|document|shard|video|row|utterance)\b"
)


def _is_passed_over(line: Line) -> bool:
    """Whether a line that tells of an item of data says itself that the program does without it."""
    return _PASSED_OVER.search(line.text) is not None


# INFO:root: · 2031-02-03 04:05:06,345 [INFO] · 02/03/2031 04:05:06 - INFO - a.b - · [INFO|a.py:71] 2031-02-03 04:05:06 >>
_TOLD = quick(r"^\W{0,3}(?:\d[\d\s,.:T/|+-]{6,34}\W{0,4})?(?:INFO|DEBUG)\b(?!.{0,200}\b(?:ERROR|CRITICAL|FATAL)\b)")


def _is_only_told(facts: Facts, finding: Finding) -> bool:
    """Whether a program logged a failure of its own as information: what stopped it would not be."""
    line = finding.line
    if finding.role is not Role.INITIATING or facts.library.page(finding.failure).layer != "program":
        return False
    if key_of(line) in facts.structures[line.file].raised:
        # Who passes on what another process prints calls every line information.
        return False
    before = line.raw[: line.columns[finding.start]] if finding.start < len(line.columns) else line.raw
    return _TOLD.search(before[before.rfind("\r") + 1 :]) is not None


_CUT_OFF = ("EOFError", "BrokenPipeError", "ConnectionResetError", "ConnectionRefusedError", "ConnectionAbortedError")


def _is_cut_off(facts: Facts, finding: Finding) -> bool:
    """Whether a helper process or thread of Python's multiprocessing lost its parent only after the launcher began to stop processes."""
    if facts.library.page(finding.failure).tells != ANY_EXCEPTION or exception_class(finding) not in _CUT_OFF:
        return False
    raised = facts.structures[finding.line.file].raised.get(key_of(finding.line))
    if raised is None or not raised.frames or "/multiprocessing/" not in raised.frames[-1].file:
        return False
    stopped = [*facts.launchers.closed_pids.values(), *([facts.launchers.ended_from_outside] if facts.launchers.ended_from_outside else [])]
    return any(x.file == finding.line.file and x.number < raised.first.number for x in stopped)


def _is_told_of_the_end(facts: Facts, finding: Finding) -> bool:
    """Whether a symptom that nobody signs, such as a shell's "Killed", follows a launcher that kills everybody, itself included."""
    if finding.role is not Role.SYMPTOM or finding.strength != "symptom" or facts.ranks_of(finding) is not None:
        return False
    line = finding.line
    ended = [e for e in facts.launchers.exits if e.said == ENDS_ALL and e.line.file == line.file and e.line.number < line.number]
    return any(facts.attempt_of(e.line) == facts.attempt_of(line) for e in ended)


def _meant(facts: Facts, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, and in place of those that come too late for what they mean the others that their lines have."""
    for finding in findings:
        if _is_too_late(facts, finding):
            yield from match_line(facts.library, finding.line, without=finding.failure)
        else:
            yield finding


def _is_too_late(facts: Facts, finding: Finding) -> bool:
    """Whether a line means this failure only at the start of a job, and this job had made steps before it."""
    line = finding.line
    if not finding.captures.get("at_start"):
        return False
    steps = (s.line for s in facts.progress.in_file(line.file) if s.line.number < line.number)
    return any(facts.attempt_of(x) == facts.attempt_of(line) for x in steps)


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
            kinds.setdefault((f.line.file, exception_class(f), f"{o.rank} {o.label}"), []).append(f)
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
            signs = [*facts.progress.work_in(f.index), *(x for x in facts.progress.ends if x.file == f.index)]
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
    if facts.progress.starts_after(finding.line) and (_is_only_warned_of(facts, finding) or _says_it_goes_on(facts, finding)):
        return True
    if finding.strength == "symptom" and (facts.progress.starts_after(finding.line) or facts.progress.generates_after(finding.line)):
        return True
    if finding.strength == "symptom" and (key := finding.captures.get("key")) and facts.progress.meets_after(finding.line, key):
        return True
    if _is_back(facts, finding):
        return True
    if finding.role is Role.COLLATERAL and _after_normal_exit(facts, finding):
        return True
    if _ended_well(facts, finding):
        return True
    done = facts.progress.finished
    if done is None or done.file != finding.line.file or facts.attempt_of(done) != facts.attempt_of(finding.line):
        return False
    if done.number < finding.line.number:
        # Whoever waits a whole timeout, or meets a fault of its own, behind a normal end was not done:
        # it saved, or went on to the next stage.
        waited = tells == WAITED and finding.role is Role.SYMPTOM
        fatal = finding.strength == "direct" and (waited or finding.role is Role.INITIATING and _is_uncaught(facts, finding))
        return not fatal and not _fails_after(facts, done)
    # A normal end proves that every wait before it ended, and that what only looked like trouble was none.
    raised = key_of(finding.line) in facts.structures[finding.line.file].raised
    passed = finding.strength == "symptom" or tells == WAITED or (_is_caught(facts, finding) if raised else _is_a_note(facts, finding))
    # A library that only noted that a peer went away, and raised nothing, noted how that peer ended.
    noted = finding.role is Role.COLLATERAL and not raised
    passed = passed or noted and "NCCL WARN" in finding.line.raw
    return passed and not facts.own_failures() and not _fails_after(facts, done)


def _ended_well(facts: Facts, finding: Finding) -> bool:
    """Whether the process that printed a line said later that it was done, and no process failed."""
    line = finding.line
    ended = [x for x in facts.progress.ends if x.file == line.file and x.number > line.number and x.origin and x.origin == line.origin]
    return bool(ended) and not facts.own_failures() and not _fails_after(facts, ended[-1])


_AWAY = ("server", "interface", "hca")


def _is_back(facts: Facts, finding: Finding) -> bool:
    """Whether a server or a link was away for a moment, and nothing else tells of a failure: what waited for it went on."""
    names = [finding.captures[key] for key in _AWAY if finding.captures.get(key)]
    if not any(facts.progress.is_back(finding.line, name) for name in names):
        return False
    others = (f for f in facts.reading.findings() if f.failure != finding.failure)
    return not facts.own_failures() and all(f.role is Role.CONTEXT or f.strength == "context" for f in others)


# gpu-01:4711:4790 [3] misc/nvmlwrap.cc:100 NCCL WARN …
_THREAD = re.compile(r"(?<!\S)(\S{1,200}:\d{1,10}:\d{1,10}) \[[\d-]{1,6}\] ")


def _threads_that_came_up(facts: Facts) -> dict[tuple[int, str], int]:
    """For each thread of NCCL the line of the last communicator that it finished."""
    ready = facts.reading.lines_with("Init COMPLETE")
    return {(x.file, m[1]): x.number for x in ready if (m := _THREAD.search(x.raw))}


def _came_up_all_the_same(finding: Finding, ready: dict[tuple[int, str], int]) -> bool:
    """Whether the thread of NCCL that warned finished the communicator it was making: then it did without what it warned of."""
    if not ready or "NCCL WARN" not in finding.line.raw or (m := _THREAD.search(finding.line.raw)) is None:
        return False
    return ready.get((finding.line.file, m[1]), 0) > finding.line.number


# A thread that feeds a queue or sends metrics prints its own exception, and the program goes on without it.
_TRACKER = quick(
    r"/site-packages/(?:comet_ml|wandb|mlflow|clearml|neptune|tensorboardX?|aim|swanlab)/"
    r"|/(?:threading|concurrent/futures/\w+|asyncio/\w+)\.py$"
)
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
    if raised is None or not raised.frames:
        return False
    return all(_HELPER.search(f.file.replace("\\", "/")) for f in raised.frames) or _never_left(raised)


# …/site-packages/jieba/__init__.py: the package whose file it is.
_PACKAGE = re.compile(r"/(?:site|dist)-packages/(\w+)")


def _never_left(raised: Raised) -> bool:
    """Whether an exception that names nobody's call into one package was printed whole: the package itself caught it."""
    packages = [m[1] if (m := _PACKAGE.search(f.file.replace("\\", "/"))) else "" for f in raised.frames]
    whole = "Traceback (most recent call last)" in raised.first.text and raised.frames[0].function != "<module>"
    return whole and packages[0] not in ("", "torch", "ray", "vllm", "sglang") and set(packages) == {packages[0]}


def _is_a_note(facts: Facts, finding: Finding) -> bool:
    """Whether a process only wrote down what it met, outside any traceback."""
    outside = key_of(finding.line) not in facts.structures[finding.line.file].chain_at
    return outside and finding.role is Role.INITIATING and facts.library.page(finding.failure).scope == "rank"


def _is_only_warned_of(facts: Facts, finding: Finding) -> bool:
    """Whether a single line, with no traceback, is a warning or proves little by itself."""
    line = finding.line
    if key_of(line) in facts.structures[line.file].raised or "NCCL WARN" in line.raw:
        return False
    return finding.strength == "probable" or is_warned_of(line) or _WARNED.match(line.text) is not None


def _says_it_goes_on(facts: Facts, finding: Finding) -> bool:
    """Whether a single line tells of an exception, without a traceback, and the program says next to it what it does instead."""
    line = finding.line
    return key_of(line) not in facts.structures[line.file].raised and facts.progress.caught_near(line.file, line.number, line.number)


def _is_of_a_tracker(facts: Facts, finding: Finding) -> bool:
    """Whether no frame of a whole chain of exceptions is outside a client that records metrics: a thread of its own raised it."""
    structure = facts.structures[finding.line.file]
    raised = structure.raised.get(key_of(finding.line))
    if raised is None or not all(_TRACKER.search(f.file.replace("\\", "/")) for f in raised.frames):
        return False
    chain = [r for r in structure.raised.values() if r.chain == raised.chain]
    frames = [f.file.replace("\\", "/") for r in chain for f in r.frames]
    whole = all("Traceback (most recent call last)" in r.first.text for r in chain)
    return whole and any("/site-packages/" in f for f in frames) and all(_TRACKER.search(f) for f in frames)


def _is_of_a_request(facts: Facts, finding: Finding) -> bool:
    """Whether the exception came out of the handler of one request: that request failed, and no more."""
    raised = facts.structures[finding.line.file].raised.get(key_of(finding.line))
    return raised is not None and bool(raised.frames) and _REQUEST.search(raised.frames[0].file) is not None


def _is_uncaught(facts: Facts, finding: Finding) -> bool:
    """Whether an exception ends the traceback of a main program: one of a thread ends that thread only."""
    raised = facts.structures[finding.line.file].raised.get(key_of(finding.line))
    return raised is not None and bool(raised.frames) and not raised.frames[0].file.replace("\\", "/").endswith("/threading.py")


def _after_normal_exit(facts: Facts, finding: Finding) -> bool:
    """Whether a page tagged `normal-exit` fired before, and no process failed: connections then end because the job did."""
    return not facts.own_failures() and any(
        f.line.file == finding.line.file and f.line.number < finding.line.number and facts.library.page(f.failure).tells == NORMAL_EXIT
        for f in facts.reading.files[finding.line.file].findings
    )


def _fails_after(facts: Facts, done: Line) -> bool:
    return any(e.line.file == done.file and e.line.number > done.number and e.code not in (0, None) for e in facts.launchers.exits)
