"""The state of a session as a fold over its events: pure, so that a replay gives what the session had.

The policy of a state is never changed: an event that teaches is applied to a copy. So a poisonous event is found out
before it is appended, and a commit that fails leaves the state before as it was.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from superarm.arguments import Array
from superarm.errors import InvalidArgument, SuperarmError
from superarm.policies.policy import Policy
from superarm.round import Round
from superarm.sessions.events import Created, Decided, Event, Moved, Observed, Pairs, Recorded, Withdrawn
from superarm.storage.classes import is_own


class Parts(Protocol):
    """What events name by digest."""

    def round(self, digest: str) -> Round:
        """The round."""
        ...

    def policy(self, digest: str) -> Policy:
        """The policy."""
        ...


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
    fingerprint
        under which the last bits of the policy came about
    out
        decisions that wait for outcomes, and for how many each
    """

    seq: int
    t: int
    policy: Policy
    fingerprint: str
    out: Mapping[str, int] = field(default_factory=dict)


def after(state: State | None, event: Event, parts: Parts) -> State:
    """The state after an event; None before the first."""
    fact = event.fact
    if state is None:
        assert isinstance(fact, Created)
        return State(seq=event.seq, t=0, policy=parts.policy(fact.policy), fingerprint=fact.fingerprint)
    state = replace(state, seq=event.seq)
    match fact:
        case Decided():
            return replace(state, t=fact.t, out=_out(state, fact.decision, 2 * len(fact.arms)))
        case Recorded():
            missing = sum(value is None for pair in fact.values for value in pair)
            policy = _taught(state.policy, parts.round(fact.round), fact.arms, fact.values, None)
            return replace(state, t=fact.t, policy=policy, out=_out(state, fact.decision, missing))
        case Observed():
            policy = state.policy
            if fact.arms:
                policy = _taught(policy, parts.round(fact.round), fact.arms, fact.values, fact.noise_std)
            missing = state.out.get(fact.decision, 0) - fact.fills
            return replace(state, policy=policy, out=_out(state, fact.decision, missing))
        case Withdrawn():
            return replace(state, out=_out(state, fact.decision, 0))
        case Moved():
            return replace(state, fingerprint=fact.fingerprint)
    return state


def after_sound(state: State, event: Event, parts: Parts) -> State:
    """The state after a new event, which is refused where the policy could not go on with it.

    After outcomes the policy must still select: one that cannot would be stuck for ever, as the event would be read
    again at every start.
    """
    fact = event.fact
    try:
        found = after(state, event, parts)
        if found.policy is not state.policy:
            assert isinstance(fact, Observed | Recorded)
            found.policy.select(parts.round(fact.round))
    except SuperarmError:
        raise
    except Exception as error:  # of whatever the policy is made of
        expected = "numbers that the policy can learn from and then go on"
        raise InvalidArgument("outcomes", expected, f"some after which it fails: {error!r}") from error
    return found


def _out(state: State, decision: str, missing: int) -> Mapping[str, int]:
    out = {key: count for key, count in state.out.items() if key != decision}
    return {**out, decision: missing} if missing > 0 else out


def _taught(
    policy: Policy, round: Round, arms: tuple[int, ...], values: Pairs, noise_std: tuple[float, float] | None
) -> Policy:
    """A policy that has learnt from one event by one update, as many updates have other last bits."""
    policy = copied(policy)
    more: dict[str, Any] = {} if noise_std is None else {"noise_std": noise_std}
    policy.update(round, np.array(arms, dtype=np.intp), array_of(values), **more)
    return policy


def array_of(values: Pairs) -> Array:
    """(k, 2) outcomes, NaN where one is missing."""
    pairs = [[np.nan if value is None else value for value in pair] for pair in values]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def copied(policy: Policy) -> Policy:
    """A policy that can learn while the first stays as it is; of superarm's own, what never changes is shared."""
    found: Policy = _copied(policy) if is_own(type(policy)) else copy.deepcopy(policy)
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy() if value.flags.writeable else value
    if isinstance(value, (dict, list, set)):
        return copy.deepcopy(value)
    if dataclasses.is_dataclass(value) and is_own(type(value)) and not _is_frozen(type(value)):
        other = copy.copy(value)
        vars(other).update({name: _copied(item) for name, item in vars(value).items()})
        return other
    return value


def _is_frozen(cls: Any) -> bool:
    return bool(cls.__dataclass_params__.frozen)
