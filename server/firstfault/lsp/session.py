"""The state of one connection: client, documents, results, jobs. Decides what is diagnosed when; knows no feature."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from ..errors import FirstFaultError
from . import page_links
from .analysis import Analysis, View, analysis_of_files, analysis_of_text, stamp_of
from .client import Client, read_client
from .configuration import Configuration
from .documents import Document, Documents, is_log
from .engine import Engine
from .jobs import Cancelled, Jobs, StopFlag, Superseded, Workers
from .positions import LineIndex
from .recall import Recall
from .status import Status
from .structure import Structure, structure_of

if TYPE_CHECKING:
    from ..knowledge.library import Library
    from ..knowledge.page import Page
    from .scripts import Outlook

logger = logging.getLogger(__name__)
DEBOUNCE_S = 0.3


class Session:
    """What the server remembers between two messages. All methods run on the event loop."""

    def __init__(self, server: LanguageServer, engine: Engine) -> None:
        self.server = server
        self.engine = engine
        self.client = Client()
        self.configuration = Configuration()
        self.workers = Workers()
        self.jobs: Jobs[Analysis | None] = Jobs(DEBOUNCE_S)
        self.forms: Jobs[Structure | None] = Jobs(DEBOUNCE_S)
        self.outlooks: Jobs[Outlook] = Jobs(DEBOUNCE_S)
        """What can be done in each open launch script."""
        self.status = Status(server)
        self.wide: dict[str, Analysis] = {}
        """The last diagnosis of a folder or file on request, by the path of each file it read."""
        self.recall = Recall()
        """The last diagnosis of each path and text that was asked for by name, and of each open log by its URI."""
        self.closing = False
        self.on_diagnosed: Callable[[], None] = lambda: None
        """Called when there is a diagnosis newer than all others."""
        self._library: Library | None = None
        self._fits: dict[str, tuple[tuple[int, int], int, bool]] = {}

    # -- beginning and end ---------------------------------------------------------------------------------------------

    def begin(self, params: types.InitializeParams) -> None:
        """Read the client's abilities and put our documents in place of the protocol library's."""
        workspace = self.server.workspace
        encoding = getattr(workspace.position_encoding, "value", workspace.position_encoding) or "utf-16"
        self.client = read_client(params, str(encoding))
        self.configuration.update(params.initialization_options)
        # The protocol library has no seam for its documents; its `initialize` has just made the empty workspace that is replaced here.
        self.server.protocol._workspace = Documents(
            workspace, encoding=self.client.encoding, lone_cr_ends_line=self.client.lone_cr_ends_line
        )
        self.status.enabled = self.client.own_client

    def close(self) -> None:
        """Stop all work."""
        self.closing = True
        self.jobs.close()
        self.forms.close()
        self.outlooks.close()
        self.workers.close()

    @property
    def documents(self) -> Documents:
        """The open documents."""
        workspace = self.server.workspace
        assert isinstance(workspace, Documents)
        return workspace

    # -- pages ---------------------------------------------------------------------------------------------------------

    def library(self) -> Library | None:
        """All pages; None (and an entry in the log) when they cannot be loaded."""
        if self._library is None:
            try:
                self._library = self.engine.library()
            except FirstFaultError as error:
                logger.error("%s", error)
        return self._library

    def read_pages(self, own: tuple[Path, ...]) -> None:
        """Read the user's own pages in these folders, and diagnose anew with what they say now."""
        self.engine.own_pages = own
        self._library = None
        for document in self.documents.opened():
            self.forget(document.uri)
        self.wide.clear()

    def page(self, failure: str) -> Page | None:
        """The page of a failure id; None when there is none."""
        library = self.library()
        try:
            return library.page(failure) if library else None
        except FirstFaultError:
            return None

    def page_uri(self, failure: str) -> str | None:
        """The address of a page: for our own client one that it shows rendered, else that of its Markdown file."""
        return self._page_address(failure, page_links.rendered)

    def page_link(self, failure: str) -> str | None:
        """The address of a page as a link of a hover."""
        return self._page_address(failure, page_links.explaining)

    def _page_address(self, failure: str, of_own_client: Callable[[Page], str]) -> str | None:
        page = self.page(failure)
        if page is None:
            return None
        return of_own_client(page) if self.client.own_client else page_links.source(page)

    def warm_up(self) -> None:
        """Load the engine and the pages in a thread, so that the first log does not wait for them."""

        def work(_: StopFlag) -> None:
            try:
                self.engine.diagnose_text("", "warm-up")
                self._library = self.engine.library()
            except Exception:  # The first real request tells what is wrong, to whoever asked.
                logger.debug("warm-up failed", exc_info=True)

        task = asyncio.get_running_loop().create_task(self.workers.run(work, StopFlag(), long=False))
        task.add_done_callback(lambda t: None if t.cancelled() else t.exception() and None)

    # -- results -------------------------------------------------------------------------------------------------------

    async def view(self, uri: str) -> View | None:
        """What is known about a log, diagnosed now where it was not yet. None when it is no log or cannot be diagnosed."""
        while not self.closing:
            document = self.documents.find(uri)
            if document is None:
                return await self._view_of_closed(uri)
            if not document.is_log:
                return None
            wide = self._fitting(document)
            if wide is not None:
                return _view(wide, uri, document.path)
            job = self.jobs.start(uri, document.state, lambda stop, d=document: self._work(d, stop), debounced=document.edits > 0)  # type: ignore[misc]
            try:
                analysis = await asyncio.shield(job.result)
            except Superseded:
                continue
            except Exception as error:
                self.report(uri, error)
                return None
            return _view(analysis, uri, document.path) if analysis else None
        return None

    async def structure(self, uri: str) -> tuple[Structure, LineIndex] | None:
        """The form of an open log and its lines; None when it is none."""
        while not self.closing:
            document = self.documents.find(uri)
            if document is None or not document.is_log:
                return None
            index = document.index
            job = self.forms.start(
                uri,
                document.state,
                lambda stop, index=index: self.workers.run(lambda flag: structure_of(index, flag), stop, long=False),  # type: ignore[misc]
                debounced=document.edits > 0,
            )
            try:
                structure = await asyncio.shield(job.result)
            except Superseded:
                continue
            except Exception as error:
                self.report(uri, error)
                return None
            return (structure, index) if structure else None
        return None

    def forget(self, uri: str) -> None:
        """Drop what is being worked out about a document whose content has changed or that was closed."""
        self.jobs.drop(uri)
        self.forms.drop(uri)
        self.outlooks.drop(uri)

    def is_remembered(self, uri: str) -> bool:
        """Whether a diagnosis on request read the file of a URI."""
        path = to_fs_path(uri)
        return path is not None and path_key(path) in self.wide

    def remembered(self, uri: str) -> View | None:
        """What the last diagnosis on request found in the file of a URI."""
        path = to_fs_path(uri)
        analysis = self.wide.get(path_key(path)) if path else None
        return _view(analysis, uri, path) if analysis and path else None

    def drop_deleted(self, uri: str) -> list[str]:
        """Drop what was found on request in a file that is gone, or in the files of a folder that is; gives their URIs."""
        path = to_fs_path(uri)
        if path is None:
            return []
        gone = path_key(path)
        dropped: list[str] = []
        for key in [k for k in self.wide if k == gone or k.startswith(gone + os.sep)]:
            analysis = self.wide.pop(key)
            dropped += [s.uri for s in analysis.sources.values() if path_key(to_fs_path(s.uri) or s.uri) == key]
        return dropped

    def refresh(self) -> None:
        """Ask the client to ask again, because more is known about an open document than before."""
        client = self.client
        for able, method in (
            (client.refreshes_diagnostics, types.WORKSPACE_DIAGNOSTIC_REFRESH),
            (client.refreshes_lenses, types.WORKSPACE_CODE_LENS_REFRESH),
            (client.refreshes_hints, types.WORKSPACE_INLAY_HINT_REFRESH),
        ):
            if able:
                self.server.protocol.send_request(method, None)

    async def diagnose_paths(
        self, paths: list[str], stop: StopFlag, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Analysis, dict[str, Analysis]]:
        """Diagnose files and folders on disk and remember the result for each file read.

        The second value holds what was remembered before, by path. Raises InputError and Cancelled.
        """
        loop = asyncio.get_running_loop()

        def on_progress(done: int, whole: int) -> None:
            if progress is not None and not stop():
                loop.call_soon_threadsafe(progress, done, whole)

        def work(flag: StopFlag) -> Analysis:
            try:
                diagnosis = self.engine.diagnose(paths, progress=on_progress, cancelled=flag)
            except Exception as error:
                if flag():
                    raise Cancelled from error
                raise
            if flag():
                raise Cancelled
            return analysis_of_files(diagnosis, paths, self.client.encoding)

        analysis = await self.workers.run(work, stop, long=True)
        return analysis, self.remember(paths, analysis)

    def keep(self, key: str, analysis: Analysis) -> None:
        """Remember an analysis under a key, as the newest of all."""
        self.recall.keep(key, analysis)
        self.on_diagnosed()

    def remember(self, paths: list[str], analysis: Analysis) -> dict[str, Analysis]:
        """Keep the diagnosis of files and folders on disk for each file read; gives what was kept before, by path."""
        self.keep(key_of_paths(paths), analysis)
        before: dict[str, Analysis] = {}
        for source in analysis.sources.values():
            key = path_key(to_fs_path(source.uri) or source.uri)
            if key in self.wide:
                before[key] = self.wide[key]
            self.wide[key] = analysis
        return before

    def report(self, uri: str, error: Exception) -> None:
        """Write an error that ended the work on a document to the log, and show that there is no result."""
        if isinstance(error, (Cancelled, asyncio.CancelledError)):
            return
        if isinstance(error, FirstFaultError):
            logger.warning("%s", error)
        else:
            logger.error("diagnosing %s failed", uri, exc_info=error)
        self.status.failed(uri, error)

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _view_of_closed(self, uri: str) -> View | None:
        """The view of a file that is not open: an editor may ask about one it deems too large to send."""
        path = to_fs_path(uri)
        if path is None or not is_log(uri, None if _has_suffix(path) else "log") or (stamp := stamp_of(path)) is None:
            return None
        wide = self.wide.get(path_key(path))
        if wide is not None and stamp in wide.stamps.values():
            return _view(wide, uri, path)
        job = self.jobs.start(uri, stamp, lambda flag: self._work_on_file(uri, path, flag), debounced=False)
        try:
            analysis = await asyncio.shield(job.result)
        except Superseded:
            return None
        except Exception as error:
            self.report(uri, error)
            return None
        return _view(analysis, uri, path) if analysis else None

    async def _work(self, document: Document, stop: StopFlag) -> Analysis | None:
        """Diagnose an open document: its text, or its file when the text is too large to be worth passing around."""
        path = to_fs_path(document.uri)
        if path is not None and len(document.text) > self.client.max_sync_bytes and os.path.isfile(path):
            return await self._work_on_file(document.uri, path, stop)
        name = path or document.uri.rpartition("/")[2] or document.uri
        uri, text = document.uri, document.text
        encoding = self.client.encoding

        def work(flag: StopFlag) -> Analysis:
            diagnosis = self.engine.diagnose_text(text, name)
            if flag():
                raise Cancelled
            return analysis_of_text(diagnosis, name, uri, document.index_of(text), encoding)

        with self.status.busy(uri):
            analysis = await self.workers.run(work, stop, long=False)
        self.keep(uri, analysis)
        self.status.result(uri, analysis)
        return analysis

    async def _work_on_file(self, uri: str, path: str, stop: StopFlag) -> Analysis | None:
        with self.status.busy(uri) as progress:
            analysis, _ = await self.diagnose_paths([path], stop, progress)
        self.status.result(uri, analysis)
        return analysis

    def _fitting(self, document: Document) -> Analysis | None:
        """The wider diagnosis that covers an open document, as long as the document still shows the file it read."""
        path = to_fs_path(document.uri)
        wide = self.wide.get(path_key(path)) if path else None
        if wide is None or path is None or document.edits:
            return None
        known = self._fits.get(document.uri)
        if known is None or known[:2] != (document.state, wide.generation):
            known = (document.state, wide.generation, _fits(wide, document, path))
            self._fits[document.uri] = known
        return wide if known[2] else None


def key_of_paths(paths: Sequence[str]) -> str:
    """One name for paths that are diagnosed together, in whatever order."""
    return "\n".join(sorted(map(path_key, paths)))


def path_key(path: str) -> str:
    """One name for a path, however it was written."""
    return os.path.normcase(os.path.abspath(path))


def _has_suffix(path: str) -> bool:
    return "." in os.path.basename(path)


def _view(analysis: Analysis, uri: str, path: str) -> View | None:
    """The part of an analysis that is about one file."""
    names = analysis.files_of(uri) or [
        name for name, source in analysis.sources.items() if (found := to_fs_path(source.uri)) and path_key(found) == path_key(path)
    ]
    return View(analysis, names[0]) if names else None


def _fits(analysis: Analysis, document: Document, path: str) -> bool:
    """Whether a document shows the lines that an analysis of its file speaks of, and the file has not changed since."""
    view = _view(analysis, document.uri, path)
    if view is None or analysis.stamps.get(view.file) != stamp_of(path):
        return False
    index = document.index
    for line in view.marks:
        quoted = view.source.quoted.get(line)
        # What a report quotes is cut at 2,000 characters, and an editor may have replaced what stands behind a lone carriage return.
        if quoted is not None and not index.line(view.source.map.editor_line(line)).startswith(quoted.partition("\r")[0].rstrip()):
            return False
    return True
