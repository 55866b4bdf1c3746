"""The part of a session that takes outcomes, corrections and what became of decisions."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

from superarm.arguments import flag
from superarm.errors import InvalidArgument, UnsolvableRound, safe_repr
from superarm.sessions import operations
from superarm.sessions import outcomes as told
from superarm.sessions.day_file import observe_many
from superarm.sessions.decision import Receipt
from superarm.sessions.outcomes import Rebase
from superarm.sessions.redaction import Redaction, redact
from superarm.sessions.requests import Asked, checked_key, checked_text
from superarm.sessions.running import Answer, Running, Steps, finished

TROUBLE = (InvalidArgument, UnsolvableRound)  # of a policy that cannot learn, or cannot go on


class Feedback:
    """What users report to a session."""

    _running: Running
    _notes: tuple[str, ...]

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
        """Report outcomes of picked arms, in any order, in parts, late or again.

        A cell is one outcome of one arm in one sample. The same value again changes nothing; another value is a
        :class:`~superarm.errors.Conflict`.

        Parameters
        ----------
        id
            id of the decision
        arms
            (k,) arms that were picked: numbers, or their ``arm_ids``
        outcomes
            (k, 2) their outcomes, NaN where one has not come yet
        noise_std
            standard deviation of the noise of these outcomes, if the policy can use it
        sample
            a name for a repeated measurement, if an outcome is measured more than once
        key
            a name for this call: the same call with the same key returns the same answer; a different call with this
            key is a conflict
        by
            "position" or "id": how arms are named, where arm_ids are whole numbers as well
        """
        return finished(self._observe(id, arms, outcomes, noise_std, sample, key, by))

    def _observe(
        self, id: str, arms: Any, outcomes: Any, noise_std: Any, sample: Any, key: Any, by: Any
    ) -> Steps[Receipt]:
        sample, key = checked_text("sample", sample, empty=True), checked_key(key)
        running = self._running
        return (yield from running.steps(lambda: told.observe(running, id, arms, outcomes, noise_std, sample, key, by)))

    def observe_many(self, frame: Any, *, by: str | None = None) -> tuple[Receipt, ...]:
        """Report outcomes of many decisions at once, such as a day's file: all of them, or none if one is wrong.

        Parameters
        ----------
        frame
            a polars or pandas frame with a row for each arm and the columns ``decision``, ``arm``, ``outcome_1``,
            ``outcome_2``, and perhaps ``sample``; missing outcomes have not come yet. You may report the same file
            again.
        by
            "position" or "id": how arms are named, where arm_ids are whole numbers as well
        """
        return self._running.do(lambda: observe_many(self._running, frame, by))

    def correct(
        self,
        id: str,
        arm: Any,
        outcome: int,
        value: float,
        *,
        sample: str = "",
        reason: str = "",
        key: str | None = None,
        by: str | None = None,
    ) -> Receipt:
        """Give a known outcome another value. Tables show it at once; the policy learns it by :meth:`rebase`.

        Parameters
        ----------
        id
            id of the decision
        arm
            its number, or its ``arm_id``
        outcome
            1 or 2
        value
            the correct value
        sample
            name of the sample, as in :meth:`observe`
        reason
            the reason in your words, for the journal
        key
            a name for this call, as in :meth:`observe`
        by
            "position" or "id": how the arm is named, where arm_ids are whole numbers as well
        """
        sample, reason = checked_text("sample", sample, empty=True), checked_text("reason", reason, empty=True)
        key, running = checked_key(key), self._running
        return running.do(lambda: told.correct(running, id, arm, outcome, value, sample, reason, key, by))

    def rebase(self, *, anew: bool = False) -> Rebase:
        """Teach the policy again, from its beginning, with the values now in force; does nothing if none was corrected.

        Parameters
        ----------
        anew
            teach the policy again even if nothing was corrected. This is for a journal written by another build of
            superarm with the same version number, which learns differently; :meth:`verify` says when it is needed
        """
        taught = flag("anew", anew)
        return self._running.do(lambda: told.rebase(self._running, anew=taught))

    def _learn_corrections(self) -> None:
        """Rebase if the session was told to do so by itself, and a correction has waited for so long."""
        running = self._running
        try:
            running.do(lambda: told.rebase(running, time.time()))
        except TROUBLE as error:
            note = f"corrections are not learnt: {error}"
            self._notes += () if note in self._notes else (note,)

    def expire(self, id: str | None = None) -> tuple[str, ...]:
        """Stop waiting for decisions whose deadline has passed, and return them. :meth:`decide` does so by itself.

        If the policy cannot learn from the silence of a decision, it learns nothing from it, and ``notes`` say so.

        Parameters
        ----------
        id
            id of one decision to stop waiting for, whatever its deadline; None: all decisions that are overdue
        """
        now, running = time.time(), self._running
        if id is not None:
            running.do(lambda: Answer(value=running.kept(id)))  # or an error
            now = math.inf
        try:
            return running.do(lambda: told.expire(running, now, id))
        except TROUBLE:
            ids = told.overdue(running, now) if id is None else [id]
        return tuple(each for each in ids if self._expired(each, now))

    def _expired(self, id: str, now: float) -> bool:
        running = self._running
        try:
            return bool(running.do(lambda: told.expire(running, now, id)))
        except TROUBLE as error:
            done = running.do(lambda: told.expire(running, now, id, learns=False))
            self._notes += (f"decision {id}: nothing was learnt from its silence ({error})",)
            return bool(done)

    def record(
        self,
        round: Any,
        arms: Any,
        outcomes: Any,
        *,
        probabilities: Any = None,
        key: str | None = None,
        by: str | None = None,
        counted: bool = False,
    ) -> Receipt:
        """Learn from somebody else's choice, for example from a log. Use it to start with what is known already.

        Parameters
        ----------
        round
            a :class:`~superarm.Round` whose t is larger than every t of the session so far
        arms
            (k,) arms that were picked: numbers, or their ``arm_ids``
        outcomes
            (k, 2) their outcomes, NaN where one has not come yet; :meth:`observe` can add it later
        probabilities
            (k,) probability with which each arm was picked, if the choice was random; None if it was not
        key
            a name for this call, as in :meth:`observe`
        by
            "position" or "id": how arms are named, where arm_ids are whole numbers as well
        counted
            whether the session numbers the round, whatever its t is
        """
        asked, key = Asked.of(round, {}, counted=flag("counted", counted)), checked_key(key)
        digest = "" if key is None else asked.digest()
        running = self._running
        return running.do(lambda: operations.record(running, asked, arms, outcomes, probabilities, key, by, digest))

    def redact(self, id: str | None = None, *, label: Any = None) -> Redaction:
        """Erase contexts, labels and outcomes of a decision, or of all decisions in whose rounds a label occurs.

        A label erases these decisions as a whole, with the arms and outcomes of all others in them:
        ``decisions(label=...)`` shows beforehand which. A label that occurs in none is refused. The policy is taught
        again without them. The journal still knows that a decision was made, and its id, number and key. The policy as
        it was before can no longer be replayed. You must erase exports and copies of the file yourself. While another
        connection reads, the log beside the file (``-wal``) keeps what was erased. Then ``finished`` is False, and the
        next call that writes, or the next start, empties the log.

        Parameters
        ----------
        id
            id of the decision; or None
        label
            label of a group, an arm id, or text in a column of contexts; or None
        """
        if (id is None) == (label is None):
            raise InvalidArgument("id", "either the id of a decision or label=", safe_repr(id))
        found = self._running.do(lambda: redact(self._running, id, label))
        return replace(found, finished=not getattr(self._running.store, "remembers", False))

    def played(self, id: str) -> None:
        """Report that a decision was acted upon, even if no outcome ever comes; reporting outcomes says the same."""
        self._running.do(lambda: operations.played(self._running, id))

    def withdraw(self, id: str) -> None:
        """Report that a decision was not acted upon and never will be; the session stops waiting for its outcomes.

        Its key is used up: asking with it again is a :class:`~superarm.errors.Conflict`; use a new key to decide again.
        A decision that picked nothing cannot be withdrawn.
        """
        self._running.do(lambda: operations.withdraw(self._running, id))
