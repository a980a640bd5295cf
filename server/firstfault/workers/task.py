"""What one worker does: read one input and send back its compact reading. Knows nothing of the other inputs.

A worker loads the pages by itself, once; the digest tells whether they are those of the one who asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import __version__
from ..errors import InputError
from ..knowledge.library import Library, load_library
from ..observe import read_input
from ..read.inputs import Source
from ..read.reader import Budget
from .wire import Packed, pack


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker must know of a diagnosis. `own_pages` are the folders of the user's pages, `digest` tells all pages apart."""

    version: str
    own_pages: tuple[str, ...]
    digest: str
    budget: Budget

    @classmethod
    def of(cls, library: Library, budget: Budget) -> Job:
        """The job that has these pages."""
        return cls(__version__, tuple(str(folder) for folder in library.own), library.digest, budget)


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes back: the reading and its notes, or the error in the user's input."""

    packed: Packed | None
    notes: tuple[str, ...] = ()
    error: InputError | None = None


class ForeignWorker(InputError):
    """A worker has another version of the program or other pages, so its reading would differ."""


_lock = threading.Lock()
_known: dict[str, Library] = {}


def keep_library(library: Library) -> None:
    """Use these pages in this process, and in those forked from it, instead of loading them."""
    _known[library.digest] = library


def read_on_worker(job: Job, source: Source, told: Callable[[int], None] | None = None) -> Answer:
    """Read one input. `told` is called with the number of bytes just read; what it raises ends the reading."""
    try:
        library = _library(job)
        reading, notes = read_input(library, source, 0, job.budget, told)
    except InputError as error:
        return Answer(None, (), error)
    return Answer(pack(reading), tuple(notes))


def _library(job: Job) -> Library:
    with _lock:
        library = _known.get(job.digest)
        if library is None:
            if job.version != __version__:
                raise _foreign(f"it runs FirstFault {__version__}, which is not {job.version}", job)
            library = load_library(tuple(Path(folder) for folder in job.own_pages))
            if library.digest != job.digest:
                raise _foreign("its pages differ from those here", job)
            _known[job.digest] = library
        return library


def _foreign(reason: str, job: Job) -> ForeignWorker:
    return ForeignWorker(
        "a worker cannot take part in this diagnosis", reason=reason, where=", ".join(job.own_pages),
        help=f"install FirstFault {job.version} on every worker, and keep your own pages where all of them see them",
    )  # fmt: skip
