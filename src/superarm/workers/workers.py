"""The contract of workers, and what follows from it: results in order, and merges along a fixed tree.

A task is a function of what is shared and of one item. It must be the same function of both wherever it runs: then no
result depends on how many workers there are, on which of them got an item, or on how often one of them was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from superarm.errors import WorkerLost

S = TypeVar("S")
Item = TypeVar("Item")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Shared(Generic[S]):
    """What :meth:`Workers.share` gives for a value: only the workers that gave it know what ``handle`` means."""

    handle: Any


@runtime_checkable
class Workers(Protocol):
    """Workers that run tasks; tasks with small arguments and results are best."""

    @property
    def number(self) -> int:
        """Number of tasks that run at a time."""
        ...

    @property
    def repeated(self) -> int:
        """Number of tasks that were started again so far because their worker was killed."""
        ...

    def share(self, value: S) -> Shared[S]:
        """Send a constant of many tasks to each worker once; it is kept as long as the returned value.

        Its arrays may be read-only where the tasks see them.
        """
        ...

    def unordered(
        self, task: Callable[[S, Item], R], items: Iterable[Item], shared: Shared[S], *, retries: int = 3
    ) -> Iterator[tuple[int, R]]:
        """The number of each item, from 0, and the result of the task, in the order in which results come.

        Only a few more items than workers are taken at a time, so that items may be made while others are worked on.
        Each task has one BLAS thread: more would compete for the cores, and sums in another order give other bits. An
        error of a task is raised as it is, and ends all tasks. A task whose worker is killed is started again, at most
        ``retries`` times; if that does not help, :class:`superarm.errors.WorkerLost` is raised after all other results.
        """
        ...

    def every_node(self, task: Callable[[], R]) -> list[R]:
        """The result of the task on each machine; use it to prepare or to describe the machines."""
        ...

    def close(self) -> None:
        """Release all workers; the next task starts them again where that is possible."""
        ...


def not_done(numbers: list[int], retries: int) -> WorkerLost:
    """The error of tasks that failed each time they were started again."""
    named = ", ".join(str(number) for number in numbers[:5]) + (", ..." if len(numbers) > 5 else "")
    return WorkerLost(
        f"{len(numbers)} tasks (number {named}) are not done: their workers were killed, each {1 + retries} "
        "times, perhaps because memory ran out; try fewer workers"
    )


def all_of(results: Iterable[tuple[int, R]], number: int) -> Iterator[tuple[int, R]]:
    """The results of workers for ``items`` items, checked: an error if one has none at the end, or two.

    >>> list(all_of([(1, "b"), (0, "a")], 2))
    [(1, 'b'), (0, 'a')]
    """
    came: set[int] = set()
    for item, result in results:
        if item in came or not 0 <= item < number:
            raise WorkerLost(f"the workers gave a result for item {item} that nobody waits for")
        came.add(item)
        yield item, result
    if len(came) < number:
        raise WorkerLost(f"the workers gave no result for {number - len(came)} of {number} items")


def in_order(
    workers: Workers, task: Callable[[S, Item], R], items: Sequence[Item], shared: Shared[S], *, retries: int = 3
) -> Iterator[R]:
    """The result of the task for each item, in the order of the items; early results are held back.

    >>> from superarm.workers.here import Here
    >>> workers = Here()
    >>> list(in_order(workers, pow, [1, 2, 3], workers.share(2)))
    [2, 4, 8]
    """
    early: dict[int, R] = {}
    following = 0
    for number, result in all_of(workers.unordered(task, items, shared, retries=retries), len(items)):
        early[number] = result
        while following in early:
            yield early.pop(following)
            following += 1


def tree(merge: Callable[[R, R], R], parts: Iterable[tuple[int, R]]) -> R:
    """All parts merged into one, neighbours first, then their neighbours: the same merges in whatever order parts come.

    Parts have the numbers 0, 1, 2, ...; one without a neighbour waits for the next level. What can be merged is merged
    at once, so that few parts are held where they come nearly in order.

    >>> tree(lambda a, b: f"({a}{b})", [(2, "c"), (0, "a"), (4, "e"), (1, "b"), (3, "d")])
    '(((ab)(cd))e)'
    """
    waiting: dict[tuple[int, int], R] = {}

    def place(level: int, number: int, part: R) -> None:
        while (level, number ^ 1) in waiting:
            other = waiting.pop((level, number ^ 1))
            part = merge(part, other) if number % 2 == 0 else merge(other, part)
            level, number = level + 1, number // 2
        waiting[level, number] = part

    for number, part in parts:
        place(0, number, part)
    while len(waiting) > 1:  # the last of a level goes up alone
        level, number = min(waiting)
        place(level + 1, number // 2, waiting.pop((level, number)))
    if not waiting:
        raise ValueError("a tree needs at least one part")
    return waiting.popitem()[1]
