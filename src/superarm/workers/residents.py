"""The contract of objects that live with workers, where they are asked: what they hold need not travel.

An object that dies is made again, by the same call; it must read from a disk what it knew. A question whose answer was
lost with a worker is asked again, so it must do no harm to have been answered before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from superarm.errors import InvalidArgument, type_of
from superarm.workers.threads import one_thread
from superarm.workers.workers import Workers

Item = TypeVar("Item")
R = TypeVar("R")


@runtime_checkable
class Residents(Protocol):
    """Objects with numbers from 0, each in a process of its own or in this one."""

    @property
    def repeated(self) -> int:
        """How often one of them was started again because its process was killed."""
        ...

    def ask(self, task: Callable[[Any, Item], R], items: Mapping[int, Item], *, retries: int = 3) -> dict[int, R]:
        """What the task gives for the objects of these numbers, each with its item; all are asked at once.

        An error of a task is raised as it is, once all have answered. Where one dies again and again,
        :class:`superarm.errors.WorkerLost` is raised.
        """
        ...

    def close(self) -> None:
        """End them."""
        ...


@runtime_checkable
class Housing(Protocol):
    """Workers with whom objects can live."""

    def settle(self, make: Callable[[int], Any], number: int) -> Residents:
        """So many objects, each made by its number where it lives; nothing is made before it is asked."""
        ...


def housing(workers: Workers) -> Housing:
    """Workers as those with whom objects can live."""
    if not isinstance(workers, Housing):
        raise InvalidArgument("workers", "'here', processes, Ray, or workers with a method settle", type_of(workers))
    return workers


@dataclass(eq=False)
class Local:
    """Objects of this process."""

    objects: list[Any]
    repeated: int = 0

    def ask(self, task: Callable[[Any, Item], R], items: Mapping[int, Item], *, retries: int = 3) -> dict[int, R]:
        with one_thread():
            return {number: task(self.objects[number], item) for number, item in items.items()}

    def close(self) -> None:
        """They end with this process."""
