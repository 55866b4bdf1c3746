"""Whether workers are fit for a study: their machines, and the cost of a task and of a constant of many tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from superarm.experiments.machines import Machine, this_machine, unfit
from superarm.workers.workers import Workers

TASKS = 100  # empty tasks to measure the cost of one
MEGABYTES = 50  # size of a shared constant: a posterior at rank 1,000 and a few thousand contexts


@dataclass(frozen=True, kw_only=True)
class Fitness:
    """The findings; times are wall times in seconds."""

    number: int
    machines: list[Machine]
    faults: list[str]
    task: float  # for an empty task
    share: float  # to share a constant of many tasks
    first_use: float  # until one task on each worker has read it
    megabytes: int

    @property
    def fit(self) -> bool:
        """Whether results will equal those of this machine, bit for bit."""
        return not self.faults

    def __str__(self) -> str:
        lines = [f"{self.number} at a time, on {len(self.machines)} machine{'s' if len(self.machines) > 1 else ''}"]
        for found in self.machines:
            kept = ", ".join(f"{name} {version}" for name, version in found.versions.items())
            lines.append(f"  {found.host}: {found.cpu}; loops ready in {found.seconds:.1f} s; {kept}")
        lines.append(f"an empty task: {1e3 * self.task:.1f} ms")
        lines.append(
            f"{self.megabytes} MB for all: {self.share:.2f} s to share, {self.first_use:.2f} s until "
            f"{self.number} tasks had read them"
        )
        lines += [f"not fit: {fault}" for fault in self.faults] or [
            "fit: one kind of CPU, and the versions of this one"
        ]
        return "\n".join(lines)


def examined(workers: Workers, *, megabytes: int = MEGABYTES) -> Fitness:
    """Look at the machines of workers, compile their loops, and measure what tasks cost there.

    >>> from superarm.workers.here import Here
    >>> found = examined(Here(), megabytes=1)
    >>> found.fit, found.number, len(found.machines)
    (True, 1, 1)
    """
    machines = workers.every_node(this_machine)
    nothing = workers.share(None)
    everybody = range(2 * workers.number)
    list(workers.unordered(_read_nothing, everybody, nothing))  # so that all have begun
    task = _seconds(lambda: list(workers.unordered(_read_nothing, range(TASKS), nothing))) / TASKS
    large = np.ones(megabytes * 2**20 // 8)
    began = time.perf_counter()
    shared = workers.share(large)
    share = time.perf_counter() - began
    first = _seconds(lambda: list(workers.unordered(_read_all, range(workers.number), shared)))
    return Fitness(
        number=workers.number,
        machines=machines,
        faults=unfit(machines),
        task=task,
        share=share,
        first_use=first,
        megabytes=megabytes,
    )


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _read_nothing(_: None, number: int) -> int:
    return number


def _read_all(shared: np.ndarray, _: int) -> float:
    return float(shared.sum())
