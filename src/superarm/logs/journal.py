"""The log in the journal of a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from superarm.arguments import Array, instance
from superarm.errors import NotKept
from superarm.logs.entry import LogEntry
from superarm.sessions.parts import KeptParts
from superarm.sessions.session import Session
from superarm.sessions.standing import Standing
from superarm.sessions.stores.store import Store
from superarm.slim import SlimRound


def entries_of(session: Any) -> list[LogEntry]:
    """The decisions and records of a session as log entries, in order."""
    instance("session", session, Session, "a superarm.Session")
    store = session._running.store
    session._running.durable()
    return list(_entries(store))


def _entries(store: Store) -> Iterator[LogEntry]:
    """One entry per decision or record in force; refuses rounds whose arms are not all kept."""
    parts = KeptParts(store)
    for standing in store.standings():
        if standing.withdrawn:
            continue
        if standing.redacted or standing.archived:
            raise NotKept(f"round {standing.t} is {standing.state}: a log needs all its arms")
        round = parts.round(standing.round)
        if isinstance(round, SlimRound):
            raise NotKept(f"of round {standing.t} only the picked arms are kept: a log needs all its arms")
        arms = np.array(standing.arms, dtype=np.intp)
        order = np.argsort(arms)  # probabilities of all arms require ascending arms
        yield LogEntry(
            round=round,
            arms=arms[order],
            outcomes=_outcomes(store, standing)[order],
            probabilities=None if standing.probabilities is None else np.array(standing.probabilities)[order],
        )


def _outcomes(store: Store, standing: Standing) -> Array:
    """(k, 2) the outcomes in force, the mean of their samples."""
    samples: dict[tuple[int, int], list[float]] = {}
    for cell in store.cells(standing.id):
        samples.setdefault((cell.arm, cell.outcome), []).append(cell.value)
    rows = [[float(np.mean(samples.get((arm, which), [np.nan]))) for which in (1, 2)] for arm in standing.arms]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)
