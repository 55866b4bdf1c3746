"""The counts of the sessions that somebody looks at."""

from __future__ import annotations

import threading

from superarm.errors import StoreUnavailable
from superarm.sessions.counts.counting import Counts
from superarm.sessions.session import Session
from superarm.sessions.stores.store import Store


def caught_up(counts: Counts, seconds: float) -> int:
    """Count on for about so long; how many events are still to be counted. Where nothing can be written, all stays."""
    try:
        return counts.catch_up(seconds)
    except StoreUnavailable:
        return max(counts.store.last() - counts.mark().seq, 0)


class Counters:
    """Counts by session; one of a session that was opened anew begins with its new store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[Store, Counts]] = {}

    def of(self, name: str, session: Session) -> Counts:
        """The counts of a session."""
        store = session._running.store
        with self._lock:
            known = self._counts.get(name)
            if known is None or known[0] is not store:
                known = self._counts[name] = (store, Counts(store))
            return known[1]
