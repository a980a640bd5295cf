"""The user's own pages: which documents are one, what is wrong in it, and which folders the engine reads. Knows no log.

What stands in an open page is checked in every workspace. Only in a trusted one do pages take part in a diagnosis.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path

from ..read.cache import config_folder
from .diagnostics import SOURCE
from .documents import Document
from .jobs import Jobs, StopFlag, Superseded
from .positions import units_of
from .session import DEBOUNCE_S, Session

if TYPE_CHECKING:
    from ..knowledge.check import Problem

FOLDER = (".firstfault", "pages")
CODE = "own-page"


def folders_of(roots: Sequence[str]) -> tuple[Path, ...]:
    """Where own pages may lie: the user's folder, then that of each workspace folder, whose pages win."""
    return (config_folder() / "pages", *(Path(root, *FOLDER) for root in roots))


def is_own_page(uri: str) -> bool:
    """Whether a document is a page in `.firstfault/pages/`, or in the user's folder."""
    path = to_fs_path(uri)
    if path is None or not path.lower().endswith(".md"):
        return False
    folder = Path(path).parent
    return folder.parts[-2:] == FOLDER or folder == config_folder() / "pages"


class OwnPages:
    """The own pages of one connection. All methods run on the event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._jobs: Jobs[list[Problem]] = Jobs(DEBOUNCE_S)

    def use_folders(self) -> None:
        """Let the engine read the pages of the workspace as it is now, if it is trusted."""
        session = self._session
        session.read_pages(folders_of(session.documents.folder_paths()) if session.client.trusted else ())

    async def diagnostics(self, uri: str) -> list[types.Diagnostic] | None:
        """What is wrong in an open page; `None` where the document is none."""
        while is_own_page(uri) and not self._session.closing:
            document = self._session.documents.find(uri)
            if document is None:
                return None
            job = self._jobs.start(uri, document.state, lambda stop, d=document: self._check(d, stop), debounced=document.edits > 0)  # type: ignore[misc]
            try:
                return [self._diagnostic(p, document) for p in await job.result]
            except Superseded:
                continue
        return None

    def forget(self, uri: str) -> None:
        """Drop what is being worked out about a page that was closed."""
        self._jobs.drop(uri)

    def close(self) -> None:
        """Stop all work."""
        self._jobs.close()

    async def _check(self, document: Document, stop: StopFlag) -> list[Problem]:
        session, text, path = self._session, document.text, document.path

        def work(_: StopFlag) -> list[Problem]:
            from ..knowledge.check import check_text

            library = session.library()
            return check_text(library, text, path) if library else []

        return await session.workers.run(work, stop, long=False)

    def _diagnostic(self, problem: Problem, document: Document) -> types.Diagnostic:
        """A problem on its line. All four parts are the message, since an editor shows nothing else."""
        client, index = self._session.client, document.index
        row = max(0, min(problem.line, index.count) - 1)
        line = index.line(row)
        first = len(line) - len(line.lstrip())
        found = types.Diagnostic(
            types.Range(
                types.Position(row, units_of(line[:first], client.encoding)),
                types.Position(row, units_of(line.rstrip(), client.encoding)),
            ),
            str(problem),
            severity=types.DiagnosticSeverity.Error if problem.blocks else types.DiagnosticSeverity.Warning,
            source=SOURCE,
            code=CODE,
        )
        return found
