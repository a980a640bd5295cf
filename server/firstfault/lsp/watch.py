"""Follows a growing log: diagnoses it again when it changed, and says when a job that should go on has stopped. Knows no failure.

Looks at the file itself, because network file systems send no change events. A file that shrank or was replaced is read anew.
"""

from __future__ import annotations

import asyncio
import logging
import os
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from pygls.uris import from_fs_path, to_fs_path

from ..errors import FirstFaultError, InputError
from ..model import Progress, Report
from .analysis import Analysis
from .jobs import Cancelled, StopFlag
from .protocol import RequestFailed
from .session import Session
from .status import verdict_in_brief

WATCH = "firstfault/watch"
WATCHED = "firstfault/watched"
LOOK_EVERY_S = 0.5
# Reading may take this part of the time at most, so that a file that grows all the time keeps no core busy.
REST_FACTOR = 3.0
STALL_FACTOR = 10.0
SHORTEST_STALL_S = 60.0

Publish = Callable[[Analysis, Mapping[str, Analysis]], None]


class Pace:
    """How fast a job goes on, from when its progress was seen to change. Times are seconds of any steady clock."""

    def __init__(self, factor: float = STALL_FACTOR, shortest_s: float = SHORTEST_STALL_S) -> None:
        self._factor = factor
        self._shortest_s = shortest_s
        self._last: tuple[int, float] | None = None
        self._per_step_s: list[float] = []

    def observe(self, progress: Progress | None, now_s: float) -> None:
        """Take note of the last progress a report shows."""
        if progress is None:
            return
        if self._last is None or progress.step != self._last[0]:
            if self._last is not None and progress.step > self._last[0]:
                self._per_step_s.append((now_s - self._last[1]) / (progress.step - self._last[0]))
                del self._per_step_s[:-50]
            self._last = (progress.step, now_s)

    def stalled_for_s(self, now_s: float) -> float | None:
        """How long there has been no progress; None as long as that is no stall, or the pace is not known."""
        if self._last is None or not self._per_step_s:
            return None
        silent_s = now_s - self._last[1]
        limit_s = max(self._shortest_s, self._factor * statistics.median(self._per_step_s))
        return silent_s if silent_s >= limit_s else None

    @property
    def step(self) -> int | None:
        """The last step seen."""
        return self._last[0] if self._last else None


class Watch:
    """One watched file."""

    def __init__(self, session: Session, path: str, publish: Publish, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self.stop = StopFlag()
        self.pace = Pace()
        self._session = session
        self._publish = publish
        self._clock = clock
        self._seen: tuple[int, int, int] | None = None
        self._report: Report | None = None
        self._stall_told = False
        self._missing_told = False

    async def run(self) -> None:
        """Look until stopped."""
        while not self.stop():
            began = self._clock()
            try:
                await self.look()
            except Cancelled:
                return
            except Exception as error:  # The next look may succeed: a file system that is away comes back.
                logging.getLogger(__name__).warning("watching %s: %s", self.path, error)
            await asyncio.sleep(max(LOOK_EVERY_S, REST_FACTOR * (self._clock() - began)))

    async def look(self) -> bool:
        """Look once; whether the file was read."""
        stamp = await self._session.workers.run(lambda _: _stamp(self.path), self.stop, long=False)
        if stamp is None:
            if not self._missing_told:
                self._missing_told = True
                self._tell("waiting", f"waiting for {os.path.basename(self.path)}")
            return False
        if stamp == self._seen:
            self._tell_stall()
            return False
        self._missing_told = False
        if self._seen is not None and (stamp[0] < self._seen[0] or stamp[2] != self._seen[2]):
            self.pace = Pace()
        analysis, before = await self._session.diagnose_paths([self.path], self.stop)
        self._seen = stamp
        self._report = analysis.diagnosis.report
        self._stall_told = False
        self.pace.observe(self._report.job.last_progress, self._clock())
        self._publish(analysis, before)
        self._tell("reading", verdict_in_brief(analysis))
        self._tell_stall()
        return True

    def _tell_stall(self) -> None:
        """Say once that a job stands still, with the commands that inspect it while it can be inspected."""
        report = self._report
        if report is None or self._stall_told or report.incidents or report.job.outcome in ("finished", "failed"):
            return
        silent_s = self.pace.stalled_for_s(self._clock())
        if silent_s is None:
            return
        self._stall_told = True
        library = self._session.library()
        page = library.shown_by("stall") if library else None
        commands = [{"title": m.fact, "command": m.command} for m in page.missing] if page else []
        self._tell("stalled", f"no progress for {_duration(silent_s)} after step {self.pace.step}", commands)

    def _tell(self, state: str, message: str, commands: list[dict[str, str]] | None = None) -> None:
        report = self._report
        self._session.server.protocol.notify(
            WATCHED,
            {
                "path": self.path,
                "uri": from_fs_path(self.path),
                "state": state,
                "message": message,
                "incidents": len(report.incidents) if report else 0,
                "summary": report.incidents[0].summary if report and report.incidents else "",
                "commands": commands or [],
            },
        )


class Watches:
    """The watched files of a session."""

    def __init__(self, session: Session, publish: Publish) -> None:
        self._session = session
        self._publish = publish
        self._running: dict[str, tuple[Watch, asyncio.Task[None]]] = {}

    def handle(self, params: Any) -> dict[str, Any]:
        """Begin or end watching: {path, on}. Gives the paths that are watched. Raises RequestFailed with the four-part message."""
        data = params if isinstance(params, Mapping) else {}
        given = data.get("path")
        if not isinstance(given, str) or not given:
            raise RequestFailed(str(FirstFaultError("nothing to watch", reason="the request names no path", help="choose a log file")))
        path = os.path.abspath(os.path.expanduser((to_fs_path(given) if given.startswith("file:") else None) or given))
        if data.get("on", True):
            if os.path.isdir(path):
                raise RequestFailed(
                    str(
                        InputError(
                            "a folder cannot be watched", reason="watching follows one file", where=path, help="choose a log file in it"
                        )
                    )
                )
            self._begin(path)
        else:
            self._end(path)
        return {"watching": sorted(self._running)}

    def close(self) -> None:
        """End all."""
        for path in list(self._running):
            self._end(path)

    def _begin(self, path: str) -> None:
        if path not in self._running:
            watch = Watch(self._session, path, self._publish)
            self._running[path] = (watch, asyncio.get_running_loop().create_task(watch.run()))

    def _end(self, path: str) -> None:
        found = self._running.pop(path, None)
        if found is not None:
            found[0].stop.set()
            found[1].cancel()


def _stamp(path: str) -> tuple[int, int, int] | None:
    """(size, modification time, identity) of a file; None where there is none yet."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
