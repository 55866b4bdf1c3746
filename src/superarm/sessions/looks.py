"""The part of a session that shows what it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from superarm.sessions import operations
from superarm.sessions.decision import Decision
from superarm.sessions.running import Running
from superarm.sessions.verify import Verified, verified
from superarm.sessions.views import decisions_frame

if TYPE_CHECKING:
    import polars as pl


class Looks:
    """What users ask of a session without changing it."""

    _running: Running

    def decision(self, id: str) -> Decision:
        """A decision that the policy made, as it stands now."""
        return self._running.do(lambda: operations.found(self._running, id))

    def decisions(self) -> pl.DataFrame:
        """All decisions and records, one row each: id, number, time, state, arms, and how many outcomes there are."""
        self._running.durable()
        return decisions_frame(self._running.store.standings())

    def pending(self) -> pl.DataFrame:
        """The decisions that wait for outcomes, as :meth:`decisions` has them."""
        self._running.durable()
        return decisions_frame(self._running.store.standings(out=True))

    def verify(self) -> Verified:
        """Look through the whole journal, and replay it: whether it is whole and gives the present state."""
        return verified(self._running.store, self._running.durable())
