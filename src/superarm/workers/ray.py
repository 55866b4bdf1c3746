"""A Ray cluster, or a Ray of this machine: the one file that speaks to Ray.

The process that asks must run inside the cluster (``ray job submit``, or a shell on one of its machines), where
superarm is installed in the same versions. Tasks whose worker or machine dies are submitted again by this file and not
by Ray, so that they are counted and their number has a limit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from superarm.errors import InvalidArgument
from superarm.workers.threads import one_thread
from superarm.workers.workers import Item, R, S, Shared, not_done

AHEAD = 2  # tasks submitted a CPU, so that none waits for the next
# What a bit depends on or a worker needs, and may have been set for the process that asks alone.
TOLD = ("OPENBLAS_CORETYPE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_CACHE_DIR")


class RayWorkers:
    """The CPUs of a Ray cluster.

    Parameters
    ----------
    address
        ``"auto"``: the cluster that this machine belongs to; an address; or None: a Ray that is started here, and ended
        by ``close``. A process that Ray was started in already keeps that one, whatever the address.
    """

    def __init__(self, address: str | None = None) -> None:
        ray = _ray()
        self._ours = not ray.is_initialized()
        self._repeated = 0
        if self._ours:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
            try:
                ray.init(address=address, log_to_driver=False, include_dashboard=False, logging_level="warning")
            except ConnectionError as error:
                said = str(error).splitlines()[0]
                raise InvalidArgument("workers", "the address of a Ray cluster that runs", said) from None
            except ray.exceptions.AuthenticationError as error:
                expected = "a Ray whose token this process has: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
                raise InvalidArgument("workers", expected, str(error).splitlines()[0]) from None

    @property
    def number(self) -> int:
        return max(1, int(_ray().cluster_resources().get("CPU", 1)))

    @property
    def repeated(self) -> int:
        return self._repeated

    def share(self, value: S) -> Shared[S]:
        return Shared(_ray().put(value))

    def unordered(
        self, task: Callable[[S, Item], R], items: Iterable[Item], shared: Shared[S], *, retries: int = 3
    ) -> Iterator[tuple[int, R]]:
        ray = _ray()
        done, sent = self._remote(_done), ray.put(task)
        waiting = enumerate(items)
        running: dict[Any, tuple[int, Item, int]] = {}
        lost: list[int] = []
        most = AHEAD * self.number
        try:
            while True:
                for number, item in islice(waiting, most - len(running)):
                    running[done.remote(sent, shared.handle, item)] = number, item, 0
                if not running:
                    break
                (ready,), _ = ray.wait(list(running), num_returns=1)
                number, item, repeats = running.pop(ready)
                try:
                    result = ray.get(ready)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause if isinstance(error.cause, BaseException) else error from None
                except ray.exceptions.RayError:  # the worker or its machine was ended, or the result lost with it
                    if repeats == retries:
                        lost.append(number)
                    else:
                        self._repeated += 1
                        running[done.remote(sent, shared.handle, item)] = number, item, repeats + 1
                    continue
                yield number, result
        finally:
            for reference in running:
                ray.cancel(reference)
        if lost:
            raise not_done(lost, retries)

    def every_node(self, task: Callable[[], R]) -> list[R]:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ray = _ray()
        nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        there = [NodeAffinitySchedulingStrategy(node, soft=False) for node in sorted(nodes)]
        found: list[R] = ray.get(
            [self._remote(_called).options(scheduling_strategy=node).remote(task) for node in there]
        )
        return found

    def close(self) -> None:
        if self._ours:
            _ray().shutdown()

    @staticmethod
    def _remote(function: Callable[..., Any]) -> Any:
        told = {name: os.environ[name] for name in TOLD if name in os.environ}
        environment = {"runtime_env": {"env_vars": told}} if told else {}
        return _ray().remote(num_cpus=1, max_retries=0, **environment)(function)


def _done(task: Callable[[Any, Item], R], shared: Any, item: Item) -> R:
    with one_thread():
        return task(shared, item)


def _called(task: Callable[[], R]) -> R:
    with one_thread():
        return task()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InvalidArgument("workers", "ray for a cluster: pip install 'superarm[cluster]'", str(error)) from None
    return ray
