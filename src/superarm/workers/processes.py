"""Processes of this machine, which begin with the first task and end with the one that asked for them."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any

from superarm.errors import InvalidArgument, WorkerLost
from superarm.workers.in_processes import InProcesses
from superarm.workers.kept import Kept, found, keep, remove
from superarm.workers.pools import refuse_in_a_pool, started
from superarm.workers.retold import retold
from superarm.workers.threads import one_thread
from superarm.workers.workers import Item, R, S, Shared, not_done


class Processes:
    """A number of processes."""

    def __init__(self, number: int) -> None:
        if number < 1:
            raise InvalidArgument("workers", "a whole number >= 1", number)
        refuse_in_a_pool(number)
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
        kept = keep(value)
        shared: Shared[S] = Shared(kept)
        weakref.finalize(shared, remove, kept.path)
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
                pool = started(1)
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

    def settle(self, make: Callable[[int], Any], number: int) -> InProcesses:
        return InProcesses(self.share(make), number)

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(kill_workers=True)

    def _started(self) -> Any:
        if self._pool is None:
            self._pool = started(self._number)
        return self._pool

    def _begin_again(self) -> None:
        """Start new processes, or raise :class:`WorkerLost` where none can begin."""
        self.close()
        try:
            self._started().submit(int).result()
        except BrokenProcessPool:
            self.close()
            raise WorkerLost("no worker process can start, perhaps because memory ran out; try fewer workers") from None


def _handed_over(futures: Iterable[Future[Any]]) -> None:
    """Wait until a process has each task: loky stumbles where it is ended before."""
    for _ in range(1000):
        if all(future.running() or future.done() for future in futures):
            break
        time.sleep(0.001)  # a second in all, at most


def _done(task: Callable[[Any, Item], R], kept: Kept, item: Item) -> R:
    with retold(), one_thread():
        return task(found(kept), item)
