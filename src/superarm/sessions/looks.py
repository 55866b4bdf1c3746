"""The part of a session that shows what it knows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superarm.arguments import one_of, whole_number
from superarm.errors import Conflict, Erased, InvalidArgument, NotKept, UnknownDecision, safe_repr
from superarm.policies.explanation.explain import MOST
from superarm.policies.explanation.explanation import Explanation
from superarm.policies.policy import Policy
from superarm.sessions import operations
from superarm.sessions.base import created
from superarm.sessions.decision import Decision
from superarm.sessions.events import Compacted, Event, Redacted
from superarm.sessions.export import exported
from superarm.sessions.history import state_after
from superarm.sessions.outcomes import rebases
from superarm.sessions.parts import KeptParts
from superarm.sessions.promised import calibration_frame, promised, promises_frame
from superarm.sessions.redaction import with_label
from superarm.sessions.running import Answer, Running
from superarm.sessions.search import meant
from superarm.sessions.settings import Settings
from superarm.sessions.standing import OPEN, PARTIAL, STATES
from superarm.sessions.teaching import copied
from superarm.sessions.verify import Verified, verified
from superarm.sessions.views import decisions_frame, outcomes_frame
from superarm.slim import SlimRound

if TYPE_CHECKING:
    import polars as pl

TRIES = 5  # where others erase or compact what is read
LAST = 2**53  # more events than any journal has


def _page(after: Any, limit: Any) -> tuple[int, int | None]:
    """After which event, and how many at most."""
    return whole_number("after", after, 0, LAST), None if limit is None else whole_number("limit", limit, 1, LAST)


class Looks:
    """What users ask of a session without changing it."""

    _running: Running

    @property
    def seq(self) -> int:
        """Number of the last event; it changes whenever anything changes."""
        return self._running.durable().seq

    @property
    def out(self) -> int:
        """How many decisions wait for outcomes."""
        return len(self._running.durable().out)

    @property
    def settings(self) -> Settings:
        """The settings that the session was opened with, besides its policy."""
        return self._running.settings

    def state(self, id: str) -> str:
        """State of a decision or record."""
        self._running.durable()
        return self._running.standing(id).state

    def decision(self, id: str | None = None, *, key: str | None = None, t: int | None = None) -> Decision:
        """A decision that the policy made, with its present state.

        Parameters
        ----------
        id
            id of the decision, or the beginning of it if no other id begins like this; or None
        key
            key of the decision; or None
        t
            number of its round; or None
        """
        found = meant(self._running, id, key, t)
        if found.recorded and not (found.redacted or found.archived):
            argument, came = next((name, one) for name, one in (("id", id), ("key", key), ("t", t)) if one is not None)
            expected = f"the {argument} of a decision that the policy made; decisions() and outcomes() show records"
            raise UnknownDecision(argument, expected, f"{safe_repr(came)}, which is a record of somebody else's choice")
        return self._running.do(lambda: operations.found(self._running, found.id))

    def decisions(
        self, *, label: Any = None, state: str | None = None, after: int = 0, limit: int | None = None
    ) -> pl.DataFrame:
        """All decisions and records, one row each: id, number, time, key, kind, state, arms, and how many outcomes.

        Parameters
        ----------
        label
            label of a group, or an arm id: only decisions in whose rounds it occurs, which ``redact(label=...)`` erases
        state
            only those in this state
        after
            only those made after the event with this number (see ``seq``)
        limit
            at most this many
        """
        after, limit = _page(after, limit)
        wanted = None if state is None else one_of("state", state, STATES)
        self._running.durable()
        store = self._running.store
        found = None
        if label is not None:
            found = self._running.do(lambda: Answer(value=set(with_label(self._running, label))))
        standings = (
            each
            for each in store.standings(out=wanted in (OPEN, PARTIAL), after=after)
            if wanted in (None, each.state) and (found is None or each.id in found)
        )
        return decisions_frame(store, islice(standings, limit))

    def pending(self, *, after: int = 0, limit: int | None = None) -> pl.DataFrame:
        """The decisions that wait for outcomes, as :meth:`decisions` has them."""
        after, limit = _page(after, limit)
        self._running.durable()
        store = self._running.store
        return decisions_frame(store, islice(store.standings(out=True, after=after), limit))

    def events(self, after: int = 0) -> Iterator[Event]:
        """The events after the one with this number, in order; all that the session knows follows from its events."""
        after, _ = _page(after, None)
        self._running.durable()
        return iter(self._running.store.events(after))

    def outcomes(self) -> pl.DataFrame:
        """All outcomes that are known, one row each: decision, arm, its id, outcome (1, 2), sample, value in force."""
        self._running.durable()
        return outcomes_frame(self._running.store, self._running.store.standings())

    def promises(self) -> pl.DataFrame:
        """One row for every promise to a group that a decision touched.

        ``probability`` is what the policy stated when it decided. ``kept`` is judged by the reported outcomes (means
        over samples), and null while an outcome of the group is missing. Noise can decide promises near their
        thresholds.
        """
        self._running.durable()
        return promises_frame(promised(self._running.store))

    def calibration(self) -> pl.DataFrame:
        """Broken promises beside predicted ones, by decision and t; decisions that cannot be judged yet are left out.

        :func:`superarm.calibration.promises_verdict` judges it.
        """
        self._running.durable()
        return calibration_frame(promised(self._running.store))

    def rebases(self) -> pl.DataFrame:
        """One row for every time that the policy was taught corrected values, by :meth:`rebase` or automatically.

        ``decisions`` are those made since the first wrong value; they stay as they are.
        """
        import polars as pl

        self._running.durable()
        rows = [
            (each.seq, datetime.fromtimestamp(each.at, UTC), each.corrections, list(each.decisions))
            for each in rebases(self._running.store.events())
        ]
        schema: dict[str, Any] = {
            "seq": pl.Int64,
            "at": pl.Datetime("us", "UTC"),
            "corrections": pl.Int64,
            "decisions": pl.List(pl.String),
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def at(self, seq: int) -> Policy:
        """The policy as it was after an event, by its number (see :meth:`decisions`)."""
        state = self._running.durable()
        seq = whole_number("seq", seq, 1, state.seq)
        return copied(state_after(self._running.store, seq, state.fingerprint).policy)

    def explain(
        self, id: str | None = None, *, key: str | None = None, t: int | None = None, most: int = MOST
    ) -> Explanation:
        """Why the policy made a decision, by what it knew then: see :meth:`superarm.TCGPUCB.explain`.

        Parameters
        ----------
        id, key, t
            which decision: see :meth:`decision`
        most
            how many alternatives are shown
        """
        running = self._running
        decision = self.decision(id, key=key, t=t)
        standing = running.standing(decision.id)
        since = created(running.store).since
        if standing.seq <= since:
            raise NotKept(f"decision {standing.id} cannot be explained: everything up to event {since} is archived")
        round = KeptParts(running.store).round(standing.round)
        if isinstance(round, SlimRound):
            raise NotKept(f"decision {standing.id} cannot be explained: only the picked arms of its round are kept")
        erasure = next(
            (event for event in running.store.events(standing.seq) if isinstance(event.fact, Redacted)), None
        )
        if erasure is not None:
            raise Erased(
                f"decision {standing.id} cannot be explained: what the policy knew at that time was erased together "
                f"with decision {erasure.decision} (event {erasure.seq})"
            )
        policy: Any = self.at(standing.seq - 1)
        if not callable(getattr(policy, "explain", None)):
            raise InvalidArgument("id", "a decision of a policy that explains", type(policy).__name__)
        found: Explanation = policy.explain(round, decision.selection, most=most)
        return found

    def export(self, folder: str | os.PathLike[str]) -> Path:
        """Write the whole journal, and tables of decisions and outcomes, into a folder: JSON lines and Parquet.

        :meth:`superarm.Session.restore` makes a session from it.
        """
        store = self._running.store
        for _ in range(TRIES):
            last = self._running.durable().seq
            path = exported(store, folder, last)
            if not any(isinstance(event.fact, Compacted | Redacted) for event in store.events(last)):
                return path
        raise Conflict("another process erased or compacted decisions during the export; export again")

    def verify(self) -> Verified:
        """Read and replay the whole journal, to check that it is complete and gives the present state."""
        store = self._running.store
        for _ in range(TRIES):
            state = self._running.durable()
            found = verified(store, state, self._running.here)
            if found.ok or store.last() == state.seq:
                break  # or somebody erased or compacted meanwhile
        return found
