"""What a diagnosed log says of its launch: torch version, names of scripts, a slow rank, the time of checkpoints. Knows no launch file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pygls.uris import to_fs_path

from ..launch.advice import torch_version_in
from ..launch.candidates import LogHints, hints_from_log
from ..launch.checkpoints import longest_checkpoint_s
from .analysis import Analysis

if TYPE_CHECKING:
    from ..knowledge.page import Page

# Versions and command lines stand at the beginning of a log and scripts in the tracebacks at its end.
HEAD_CHARACTERS = 768 * 1024
TAIL_CHARACTERS = 256 * 1024
MOST_FILES = 4
# The sign of a page by which the diagnosis tells a rank that was slow but alive.
SLOW = "slow"


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The torch version that a log names, what it says of the scripts that started the job, and its longest checkpoint in seconds."""

    torch_version: str | None = None
    hints: LogHints = LogHints()
    checkpoint_s: float | None = None


def facts_of(analysis: Analysis | None) -> LogFacts:
    """The facts of an analysis, read when they are first asked for. Reads files: call it in a worker thread."""
    if analysis is None:
        return LogFacts()
    if analysis.facts is None:
        text = "\n".join(_texts(analysis))
        analysis.facts = LogFacts(torch_version_in(text), hints_from_log(text), longest_checkpoint_s(text))
    return analysis.facts


def is_slow_rank(page: Page | None) -> bool:
    """Whether a failure is a rank that was slow but alive, the one cause that a longer timeout helps."""
    return page is not None and SLOW in page.shown_by


def _texts(analysis: Analysis) -> Iterator[str]:
    if analysis.head:
        yield analysis.head
    # The files that a verdict speaks of say more than those in which nothing was found.
    for name in sorted(analysis.sources, key=lambda n: (n not in analysis.marks, n))[:MOST_FILES]:
        source = analysis.sources[name]
        if source.index is not None:
            yield ends_of(source.index.text)
        elif (path := to_fs_path(source.uri)) is not None:
            yield _ends_of_file(path)


def ends_of(text: str) -> str:
    """The beginning and the end of a text."""
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    return f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"


def _ends_of_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_CHARACTERS)
            size = file.seek(0, 2)
            file.seek(max(len(head), size - TAIL_CHARACTERS))
            return f"{head.decode('utf-8', 'replace')}\n{file.read(TAIL_CHARACTERS).decode('utf-8', 'replace')}"
    except OSError:
        return ""
