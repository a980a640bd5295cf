"""Folds of a log: tracebacks, NCCL's initialisation, repeated lines. Knows no verdict."""

from __future__ import annotations

from lsprotocol import types

from .structure import CHATTER, REPEATED, TRACEBACK, Structure

MOST_FOLDS = 5_000
_LABELS = {TRACEBACK: "traceback, {} lines", CHATTER: "NCCL INFO, {} lines", REPEATED: "{} alike"}


def folds_of(structure: Structure) -> list[types.FoldingRange]:
    """The folding ranges, the longest 5,000 of them in line order."""
    folds = structure.folds
    if len(folds) > MOST_FOLDS:
        longest = sorted(folds, key=lambda f: f.first - f.last)[:MOST_FOLDS]
        folds = sorted(longest, key=lambda f: f.first)
    return [
        types.FoldingRange(
            f.first,
            f.last,
            kind=types.FoldingRangeKind.Region,
            collapsed_text=_LABELS[f.kind].format(f.last - f.first + 1),
        )
        for f in folds
    ]
