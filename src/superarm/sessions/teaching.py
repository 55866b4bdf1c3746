"""How a policy learns from the facts of a journal: one event by one update, or all of them anew."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.policies.policy import DelayedPolicy, Policy, minds_decisions
from superarm.round import Round
from superarm.selection import Selection
from superarm.sessions.events import (
    Configured,
    Corrected,
    Created,
    Decided,
    Event,
    Expired,
    Fact,
    Observed,
    Pairs,
    Played,
    Recorded,
    Redacted,
    Withdrawn,
)
from superarm.storage.classes import is_own

P = TypeVar("P", bound=Policy)
Place = tuple[str, int, int, str]  # a cell: decision, arm, outcome, sample


class Parts(Protocol):
    """What events name by digest, and the events themselves."""

    def round(self, digest: str) -> Round:
        """The round."""
        ...

    def policy(self, digest: str) -> Policy:
        """The policy."""
        ...

    def selection(self, digest: str) -> Selection:
        """The selection."""
        ...

    def before(self, seq: int) -> Iterable[Event]:
        """The events before one."""
        ...


def taught(
    policy: Policy, fact: Fact, parts: Parts, force: dict[Place, float] | None = None, *, spare: bool = False
) -> Policy:
    """A policy that knows a fact; the very same where there is nothing to know, or where it can be spared.

    One fact is one update, as several have other last bits. ``force`` has the values of corrected cells. Policies that
    mind decisions are also told what is out and what became of it.
    """
    if minds_decisions(policy):
        return _told(policy, fact, parts, force, spare)
    if not teaches(fact):
        return policy
    assert isinstance(fact, Observed | Recorded | Expired)
    policy = policy if spare else copied(policy)
    policy.update(parts.round(fact.round), *_outcomes(fact, force), **_noise(fact, policy.update))
    return policy


def teaches(fact: Fact) -> bool:
    """Whether a fact brings outcomes."""
    return isinstance(fact, Observed | Recorded | Expired) and bool(fact.arms)


def _told(policy: DelayedPolicy, fact: Fact, parts: Parts, force: dict[Place, float] | None, spare: bool) -> Policy:
    if not isinstance(fact, Decided | Played | Withdrawn | Expired) and not teaches(fact):
        return policy
    policy = policy if spare else copied(policy)
    match fact:
        case Decided() if fact.round:  # it is not erased
            policy.decided(fact.decision, parts.round(fact.round), parts.selection(fact.selection))
        case Played():
            policy.played(fact.decision)
        case Withdrawn():
            policy.withdrawn(fact.decision)
        case Expired():
            policy.expired(fact.decision)
    if isinstance(fact, Observed | Recorded | Expired) and fact.arms:
        round, noise = parts.round(fact.round), _noise(fact, policy.observed)
        policy.observed(fact.decision, round, *_outcomes(fact, force), **noise)
    return policy


def _outcomes(fact: Observed | Recorded | Expired, force: dict[Place, float] | None) -> tuple[IntArray, Array]:
    values = fact.values
    if force:
        places = [[(fact.decision, arm, outcome, fact.sample) for outcome in (1, 2)] for arm in fact.arms]
        values = tuple(
            (_forced(pair[0], one, force), _forced(pair[1], two, force))
            for pair, (one, two) in zip(values, places, strict=True)
        )
    return np.array(fact.arms, dtype=np.intp), array_of(values)


def _noise(fact: Observed | Recorded | Expired, learn: Callable[..., None]) -> dict[str, Any]:
    """The noise that was told with outcomes, where the policy takes it; the one before this one may have."""
    noise = fact.noise_std if isinstance(fact, Observed) else None
    return {} if noise is None or "noise_std" not in inspect.signature(learn).parameters else {"noise_std": noise}


def _forced(value: float | None, place: Place, force: dict[Place, float]) -> float | None:
    return None if value is None else force.get(place, value)


def relearnt(
    events: Iterable[Event], parts: Parts, policy: Policy | None = None, without: Iterable[str] = ()
) -> Policy:
    """A policy, by default the latest that the session was given, taught by events with the values now in force.

    Decisions that were redacted, and those ``without`` which it is asked for, teach nothing. What is archived has been
    learnt by the policy of the base.
    """
    force: dict[Place, float] = {}
    moved: dict[Place, Place] = {}
    redacted = set(without)
    facts: list[Decided | Observed | Recorded | Expired | Played | Withdrawn] = []
    first, since = "", 0
    for event in events:
        fact = event.fact
        if isinstance(fact, Created):
            first, since = fact.learnt or fact.policy, fact.since
        elif event.seq <= since:
            continue
        elif isinstance(fact, Configured):
            first = fact.policy
        elif isinstance(fact, Corrected):
            place = fact.decision, fact.arm, fact.outcome, fact.sample
            taught_as = moved.get(place, place)  # the cell as the event has it that brought it
            moved[fact.decision, fact.arm, fact.outcome, fact.kept_in] = taught_as
            force[taught_as] = fact.value
        elif isinstance(fact, Redacted):
            redacted.add(fact.decision)
        elif isinstance(fact, Decided | Observed | Recorded | Expired | Played | Withdrawn):
            facts.append(fact)
    policy = parts.policy(first) if policy is None else copied(policy)
    for fact in facts:
        if fact.decision not in redacted:
            policy = taught(policy, fact, parts, force, spare=True)
    return policy


def array_of(values: Pairs) -> Array:
    """(k, 2) outcomes, NaN where one is missing."""
    pairs = [[np.nan if value is None else value for value in pair] for pair in values]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def copied(policy: P) -> P:
    """A policy that can learn while the first stays as it is; of superarm's own, what never changes is shared."""
    found: P = _copied(policy) if is_own(type(policy)) else copy.deepcopy(policy)
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
