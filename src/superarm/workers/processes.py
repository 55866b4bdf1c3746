"""Processes of this machine, which begin with the first task and end with the one that asked for them."""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any

from superarm.errors import InvalidArgument, WorkerLost
from superarm.workers.threads import one_thread
from superarm.workers.workers import Item, R, S, Shared, not_done

ALIGNED = 64  # bytes: a cache line, so that arrays lie as they would have been allocated


class Processes:
    """A number of processes."""

    def __init__(self, number: int) -> None:
        if number < 1:
            raise InvalidArgument("workers", "a whole number >= 1", number)
        self._number = number
        self._repeated = 0
        self._pool: Any = None

    @property
    def number(self) -> int:
        return self._number

    @property
    def repeated(self) -> int:
        return self._repeated

    def share(self, value: S) -> Shared[S]:
        # A value that went with every task would be pickled for every task; a file is mapped by each process once.
        kept = _keep(value)
        shared: Shared[S] = Shared(kept)
        weakref.finalize(shared, _remove, kept.path)
        return shared

    def unordered(
        self, task: Callable[[S, Item], R], items: Iterable[Item], shared: Shared[S], *, retries: int = 3
    ) -> Iterator[tuple[int, R]]:
        # One task a process at a time: what is submitted when a process dies was begun, and may be what killed it.
        waiting = enumerate(items)
        running: dict[Future[R], tuple[int, Item]] = {}
        suspects: list[tuple[int, Item]] = []
        try:
            while True:
                try:
                    for number, item in islice(waiting, self._number - len(running)):
                        suspects.append((number, item))  # until it is submitted
                        future = self._started().submit(_done, task, shared.handle, item)
                        running[future] = suspects.pop()
                    if not running:
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        result = future.result()
                        number, _ = running.pop(future)
                        yield number, result
                except BrokenProcessPool:  # the pool loses all its processes with one
                    wait(running)
                    broken = {future for future in running if isinstance(future.exception(), BrokenProcessPool)}
                    suspects += [running.pop(future) for future in [*running] if future in broken]
                    self._begin_again()
            yield from self._one_by_one(task, suspects, shared, retries)
        finally:
            _handed_over(running)  # what is left after an error or an interruption is done in vain, or ended by close

    def _one_by_one(
        self, task: Callable[[S, Item], R], items: list[tuple[int, Item]], shared: Shared[S], retries: int
    ) -> Iterator[tuple[int, R]]:
        """Do tasks once more, each in a process of its own, so that only those are lost that kill it again."""
        lost = []
        for number, item in items:
            for _ in range(retries):
                self._repeated += 1
                pool = _pool(1)
                try:
                    result = pool.submit(_done, task, shared.handle, item).result()
                except BrokenProcessPool:
                    continue
                finally:
                    pool.shutdown(kill_workers=True)
                yield number, result
                break
            else:
                lost.append(number)
        if lost:
            raise not_done(lost, retries)

    def every_node(self, task: Callable[[], R]) -> list[R]:
        return [task()]

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(kill_workers=True)

    def _started(self) -> Any:
        if self._pool is None:
            self._pool = _pool(self._number)
        return self._pool

    def _begin_again(self) -> None:
        """Start new processes, or raise :class:`WorkerLost` where none can begin."""
        self.close()
        try:
            self._started().submit(int).result()
        except BrokenProcessPool:
            self.close()
            raise WorkerLost("no worker process can begin, perhaps for want of memory; try fewer workers") from None


def _pool(number: int) -> Any:
    from joblib.externals.loky import ProcessPoolExecutor  # no part of `import superarm`

    return ProcessPoolExecutor(max_workers=number, initializer=_end_with_parent, initargs=(os.getpid(),))


def _handed_over(futures: Iterable[Future[Any]]) -> None:
    """Wait until a process has each task: loky stumbles where it is ended before."""
    for _ in range(1000):
        if all(future.running() or future.done() for future in futures):
            break
        time.sleep(0.001)


def _end_with_parent(parent: int) -> None:
    """In a worker: end it soon after the process ``parent``; an idle worker waits for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)  # seldom enough to cost nothing
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _done(task: Callable[[Any, Item], R], kept: _Kept, item: Item) -> R:
    with one_thread():
        return task(_found(kept), item)


@dataclass(frozen=True)
class _Kept:
    """A value in a file: its pickle, and behind it the arrays, which are mapped and not copied."""

    path: str
    spans: tuple[tuple[int, int], ...]  # where the pickle and each array begin and end


def _keep(value: object) -> _Kept:
    buffers: list[Any] = []
    spans = []
    content = _cloudpickle().dumps(value, protocol=5, buffer_callback=buffers.append)
    with tempfile.NamedTemporaryFile(prefix="superarm-", delete=False) as file:
        for part in (content, *(buffer.raw() for buffer in buffers)):
            begin = file.seek(-(-file.tell() // ALIGNED) * ALIGNED)
            file.write(part)
            spans.append((begin, file.tell()))
        file.truncate(max(file.tell(), 1))
    return _Kept(path=file.name, spans=tuple(spans))


def _cloudpickle() -> Any:
    """What joblib pickles with, functions of scripts and notebooks too; joblib below 1.6 brings its own."""
    try:
        return import_module("cloudpickle")
    except ImportError:
        return import_module("joblib.externals.cloudpickle")


@lru_cache(maxsize=4)  # in a worker: few values are in use at a time, and some are large
def _found(kept: _Kept) -> Any:
    with open(kept.path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    content, *buffers = (view[begin:end] for begin, end in kept.spans)
    return pickle.loads(content, buffers=buffers)


def _remove(path: str) -> None:
    with suppress(OSError):  # gone, or still mapped on a system that keeps such files
        os.unlink(path)
