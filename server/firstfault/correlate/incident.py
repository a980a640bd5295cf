"""Writes an incident: summary, evidence, collateral, fixes and the missing fact of a choice. Decides no blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..knowledge.page import fill, fill_command
from ..model import Alternative, Collateral, Evidence, Finding, Incident, Initiating, Line, MissingFact, Role, Verdict
from ..read.blocks import key_of
from ..read.clock import write_time
from .blame import Choice
from .facts import LOST_PEER, WAITED, Facts
from .hypotheses import Hypothesis, strongest
from .ranks import full_bus, write_ranks

MOST_EVIDENCE = 3
CONTINUATION_LINES = 4
MOST_COLLATERAL = 2000
LONGEST_TEXT = 2000


def build_incident(facts: Facts, choice: Choice, number: int, severity: str | None = None) -> tuple[Incident, int]:
    """The incident of a choice, and how many collateral lines it does not list; `severity` overrides the page's."""
    root, page = choice.root, choice.root.page
    initiating = _initiating(facts, choice)
    values = _values(facts, choice, initiating)
    evidence = _evidence(facts, choice)
    every = _collateral(facts, choice)
    collateral = _listed(every)
    missing = tuple(
        MissingFact(fill(m.fact, values), fill_command(m.command, values), tuple(d for d in m.decides if d in facts.library.pages))
        for m in page.missing
    )
    if choice.verdict is Verdict.ESTABLISHED:
        missing = missing[:1]
    if choice.verdict is not Verdict.ESTABLISHED and not missing:
        missing = (_generic_missing(values),)
    incident = Incident(
        id=number,
        failure=root.failure,
        title=page.title,
        severity=severity or page.severity,
        verdict=choice.verdict,
        summary=_summary(facts, choice, values, every),
        initiating=initiating,
        evidence=evidence,
        reasons=tuple(choice.reasons),
        collateral=collateral,
        fix=tuple(replace(x, command=fill_command(x.command, values) if x.command else None) for x in page.fixes[:4]),
        verify=tuple(replace(x, command=fill_command(x.command, values)) for x in page.checks[:2]),
        missing=missing[:3],
        alternatives=_alternatives(choice),
        related=page.related,
    )
    return incident, len(every) - len(collateral)


def _generic_missing(values: dict[str, str]) -> MissingFact:
    return MissingFact(f"the standard error of {values['rank'].lower()} around its end", "torchrun --log-dir logs --tee 3 ...", ())


def _initiating(facts: Facts, choice: Choice) -> Initiating:
    root = choice.root
    lines = [f.line for f in _own_findings(choice)] or list(root.lines)
    hosts = {f.captures["host"] for f in _own_findings(choice) if f.captures.get("host")}
    for r in choice.ranks or ():
        if r in facts.ranks.host_of:
            hosts.add(facts.ranks.host_of[r])
    if not hosts:
        hosts = {x.origin.host for x in lines if x.origin.host}
    if choice.ranks == () and len(hosts) > 1:
        hosts = set()
    gpus = {full_bus(f.captures["bus_id"]) for f in _own_findings(choice) if f.captures.get("bus_id")}
    gpus |= {facts.ranks.gpu_of[r] for r in choice.ranks or () if r in facts.ranks.gpu_of}
    first = root.first()
    time = None if first.time_s is None else write_time(first.time_s, first.time_of_day)
    return Initiating(choice.ranks, tuple(sorted(hosts)), tuple(sorted(gpus)), time)


def _own_findings(choice: Choice) -> list[Finding]:
    """The findings of the root on the ranks that are blamed."""
    root = choice.root
    if choice.ranks:
        mine = [f for r in choice.ranks for f in root.ranks.get(r, [])]
        if mine:
            # Where only one rank has it, what nobody signed is most likely the same process speaking without its prefix.
            return mine + root.nobody if len(root.ranks) == 1 and root.role is Role.INITIATING else mine
    return root.findings


def who(ranks: Sequence[int] | None) -> str:
    """`Rank 3`, `Ranks 3 and 5`, `Every rank`, `One rank` for the start of a sentence."""
    if ranks is None:
        return "One rank"
    if not ranks:
        return "Every rank"
    return ("Rank " if len(ranks) == 1 else "Ranks ") + write_ranks(ranks)


def _values(facts: Facts, choice: Choice, initiating: Initiating) -> dict[str, str]:
    values: dict[str, str] = {}
    findings = _own_findings(choice)
    if findings:
        best = strongest(findings)
        for f in findings:
            for k, v in f.captures.items():
                values.setdefault(k, v)
        values.update(best.captures)
    if choice.suspicion and choice.suspicion.op and choice.root.kind != "finding":
        s = choice.suspicion
        values["op"] = s.op + (f" {s.seq}" if s.seq is not None else "") + (f" of {s.group}" if s.group and not s.group.isdigit() else "")
    if choice.root.op:
        values["op"] = choice.root.op
    values["rank"] = who(choice.ranks)
    pids = sorted(pid for pid, rank in facts.ranks.by_pid.items() if choice.ranks and rank == choice.ranks[0])
    if pids:
        values.setdefault("pid", str(pids[-1]))
    if initiating.hosts:
        values["host"] = " and ".join(initiating.hosts[:3])
    return values


def _summary(facts: Facts, choice: Choice, values: dict[str, str], collateral: Sequence[Collateral]) -> str:
    sentence = fill(choice.root.page.quick_answer, values).split(". ")[0].rstrip(".")
    last = facts.progress.last()
    at = f" at step {last.step}" if last is not None and last.step is not None and choice.ranks is not None else ""
    others = {r for c in collateral for r in c.ranks or ()} - set(choice.ranks or choice.root.ranks)
    every = choice.ranks == ()
    tail = f"; {len(others)} other rank{'s' if len(others) > 1 else ''} failed in consequence" if others and not every else ""
    return f"{sentence}{at}{tail}."


def _evidence(facts: Facts, choice: Choice) -> tuple[Evidence, ...]:
    root = choice.root
    out: list[Evidence] = []
    used: set[tuple[int, int]] = set()

    def add(line: Line, start: int, end: int, role: str, says: str) -> None:
        if (line.file, line.number) in used:
            return
        used.add((line.file, line.number))
        first, last = line.raw_span(start, end)
        file = facts.reading.files[line.file]
        number, raw = line.number, line.raw
        if number in file.parts:
            number, first, last, begin, stop = file.place(number, first, last)
            raw = raw[begin : stop if stop >= 0 else None].rstrip(" ")
        out.append(Evidence(file.name, number, first, last, raw[:LONGEST_TEXT], role, says))

    if root.kind != "finding":
        spans = {(f.line.file, f.line.number): f for f in reversed(facts.reading.files[root.lines[0].file].findings)}
        for line in root.lines[:MOST_EVIDENCE]:
            span = spans.get((line.file, line.number))
            start, end = (span.start, span.end) if span and span.line.text == line.text else (0, len(line.text))
            add(line, start, end, "initiating", _says(facts, choice, line))
        for line in last_words(facts, choice.ranks or ()):
            add(line, 0, len(line.text), "corroborating", f"the last sign of rank {facts.ranks.of_line(line)}")
    else:
        for f in _best_lines(facts, choice):
            ranks = facts.ranks_of(f)
            says = f"{who(ranks).lower()}: {root.page.title}" if ranks else root.page.title
            add(f.line, f.start, f.end, "initiating", says)
            if (last := _end_of_traceback(facts, f) or _words_of_abort(facts, f)) is not None:
                add(last, 0, len(last.text), "initiating", says)
    told: set[int] = set()
    for e in facts.own_failures():
        if choice.ranks and e.rank in choice.ranks and e.rank not in told and len(out) < 6:
            told.add(e.rank)
            code = f" with exit code {e.code}" if e.code is not None else ""
            add(e.line, 0, len(e.line.text), "corroborating", f"the launcher saw rank {e.rank} end{code}")
    for f in facts.reading.findings():
        if f.failure == root.failure and f.strength == "context" and len(out) < 8:
            add(f.line, f.start, f.end, "context", "says more about it")
    return tuple(out)


def _says(facts: Facts, choice: Choice, line: Line) -> str:
    """What a line says for a hypothesis that several lines show together."""
    root = choice.root
    rank = facts.ranks.of_text(line, len(line.text))
    if root.kind == "absent" and rank is not None:
        return f"rank {rank} gave up waiting"
    return root.reasons[0] if root.reasons else root.page.title


def last_words(facts: Facts, ranks: Sequence[int]) -> list[Line]:
    """The last line that each of a few ranks printed."""
    out: list[Line] = []
    for rank in ranks[:2]:
        own = [x for f in facts.reading.files for x in f.samples if facts.ranks.of_line(x) == rank]
        if own:
            dated = [x for x in own if x.time_s is not None and not x.time_of_day]
            out.append(max(dated, key=lambda x: (x.time_s or 0.0, x.file, x.number)) if dated else own[-1])
    return out


def _best_lines(facts: Facts, choice: Choice) -> list[Finding]:
    """At most three findings that prove it: one a rank, the most telling line of each, strongest and earliest first.

    A second line of one rank proves nothing more, and is often the same failure reported again further up.
    """
    order = {"direct": 0, "probable": 1, "symptom": 2, "context": 3}
    by_rank: dict[tuple[int, ...] | None, list[Finding]] = {}
    signed: Finding | None = None
    for f in sorted(_own_findings(choice), key=lambda f: (f.line.file, f.line.number)):
        ranks = facts.ranks_of(f)
        if ranks is not None:
            signed = f
        elif signed is not None and f.line.file == signed.line.file and f.line.number - signed.line.number <= CONTINUATION_LINES:
            # A message of several lines is signed on its first line only.
            ranks = facts.ranks_of(signed)
        by_rank.setdefault(ranks, []).append(f)
    picked: list[Finding] = []
    for findings in by_rank.values():
        findings.sort(
            key=lambda f: (
                order[f.strength],
                _chain_position(facts, f),
                not f.captures,
                facts.ranks.of_text(f.line, f.start) is None,
                f.line.file,
                f.line.number,
            )
        )
        picked.append(findings[0])
        if len(by_rank) == 1 and None in by_rank and choice.root.role is Role.INITIATING:
            # Nobody signed it: the same words again may be another rank's.
            words = findings[0].line.text[findings[0].start : findings[0].end]
            picked += [f for f in findings[1:] if f.line.text[f.start : f.end] == words and f.strength == findings[0].strength][:1]
    if any(f.strength == "direct" for f in picked):
        # What a launcher concludes from an exit proves nothing more where the process itself said why.
        picked = [f for f in picked if f.strength == "direct" or not _is_of_an_exit(facts, f)]
    picked.sort(key=lambda f: (order[f.strength], f.line.time_s if f.line.time_s is not None else 0, f.line.file, f.line.number))
    return picked[:MOST_EVIDENCE]


def _is_of_an_exit(facts: Facts, f: Finding) -> bool:
    """Whether a finding stands in what a launcher wrote about the end of a process; an entry names the rank two lines at most above."""
    return bool(facts.launchers.between(f.line.file, f.line.number - 2, f.line.number))


def _end_of_traceback(facts: Facts, f: Finding) -> Line | None:
    """The exception that ends the traceback of which a finding is a frame."""
    structure = facts.structures[f.line.file]
    chain = structure.chain_at.get(key_of(f.line))
    if chain is None or key_of(f.line) in structure.raised:
        return None
    return next((r.line for r in structure.raised.values() if r.chain == chain and r.line.number > f.line.number), None)


def _words_of_abort(facts: Facts, f: Finding) -> Line | None:
    """What the exception said that ended a C++ program: it stands on the line behind the one that names its class."""
    if "terminate called after throwing" not in f.line.text:
        return None
    behind = (x for x in facts.reading.files[f.line.file].lines if x.number == f.line.number + 1)
    return next((x for x in behind if x.text.lstrip().startswith("what(): ")), None)


def _chain_position(facts: Facts, f: Finding) -> int:
    raised = facts.structures[f.line.file].raised.get(key_of(f.line))
    return 0 if raised is None else raised.position


def _listed(every: list[Collateral]) -> tuple[Collateral, ...]:
    """As many of them as a report lists: of each rank and failure the first before the others."""
    if len(every) <= MOST_COLLATERAL:
        return tuple(every)
    said: set[tuple[str, tuple[int, ...] | None]] = set()
    first: list[Collateral] = []
    again: list[Collateral] = []
    for c in every:
        (again if (c.failure, c.ranks) in said else first).append(c)
        said.add((c.failure, c.ranks))
    return tuple(sorted([*first, *again][:MOST_COLLATERAL], key=_place))


def _place(c: Collateral) -> tuple[str, int, str]:
    return c.file, c.line, c.failure


def _collateral(facts: Facts, choice: Choice) -> list[Collateral]:
    out: list[Collateral] = []
    cause = who(choice.ranks).lower() if choice.ranks else choice.root.page.title.lower()
    seen: set[tuple[str, int, int]] = set()
    root_lines = {(f.line.file, f.line.number) for f in _best_lines(facts, choice)} if choice.root.kind == "finding" else {
        (x.file, x.number) for x in choice.root.lines[:MOST_EVIDENCE]
    }  # fmt: skip
    for h in [*choice.after, choice.root]:
        for f in h.findings:
            key = (h.failure, f.line.file, f.line.number)
            if key in seen or (f.line.file, f.line.number) in root_lines:
                continue
            if h is choice.root and (facts.ranks_of(f) is None or not choice.ranks or set(facts.ranks_of(f) or ()) & set(choice.ranks)):
                continue
            seen.add(key)
            out.append(Collateral(h.failure, facts.ranks_of(f), facts.reading.files[f.line.file].name, f.line.number, _why(h, f, cause)))
    return sorted(out, key=_place)


def _why(h: Hypothesis, f: Finding, cause: str) -> str:
    op = f.captures.get("op")
    if h.tells == WAITED:
        return f"waited for {cause}" + (f" in {op} {f.captures.get('seq', '')}".rstrip() if op else "")
    if h.tells == LOST_PEER:
        return f"lost its connection after {cause} failed"
    return f"came after {cause} failed"


def _alternatives(choice: Choice) -> tuple[Alternative, ...]:
    out = [Alternative(h.failure, "also seen, by itself enough to end the job") for h in choice.rivals if h.failure != choice.root.failure]
    if choice.verdict is not Verdict.ESTABLISHED:
        out += choice.root.page.alternatives
    return tuple(out[:4])
