"""From a collateral line to its cause and back, and all lines of one rank. Knows no failure."""

from __future__ import annotations

from bisect import bisect_left

from lsprotocol import types

from ..model import Incident
from .analysis import INITIATING, View, cause_of
from .positions import LineIndex, units_of
from .structure import NOBODY, Structure

MOST_REFERENCES = 1_000
MOST_HIGHLIGHTS = 2_000


def definition_of(view: View, position: types.Position, *, links: bool) -> types.Location | list[types.LocationLink] | None:
    """Where the failure began that a line is part of. With `links` the whole line is the origin."""
    incident = _incident_at(view, position)
    if incident is None:
        return None
    cause = cause_of(incident)
    target = view.analysis.location(cause.file, cause.line, cause.column, cause.end_column)
    if target is None or not links:
        return target
    origin = view.source.whole_line(view.source.map.report_line(position.line)[0])
    return [types.LocationLink(target.uri, target.range, target.range, origin)]


def references_of(view: View, position: types.Position, *, declaration: bool) -> list[types.Location]:
    """Every line of the incident that a line is part of: other evidence and collateral, with `declaration` also where it began."""
    incident = _incident_at(view, position)
    if incident is None:
        return []
    cause = cause_of(incident)
    found: dict[tuple[str, int], types.Location] = {}
    for evidence in incident.evidence:
        if (declaration or evidence is not cause) and (
            place := view.analysis.location(evidence.file, evidence.line, evidence.column, evidence.end_column)
        ):
            found.setdefault((evidence.file, evidence.line), place)
    for collateral in incident.collateral:
        if len(found) >= MOST_REFERENCES:
            break
        mark = next((m for m in view.analysis.marks.get(collateral.file, {}).get(collateral.line, ()) if m.incident is incident), None)
        start, end = (mark.column, mark.end_column) if mark else (1, 2)
        if place := view.analysis.location(collateral.file, collateral.line, start, end):
            found.setdefault((collateral.file, collateral.line), place)
    return list(found.values())


def highlights_of(structure: Structure, index: LineIndex, line: int, encoding: str) -> list[types.DocumentHighlight]:
    """The prefixes (or whole lines without one) of all lines of the rank that printed a line; the nearest 2,000."""
    rank = structure.speakers[line] if 0 <= line < len(structure.speakers) else NOBODY
    if rank == NOBODY:
        return []
    lines = [number for number, speaker in enumerate(structure.speakers) if speaker == rank]
    if len(lines) > MOST_HIGHLIGHTS:
        at = bisect_left(lines, line)
        first = max(0, min(at - MOST_HIGHLIGHTS // 2, len(lines) - MOST_HIGHLIGHTS))
        lines = lines[first : first + MOST_HIGHLIGHTS]
    out = []
    for number in lines:
        text = index.line(number)
        end = units_of(text[: structure.prefixes[number]].rstrip() or text, encoding)
        out.append(
            types.DocumentHighlight(types.Range(types.Position(number, 0), types.Position(number, end)), types.DocumentHighlightKind.Text)
        )
    return out


def _incident_at(view: View, position: types.Position) -> Incident | None:
    """The incident a line is part of; as a collateral line rather than as one that began something of its own."""
    marks = [m for m in view.marks_at(position.line) if m.incident is not None]
    if not marks:
        return None
    mark = next((m for m in marks if m.role == INITIATING), marks[0])
    return mark.incident
