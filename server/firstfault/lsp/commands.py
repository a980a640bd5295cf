"""The commands of lenses and actions for editors that do not bring them. The project's own extension has its own.

Registered only for other clients: an editor that knew both would have each command twice.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from .session import Session

COPY_TEXT = "firstfault.copyText"


async def show_report(session: Session, uri: Any = None, *_: Any) -> None:
    """Show the report of a log: as a message, the one way every editor has."""
    view = await session.view(uri) if isinstance(uri, str) else None
    if view is None:
        show(session, "This document has no diagnosis.")
        return
    report = view.analysis.diagnosis.report
    show(session, "\n\n".join(i.summary for i in report.incidents) or "No failure found.")
    session.server.window_log_message(types.LogMessageParams(types.MessageType.Info, session.engine.markdown(report)))


async def go_to_first_fault(session: Session, uri: Any = None, position: Any = None, *_: Any) -> None:
    """Put the cursor where the failure began, or say where that is when the editor cannot be moved."""
    if not isinstance(uri, str) or not isinstance(position, dict):
        return
    at = types.Position(int(position.get("line", 0)), int(position.get("character", 0)))
    if session.client.shows_documents:
        await session.server.window_show_document_async(types.ShowDocumentParams(uri, take_focus=True, selection=types.Range(at, at)))
    else:
        show(session, f"The first fault is at {uri.rpartition('/')[2]}:{at.line + 1}.")


def copy_text(session: Session, text: Any = None, *_: Any) -> None:
    """Show a text to copy."""
    if isinstance(text, str):
        show(session, text)


def show(session: Session, message: str) -> None:
    """Show a message."""
    session.server.window_show_message(types.ShowMessageParams(types.MessageType.Info, message))
