"""Inlay hints behind collateral lines: whose fault they are, and the way there. Knows no failure."""

from __future__ import annotations

from lsprotocol import types

from .analysis import COLLATERAL, View, whom
from .diagnostics import MOST_COLLATERAL, cause_place


def hints_of(view: View, wanted: types.Range) -> list[types.InlayHint]:
    """The hints in a range of a log: `collateral of rank 3 · line 1103`, where the place is a link. At most 200 a file."""
    out: list[types.InlayHint] = []
    count = 0
    for line, marks in view.marks.items():
        mark = marks[0]
        if mark.role != COLLATERAL or mark.incident is None:
            continue
        count += 1
        end = view.source.end_of_line(line)
        if count > MOST_COLLATERAL or not wanted.start.line <= end.line <= wanted.end.line:
            continue
        cause = view.cause(mark.incident)
        place = types.InlayHintLabelPart(
            cause_place(view, mark.incident),
            location=view.analysis.location(cause.file, cause.line, cause.column, cause.end_column),
            tooltip=mark.incident.summary,
        )
        label = [types.InlayHintLabelPart(f"collateral of {whom(mark.incident)} · "), place]
        out.append(types.InlayHint(end, label, padding_left=True))
    return out
