"""The report of what was diagnosed: as a document for the webview, redacted, and where its lines stand. Renders nothing itself.

A request names a text, a path, several paths of one job or a URI. What was diagnosed last under that name is shown again, not read again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from pygls.uris import to_fs_path

from ..errors import FirstFaultError
from ..model import Report
from .analysis import Analysis, stamp_of
from .edits import document_at
from .engine import Engine
from .jobs import StopFlag
from .protocol import RequestFailed
from .recall import key_of_text
from .requests import SELECTION, Publish, failed, name_of, paths_in, read_paths, read_text
from .session import Session, key_of_paths, path_key

VIEW = "firstfault/view"
REDACTED = "firstfault/redacted"
LOCATE = "firstfault/locate"


async def view(session: Session, params: Any, publish: Publish) -> dict[str, Any]:
    """The report as a document: {path?, paths?, uri?, text?, title?, nonce, cspSource} gives {html, title, incidents}.

    `title` names what was diagnosed. Raises RequestFailed with the four-part message.
    """
    data = _mapping(params)
    nonce, source = data.get("nonce"), data.get("cspSource")
    analysis, title = await analysis_of(session, data, publish)
    if not isinstance(nonce, str) or not isinstance(source, str):
        raise _unsafe("the request lacks nonce or cspSource", title)

    def render(engine: Engine, report: Report) -> str:
        try:
            return engine.html(report, nonce=str(nonce), csp_source=str(source))
        except ValueError as error:
            raise _unsafe(str(error), title) from error

    html = await _rendered(session, analysis, title, render)
    return {"html": html, "title": title, "incidents": len(analysis.incidents)}


async def redacted(session: Session, params: Any, publish: Publish) -> dict[str, Any]:
    """The report as Markdown with hosts, addresses, users, folders and keys masked.

    {path?, paths?, uri?, text?, title?} gives {markdown}.
    """
    analysis, title = await analysis_of(session, _mapping(params), publish)
    return {"markdown": await _rendered(session, analysis, title, lambda engine, report: engine.redacted(report))}


async def place(session: Session, params: Any, publish: Publish) -> dict[str, Any]:
    """Where a line of a report stands in the editor: {path?, paths?, uri?, text?, title?, file, line} gives {uri, range}.

    The two differ where a log holds lone carriage returns. Raises RequestFailed for a file without an address, such as a selection.
    """
    data = _mapping(params)
    file, line = data.get("file"), data.get("line")
    if not isinstance(file, str) or not isinstance(line, int) or line < 1:
        raise _refused("no line to go to", reason="the request names no file or no line", help="give file and line as the report does")
    analysis, title = await analysis_of(session, data, publish)
    location = analysis.location(file, line)
    if location is None:
        raise _refused(
            f"{file} cannot be opened",
            reason="it is no file that this report was made of" if analysis.sources else "the text was diagnosed without a file",
            where=f"{file}:{line}",
            help="open the log and diagnose it there",
        )
    start, end = location.range.start, location.range.end
    return {
        "uri": location.uri,
        "range": {
            "start": {"line": start.line, "character": start.character},
            "end": {"line": end.line, "character": end.character},
        },
    }


async def analysis_of(session: Session, data: Mapping[str, Any], publish: Publish) -> tuple[Analysis, str]:
    """What a request is about, with a name for it: the last diagnosis of it, or one made now. Raises RequestFailed."""
    found = await remembered(session, data)
    if found is not None:
        return found, _title(data)
    text, paths, uri = data.get("text"), paths_in(session, data), data.get("uri")
    if isinstance(text, str):
        return await read_text(session, text, _text_title(data)), _title(data)
    if not paths and isinstance(uri, str) and (local := to_fs_path(uri)) is not None:
        paths = [local]
    if not paths:
        raise _refused(
            "no report to show",
            reason=f"{_title(data)} was not diagnosed" if isinstance(uri, str) else "the request names no text, path or URI",
            where=uri if isinstance(uri, str) else "",
            help="diagnose the log first",
        )
    return await read_paths(session, paths, data.get("workDoneToken"), publish), _title(data)


async def remembered(session: Session, data: Mapping[str, Any]) -> Analysis | None:
    """The last diagnosis of what a request names; an open log is looked at as it stands. None where it was never diagnosed."""
    text, paths, uri = data.get("text"), paths_in(session, data), data.get("uri")
    if isinstance(text, str):
        return session.recall.find(key_of_text(text, _text_title(data)))
    if len(paths) > 1:
        return session.recall.find(key_of_paths(paths))
    if paths:
        path = paths[0]
        kept = _kept(session, path_key(path))
        document = document_at(session, path)
        if document is None or not document.is_log or (kept is not None and stamp_of(path) in kept.stamps.values()):
            return kept
        # The file has gone on since, or was only looked at in the editor.
        known = await session.view(document.uri)
        return known.analysis if known is not None else kept
    if not isinstance(uri, str) or not uri:
        return None
    if session.documents.find(uri) is not None and (known := await session.view(uri)) is not None:
        return known.analysis
    local = to_fs_path(uri)
    return _kept(session, uri, *([path_key(local)] if local else []))


def _kept(session: Session, *keys: str) -> Analysis | None:
    """The newest diagnosis that is remembered under any of the keys."""
    found = [a for key in keys for a in (session.recall.find(key), session.wide.get(key)) if a is not None]
    return max(found, key=lambda a: a.generation, default=None)


async def _rendered(session: Session, analysis: Analysis, title: str, render: Callable[[Engine, Report], str]) -> str:
    """What a renderer makes of a report, in a thread."""
    report = analysis.diagnosis.report
    try:
        return await session.workers.run(lambda _: render(session.engine, report), StopFlag(), long=False)
    except (asyncio.CancelledError, RequestFailed):
        raise
    except Exception as error:
        raise failed(error, title) from error


def _mapping(params: Any) -> Mapping[str, Any]:
    return params if isinstance(params, Mapping) else {}


def _text_title(data: Mapping[str, Any]) -> str:
    title = data.get("title")
    return title if isinstance(title, str) and title else SELECTION


def _title(data: Mapping[str, Any]) -> str:
    """A name for what a request is about: the one it gives, else the last part of its path or URI."""
    if data.get("title") or isinstance(data.get("text"), str):
        return _text_title(data)
    paths, uri = data.get("paths", [data.get("path")]), data.get("uri")
    if isinstance(paths, (list, tuple)) and paths and all(isinstance(path, str) and path for path in paths):
        return name_of(paths)
    return unquote(uri.rstrip("/").rpartition("/")[2]) if isinstance(uri, str) else SELECTION


def _unsafe(reason: str, where: str) -> RequestFailed:
    return _refused("the report cannot be shown", reason=reason, where=where, help="send the nonce and cspSource of the webview")


def _refused(what: str, *, reason: str, where: str = "", help: str) -> RequestFailed:
    return RequestFailed(str(FirstFaultError(what, reason=reason, where=where, help=help)))
