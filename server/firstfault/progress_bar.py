"""A bar on standard error while inputs are read: inputs, bytes, speed, time left. Shows nothing where nobody looks. Knows no log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

# What is read within a moment needs no bar.
_SHOWN_FROM_BYTES = 32 << 20
_REDRAW_S = 0.1


class ProgressBar:
    """A context manager whose `bytes_read` and `inputs_read` are called while reading; `enabled=False` makes it silent."""

    def __init__(self, enabled: bool | None = None) -> None:
        self._enabled = sys.stderr.isatty() if enabled is None else enabled
        self._bar: Progress | None = None
        self._inputs = ""
        self._drawn_s = 0.0

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def bytes_read(self, done: int, total: int) -> None:
        """`done` of `total` bytes were read; 0 where the total is not known."""
        if not self._enabled or (total and total < _SHOWN_FROM_BYTES) or done < _SHOWN_FROM_BYTES // 8:
            return
        now = time.monotonic()
        if now - self._drawn_s < _REDRAW_S and done < total:
            return
        self._drawn_s = now
        if self._bar is None:
            self._bar = self._start(total)
        most = max(total, done) if total else None
        self._bar.update(self._bar.task_ids[0], completed=done, total=most, inputs=self._inputs, refresh=True)

    def inputs_read(self, done: int, total: int) -> None:
        """`done` of `total` inputs were read."""
        self._inputs = f"{done}/{total} files" if total > 1 else ""

    def _start(self, total: int) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

        bar = Progress(
            TextColumn("reading"),
            BarColumn(),
            TextColumn("{task.fields[inputs]}", markup=False),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            # Drawn when something was read and not by a thread, so that worker processes can be forked at any time.
            auto_refresh=False,
        )
        bar.add_task("", total=total or None, inputs="")
        bar.start()
        return bar
