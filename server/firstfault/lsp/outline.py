"""The outline of a log: what failed, the attempts, the ranks. Knows no failure."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from .analysis import COLLATERAL, INITIATING, View, cause_of, name_ranks
from .positions import LineIndex, units_of
from .structure import Structure

MOST_RANKS = 2_048
MOST_LINES = 50
LONGEST_NAME = 120


def outline_of(view: View | None, structure: Structure, index: LineIndex, encoding: str) -> list[types.DocumentSymbol]:
    """The symbols of a log: incidents with their lines, attempts, ranks."""
    out: list[types.DocumentSymbol] = []
    if view is not None:
        out += _incidents(view)
        out += _attempts(view)
    out += _ranks(view, structure, index, encoding)
    return out


def flattened(uri: str, symbols: Sequence[types.DocumentSymbol], container: str | None = None) -> list[types.SymbolInformation]:
    """The symbols for a client that knows no hierarchy."""
    out: list[types.SymbolInformation] = []
    for symbol in symbols:
        out.append(types.SymbolInformation(types.Location(uri, symbol.selection_range), symbol.name, symbol.kind, container_name=container))
        out += flattened(uri, symbol.children or (), symbol.name)
    return out


def _incidents(view: View) -> list[types.DocumentSymbol]:
    out = []
    for incident in view.analysis.incidents:
        here = [e for e in incident.evidence if e.file == view.file]
        collateral = [c for c in incident.collateral if c.file == view.file]
        if not here and not collateral:
            continue
        children = [
            _symbol(
                e.says or e.role,
                types.SymbolKind.Key if e.role == INITIATING else types.SymbolKind.Property,
                view.source.range(e.line, e.column, e.end_column),
                e.role,
            )
            for e in here[:MOST_LINES]
        ]
        children += [
            _symbol(
                f"{name_ranks(c.ranks)}: {c.failure}" if c.ranks else c.failure,
                types.SymbolKind.Null,
                view.source.whole_line(c.line),
                c.why,
            )
            for c in collateral[:MOST_LINES]
        ]
        cause = cause_of(incident)
        first = cause if cause.file == view.file else (here[0] if here else None)
        selection = view.source.range(first.line, first.column, first.end_column) if first else children[0].selection_range
        symbol = _symbol(incident.title, types.SymbolKind.Event, selection, incident.summary)
        symbol.children = children
        symbol.range = _around([selection, *(c.range for c in children)])
        out.append(symbol)
    return out


def _attempts(view: View) -> list[types.DocumentSymbol]:
    """The starts of the job, where the log shows more than one."""
    starts = [t for t in view.analysis.diagnosis.report.timeline if t.kind == "start" and t.file == view.file]
    if len(starts) < 2:
        return []
    out = []
    for number, start in enumerate(starts, 1):
        place = view.source.whole_line(start.line)
        out.append(_symbol(f"attempt {number}", types.SymbolKind.Constructor, place, start.says))
    return out


def _ranks(view: View | None, structure: Structure, index: LineIndex, encoding: str) -> list[types.DocumentSymbol]:
    roles: dict[int, str] = {}
    faults: dict[int, int] = {}
    for line, marks in view.marks.items() if view else ():
        for mark in marks:
            if mark.role not in (INITIATING, COLLATERAL):
                continue
            editor_line = view.source.map.editor_line(line) if view else 0
            speaker = structure.speakers[editor_line] if editor_line < len(structure.speakers) else -1
            told = mark.incident.initiating.ranks if mark.role == INITIATING and mark.incident else mark.ranks
            for rank in [*(told or ()), *([speaker] if told is None else [])]:
                if roles.get(rank) != INITIATING:
                    roles[rank] = mark.role
                if rank == speaker:
                    faults.setdefault(rank, editor_line)
    out = []
    for rank, lines in list(structure.ranks().items())[:MOST_RANKS]:
        at = faults.get(rank, lines[-1])
        place = types.Range(types.Position(at, 0), types.Position(at, units_of(index.line(at), encoding)))
        counted = f"{len(lines)} line{'s' if len(lines) > 1 else ''}"
        detail = f"{counted} · {roles[rank]}" if rank in roles else f"{counted}, the last one here"
        out.append(_symbol(f"rank {rank}", types.SymbolKind.Object, place, detail))
    return out


def _symbol(name: str, kind: types.SymbolKind, place: types.Range, detail: str = "") -> types.DocumentSymbol:
    name = " ".join(name.split())[:LONGEST_NAME] or "?"
    return types.DocumentSymbol(name, kind, place, place, detail=" ".join(detail.split())[:LONGEST_NAME])


def _around(ranges: Sequence[types.Range]) -> types.Range:
    start = min((r.start for r in ranges), key=lambda p: (p.line, p.character))
    end = max((r.end for r in ranges), key=lambda p: (p.line, p.character))
    return types.Range(start, end)
