"""Turns a view into the diagnostics of its file. Knows neither when they are asked for nor how they are sent."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from ..model import Incident
from .analysis import COLLATERAL, CORROBORATING, INITIATING, Mark, View, whom
from .client import Client
from .structure import first_line_of_block

SOURCE = "firstfault"
MOST_COLLATERAL = 200
MOST_INITIATING = 20
MOST_RELATED = 20

PageLink = Callable[[str], "str | None"]


def diagnostics_of(view: View, client: Client, page_uri: PageLink) -> list[types.Diagnostic]:
    """The diagnostics of a file: an error on each initiating line, a faded hint on each collateral line, in line order.

    An incident whose beginning is in another file shows here as an information on its strongest evidence.
    `page_uri` gives the address of the page of a failure id. Hints stop at 200 a file.
    """
    out: list[types.Diagnostic] = []
    collateral = 0
    begun: dict[int, int] = {}
    here = {mark.incident.id for marks in view.marks.values() for mark in marks if mark.incident and mark.role == INITIATING}
    for line, marks in view.marks.items():
        for mark in marks:
            incident = mark.incident
            if incident is None:
                continue
            if mark.role == INITIATING:
                begun[incident.id] = begun.get(incident.id, 0) + 1
                if begun[incident.id] <= MOST_INITIATING:
                    out.append(_of_initiating(view, line, mark, incident, begun[incident.id] == 1, client, page_uri))
            elif mark.role == CORROBORATING and incident.id not in here:
                here.add(incident.id)
                out.append(_of_evidence(view, line, mark, incident, client, page_uri))
            elif mark.role == COLLATERAL and mark is marks[0]:
                collateral += 1
                if collateral <= MOST_COLLATERAL:
                    out.append(_of_collateral(view, line, mark, incident, client, page_uri))
    return out


def collateral_message(view: View, mark: Mark, incident: Incident) -> str:
    """Whose fault a collateral line is: `Collateral of rank 3 (line 1103): waited for rank 3 in ALLREDUCE 418`."""
    message = f"Collateral of {whom(incident)} ({cause_place(view, incident)})"
    return f"{message}: {mark.says}" if mark.says else message


def cause_place(view: View, incident: Incident) -> str:
    """Where an incident began, for a sentence: `line 1103`, or `worker_3.log line 12` in another file."""
    cause = view.cause(incident)
    if cause.file == view.file:
        return f"line {view.source.position(cause.line, cause.column).line + 1}"
    location = view.analysis.location(cause.file, cause.line, cause.column, cause.end_column)
    line = location.range.start.line + 1 if location else cause.line
    return f"{cause.file.replace(chr(92), '/').rpartition('/')[2]} line {line}"


def _of_initiating(
    view: View, line: int, mark: Mark, incident: Incident, first: bool, client: Client, page_uri: PageLink
) -> types.Diagnostic:
    """The summary, and on every line but the first what that line adds, so that a list of problems does not repeat itself."""
    severity = types.DiagnosticSeverity.Warning if incident.severity == "warning" else types.DiagnosticSeverity.Error
    message = incident.summary if first or not mark.says else f"More evidence ({mark.says}): {incident.summary}"
    return _diagnostic(view, line, mark, incident, severity, message, client, page_uri)


def _of_evidence(view: View, line: int, mark: Mark, incident: Incident, client: Client, page_uri: PageLink) -> types.Diagnostic:
    message = f"{incident.summary} It began in {cause_place(view, incident)}."
    return _diagnostic(view, line, mark, incident, types.DiagnosticSeverity.Information, message, client, page_uri)


def _of_collateral(view: View, line: int, mark: Mark, incident: Incident, client: Client, page_uri: PageLink) -> types.Diagnostic:
    diagnostic = _diagnostic(
        view, line, mark, incident, types.DiagnosticSeverity.Hint, collateral_message(view, mark, incident), client, page_uri
    )
    diagnostic.range = view.source.whole_line(line)
    if view.source.index is not None:
        last = diagnostic.range.end.line
        first = first_line_of_block(view.source.index, last)
        if first < last:
            diagnostic.range.start = types.Position(first, 0)
    if client.fades_unnecessary:
        diagnostic.tags = [types.DiagnosticTag.Unnecessary]
    return diagnostic


def _diagnostic(
    view: View,
    line: int,
    mark: Mark,
    incident: Incident,
    severity: types.DiagnosticSeverity,
    message: str,
    client: Client,
    page_uri: PageLink,
) -> types.Diagnostic:
    diagnostic = types.Diagnostic(
        range=view.source.range(line, mark.column, mark.end_column),
        message=message,
        severity=severity,
        code=mark.failure,
        source=SOURCE,
    )
    if client.links_codes and (target := page_uri(mark.failure)):
        diagnostic.code_description = types.CodeDescription(target)
    if client.related_information:
        diagnostic.related_information = _related(view, line, mark, incident) or None
    if client.diagnostic_data:
        diagnostic.data = {"failure": mark.failure, "incident": incident.id, "role": mark.role}
    return diagnostic


def _related(view: View, line: int, mark: Mark, incident: Incident) -> list[types.DiagnosticRelatedInformation]:
    """The other evidence of an incident; for a collateral line only where it all began."""
    evidence = [view.cause(incident)] if mark.role == COLLATERAL else incident.evidence
    out: list[types.DiagnosticRelatedInformation] = []
    for item in evidence:
        if (item.file, item.line) == (view.file, line) or len(out) >= MOST_RELATED:
            continue
        location = view.analysis.location(item.file, item.line, item.column, item.end_column)
        if location is not None:
            says = incident.summary if mark.role == COLLATERAL else item.says
            out.append(types.DiagnosticRelatedInformation(location, says or item.text[:200]))
    if mark.role == INITIATING and incident.collateral and len(out) < MOST_RELATED:
        first = incident.collateral[0]
        location = view.analysis.location(first.file, first.line)
        if location is not None:
            more = f"{len(incident.collateral)} collateral line{'s' if len(incident.collateral) > 1 else ''}, the first one here"
            out.append(types.DiagnosticRelatedInformation(location, f"{more}: {first.why}"))
    return out


__all__ = ["SOURCE", "cause_place", "collateral_message", "diagnostics_of"]
