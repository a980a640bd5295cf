"""Runs the map step: on processes of this machine, or on a dask cluster through its executor. Knows no line and no page.

Results come in the order of the inputs whoever finishes first, so the report is the same for any number of workers.
"""

from __future__ import annotations

import concurrent.futures as cf
import importlib
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from typing import Any

from ..errors import InputError
from ..knowledge.library import Library
from ..read.inputs import Source
from ..read.remote import is_address
from .task import Answer, ForeignWorker, Job, keep_library, read_on_worker

# Below this a diagnosis is over before a second process has started.
WORTH_PROCESSES_BYTES = 96 << 20
_LOOK_EVERY_S = 0.1
_RETRIES = 5
_BATCH_BYTES = 32 << 20
_BATCH_INPUTS = 64
_FEWEST_BATCHES = 64
_GRACE_S = 1.0
_CONNECT = "10s"


_Answers = cf.Future[list[Answer]]


class Stopped(Exception):
    """A worker was told to stop."""


@dataclass(slots=True)
class Told:
    """What the one who waits is told: bytes and inputs read so far; `stop` is asked whether to go on."""

    bytes: Callable[[int], None] = lambda _: None
    inputs: Callable[[int], None] = lambda _: None
    stop: Callable[[], bool] = lambda: False
    done_bytes: int = field(default=0, init=False)
    done_inputs: int = field(default=0, init=False)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def fitting_workers(sources: Sequence[Source]) -> int:
    """How many processes are worth starting for these inputs; 1 means to read them here."""
    if len(sources) < 2 or sum(s.size_bytes for s in sources) < WORTH_PROCESSES_BYTES:
        return 1
    return min(processors(), len(sources))


def read_on_processes(library: Library, job: Job, sources: Sequence[Source], workers: int, told: Told) -> list[Answer]:
    """The answers for all inputs, read by `workers` processes. What no process could read is read here."""
    keep_library(library)
    # Forking takes over the loaded pages, but is only safe while there are no threads.
    method = "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"
    context = multiprocessing.get_context(method)
    counter, stop = context.Value("Q", 0), context.Value("b", 0, lock=False)
    before = set(multiprocessing.active_children())
    executor = cf.ProcessPoolExecutor(workers, context, _begin, (counter, stop, os.getpid()))
    try:
        answers = _collect(executor, _read_counted, job, sources, told, lambda: counter.value, False)
    except BaseException:
        stop.value = 1
        executor.shutdown(wait=False, cancel_futures=True)
        _end(set(multiprocessing.active_children()) - before)
        raise
    executor.shutdown(wait=True)
    done = told.done_bytes

    def read_here(count: int) -> None:
        nonlocal done
        done += count
        told.bytes(max(done, counter.value))
        if told.stop():
            raise Stopped

    for index, source in enumerate(sources):
        if answers[index] is None:
            answers[index] = read_on_worker(job, source, read_here)
            told.done_inputs += 1
            told.inputs(told.done_inputs)
    return [a for a in answers if a is not None]


def read_on_cluster(address: str, job: Job, sources: Sequence[Source], told: Told) -> list[Answer]:
    """The answers for all inputs, read by the workers of the dask cluster at `address`. Raises InputError.

    The workers must see the inputs under the same absolute paths.
    """
    if any(_is_local(source) for source in sources):
        raise InputError("standard input cannot be read by a cluster", where=address, help="write it to a file that the workers see")
    away = [replace(s, path=s.path.absolute()) if s.path is not None else s for s in sources]
    with _cluster(address) as executor:
        try:
            answers = _collect(executor, _read, job, away, told, None, True)
        except ImportError as error:
            raise InputError(
                "the workers of the cluster do not know FirstFault", reason=str(error), where=address,
                help=f"install FirstFault {job.version} on every worker",
            ) from error  # fmt: skip
    missing = [source.name for source, answer in zip(sources, answers, strict=True) if answer is None]
    if missing:
        raise InputError(
            f"the cluster did not read {missing[0]}", reason=f"its workers died {_RETRIES + 1} times over it", where=address,
            help="look at the workers' logs for their memory limit, or leave out --scheduler",
        )  # fmt: skip
    return [a for a in answers if a is not None]


def _collect(
    executor: cf.Executor,
    read: Callable[[Job, list[Source]], list[Answer]],
    job: Job,
    sources: Sequence[Source],
    told: Told,
    counted: Callable[[], int] | None,
    foreign_ends: bool,
) -> list[Answer | None]:
    """Every input's answer, `None` where the worker died or, unless that ends the reading, had other pages.

    Large inputs begin first, so that none of them is left for the end.
    """
    there = [i for i, source in enumerate(sources) if not _is_local(source)]
    answers: list[Answer | None] = [None] * len(sources)
    places: dict[_Answers, list[int]] = {}
    # Each future announces itself: asking all of them again and again takes longer than reading small files.
    finished: queue.SimpleQueue[_Answers] = queue.SimpleQueue()
    for batch in _batches(sources, there):
        try:
            future = executor.submit(read, job, [sources[i] for i in batch])
        except cf.BrokenExecutor:
            break
        places[future] = batch
        future.add_done_callback(finished.put)
    left = len(places)
    while left:
        before = told.done_inputs
        for future in _announced(finished):
            left -= 1
            for i, answer in zip(places[future], _result(future), strict=False):
                if isinstance(answer.error, ForeignWorker) and not foreign_ends:
                    continue
                if answer.error is not None and (isinstance(answer.error, ForeignWorker) or not sources[i].listed):
                    raise answer.error
                answers[i] = answer
                told.done_inputs += 1
                told.done_bytes += sources[i].size_bytes
        if told.done_inputs > before:
            told.inputs(told.done_inputs)
        told.bytes(counted() if counted is not None else told.done_bytes)
        if told.stop():
            for waiting in places:
                waiting.cancel()
            raise Stopped
    return answers


def _batches(sources: Sequence[Source], there: Sequence[int]) -> Iterator[list[int]]:
    """The inputs in batches that one worker reads: small ones together, since sending each alone costs as much as reading it."""
    sizes = {i: sources[i].size_bytes for i in there}
    most = min(_BATCH_BYTES, sum(sizes.values()) // _FEWEST_BATCHES)
    batch: list[int] = []
    filled = 0
    for i in sorted(there, key=lambda i: (-sizes[i], i)):
        # A pipe tells no size.
        if batch and (filled + sizes[i] > most or len(batch) >= _BATCH_INPUTS or not sizes[i]):
            yield batch
            batch, filled = [], 0
        batch.append(i)
        filled += sizes[i]
    if batch:
        yield batch


def _announced(finished: queue.SimpleQueue[_Answers]) -> Iterator[_Answers]:
    """The futures that are finished now; waits a moment for the first."""
    with suppress(queue.Empty):
        yield finished.get(timeout=_LOOK_EVERY_S)
        while True:
            yield finished.get_nowait()


def _result(future: _Answers) -> list[Answer]:
    """What a worker answered; nothing where it died over it."""
    try:
        return future.result()
    except Exception as error:
        if _is_death(error):
            return []
        raise


def _is_local(source: Source) -> bool:
    """Whether only this process can read an input: its standard input."""
    return source.path is None and not is_address(source.name)


def _is_death(error: Exception) -> bool:
    """Whether an error says that a worker process died, rather than what it met."""
    return isinstance(error, cf.BrokenExecutor) or type(error).__name__ == "KilledWorker"


_counter: Any = None
_stop: Any = None


def _begin(counter: Any, stop: Any, parent: int) -> None:
    """Prepare a worker process: Ctrl-C is the parent's to handle, and no worker outlives its parent."""
    global _counter, _stop
    _counter, _stop = counter, stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes

        try:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        except (OSError, AttributeError):
            return
        if os.getppid() != parent:
            os._exit(1)


def _end(processes: Iterable[BaseProcess]) -> None:
    """See processes off that were told to stop; one that hangs in a read, as on a lost file system, is killed."""
    deadline_s = time.monotonic() + _GRACE_S
    for process in processes:
        process.join(max(0.0, deadline_s - time.monotonic()))
        if process.is_alive():
            process.kill()


def _read_counted(job: Job, sources: list[Source]) -> list[Answer]:
    return [read_on_worker(job, source, _count) for source in sources]


def _read(job: Job, sources: list[Source]) -> list[Answer]:
    return [read_on_worker(job, source) for source in sources]


def _count(count: int) -> None:
    with _counter.get_lock():
        _counter.value += count
    if _stop.value:
        raise Stopped


@contextmanager
def _cluster(address: str) -> Iterator[cf.Executor]:
    try:
        # Imported by name: the package is optional and has no types.
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise InputError(
            "--scheduler needs dask", reason="the package distributed is not installed", where=address,
            help='pip install "firstfault[cluster]" here and on the workers',
        ) from error  # fmt: skip
    try:
        client = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"no dask scheduler answers at {address}", reason=str(error) or type(error).__name__, where=address,
            help="start one with `dask scheduler` and workers with `dask worker ADDRESS`, or leave out --scheduler",
        ) from error  # fmt: skip
    try:
        yield client.get_executor(retries=_RETRIES)
    finally:
        client.close()
