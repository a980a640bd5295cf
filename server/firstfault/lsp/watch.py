"""Keeps the problems of growing logs up to date, and says when a job that should go on has stopped. Knows no failure.

The engine reads what is new; it looks at the file itself, because network file systems send no change events.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from pygls.uris import from_fs_path, to_fs_path

from ..errors import FirstFaultError, InputError
from ..model import Incident, Report
from .analysis import Analysis, analysis_of_files
from .engine import Following
from .jobs import Cancelled, StopFlag
from .protocol import RequestFailed
from .session import Session
from .status import verdict_in_brief

WATCH = "firstfault/watch"
WATCHED = "firstfault/watched"
LOOK_EVERY_S = 0.5
# Reading may take this part of the time at most, so that a file that grows all the time keeps no core busy.
REST_FACTOR = 3.0

Publish = Callable[[Analysis, Mapping[str, Analysis]], None]


class Watch:
    """One watched file."""

    def __init__(self, session: Session, path: str, publish: Publish, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self.stop = StopFlag()
        self._session = session
        self._publish = publish
        self._clock = clock
        self._following: Following | None = None
        self._report: Report | None = None
        self._trouble = ""

    async def run(self) -> None:
        """Look until stopped."""
        while not self.stop():
            began = self._clock()
            try:
                await self.look()
            except Cancelled:
                return
            except InputError as error:
                self._tell_trouble("failed", f"{error.what}: {error.reason}" if error.reason else error.what)
            except Exception as error:  # The next look may succeed: a file system that is away comes back.
                logging.getLogger(__name__).warning("watching %s: %s", self.path, error)
            await asyncio.sleep(max(LOOK_EVERY_S, REST_FACTOR * (self._clock() - began)))

    async def look(self) -> bool:
        """Look once; whether there was anything to tell. Raises InputError for a file that is no log, and Cancelled."""
        found = await self._session.workers.watch(self._poll, self.stop)
        following = self._following
        if found is None or following is None:
            if following is not None and following.waiting_for:
                self._tell_trouble("waiting", f"waiting for {os.path.basename(self.path)}")
            return False
        self._trouble = ""
        self._report = found.diagnosis.report
        self._publish(found, self._session.remember([self.path], found))
        # The engine keeps what the log says apart from what its silence says.
        stalled = found.diagnosis is not following.diagnosis and bool(self._report.incidents)
        if stalled:
            self._tell_stall(self._report.incidents[0])
        else:
            self._tell("reading", verdict_in_brief(found))
        return True

    def _poll(self, stop: StopFlag) -> Analysis | None:
        """Read what is new, in a thread; None where nothing is."""

        def told(_: int) -> None:
            if stop():
                raise Cancelled

        if self._following is None:
            self._following = self._session.engine.follow(self.path)
        diagnosis = self._following.poll(self._clock(), told=told)
        return None if diagnosis is None else analysis_of_files(diagnosis, [self.path], self._session.client.encoding)

    def _tell_stall(self, incident: Incident) -> None:
        """Say that a job stands still, with the commands that inspect it while it can be inspected."""
        commands = [{"title": m.fact, "command": m.command} for m in incident.missing]
        self._tell("stalled", next(iter(incident.reasons), incident.summary), commands)

    def _tell_trouble(self, state: str, message: str) -> None:
        """Say once that the file is not there or cannot be read."""
        if message != self._trouble:
            self._trouble = message
            self._tell(state, message)

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
