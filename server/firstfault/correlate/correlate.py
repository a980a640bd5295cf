"""From the files that were read to the report: every correlating step in its order. Holds no rule of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from ..knowledge.library import Library
from ..model import Diagnosis, Incident, InputSummary, Job, Progress, Report, Role, Unexplained
from ..read.blocks import read_structure
from ..read.clock import write_time
from ..read.quick import quick
from .actors import read_actors
from .attempts import read_attempts
from .blame import Choice, choose, choose_without_errors
from .collectives import read_collectives
from .facts import Facts
from .hypotheses import gather
from .incident import LONGEST_TEXT, build_incident
from .launchers import read_launchers
from .progress import read_progress
from .ranks import read_ranks
from .reading import FileReading, Reading
from .skew import WORTH_TELLING_S, host_skew_s
from .subject import Subject, subject_of
from .timeline import build_timeline
from .unnamed import add_unnamed
from .usable import counts_by_itself, usable_findings

MOST_FINDINGS = 5000


def correlate(library: Library, files: list[FileReading]) -> Diagnosis:
    """The diagnosis of all inputs together."""
    reading = Reading(files)
    for f in files:
        f.named_rank, f.named_host = _from_name(f.name) if len(files) > 1 else (None, None)
    launchers = read_launchers(reading)
    ranks = read_ranks(reading, launchers)
    collectives = read_collectives(reading, ranks)
    progress = read_progress(reading, ranks)
    structures = [read_structure(f.lines) for f in files]
    add_unnamed(library, files, structures)
    read_actors(reading, ranks, structures)
    attempts = [read_attempts(f, progress, structure) for f, structure in zip(files, structures, strict=True)]
    facts = Facts(reading, library, structures, launchers, ranks, progress, attempts, host_skew_s(progress, ranks))
    usable, recovered = usable_findings(facts)
    subject = subject_of(files)
    training = subject is Subject.JOB
    if not training:
        usable = [f for f in usable if counts_by_itself(facts, f)] if subject is Subject.UNSAID else []
    choice = choose(facts, gather(facts, usable), collectives)
    if choice is None and training:
        choice = choose_without_errors(facts)
    incidents: list[Incident] = []
    unlisted = 0
    if choice is not None:
        incident, unlisted = build_incident(facts, choice, 1)
        incidents.append(incident)
    if recovered and training:
        earlier = choose(facts, [h for h in gather(facts, recovered) if h.role is Role.INITIATING and h.strength == "direct"], collectives)
        if earlier is not None and (choice is None or earlier.root.failure != choice.root.failure):
            incidents.append(build_incident(facts, earlier, len(incidents) + 1, "warning")[0])
    report = Report(
        inputs=tuple(_input(facts, f) for f in files),
        job=_job(facts, choice),
        incidents=tuple(incidents),
        unexplained=tuple(_unexplained(facts)),
        limits=tuple(_limits(facts, unlisted)),
        timeline=tuple(build_timeline(facts, choice)),
    )
    findings = [f for file in files for f in file.findings]
    counts: dict[str, int] = {}
    for x in findings:
        counts[x.failure] = counts.get(x.failure, 0) + 1
    return Diagnosis(report, tuple(findings[:MOST_FINDINGS]), tuple(f.name for f in files), counts)


_RANK_NAME = re.compile(r"(?i)(?:^|[/_.-])rank[_-]?(\d+)(?=[/_.-]|$)")
# slurm-%j_%t.out: one file a task
_TASK_NAME = re.compile(r"(?:^|/)slurm-\d+[_.](\d+)\.(?:out|err|log)(?:\.gz|\.zst)?$")
_ELASTIC_NAME = re.compile(r"attempt_\d+/(\d+)/(?:stdout|stderr|error)\.\w+$")
_HOST_NAME = re.compile(r"(?i)(?:^|[/_-])((?:node|host|worker)[-_]?\d+)(?=[/_.-]|$)")


def _from_name(name: str) -> tuple[int | None, str | None]:
    """The rank and host that a file name tells, where the content does not say."""
    path = PurePath(name).as_posix()
    m = _RANK_NAME.search(path) or _ELASTIC_NAME.search(path) or _TASK_NAME.search(path)
    host = _HOST_NAME.search(path)
    return (int(m[1]) if m else None), (host[1] if host else None)


def _input(facts: Facts, f: FileReading) -> InputSummary:
    ranks: set[int] = set()
    hosts: set[str] = set()
    for line in (*f.lines, *f.samples):
        if (r := facts.ranks.of_line(line)) is not None:
            ranks.add(r)
        if line.origin.host:
            hosts.add(line.origin.host)
    return InputSummary(f.name, f.kind, f.bytes, f.line_count, tuple(sorted(ranks)), tuple(sorted(hosts)))


_LAUNCHERS = (
    ("torchrun", quick(r"torchrun|torch/distributed/(?:run|elastic)|torch\.distributed\.(?:run|elastic)|ChildFailedError")),
    ("deepspeed", quick(r"deepspeed/launcher|\[launch\.py:|\[runner\.py:|deepspeed ")),
    ("accelerate", quick(r"accelerate launch|accelerate/commands/launch")),
    ("slurm", quick(r"\bsrun: |slurmstepd|\bsrun ")),
    ("mpirun", quick(r"\bmpirun|mpiexec|\[\d+,\d+\]<std")),
    ("ray", quick(r"\bray::|ray\.exceptions|RayTaskError")),
)
_FRAMEWORKS = (
    ("pytorch", quick(r"\btorch\b|ProcessGroupNCCL|\[rank\d")),
    ("deepspeed", quick(r"(?i)deepspeed")),
    ("megatron-lm", quick(r"(?i)megatron")),
    ("lightning", quick(r"(?i)lightning")),
    ("huggingface", quick(r"transformers/|huggingface|accelerate/")),
    ("torchtitan", quick(r"torchtitan")),
    ("vllm", quick(r"(?i)\bvllm\b|EngineCore")),
    ("sglang", quick(r"(?i)\bsglang\b")),
    ("jax", quick(r"\bjax(?:lib)?[./]|jaxlib")),
    ("horovod", quick(r"(?i)horovod")),
    ("tensorflow", quick(r"tensorflow/|\btf\.")),
)


def _named(files: Sequence[FileReading]) -> set[str]:
    """The launchers and frameworks that any input speaks of."""
    left = [*_LAUNCHERS, *_FRAMEWORKS]
    named: set[str] = set()
    for f in files:
        text = "\n".join(line.raw[:500] for line in (*f.lines[:2000], *f.samples[:400]))
        named.update(name for name, expression in left if expression.search(text))
        left = [(name, expression) for name, expression in left if name not in named]
    return named


def _job(facts: Facts, choice: Choice | None) -> Job:
    named = _named(facts.reading.files)
    launcher = next((name for name, _ in _LAUNCHERS if name in named), None)
    frameworks = tuple(name for name, _ in _FRAMEWORKS if name in named)
    last = facts.progress.last()
    shown = None
    if last is not None and last.step is not None:
        line = last.line
        when = None if line.time_s is None else write_time(line.time_s, line.time_of_day)
        shown = Progress(last.step, when, facts.reading.files[line.file].name, line.number)
    outcome = (
        "failed" if choice is not None else "finished" if facts.progress.finished else "running" if facts.progress.steps else "unknown"
    )
    return Job(facts.ranks.world_size, launcher, frameworks, outcome, shown)


_LOUD = quick(r"\b(?:ERROR|FATAL|CRITICAL|fatal error|panic)\b|\berror: ")
MOST_UNEXPLAINED = 20


def _unexplained(facts: Facts) -> list[Unexplained]:
    """Lines that call themselves errors and that no page knows, in the attempts that are judged; a kind of line once."""
    out: list[Unexplained] = []
    kinds: set[str] = set()
    for f in facts.reading.files:
        known = {x.line.number for x in f.findings} | {number for number, _ in facts.structures[f.index].code}
        for line in f.samples:
            if line.number in known or not _LOUD.search(line.text[:400]) or facts.attempt_of(line) != facts.judged[f.index]:
                continue
            kind = re.sub(r"\d+", "#", line.text[:120])
            if kind not in kinds:
                kinds.add(kind)
                out.append(Unexplained(f.name, line.number, line.raw[:LONGEST_TEXT]))
    return out[:MOST_UNEXPLAINED]


def _limits(facts: Facts, unlisted: int) -> list[str]:
    out = []
    if unlisted:
        out.append(f"{unlisted} more collateral lines were counted, not listed")
    size = facts.ranks.world_size
    if size and len(facts.reading.files) > 1:
        silent = [r for r in range(size) if r not in facts.ranks.seen and r not in facts.ranks.named.values()]
        if silent and len(silent) < size:
            from .ranks import write_ranks

            out.append(f"rank {write_ranks(silent)}: no log was given")
    ahead = sorted(facts.skew_s.items(), key=lambda pair: (pair[1], pair[0]))
    if ahead and ahead[-1][1] - ahead[0][1] >= WORTH_TELLING_S:
        out.append(
            f"clocks of {ahead[0][0]} and {ahead[-1][0]} differ by {ahead[-1][1] - ahead[0][1]:.1f} s; times are compared as if they agreed"
        )
    for f in facts.reading.files:
        if f.repeated:
            out.append(f"{f.name}: {f.repeated} lines that repeat others were counted, not kept")
        if f.cut_lines:
            out.append(f"{f.name}: {f.cut_lines} very long lines were shortened")
    return out
