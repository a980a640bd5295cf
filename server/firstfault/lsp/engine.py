"""The one seam between the protocol and the diagnosis: loads the engine when it is first needed. Knows no editor.

A test gives `create_server` another object with these methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..model import Diagnosis, Report

if TYPE_CHECKING:
    from ..knowledge.library import Library


class Following(Protocol):
    """A growing log that the engine follows. Called from one thread at a time."""

    @property
    def waiting_for(self) -> tuple[str, ...]:
        """The paths where nothing is yet."""

    @property
    def diagnosis(self) -> Diagnosis | None:
        """What the log said when something was read last."""

    def poll(self, now_s: float | None = None, *, told: Callable[[int], None] | None = None) -> Diagnosis | None:
        """Read what is new; the diagnosis where there was any, or where the job was just found to stand still. Raises InputError.

        `now_s` is the time of a steady clock; what `told` raises, called with the bytes just read, ends the reading.
        """


class Engine(Protocol):
    """What the server asks of the engine. Every method may be called from a worker thread."""

    own_pages: tuple[Path, ...]
    """The folders whose pages are read besides those of the encyclopedia."""

    def diagnose(
        self,
        paths: Sequence[str],
        *,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Diagnosis:
        """Diagnose files and folders on disk; `progress` gets (bytes done, bytes in all). Raises InputError."""

    def diagnose_text(self, text: str, name: str) -> Diagnosis:
        """Diagnose a text; its lines are reported under the file name `name`."""

    def follow(self, path: str) -> Following:
        """Follow a growing log."""

    def to_dict(self, report: Report) -> dict[str, Any]:
        """The JSON form of a report."""

    def markdown(self, report: Report) -> str:
        """A report as Markdown."""

    def redacted(self, report: Report) -> str:
        """A report as Markdown with hosts, addresses, users, folders and keys masked."""

    def html(self, report: Report, *, nonce: str, csp_source: str) -> str:
        """A report as a document for the editor's webview. Raises ValueError for what would break its content policy."""

    def library(self) -> Library:
        """All pages. Raises PageError."""


class BundledEngine:
    """The engine of this package, imported at the first call so that `initialize` does not wait for it."""

    def __init__(self) -> None:
        self.own_pages: tuple[Path, ...] = ()

    def diagnose(
        self,
        paths: Sequence[str],
        *,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Diagnosis:
        """Diagnose files and folders on disk. Raises InputError."""
        from ..diagnose import diagnose

        return diagnose(paths, library=self.library(), progress=progress, cancelled=cancelled)

    def diagnose_text(self, text: str, name: str) -> Diagnosis:
        """Diagnose a text."""
        from ..diagnose import diagnose_text

        return diagnose_text(text, name, library=self.library())

    def follow(self, path: str) -> Following:
        """Follow a growing log."""
        from ..follow import Follower

        return Follower([path], library=self.library())

    def to_dict(self, report: Report) -> dict[str, Any]:
        """The JSON form of a report."""
        from ..report import to_dict

        return to_dict(report)

    def markdown(self, report: Report) -> str:
        """A report as Markdown."""
        from ..render.markdown import report_markdown

        return report_markdown(report)

    def redacted(self, report: Report) -> str:
        """A report as Markdown with everything sensitive masked."""
        from ..render.markdown import report_markdown
        from ..render.redact import redact

        # Markdown shows no timeline, and masking its marks would take the longest.
        return report_markdown(redact(replace(report, timeline=())))

    def html(self, report: Report, *, nonce: str, csp_source: str) -> str:
        """A report as a document for the editor's webview. Raises ValueError."""
        from ..render.html import report_html

        return report_html(report, host="webview", nonce=nonce, csp_source=csp_source, pages=self.library())

    def library(self) -> Library:
        """All pages. Raises PageError."""
        from ..knowledge.library import load_library

        return load_library(self.own_pages)
