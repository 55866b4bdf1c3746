"""The state of a session as a fold over its events: pure, so that a replay gives what the session had.

The policy of a state is never changed: an event that teaches is applied to a copy. So a poisonous event is found out
before it is appended, and a commit that fails leaves the state before as it was.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from superarm.errors import InvalidArgument, ModelWarning, SuperarmError, UnreadableFile
from superarm.policies.policy import Policy
from superarm.sessions.events import (
    Compacted,
    Configured,
    Corrected,
    Created,
    Decided,
    Event,
    Expired,
    Moved,
    Observed,
    Rebased,
    Recorded,
    Redacted,
    Withdrawn,
    number_of,
)
from superarm.sessions.outstanding import Outstanding
from superarm.sessions.teaching import Parts, relearnt, taught, teaches


class Outrun(UnreadableFile):
    """Somebody archived events that were to be folded; start again, from the base that is there now."""


LEARNT: dict[str, Any] = {"corrected": 0, "corrected_at": None}
ANEW = (Rebased, Configured, Redacted)  # facts after which the policy is taught everything once more


@dataclass(frozen=True, kw_only=True)
class State:
    """A session after its events so far.

    Attributes
    ----------
    seq
        of the last event
    t
        largest number of a round
    policy
        as it has learnt; whoever has the state must not change it
    given
        digest of the policy that a user gave, before it learnt
    fingerprint
        under which the last bits of the policy came about
    out
        decisions that wait for outcomes: for how many each, and until when
    corrected, corrected_at
        cells whose values in force the policy has not learnt yet, and when the first of them was corrected
    """

    seq: int
    t: int
    policy: Policy
    given: str
    fingerprint: str
    out: Outstanding = field(default_factory=Outstanding)
    corrected: int = 0
    corrected_at: float | None = None


def after(state: State | None, event: Event, parts: Parts, *, teach: bool = True, spare: bool = False) -> State:
    """The state after an event; None before the first. Without ``teach`` the policy stays as it is.

    Where nobody needs the state before, ``spare``, its policy itself learns instead of a copy.
    """
    fact = event.fact
    if state is None:
        assert isinstance(fact, Created)
        policy = parts.policy(fact.policy)
        return State(seq=event.seq, t=0, policy=policy, given=fact.policy, fingerprint=fact.fingerprint)
    policy = taught(state.policy, fact, parts, spare=spare) if teach else state.policy
    if isinstance(fact, Decided):  # most often: the rest would make two states of one
        out = _out(state, fact.decision, 2 * len(fact.arms), fact.due)
        return replace(state, seq=event.seq, policy=policy, t=fact.t, out=out)
    state = replace(state, seq=event.seq, policy=policy)
    match fact:
        case Recorded():
            missing = 2 * len(fact.arms) - number_of(fact.values)
            return replace(state, t=fact.t, out=_out(state, fact.decision, missing, None))
        case Observed():
            missing, due = state.out.get(fact.decision, (0, None))
            return replace(state, out=_out(state, fact.decision, missing - fact.fills, due))
        case Withdrawn() | Expired():
            return replace(state, out=_out(state, fact.decision, 0, None))
        case Corrected():
            at = state.corrected_at if state.corrected else event.at
            return replace(state, corrected=state.corrected + 1, corrected_at=at)
        case Rebased() if teach:
            return replace(state, policy=relearnt(parts.before(event.seq), parts), **LEARNT)
        case Redacted():
            if teach:
                policy = relearnt(parts.before(event.seq), parts, without=[fact.decision])
            return replace(state, policy=policy, out=_out(state, fact.decision, 0, None), **LEARNT)
        case Configured():
            if teach:
                policy = relearnt(parts.before(event.seq), parts, parts.policy(fact.policy))
            return replace(state, policy=policy, given=fact.policy, **LEARNT)
        case Moved():
            return replace(state, fingerprint=fact.fingerprint)
    return state


def replayed(state: State | None, events: Iterable[Event], parts: Parts) -> State | None:
    """The state after some events; what comes before the last that teaches everything anew is not taught twice."""
    listed = list(events)
    first = 0 if state is None else state.seq
    if any(isinstance(event.fact, Compacted) and event.fact.since > first for event in listed):
        raise Outrun(f"events after {first} were archived while they were read")
    anew = max((event.seq for event in listed if isinstance(event.fact, ANEW)), default=0)
    given = None if state is None else state.policy
    for event in listed:
        spare = state is not None and state.policy is not given
        state = after(state, event, parts, teach=event.seq >= anew, spare=spare)
    return state


def after_sound(state: State, events: Sequence[Event], parts: Parts) -> State:
    """The state after new events, which are refused where the policy could not go on with them.

    After outcomes the policy must still select: one that cannot would be stuck for ever, as the events would be read
    again at every start.
    """
    with _no_warning_an_error():
        return _after_sound(state, events, parts)


@contextmanager
def _no_warning_an_error() -> Iterator[None]:
    """Where warnings are errors, only show those of models: outcomes are not wrong because a model fits them badly."""
    about = (action for action, said, kind, _, _ in warnings.filters if issubclass(ModelWarning, kind) and not said)
    if next(about, "") != "error":
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("default", ModelWarning)
        yield


def _after_sound(state: State, events: Sequence[Event], parts: Parts) -> State:
    found, learnt = state, None
    try:
        found = replayed(state, events, parts) or state
        for event in events:
            learnt = getattr(event.fact, "round", learnt)
        told = [event.fact for event in events]
        if found.policy is not state.policy and any(teaches(fact) or isinstance(fact, ANEW) for fact in told):
            for event in parts.before(state.seq + 1) if learnt is None else ():  # all was taught anew
                learnt = getattr(event.fact, "round", None) or learnt
            if learnt is not None:
                found.policy.select(parts.round(learnt))
    except SuperarmError:
        raise
    except Exception as error:  # of whatever the policy is made of
        expected = "numbers that the policy can learn from"
        raise InvalidArgument("outcomes", expected, f"some that make it fail: {error!r}") from error
    return found


def _out(state: State, decision: str, missing: int, due: float | None) -> Outstanding:
    return state.out.with_(decision, (missing, due)) if missing > 0 else state.out.without(decision)
