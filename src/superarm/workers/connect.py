"""From what a call is given as ``workers`` to workers."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from superarm.errors import InvalidArgument, safe_repr
from superarm.workers.here import Here
from superarm.workers.processes import Processes
from superarm.workers.workers import Workers

# Processes of one machine: more are a slip, and take it down for minutes.
MOST = max(64, 16 * (os.cpu_count() or 1))
EXPECTED = (
    f"a number of processes >= 1 and at most {MOST}, 'here', 'processes', 'processes:8', 'ray', 'ray:auto', or workers"
)


def connect(workers: int | str | Workers = "here") -> Workers:
    """Connect to workers; pass them as ``workers=`` to any number of calls, and ``close()`` them at the end.

    Parameters
    ----------
    workers
        a number of processes of this machine, where 1 is this process itself; ``"here"``: this process;
        ``"processes"``: one per core, ``"processes:8"``: eight; ``"ray:auto"``: the Ray cluster that this machine
        belongs to, ``"ray:ADDRESS"``: another cluster, ``"ray"``: Ray on this machine alone (extra ``cluster``);
        or an object that keeps the contract :class:`superarm.Workers`, which is returned as it is

    >>> connect(1), connect("processes:2").number
    (Here(number=1, repeated=0), 2)
    """
    if isinstance(workers, str):
        return _named(workers)
    if isinstance(workers, Workers) and not isinstance(workers, type):
        return workers
    return _numbered(workers, workers)


def _named(spec: str) -> Workers:
    if spec == "here":
        return Here()
    if spec.isascii() and spec.isdecimal() and len(spec) < 9:
        return _numbered(int(spec), spec)
    if spec == "processes":
        return Processes(os.cpu_count() or 1)
    kind, _, rest = spec.partition(":")
    if kind == "processes" and rest.isascii() and rest.isdecimal() and len(rest) < 9:
        return _numbered(int(rest), spec)
    if spec == "ray" or (kind == "ray" and rest):
        from superarm.workers.ray import RayWorkers  # which needs an extra

        return RayWorkers(rest or None)
    raise InvalidArgument("workers", EXPECTED, safe_repr(spec))


def _numbered(number: Any, given: object) -> Workers:
    try:
        processes = 0 if isinstance(number, bool) else operator.index(number)
    except TypeError:
        processes = 0
    if not 1 <= processes <= MOST:
        raise InvalidArgument("workers", EXPECTED, safe_repr(given))
    return Here() if processes == 1 else Processes(processes)


@contextmanager
def opened(workers: Any) -> Iterator[Workers]:
    """Workers for one call; those that were not made by the caller are closed when it ends."""
    found = connect(workers)
    try:
        yield found
    finally:
        if found is not workers:
            found.close()
