"""Runs diagnoses outside the event loop: debounced, one at a time a kind, superseded by newer ones. Knows no document."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Cancelled(Exception):
    """The work was stopped because nobody waits for it any more."""


class Superseded(Exception):
    """A newer job took the place of the one that was waited for."""


class StopFlag:
    """A flag that a worker thread polls."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask the worker to stop."""
        self._event.set()

    def __call__(self) -> bool:
        """Whether the worker is to stop."""
        return self._event.is_set()


class Job(Generic[T]):
    """One piece of work for one key in one state of its input."""

    def __init__(self, state: object) -> None:
        self.state = state
        self.stop = StopFlag()
        self.result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.result.add_done_callback(_retrieve)
        self.task: asyncio.Task[None] | None = None


class Workers:
    """Queues of one thread each, so that a file of many gigabytes never keeps an open document waiting, nor a watched log."""

    def __init__(self) -> None:
        self._quick = ThreadPoolExecutor(1, "firstfault-text")
        self._long = ThreadPoolExecutor(1, "firstfault-files")
        self._watched = ThreadPoolExecutor(1, "firstfault-watched")
        self._flags: set[StopFlag] = set()
        self._closed = False

    async def run(self, work: Callable[[StopFlag], T], stop: StopFlag, *, long: bool) -> T:
        """The result of `work`, done in a thread. When the waiting task is cancelled the flag is set.

        Raises Cancelled when the flag was set before the work began.
        """
        return await self._run(self._long if long else self._quick, work, stop)

    async def watch(self, work: Callable[[StopFlag], T], stop: StopFlag) -> T:
        """The result of `work` on a watched log. Raises Cancelled."""
        return await self._run(self._watched, work, stop)

    async def _run(self, queue: ThreadPoolExecutor, work: Callable[[StopFlag], T], stop: StopFlag) -> T:
        def guarded() -> T:
            if stop() or self._closed:
                raise Cancelled
            return work(stop)

        self._flags.add(stop)
        try:
            return await asyncio.get_running_loop().run_in_executor(queue, guarded)
        except asyncio.CancelledError:
            stop.set()
            raise
        finally:
            self._flags.discard(stop)

    def close(self) -> None:
        """Stop everything; threads end at their next look at their flag."""
        self._closed = True
        for flag in list(self._flags):
            flag.set()
        for queue in (self._quick, self._long, self._watched):
            queue.shutdown(wait=False, cancel_futures=True)


class Jobs(Generic[T]):
    """The newest job of each key. Whoever waits for a key gets the result of its newest state."""

    def __init__(self, debounce_s: float) -> None:
        self._debounce_s = debounce_s
        self._jobs: dict[str, Job[T]] = {}

    def start(self, key: str, state: object, work: Callable[[StopFlag], Awaitable[T]], *, debounced: bool) -> Job[T]:
        """The job of `key` in `state`: the present one, or a new one that supersedes it. `work` is called after the pause."""
        present = self._jobs.get(key)
        if present is not None and present.state == state:
            return present
        self.drop(key)
        job: Job[T] = Job(state)
        self._jobs[key] = job
        job.task = asyncio.get_running_loop().create_task(self._run(job, work, self._debounce_s if debounced else 0.0))
        return job

    def drop(self, key: str) -> None:
        """Forget a key; its job is stopped and whoever waits gets Superseded."""
        old = self._jobs.pop(key, None)
        if old is None:
            return
        old.stop.set()
        if old.task is not None:
            old.task.cancel()
        if not old.result.done():
            old.result.set_exception(Superseded())

    async def _run(self, job: Job[T], work: Callable[[StopFlag], Awaitable[T]], pause_s: float) -> None:
        try:
            if pause_s:
                await asyncio.sleep(pause_s)
            result = await work(job.stop)
        except asyncio.CancelledError:
            if not job.result.done():
                job.result.set_exception(Superseded())
        except Exception as error:  # The waiters decide; a job that nobody waits for leaves its error in the log.
            if not isinstance(error, Cancelled):
                logger.debug("job failed", exc_info=True)
            if not job.result.done():
                job.result.set_exception(error)
        else:
            if not job.result.done():
                job.result.set_result(result)

    def close(self) -> None:
        """Stop every job."""
        for key in list(self._jobs):
            self.drop(key)


def _retrieve(future: asyncio.Future[T]) -> None:
    """Mark the exception of a result as seen, so that one without waiters is not reported as lost."""
    if not future.cancelled():
        future.exception()
