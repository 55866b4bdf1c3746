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
    """What users tell a session."""

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
        return finished(self._observe(id, arms, outcomes, noise_std, sample, key, by))

    def _observe(
        self, id: str, arms: Any, outcomes: Any, noise_std: Any, sample: Any, key: Any, by: Any
    ) -> Steps[Receipt]:
        sample, key = checked_text("sample", sample, empty=True), checked_key(key)
        running = self._running
        return (yield from running.steps(lambda: told.observe(running, id, arms, outcomes, noise_std, sample, key, by)))

    def observe_many(self, frame: Any, *, by: str | None = None) -> tuple[Receipt, ...]:
        """Tell the outcomes of many decisions at once, as of a day's file: all of them, or none where one is wrong.

        Parameters
        ----------
        frame
            of polars or pandas, a row for each arm, with columns ``decision``, ``arm``, ``outcome_1``, ``outcome_2``,
            and perhaps ``sample``; missing outcomes have not come yet. The same file may be told again.
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
        """Give an outcome that is known another value: a fact at once, which the policy learns by :meth:`rebase`.

        Parameters
        ----------
        id
            of the decision
        arm
            its number, or its ``arm_id``
        outcome
            1 or 2
        value
            that it has from now on
        sample
            of the cell
        reason
            in your words, for the journal
        key
            of this call
        by
            "position" or "id": how the arm is named, where arm_ids are whole numbers as well
        """
        sample, reason = checked_text("sample", sample, empty=True), checked_text("reason", reason, empty=True)
        key, running = checked_key(key), self._running
        return running.do(lambda: told.correct(running, id, arm, outcome, value, sample, reason, key, by))

    def rebase(self, *, anew: bool = False) -> Rebase:
        """Teach the policy anew, from its beginning, with the values now in force; nothing where none was corrected.

        Parameters
        ----------
        anew
            whether to do so where none was corrected too: for a journal that another build of superarm with the same
            version number wrote, which learns in another way, as :meth:`verify` says
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
        """Wait no longer for decisions whose deadline is over; which they are. :meth:`decide` does so by itself.

        Where the policy cannot learn from the silence of one, it learns nothing from it, and ``notes`` say so.

        Parameters
        ----------
        id
            of a decision for which nobody waits from now on, whatever its deadline; None: those that are overdue
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
        anew without them. That a decision was made, its id, number and key stay. What it was like before cannot be
        replayed any more; exports and copies of the file are yours to erase.
        While another connection reads, the log beside the file (``-wal``) keeps what was erased: ``finished`` is False
        then, and the next call that writes, or the next start, ends it.

        Parameters
        ----------
        id
            of the decision; or None
        label
            of a group, an arm id, or text in a column of contexts; or None
        """
        if (id is None) == (label is None):
            raise InvalidArgument("id", "the id of a decision, or label=, and not both", safe_repr(id))
        found = self._running.do(lambda: redact(self._running, id, label))
        return replace(found, finished=not getattr(self._running.store, "remembers", False))

    def played(self, id: str) -> None:
        """Say that a decision was acted upon, whatever comes of it; outcomes say so too."""
        self._running.do(lambda: operations.played(self._running, id))

    def withdraw(self, id: str) -> None:
        """Say that a decision was not acted upon and never will be; nothing is waited for any more.

        Its key is used up: to ask for it again is a :class:`~superarm.errors.Conflict`, a new key decides anew. One
        that picked nothing cannot be withdrawn.
        """
        self._running.do(lambda: operations.withdraw(self._running, id))
