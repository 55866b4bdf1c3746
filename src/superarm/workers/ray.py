"""A Ray cluster, or a Ray of this machine: the one file that speaks to Ray.

The process that asks must run inside the cluster (``ray job submit``, or a shell on one of its machines), where
superarm is installed in the same versions. Tasks whose worker or machine dies are submitted again by this file and not
by Ray, so that they are counted and their number has a limit.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from superarm.errors import InvalidArgument, WorkerLost
from superarm.words import to_install
from superarm.workers.threads import one_thread
from superarm.workers.workers import Item, R, S, Shared, not_done

AHEAD = 2  # tasks submitted a CPU, so that none waits for the next
RUNS = "the address of a Ray cluster that runs"
# Variables that decide bits or that a worker needs, which may be set in the calling process alone.
PINNED = ("OPENBLAS_CORETYPE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_CACHE_DIR")


class RayWorkers:
    """The CPUs of a Ray cluster.

    Parameters
    ----------
    address
        ``"auto"``: the cluster that this machine belongs to; an address; or None: a Ray that is started here, and ended
        by ``close``. A process that Ray was started in already keeps that one, whatever the address.
    """

    def __init__(self, address: str | None = None) -> None:
        self._address, self._ours, self._repeated = address, False, 0
        self._begun()

    def _begun(self) -> Any:
        """Ray, which is started, or joined, where this process has none: at first, and after ``close``."""
        ray = _ray()
        if not ray.is_initialized():
            _check_listening(self._address)
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
            try:
                ray.init(address=self._address, log_to_driver=False, include_dashboard=False, logging_level="warning")
            except (ConnectionError, ValueError) as error:  # no server there, or not an address
                said = str(error).splitlines()[0]
                raise InvalidArgument("workers", RUNS, said) from None
            except ray.exceptions.AuthenticationError as error:
                expected = "a Ray whose token this process has: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
                raise InvalidArgument("workers", expected, str(error).splitlines()[0]) from None
            except Exception as error:  # Ray raises nothing more telling where its processes do not begin in time
                if type(error) is not Exception:
                    raise
                raise WorkerLost(f"Ray did not start here: {str(error).splitlines()[0]}") from error
            self._ours = True
        return ray

    @property
    def number(self) -> int:
        return max(1, int(self._begun().cluster_resources().get("CPU", 1)))

    @property
    def repeated(self) -> int:
        return self._repeated

    def share(self, value: S) -> Shared[S]:
        return Shared(self._begun().put(value))

    def unordered(
        self, task: Callable[[S, Item], R], items: Iterable[Item], shared: Shared[S], *, retries: int = 3
    ) -> Iterator[tuple[int, R]]:
        ray = self._begun()
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

        ray = self._begun()
        nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        there = [NodeAffinitySchedulingStrategy(node, soft=False) for node in sorted(nodes)]
        found: list[R] = ray.get(
            [self._remote(_called).options(scheduling_strategy=node).remote(task) for node in there]
        )
        return found

    def settle(self, make: Callable[[int], Any], number: int) -> Actors:
        self._begun()
        return Actors(make, number)

    def close(self) -> None:
        if self._ours:
            _ray().shutdown()
            self._ours = False

    @staticmethod
    def _remote(function: Callable[..., Any]) -> Any:
        return _ray().remote(num_cpus=1, max_retries=0, **_environment())(function)


class Actors:
    """Objects that live in actors of Ray, spread over its machines; they are restarted here, not by Ray, to be counted.

    They take no CPU from the tasks of others: who has a state waits most of the time.
    """

    def __init__(self, make: Callable[[int], Any], number: int) -> None:
        self._make, self._repeated = _ray().put(make), 0
        self._actors: list[Any] = [None] * number

    @property
    def repeated(self) -> int:
        return self._repeated

    def ask(self, task: Callable[[Any, Item], R], items: Mapping[int, Item], *, retries: int = 3) -> dict[int, R]:
        ray = _ray()
        sent = ray.put(task)
        found: dict[int, R] = {}
        errors: list[BaseException] = []
        waiting = dict(items)
        for repeats in range(1 + retries):
            running = {number: self._actor(number).do.remote(sent, item) for number, item in waiting.items()}
            for number, reference in running.items():
                try:
                    found[number] = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    errors.append(error.cause if isinstance(error.cause, BaseException) else error)
                except ray.exceptions.RayError:
                    self._end(number)  # or, where it only cannot be reached, it would live on beside another
                    self._repeated += repeats < retries
                    continue
                del waiting[number]
            if not waiting:
                break
        if errors:
            raise errors[0] from None
        if waiting:
            raise not_done(list(waiting), retries)
        return found

    def close(self) -> None:
        for number in range(len(self._actors)):
            self._end(number)

    def _actor(self, number: int) -> Any:
        if self._actors[number] is None:
            told = {"num_cpus": 0, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
            remote = _ray().remote(_Actor).options(**told, **_environment())
            self._actors[number] = remote.remote(self._make, number)
        return self._actors[number]

    def _end(self, number: int) -> None:
        actor, self._actors[number] = self._actors[number], None
        if actor is not None and _ray().is_initialized():
            _ray().kill(actor)


class _Actor:
    """The process of an object."""

    def __init__(self, make: Callable[[int], Any], number: int) -> None:
        self.made = make(number)

    def do(self, task: Callable[[Any, Item], R], item: Item) -> R:
        with one_thread():
            return task(self.made, item)


def _check_listening(address: str | None) -> None:
    """Refuse an address at which nothing listens, because Ray itself would wait there for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and "/" not in host and port.isascii() and port.isdecimal() and int(port) < 2**16:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except OSError as error:
            raise InvalidArgument("workers", RUNS, f"{address} ({error.strerror or error})") from None


def _environment() -> dict[str, Any]:
    """The environment variables that workers take over from the calling process."""
    variables = {name: os.environ[name] for name in PINNED if name in os.environ}
    return {"runtime_env": {"env_vars": variables}} if variables else {}


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
        raise InvalidArgument("workers", f"ray for a cluster ({to_install('cluster')})", str(error)) from None
    return ray
