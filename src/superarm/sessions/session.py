"""A session: a policy whose decisions and outcomes are kept, and which continues after any crash."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from superarm.arguments import flag
from superarm.errors import InvalidArgument, type_of
from superarm.policies.policy import Policy
from superarm.sessions import operations, start
from superarm.sessions.compaction import DAYS, Compaction, compacted
from superarm.sessions.decision import Decision
from superarm.sessions.elsewhere import AskedElsewhere, Picking
from superarm.sessions.export import checked_folder, imported, read_export
from superarm.sessions.feedback import Feedback
from superarm.sessions.fork import check_learns, forked
from superarm.sessions.looks import Looks
from superarm.sessions.outcomes import due, overdue
from superarm.sessions.requests import Asked, checked_key, checked_text
from superarm.sessions.running import Running, Steps, finished
from superarm.sessions.settings import Settings, seconds
from superarm.sessions.teaching import copied
from superarm.words import counted


class Session(Feedback, Looks):
    """A policy whose decisions and outcomes are kept, even if outcomes come late, in parts, twice or never.

    Every call is in the journal before it returns. If a call was interrupted, repeat it with the same key: it takes
    effect once. Threads may share a session, and processes a file: one that is behind reads the new events and decides
    again. :meth:`open` makes a session.

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

    def __init__(self, running: Running, notes: tuple[str, ...] = (), **given: Any) -> None:
        if given or not isinstance(running, Running):
            raise InvalidArgument(
                "Session", "Session.open(path, policy=...), which makes or continues one", type_of(running)
            )
        self._running = running
        self._notes = notes

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on how the session was continued and what it has not learnt yet; usually empty."""
        waiting = self._unlearnt()
        return (*self._notes, waiting) if waiting else self._notes

    def _unlearnt(self) -> str:
        many = self._running.state.corrected
        return f"{counted(many, 'correction')} not learnt yet: call rebase()" if many else ""

    @classmethod
    def open(
        cls,
        path: Any,
        *,
        policy: Policy | None = None,
        name: str = "main",
        outcome_range: tuple[float, float] | None = None,
        deadline: float | timedelta | None = None,
        silence: tuple[float | None, float | None] | None = None,
        rebase_after: float | timedelta | None = None,
        keep_rounds: float | timedelta | None = None,
        durability: str = "full",
    ) -> Session:
        """Create a session, or continue one.

        Parameters
        ----------
        path
            path of the file; or the URL of a PostgreSQL database, ``postgresql://user:password@host/database``, with
            the extra ``postgres``; or a store (see :func:`superarm.check_store`)
        policy
            policy of a new session; for an existing session None, or the policy that it began with or was last given by
            ``reconfigure``
        name
            name of the session; a file or database may hold several
        outcome_range
            outcomes outside of it are refused; None: no limit, or that of the existing session
        deadline
            seconds, or a timedelta, to wait for the outcomes of a decision; None: no limit, or that of the existing
            session
        silence
            a pair of outcomes to assume for those that did not come in time, with None for one from which nothing is
            learnt; None: learn nothing from silence, or as in the existing session
        rebase_after
            seconds, or a timedelta, after which :meth:`decide` teaches corrections automatically; None: only
            :meth:`rebase` does, or as in the existing session
        keep_rounds
            seconds, or a timedelta, after which :meth:`compact` keeps only the picked arms of a round; None: 30 days,
            or as in the existing session
        durability
            "full": acknowledged events survive a power failure; "normal": only a crash of the process, in a hundredth
            of the time
        """
        given = Settings.of(
            outcome_range=outcome_range,
            deadline=deadline,
            silence=silence,
            rebase_after=rebase_after,
            keep_rounds=keep_rounds,
        )
        start.check_given(path, policy, name, given)
        store = start.opened(path, name, durability)
        try:
            beginning = start.begin(store, policy, given)
            return cls(Running(store, beginning), beginning.notes)
        except BaseException:  # Ctrl-C too: nobody else could close it
            store.close()
            raise

    def decide(
        self,
        round: Any = None,
        *,
        key: str | None = None,
        counted: bool = False,
        trace: str | None = None,
        **parts: Any,
    ) -> Decision:
        """Let the policy pick a super arm of a round, and keep the decision.

        Parameters
        ----------
        round
            a :class:`~superarm.Round` whose t is larger than every t of the session so far; or None. Use
            :func:`superarm.decide` for a round whose arms are in a catalogue on disk
        key
            a name for this request; a repeated call with the same key returns the same decision
        counted
            whether the session numbers the round, whatever its t is
        trace
            text that the journal keeps with the decision, such as the ``traceparent`` of the request
        parts
            instead of a round, its arguments; without t the session numbers it
        """
        return finished(self._decide(round, key, counted, trace, parts))

    def _decide(self, round: Any, key: Any, counted: Any, trace: Any, parts: Mapping[str, Any]) -> Steps[Decision]:
        counts, key = flag("counted", counted), checked_key(key)
        asked: Asked | AskedElsewhere
        if isinstance(round, Picking) and not parts:
            asked = AskedElsewhere(round=round, counted=counts)
        else:
            asked = Asked.of(round, parts, counted=counts)
        trace = None if trace is None else checked_text("trace", trace)
        digest = "" if key is None else asked.digest()  # nobody can ask again without a key
        if overdue(self._running, time.time()):
            self.expire()
        if due(self._running, time.time()):
            self._learn_corrections()
        return (yield from self._running.steps(lambda: operations.decide(self._running, asked, key, digest, trace)))

    def reconfigure(self, policy: Policy) -> None:
        """Continue with another policy, which first learns everything in the journal."""
        self._running.do(lambda: operations.configure(self._running, policy))

    def fork(self, path: Any, policy: Policy, *, name: str = "main", durability: str = "full") -> Session:
        """Another session with the same decisions and outcomes, as if it had begun with another policy."""
        start.check_given(path, policy)
        start.check_new_name(name)
        check_learns(self._running, policy)
        store = start.opened(path, name, durability)
        try:
            forked(self._running, store, policy)
        finally:
            if store is not path:
                store.close()
        return Session.open(path, name=name, durability=durability)

    @property
    def policy(self) -> Policy:
        """A copy of the policy as it is now; teaching the copy does not change the session."""
        return copied(self._running.durable().policy)

    @classmethod
    def restore(
        cls, folder: str | os.PathLike[str], path: Any, *, name: str = "main", durability: str = "full"
    ) -> Session:
        """Restore an exported session to a path that holds no session of this name."""
        start.check_new_name(name)
        entries = read_export(folder)  # first: where that fails, nothing is made
        store = start.opened(path, name, durability)
        try:
            imported(entries, store)
        finally:
            if store is not path:
                store.close()
        return Session.open(path, name=name, durability=durability)

    def snapshot(self) -> int:
        """Save the present state, so that the next start is quick, and return the number of the last event in it.

        A session does this automatically now and then, and when it is closed.
        """
        return self._running.snapshot()

    def compact(
        self, older_than: float | timedelta | None = None, *, archive: str | os.PathLike[str] | None = None
    ) -> Compaction:
        """Keep less of old, settled decisions, so that the file shrinks; the policy does not change.

        Only the picked arms of their rounds are kept: decisions are still replayed bit for bit, but can no longer be
        explained. Decisions that wait for outcomes, and the first rounds of a session, are not changed.

        Parameters
        ----------
        older_than
            seconds, or a timedelta; None: the ``keep_rounds`` of the session, or 30 days
        archive
            folder for the events of such decisions, as exports that :meth:`restore` reads; the journal then only knows
            that they were made. They can no longer be corrected, erased or replayed. None: they stay
        """
        default = self._running.settings.keep_rounds
        age = (DAYS if default is None else default) if older_than is None else seconds("older_than", older_than)
        return compacted(self._running, age, None if archive is None else checked_folder("archive", archive))

    def close(self) -> None:
        """Close the file. A session that is killed instead loses nothing; it only starts more slowly the next time."""
        self._running.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self._running.state
        waiting = f"{counted(len(state.out), 'decision')} waiting"
        said = f"{type(state.policy).__name__}, {counted(state.seq, 'event')}, {waiting}"
        return f"Session({', '.join(filter(None, (said, self._unlearnt())))})"
