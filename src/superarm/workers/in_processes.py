"""Objects that live in processes of this machine, each in one of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from superarm.workers.kept import Kept, found
from superarm.workers.pools import started
from superarm.workers.retold import retold
from superarm.workers.threads import one_thread
from superarm.workers.workers import Item, R, Shared, not_done


class InProcesses:
    """Objects with numbers from 0, by what is shared: the call that makes them."""

    def __init__(self, make: Shared[Callable[[int], Any]], number: int) -> None:
        self._make = make
        self._repeated = 0
        self._pools: list[Any] = [None] * number

    @property
    def repeated(self) -> int:
        return self._repeated

    def ask(self, task: Callable[[Any, Item], R], items: Mapping[int, Item], *, retries: int = 3) -> dict[int, R]:
        answers: dict[int, R] = {}
        errors: list[Exception] = []
        waiting = dict(items)
        for repeats in range(1 + retries):
            running: dict[int, Future[R] | None] = {}
            for number, item in waiting.items():
                try:
                    running[number] = self._pool(number).submit(_asked, self._make.handle, number, task, item)
                except BrokenProcessPool:  # it ended between two calls
                    running[number] = None
            for number, future in running.items():
                try:
                    if future is None:
                        raise BrokenProcessPool
                    answers[number] = future.result()
                except BrokenProcessPool:
                    self._end(number)
                    self._repeated += repeats < retries
                    continue
                except Exception as error:  # of anybody's task; all others end first
                    errors.append(error)
                del waiting[number]
            if not waiting:
                break
        if errors:
            raise errors[0]
        if waiting:
            raise not_done(list(waiting), retries)
        return answers

    def close(self) -> None:
        for number in range(len(self._pools)):
            self._end(number)

    def _pool(self, number: int) -> Any:
        if self._pools[number] is None:
            self._pools[number] = started(1)
        return self._pools[number]

    def _end(self, number: int) -> None:
        pool, self._pools[number] = self._pools[number], None
        if pool is not None:
            pool.shutdown(kill_workers=True)


_made: dict[tuple[str, int], Any] = {}  # in a worker: the object that lives there, by file and number


def _asked(make: Kept, number: int, task: Callable[[Any, Item], R], item: Item) -> R:
    with retold(), one_thread():
        key = make.path, number
        if key not in _made:  # a process that has just begun
            _made[key] = found(make)(number)
        return task(_made[key], item)
