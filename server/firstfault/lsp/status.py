"""Tells the client what the server is doing: `firstfault/status`. Knows no protocol feature besides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pygls.lsp.server import LanguageServer

from .analysis import Analysis

# Work that is done sooner than this never shows as busy, so that typing makes nothing flicker.
PATIENCE_S = 0.2
STEP_S = 0.25


class Status:
    """The sender of `firstfault/status`. Other clients than the project's own do not know it and get nothing."""

    def __init__(self, server: LanguageServer) -> None:
        self.enabled = False
        self._server = server
        self._running: dict[str, int] = {}

    @contextmanager
    def busy(self, uri: str | None, what: str = "reading") -> Iterator[Callable[[int, int], None]]:
        """Show that work on `uri` goes on; the value is a function that takes (bytes done, bytes in all)."""
        loop = asyncio.get_running_loop()
        last = time.monotonic()

        def progress(done: int, whole: int) -> None:
            nonlocal last
            now = time.monotonic()
            if whole > 0 and now - last >= STEP_S:
                last = now
                self.send("busy", f"{what} {min(100, done * 100 // whole)}%", uri)

        later = loop.call_later(PATIENCE_S, self.send, "busy", what, uri)
        try:
            yield progress
        finally:
            later.cancel()

    def result(self, uri: str | None, analysis: Analysis | None) -> None:
        """Show that work on `uri` is done, and what came out."""
        self.send("idle", verdict_in_brief(analysis) if analysis else "", uri)

    def failed(self, uri: str | None, error: BaseException) -> None:
        """Show that work on `uri` ended without a result."""
        self.send("idle", getattr(error, "what", "") or "the diagnosis failed, see the log", uri)

    def send(self, state: str, message: str, uri: str | None = None) -> None:
        """Send one notification."""
        if not self.enabled:
            return
        params = {"state": state, "message": message}
        if uri is not None:
            params["uri"] = uri
        self._server.protocol.notify("firstfault/status", params)


def verdict_in_brief(analysis: Analysis) -> str:
    """A result in a few words, such as `1 cause · 8 ranks`, for a status item."""
    incidents = analysis.incidents
    if not incidents:
        return "no failure found"
    causes = sum(1 for i in incidents if i.severity != "warning")
    parts = []
    if causes:
        parts.append(f"{causes} cause{'s' if causes > 1 else ''}")
    if warnings := len(incidents) - causes:
        parts.append(f"{warnings} warning{'s' if warnings > 1 else ''}")
    report = analysis.diagnosis.report
    ranks = report.job.world_size or len({rank for item in report.inputs for rank in item.ranks})
    if ranks:
        parts.append(f"{ranks} rank{'s' if ranks > 1 else ''}")
    return " · ".join(parts)
