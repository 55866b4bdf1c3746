"""A session: a policy whose decisions and outcomes are kept, and which goes on after any end."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from superarm.policies.policy import Policy
from superarm.sessions import operations, start
from superarm.sessions.decision import Decision, Receipt
from superarm.sessions.fold import copied
from superarm.sessions.requests import Asked, checked_key, checked_text
from superarm.sessions.running import Running
from superarm.sessions.verify import Verified, verified
from superarm.sessions.views import decisions_frame

if TYPE_CHECKING:
    import polars as pl


class Session:
    """Decisions that survive anything, with outcomes that come late, in parts, twice or never.

    Every call is in the journal before it returns. A call that broke off may be made again with the same key: it has
    its effect once. Threads may share a session, and processes a file: whoever is behind reads on and decides again.
    Sessions are made by :meth:`open`.

    Attributes
    ----------
    notes
        what to know of how the session was continued, in words; mostly nothing

    >>> import numpy as np, superarm as sa, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> session = sa.Session.open(f"{folder.name}/shop.db", policy=sa.CUCB())
    >>> decision = session.decide(contexts=np.eye(3), feasible=sa.AtMost(2), key="monday")
    >>> session.observe(decision.id, decision.arms, [[0.5, 0.1], [0.2, np.nan]]).state
    'partial'
    >>> session.close()
    >>> session = sa.Session.open(f"{folder.name}/shop.db")  # another day
    >>> session.decide(contexts=np.eye(3), feasible=sa.AtMost(2), key="monday").id == decision.id
    True
    >>> receipt = session.observe(decision.id, decision.arms[1:], [[0.2, 0.4]])
    >>> receipt.new, receipt.known, receipt.state
    (1, 1, 'complete')
    >>> session.close()
    >>> folder.cleanup()
    """

    def __init__(self, running: Running, notes: tuple[str, ...] = ()) -> None:
        self._running = running
        self.notes = notes

    @classmethod
    def open(
        cls,
        path: Any,
        *,
        policy: Policy | None = None,
        name: str = "main",
        outcome_range: tuple[float, float] | None = None,
        durability: str = "full",
    ) -> Session:
        """Make a session, or go on with one.

        Parameters
        ----------
        path
            of the file; or a store (see :func:`superarm.check_store`)
        policy
            to begin with; where the session exists, None or the very one that it began with
        name
            of the session, of those that the file holds
        outcome_range
            outside of which an outcome is refused; None: none is, or as the session has it
        durability
            "full": what is acknowledged survives the loss of power; "normal": the death of the process only, at a
            hundredth of the time
        """
        store = start.opened(path, name, durability)
        try:
            beginning = start.begin(store, policy, outcome_range)
            return cls(Running(store, beginning), beginning.notes)
        except BaseException:
            store.close()
            raise

    def decide(self, round: Any = None, *, key: str | None = None, **parts: Any) -> Decision:
        """Let the policy pick a super arm of a round, and keep the decision.

        Parameters
        ----------
        round
            a :class:`~superarm.Round` whose t is larger than every t of the session so far; or None
        key
            by which the same decision is found again, however often it is asked for
        parts
            instead of a round: the arguments of one; without t the session counts
        """
        asked, key = Asked.of(round, parts), checked_key(key)
        digest = asked.digest()
        return self._running.do(lambda: operations.decide(self._running, asked, key, digest))

    def observe(
        self,
        id: str,
        arms: Any,
        outcomes: Any,
        *,
        noise_std: Any = None,
        sample: str = "",
        key: str | None = None,
        by: str | None = None,
    ) -> Receipt:
        """Tell outcomes of picked arms, in any order, in parts, late or again.

        A cell is one outcome of one arm in one sample: the same value again is known and changes nothing, another value
        is a :class:`~superarm.errors.Conflict`.

        Parameters
        ----------
        id
            of the decision
        arms
            (k,) arms that were picked: numbers, or their ``arm_ids``
        outcomes
            (k, 2), NaN where one has not come yet
        noise_std
            of these outcomes, where the policy can use it
        sample
            tells true repetitions of a cell apart
        key
            of this call: the same call again is answered as before, another one under the same key is a conflict
        by
            "position" or "id": how arms are named, where arm_ids are whole numbers as well
        """
        sample, key = checked_text("sample", sample, empty=True), checked_key(key)
        running = self._running
        return running.do(lambda: operations.observe(running, id, arms, outcomes, noise_std, sample, key, by))

    def record(
        self, round: Any, arms: Any, outcomes: Any, *, probabilities: Any = None, key: str | None = None
    ) -> Receipt:
        """Learn from somebody else's choice, as from a log: the way to start with what is known already.

        Parameters
        ----------
        round
            a :class:`~superarm.Round` whose t is larger than every t of the session so far
        arms
            (k,) arms that were picked: numbers, or their ``arm_ids``
        outcomes
            (k, 2), NaN where one has not come yet; it may follow by :meth:`observe`
        probabilities
            (k,) with which each arm was picked, where lots were drawn; None where not
        key
            of this call
        """
        asked, key = Asked.of(round, {}), checked_key(key)
        digest = asked.digest()
        running = self._running
        return running.do(lambda: operations.record(running, asked, arms, outcomes, probabilities, key, digest))

    def played(self, id: str) -> None:
        """Say that a decision was acted upon, whatever comes of it; outcomes say so too."""
        self._running.do(lambda: operations.played(self._running, id))

    def withdraw(self, id: str) -> None:
        """Say that a decision was not acted upon and never will be; nothing is waited for any more."""
        self._running.do(lambda: operations.withdraw(self._running, id))

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

    @property
    def policy(self) -> Policy:
        """A copy of the policy as it is now; what it learns by itself the session does not know."""
        return copied(self._running.durable().policy)

    def snapshot(self) -> int:
        """Keep the present state, so that the next start is quick; the number of the event after which it is.

        A session does so by itself now and then, and when it is closed.
        """
        return self._running.snapshot()

    def verify(self) -> Verified:
        """Look through the whole journal, and replay it: whether it is whole and gives the present state."""
        return verified(self._running.store, self._running.durable())

    def close(self) -> None:
        """Let go of the file; a session that was killed instead loses nothing but time at its next start."""
        self._running.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self._running.state
        return f"Session({type(state.policy).__name__}, {state.seq} events, {len(state.out)} decisions out)"
