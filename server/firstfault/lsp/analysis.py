"""A diagnosis seen line by line, with the editor position of every line. Knows no protocol feature and never diagnoses.

A `Mark` is what one line is; a `Source` places the lines of one file; an `Analysis` joins them for all files of a diagnosis.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path

from ..model import Collateral, Diagnosis, Evidence, Finding, Incident
from .positions import UTF16, LineIndex, LineMap, place

if TYPE_CHECKING:
    from .log_facts import LogFacts

INITIATING = "initiating"
CORROBORATING = "corroborating"
CONTEXT = "context"
COLLATERAL = "collateral"
RECOGNISED = "recognised"
_ORDER = {INITIATING: 0, CORROBORATING: 1, COLLATERAL: 2, CONTEXT: 3, RECOGNISED: 4}

# A report line longer than what the report quotes is placed by its quoted part.
LINE_END = 1_000_000
# Files above this size cannot be opened in an editor as text, so nobody sees where their lone carriage returns fall.
LARGEST_OPENED_BYTES = 64 * 1024 * 1024
MOST_BYTES_READ = 512 * 1024 * 1024
# gzip and zstd, which no editor opens as text, and the marks of UTF-16.
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_WIDE = (b"\xff\xfe", b"\xfe\xff")

_generations = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Mark:
    """What one report line is, for one failure. `role` is one of the five above; a recognised line belongs to no incident."""

    file: str
    line: int
    column: int
    end_column: int
    failure: str
    role: str
    says: str
    incident: Incident | None = None
    ranks: tuple[int, ...] | None = None
    finding: Finding | None = None


@dataclass(slots=True)
class Source:
    """Where the lines of one file of a report stand in an editor. `index` is given for an open document, `quoted` else."""

    uri: str
    encoding: str = UTF16
    map: LineMap = field(default_factory=LineMap)
    index: LineIndex | None = None
    quoted: dict[int, str] = field(default_factory=dict)

    def raw(self, line: int) -> str | None:
        """The text of a report line; None when it is neither open nor quoted."""
        if self.index is not None:
            return self.index.raw(line)
        return self.quoted.get(line)

    def position(self, line: int, column: int) -> types.Position:
        """The editor position of a 1-based report line and column."""
        raw = self.raw(line)
        if raw is None:
            return types.Position(self.map.editor_line(line), max(0, min(column - 1, LINE_END)))
        return types.Position(*place(self.map, line, raw, column, self.encoding))

    def range(self, line: int, column: int, end_column: int) -> types.Range:
        """The editor range of report columns; it is never empty where the line has text."""
        start, end = self.position(line, column), self.position(line, max(column + 1, end_column))
        if start == end and end.character > 0:
            start = types.Position(end.line, end.character - 1)
        return types.Range(start, end)

    def whole_line(self, line: int) -> types.Range:
        """The editor range of a whole report line without the blanks around it."""
        raw = self.raw(line)
        if raw is None:
            first = self.map.editor_line(line)
            return types.Range(types.Position(first, 0), types.Position(first, LINE_END))
        return self.range(line, len(raw) - len(raw.lstrip()) + 1, len(raw.rstrip()) + 1)

    def end_of_line(self, line: int) -> types.Position:
        """The editor position behind the text of a report line."""
        return self.whole_line(line).end


@dataclass(slots=True)
class Analysis:
    """A diagnosis with its lines by file and the place of each file."""

    diagnosis: Diagnosis
    sources: Mapping[str, Source]
    marks: Mapping[str, Mapping[int, tuple[Mark, ...]]]
    generation: int = field(default_factory=lambda: next(_generations))
    stamps: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """(size, modification time) of each file when it was read; empty for a diagnosed text."""
    head: str = ""
    """The beginning and end of a diagnosed text that has no address."""
    facts: LogFacts | None = None
    """What the log says of its launch, once that was asked for."""

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """The incidents, most important first."""
        return self.diagnosis.report.incidents

    def location(self, file: str, line: int, column: int = 1, end_column: int = LINE_END) -> types.Location | None:
        """Where a line of the report stands; None when its file has no address."""
        source = self.sources.get(file)
        if source is None:
            return None
        return types.Location(source.uri, source.range(line, column, end_column))

    def files_of(self, uri: str) -> list[str]:
        """The report's names for a URI."""
        return [name for name, source in self.sources.items() if source.uri == uri]


@dataclass(frozen=True, slots=True)
class View:
    """One file of an analysis: what the features of the editor look at."""

    analysis: Analysis
    file: str

    @property
    def source(self) -> Source:
        """Where the lines of this file stand."""
        return self.analysis.sources[self.file]

    @property
    def uri(self) -> str:
        """The address of this file."""
        return self.source.uri

    @property
    def marks(self) -> Mapping[int, tuple[Mark, ...]]:
        """What each recognised line of this file is, by report line, most important first."""
        return self.analysis.marks.get(self.file, {})

    def marks_at(self, editor_line: int) -> tuple[Mark, ...]:
        """What an editor line is."""
        return self.marks.get(self.source.map.report_line(editor_line)[0], ())

    def cause(self, incident: Incident) -> Evidence:
        """The line an incident began with."""
        return cause_of(incident)


def cause_of(incident: Incident) -> Evidence:
    """The line an incident began with: its first initiating evidence, or its first evidence where none is."""
    return next((e for e in incident.evidence if e.role == INITIATING), incident.evidence[0])


def whom(incident: Incident) -> str:
    """Who began an incident, in a few words: `rank 3`, `ranks 1, 4 and 6`, `every rank` or the failure's title."""
    ranks = incident.initiating.ranks
    if ranks is None:
        hosts = incident.initiating.hosts
        return f"host {hosts[0]}" if len(hosts) == 1 else incident.title
    return name_ranks(ranks)


def name_ranks(ranks: tuple[int, ...]) -> str:
    """Ranks in words; many are counted."""
    if not ranks:
        return "every rank"
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 6:
        return f"{len(ranks)} ranks"
    return f"ranks {', '.join(str(r) for r in ranks[:-1])} and {ranks[-1]}"


def marks_of(diagnosis: Diagnosis) -> dict[str, dict[int, tuple[Mark, ...]]]:
    """Every line the diagnosis says something about, by file and report line; the most important mark of a line stands first."""
    found: dict[str, dict[int, list[Mark]]] = {}

    def add(mark: Mark) -> None:
        line = found.setdefault(mark.file, {}).setdefault(mark.line, [])
        if not any(m.failure == mark.failure and m.incident is mark.incident for m in line):
            line.append(mark)

    findings: dict[tuple[str, int, str], Finding] = {}
    for finding in diagnosis.findings:
        if finding.line.file < len(diagnosis.files):
            findings.setdefault((diagnosis.files[finding.line.file], finding.line.number, finding.failure), finding)
    for incident in diagnosis.report.incidents:
        for evidence in incident.evidence:
            add(_of_evidence(evidence, incident, findings.get((evidence.file, evidence.line, incident.failure))))
    for incident in diagnosis.report.incidents:
        for collateral in incident.collateral:
            add(_of_collateral(collateral, incident, findings.get((collateral.file, collateral.line, collateral.failure))))
    for (file, line, failure), finding in findings.items():
        known = found.get(file, {}).get(line, [])
        if not any(m.failure == failure for m in known):
            rank = (finding.line.origin.rank,) if finding.line.origin.rank is not None else None
            add(Mark(file, line, finding.column, finding.end_column, failure, RECOGNISED, "", None, rank, finding))
    return {
        file: {n: tuple(sorted(marks, key=lambda m: _ORDER[m.role])) for n, marks in sorted(lines.items())} for file, lines in found.items()
    }


def _of_evidence(evidence: Evidence, incident: Incident, finding: Finding | None) -> Mark:
    role = evidence.role if evidence.role in _ORDER else CONTEXT
    failure = finding.failure if finding else incident.failure
    return Mark(
        evidence.file,
        evidence.line,
        evidence.column,
        evidence.end_column,
        failure,
        role,
        evidence.says,
        incident,
        incident.initiating.ranks,
        finding,
    )


def _of_collateral(collateral: Collateral, incident: Incident, finding: Finding | None) -> Mark:
    start, end = (finding.column, finding.end_column) if finding else (1, LINE_END)
    return Mark(
        collateral.file, collateral.line, start, end, collateral.failure, COLLATERAL, collateral.why, incident, collateral.ranks, finding
    )


def analysis_of_text(diagnosis: Diagnosis, name: str, uri: str, index: LineIndex, encoding: str) -> Analysis:
    """The analysis of one open document that the report calls `name`."""
    marks = marks_of(diagnosis)
    source = Source(uri, encoding, index.map, index)
    names = {name} | set(marks) | set(diagnosis.files)
    return Analysis(diagnosis, {name: source for name in sorted(names)}, marks)


def analysis_of_files(
    diagnosis: Diagnosis,
    roots: Iterable[str],
    encoding: str,
) -> Analysis:
    """The analysis of files on disk; reads those that an editor can open, to find lone carriage returns before the quoted lines.

    A folder too large to be read a second time counts as one without any.
    """
    marks = marks_of(diagnosis)
    roots = list(roots)
    sources: dict[str, Source] = {}
    left_bytes = MOST_BYTES_READ
    stamps: dict[str, tuple[int, int]] = {}
    for name in sorted(set(marks) | set(diagnosis.files)):
        path = locate(name, roots)
        if path is None:
            continue
        source = Source(from_fs_path(path) or name, encoding)
        sources[name] = source
        stamp = stamp_of(path)
        if stamp is None:
            continue
        stamps[name] = stamp
        if name in marks and stamp[0] <= left_bytes:
            left_bytes -= stamp[0]
            source.map = map_of_file(path)
    for finding in diagnosis.findings:
        if finding.line.file < len(diagnosis.files) and (holder := sources.get(diagnosis.files[finding.line.file])):
            holder.quoted[finding.line.number] = finding.line.raw
    for incident in diagnosis.report.incidents:
        for evidence in incident.evidence:
            if holder := sources.get(evidence.file):
                holder.quoted.setdefault(evidence.line, evidence.text)
    return Analysis(diagnosis, sources, marks, stamps=stamps)


def locate(name: str, roots: Iterable[str]) -> str | None:
    """The absolute path of a file that a report names, relative to the working folder or to what was diagnosed; None when there is none."""
    for path in (name, *(os.path.join(base, name) for root in roots for base in (root, os.path.dirname(root)))):
        if os.path.isfile(path):
            return os.path.abspath(path)
    return None


def stamp_of(path: str) -> tuple[int, int] | None:
    """(size, modification time in ns) of a file; None when it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def map_of_file(path: str) -> LineMap:
    """Where the lone carriage returns of a file stand; a file too large for an editor counts as one without any."""
    try:
        if os.path.getsize(path) > LARGEST_OPENED_BYTES:
            return LineMap()
        with open(path, "rb") as file:
            data = file.read()
        if data.startswith(_COMPRESSED):
            return LineMap()
        return LineMap.of(data.decode("utf-16", "replace") if data.startswith(_WIDE) else data)
    except OSError:
        return LineMap()
