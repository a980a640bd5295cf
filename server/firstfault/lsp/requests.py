"""The project's own requests: diagnose, explain, failures. Knows no editor feature.

Parameters arrive as plain data; whatever is wrong with them is told in four parts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lsprotocol import types
from pygls.uris import to_fs_path

from ..errors import FirstFaultError, InputError
from ..model import Diagnosis
from . import page_links
from .analysis import Analysis
from .excerpt import excerpt_of
from .jobs import Cancelled, StopFlag
from .log_facts import ends_of
from .protocol import RequestFailed
from .recall import key_of_text
from .session import Session
from .status import verdict_in_brief

DIAGNOSE = "firstfault/diagnose"
EXCERPT = "firstfault/excerpt"
EXPLAIN = "firstfault/explain"
FAILURES = "firstfault/failures"
# What a text is called for which the client gave no title.
SELECTION = "selection"

Publish = Callable[[Analysis, Mapping[str, Analysis]], None]


async def diagnose(session: Session, params: Any, publish: Publish) -> dict[str, Any]:
    """Diagnose a text, or paths on disk whose files then get diagnostics. Raises RequestFailed with the four-part message."""
    data = params if isinstance(params, Mapping) else {}
    text, paths, title = data.get("text"), paths_in(session, data), data.get("title")
    if isinstance(text, str):
        return _answer(session, (await read_text(session, text, title if isinstance(title, str) and title else SELECTION)).diagnosis)
    if not paths:
        raise RequestFailed(
            str(
                FirstFaultError(
                    "nothing to diagnose", reason="the request names neither text nor path", help="select lines or choose a file"
                )
            )
        )
    return _answer(session, (await read_paths(session, paths, data.get("workDoneToken"), publish)).diagnosis)


def paths_in(session: Session, data: Mapping[str, Any]) -> list[str]:
    """The absolute paths that a request names as `path` or `paths`; none where it names none."""
    given = data.get("paths", [data.get("path")])
    if not isinstance(given, (list, tuple)) or not all(isinstance(path, str) and path for path in given):
        return []
    return [absolute(session, path) for path in given]


def name_of(paths: Sequence[str]) -> str:
    """What to call paths that are diagnosed together."""
    if len(paths) > 1:
        return f"{len(paths)} logs"
    return os.path.basename(paths[0].rstrip("/\\")) or paths[0]


async def read_paths(session: Session, paths: list[str], token: Any, publish: Publish) -> Analysis:
    """Diagnose files and folders as one job, with progress on a token where one is given, and publish what was found in each.

    Raises RequestFailed.
    """
    stop = StopFlag()
    progress = _Progress(session, token, name_of(paths)) if isinstance(token, (str, int)) else None
    with session.status.busy(None, f"reading {name_of(paths)}") as busy:

        def on_progress(done: int, whole: int) -> None:
            busy(done, whole)
            if progress is not None:
                progress.report(done, whole)

        try:
            analysis, before = await session.diagnose_paths(paths, stop, on_progress)
        except asyncio.CancelledError:
            stop.set()
            session.status.send("idle", "cancelled")
            raise
        except Exception as error:
            session.status.failed(None, error)
            raise failed(error, name_of(paths)) from error
        finally:
            if progress is not None:
                progress.end()
    session.status.send("idle", verdict_in_brief(analysis))
    publish(analysis, before)
    return analysis


async def read_text(session: Session, text: str, title: str) -> Analysis:
    """Diagnose a text that has no address and remember what came out. Raises RequestFailed."""
    stop = StopFlag()

    def work(_: StopFlag) -> Analysis:
        return Analysis(session.engine.diagnose_text(text, title), {}, {}, head=ends_of(text))

    with session.status.busy(None, f"reading {title}"):
        try:
            analysis = await session.workers.run(work, stop, long=False)
        except Exception as error:
            session.status.failed(None, error)
            raise failed(error, title) from error
    session.keep(key_of_text(text, title), analysis)
    session.status.send("idle", verdict_in_brief(analysis))
    return analysis


async def excerpt(session: Session, params: Any) -> dict[str, Any]:
    """The lines around a line of a file too large for the editor: {path, line, context} gives {first, lines}. Raises RequestFailed."""
    data = params if isinstance(params, Mapping) else {}
    path, line, context = data.get("path"), data.get("line"), data.get("context", 200)
    if not isinstance(path, str) or not path or not isinstance(line, int) or not isinstance(context, int) or line < 1:
        raise RequestFailed(
            str(FirstFaultError("no lines to read", reason="the request names no path or no line", help="give path and line"))
        )
    path = absolute(session, path)
    try:
        found = await session.workers.run(lambda stop: excerpt_of(path, line, context, stop), StopFlag(), long=False)
    except Exception as error:
        raise failed(error, path) from error
    return {"first": found.first, "lines": list(found.lines)}


def explain(session: Session, params: Any) -> dict[str, Any]:
    """The page of a failure id. Raises RequestFailed when there is none."""
    failure = params.get("id") if isinstance(params, Mapping) else None
    try:
        page = session.engine.library().page(str(failure))
    except FirstFaultError as error:
        raise RequestFailed(str(error)) from error
    return {"id": page.id, "title": page.title, "markdown": page.markdown, "uri": page_links.rendered(page)}


def failures(session: Session, _: Any) -> dict[str, Any]:
    """Every failure that has a page."""
    try:
        pages = session.engine.library().pages.values()
    except FirstFaultError as error:
        raise RequestFailed(str(error)) from error
    return {
        "failures": [
            {"id": p.id, "title": p.title, "layer": p.layer, "role": p.role.value, "tags": list(p.tags)} for p in pages if not p.retired
        ]
    }


def absolute(session: Session, given: str) -> str:
    """The absolute path of a path or file URI; a relative one starts at the first workspace folder. `-` is a name like any other."""
    path = os.path.expanduser((to_fs_path(given) if given.startswith("file:") else None) or given)
    folders = session.documents.folder_paths()
    return os.path.abspath(os.path.join(folders[0], path) if folders else path)


def _answer(session: Session, diagnosis: Diagnosis) -> dict[str, Any]:
    report = diagnosis.report
    return {
        "report": session.engine.to_dict(report),
        "markdown": session.engine.markdown(report),
        "summary": report.incidents[0].summary if report.incidents else "No failure found.",
        "incidents": len(report.incidents),
    }


def failed(error: Exception, where: str) -> RequestFailed:
    """The answer to a request that an error ended, in four parts."""
    if isinstance(error, FirstFaultError):
        return RequestFailed(str(error))
    if isinstance(error, Cancelled):
        return RequestFailed("cancelled", code=-32800)
    if isinstance(error, OSError):
        told = InputError(
            f"cannot read {where}", reason=error.strerror or str(error), where=where, help="check that the path exists and may be read"
        )
        return RequestFailed(str(told))
    told_bug = FirstFaultError(
        "the diagnosis failed unexpectedly",
        reason=f"{type(error).__name__}: {error}",
        where=where,
        help="run FirstFault: Show Logs and report it with the log's first lines",
    )
    return RequestFailed(str(told_bug))


class _Progress:
    """Work-done progress on the token a client sent along."""

    def __init__(self, session: Session, token: str | int, title: str) -> None:
        self._send = session.server.protocol.notify
        self._token = token
        self._percentage = 0
        self._notify(types.WorkDoneProgressBegin(title=f"Reading {title}", cancellable=True, percentage=0))

    def report(self, done: int, whole: int) -> None:
        """Show how far it is, in whole percents."""
        percentage = min(100, done * 100 // whole) if whole > 0 else 0
        if percentage > self._percentage:
            self._percentage = percentage
            self._notify(types.WorkDoneProgressReport(percentage=percentage))

    def end(self) -> None:
        """Take the progress away."""
        self._notify(types.WorkDoneProgressEnd())

    def _notify(self, value: Any) -> None:
        self._send(types.PROGRESS, types.ProgressParams(self._token, value))
