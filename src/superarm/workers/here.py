"""The calling process as the only worker: it does a task when the result is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from superarm.workers.residents import Local
from superarm.workers.threads import one_thread
from superarm.workers.workers import Item, R, S, Shared


@dataclass(frozen=True)
class Here:
    """The calling process."""

    number: int = 1
    repeated: int = 0

    def share(self, value: S) -> Shared[S]:
        return Shared(value)

    def unordered(
        self, task: Callable[[S, Item], R], items: Iterable[Item], shared: Shared[S], *, retries: int = 3
    ) -> Iterator[tuple[int, R]]:
        for number, item in enumerate(items):
            with one_thread():
                result = task(shared.handle, item)
            yield number, result

    def every_node(self, task: Callable[[], R]) -> list[R]:
        return [task()]

    def settle(self, make: Callable[[int], Any], number: int) -> Local:
        return Local([make(each) for each in range(number)])

    def close(self) -> None:
        """Nothing to release."""
