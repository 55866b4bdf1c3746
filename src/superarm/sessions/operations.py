"""What a session does when it is asked: each operation reads the present state and says what fact follows, if any.

Nothing here changes anything. An operation runs under the lock of the session, and again where somebody else was first.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from superarm.arguments import instance
from superarm.contexts import in_order
from superarm.errors import Conflict, UnknownDecision, safe_repr
from superarm.policies.learner import Learner
from superarm.policies.policy import Policy, draws_lots
from superarm.round import Round
from superarm.sessions.base import check_teachable
from superarm.sessions.decision import Decision, Receipt, new_id
from superarm.sessions.elsewhere import AskedElsewhere
from superarm.sessions.events import Configured, Decided, Event, Played, Recorded, Withdrawn, number_of
from superarm.sessions.parts import policy_to_part, selection_to_part
from superarm.sessions.requests import (
    Asked,
    checked_outcomes,
    checked_probabilities,
    checked_range,
    pairs_of,
    picked_ids,
    request_digest,
)
from superarm.sessions.running import Answer, Draft, Running
from superarm.sessions.standing import COMPLETE, EMPTY, OPEN, PARTIAL


def decide(
    running: Running, asked: Asked | AskedElsewhere, key: str | None, digest: str, trace: str | None = None
) -> Answer[Decision]:
    """Select from a round; ``digest`` tells the round as it was asked for."""
    request = request_digest("decide", digest)
    known = running.answered(key, request)
    if known is not None:
        _still_stands(running, known, key)
        return Answer(value=known_decision(running, known))
    round, selection = asked.picked(running.state.t, running.state.policy)
    _check_columns(running, round)
    parts = running.parts.to_parts(round)
    running.parts.remember(parts.round, round)
    arms = tuple(round.check_arms(selection.arms).tolist())
    said, words = selection_to_part(selection)
    running.parts.remember_selection(said, selection)
    chances = _chances(running.state.policy, round, arms)
    due = None if running.settings.deadline is None else time.time() + running.settings.deadline
    fact = Decided(
        decision=new_id(),
        t=round.t,
        round=parts.round,
        catalogue=parts.catalogue,
        arms=arms,
        selection=said,
        probabilities=chances,
        due=due,
        trace=trace,
    )
    decision = Decision(
        id=fact.decision,
        t=round.t,
        selection=selection,
        state=OPEN if arms else EMPTY,
        key=key,
        arm_ids=picked_ids(round, arms),
        probabilities=chances,
    )
    draft = Draft(fact=fact, parts={**parts.content, said: words}, key=key, request=request)
    return Answer(value=decision, drafts=[draft])


def _check_columns(running: Running, round: Round) -> None:
    """Refuse other columns than those of a decision that is out: of both no outcomes could be learnt.

    Once a policy has learnt, it refuses them by itself; before, it has not seen any.
    """
    learner = getattr(running.state.policy, "learner", None)
    first = next(iter(running.state.out), None)
    if first is None or not isinstance(learner, Learner) or learner.columns is not None or not len(round):
        return
    if running.columns is None or running.columns[0] != first:
        other = running.parts.round(running.standing(first).round)
        running.columns = (first, None if other.columns is None else other.columns.kinds)
    known = running.columns[1]
    if known is not None:
        in_order(round.contexts, round.columns, known)


def _chances(policy: Policy, round: Round, arms: tuple[int, ...]) -> tuple[float, ...] | None:
    """With which probability a policy picked each arm, where it drew lots and knows."""
    if not draws_lots(policy):
        return None
    return checked_probabilities(policy.probabilities(round, np.array(arms, dtype=np.intp)), len(arms))


def _still_stands(running: Running, event: Event, key: str | None) -> None:
    """Refuse to hand out a decision that was withdrawn, as whoever asks again means to act upon it."""
    found = running.standing(event.decision)
    if found.withdrawn:
        raise Conflict(
            f"key {key!r} belongs to decision {found.id}, which was withdrawn; to decide again, use a new key"
        )


def known_decision(running: Running, event: Event) -> Decision:
    """The decision that an event made, as it stands now."""
    fact = event.fact
    assert isinstance(fact, Decided)
    state = running.kept(fact.decision).state
    selection = running.parts.selection(fact.selection)
    return Decision(
        id=fact.decision,
        t=fact.t,
        selection=selection,
        state=state,
        replayed=True,
        key=event.key,
        arm_ids=picked_ids(running.parts.round(fact.round), fact.arms),
        probabilities=fact.probabilities,
    )


def found(running: Running, id: Any) -> Answer[Decision]:
    """A decision by its id."""
    standing = running.kept(id)
    event = running.journal.event(standing.seq)
    if not isinstance(event.fact, Decided):
        raise UnknownDecision("id", "a decision that the policy made, not a record", safe_repr(id))
    return Answer(value=known_decision(running, event))


def record(
    running: Running, asked: Asked, arms: Any, outcomes: Any, probabilities: Any, key: str | None, by: Any, digest: str
) -> Answer[Receipt]:
    """Learn from somebody else's choice and its outcomes."""
    everything = tuple(range(len(asked.round)))
    places, values = checked_outcomes(asked.round, everything, arms, outcomes, by)
    chances = checked_probabilities(probabilities, len(places))
    request = request_digest("record", digest, places, pairs_of(values), chances)
    if (known := running.answered(key, request)) is not None:
        assert isinstance(known.fact, Recorded)
        return Answer(value=_recorded(known.fact, running.standing(known.fact.decision).state))
    checked_range(values, running.settings.outcome_range)
    round = asked.numbered(running.state.t)
    parts = running.parts.to_parts(round)
    running.parts.remember(parts.round, round)
    fact = Recorded(
        decision=new_id(),
        t=round.t,
        round=parts.round,
        catalogue=parts.catalogue,
        arms=places,
        values=pairs_of(values),
        probabilities=chances,
    )
    new = number_of(fact.values)
    state = EMPTY if not places else COMPLETE if new == 2 * len(places) else PARTIAL if new else OPEN
    draft = Draft(fact=fact, parts=parts.content, key=key, request=request)
    return Answer(value=_recorded(fact, state), drafts=[draft])


def _recorded(fact: Recorded, state: str) -> Receipt:
    return Receipt(decision=fact.decision, new=number_of(fact.values), known=0, state=state)


def configure(running: Running, policy: Policy) -> Answer[None]:
    """Go on with another policy, which learns all that is known."""
    digest, content = policy_to_part(instance("policy", policy, Policy, "a policy (methods: select, update)"))
    if digest == running.state.given:
        return Answer(value=None)
    check_teachable(running.journal, policy)
    return Answer(value=None, drafts=[Draft(fact=Configured(policy=digest), parts={digest: content})])


def played(running: Running, id: Any) -> Answer[None]:
    """Note that a decision was acted upon."""
    standing = running.kept(id)
    if standing.withdrawn:
        raise Conflict(f"decision {id} was withdrawn: it was never acted upon")
    return Answer(value=None, drafts=[] if standing.played else [Draft(fact=Played(decision=standing.id))])


def withdraw(running: Running, id: Any) -> Answer[None]:
    """Note that a decision never will be acted upon."""
    standing = running.kept(id)
    if not standing.arms and not standing.withdrawn:
        raise Conflict(f"decision {id} picked nothing, so there is nothing to withdraw; to decide again, use a new key")
    if standing.played:
        raise Conflict(f"decision {id} was acted upon, as you reported or as its outcomes show: it cannot be withdrawn")
    return Answer(value=None, drafts=[] if standing.withdrawn else [Draft(fact=Withdrawn(decision=standing.id))])
