"""The code lens on the first line of a log: the verdict, and the way to it. Knows no failure."""

from __future__ import annotations

from lsprotocol import types

from ..model import Incident
from .analysis import View, cause_of

SHOW_REPORT = "firstfault.showReport"
GO_TO_FIRST_FAULT = "firstfault.goToFirstFault"
LONGEST_VERDICT = 140


def lenses_of(view: View) -> list[types.CodeLens]:
    """The lenses of a log: verdict with the number of collateral lines, and `Go to first fault`. None for a healthy log."""
    incidents = [i for i in view.analysis.incidents if _is_about(view, i)]
    if not incidents:
        return []
    first = incidents[0]
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    # The short ones come first: a long verdict would push them past the edge of the window.
    lenses = [types.CodeLens(top, types.Command("Show report", SHOW_REPORT, arguments=[view.uri]))]
    cause = cause_of(first)
    location = view.analysis.location(cause.file, cause.line, cause.column, cause.end_column)
    if location is not None:
        target = {"line": location.range.start.line, "character": location.range.start.character}
        lenses.append(types.CodeLens(top, types.Command("Go to first fault", GO_TO_FIRST_FAULT, arguments=[location.uri, target])))
    lenses.append(types.CodeLens(top, types.Command(title_of(incidents), SHOW_REPORT, arguments=[view.uri])))
    return lenses


def title_of(incidents: list[Incident]) -> str:
    """The verdict in one line: `Rank 3 ran out of GPU memory · 7 collateral`."""
    first = incidents[0]
    summary = first.summary.rstrip(".")
    if len(summary) > LONGEST_VERDICT:
        summary = summary[: LONGEST_VERDICT - 1].rstrip() + "…"
    parts = [summary]
    if first.collateral:
        parts.append(f"{len(first.collateral)} collateral")
    if len(incidents) > 1:
        parts.append(f"{len(incidents) - 1} more")
    return " · ".join(parts)


def _is_about(view: View, incident: Incident) -> bool:
    """Whether an incident touches the file, as its own or through its collateral."""
    return any(e.file == view.file for e in incident.evidence) or any(c.file == view.file for c in incident.collateral)
