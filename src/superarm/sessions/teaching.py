"""How a policy learns from the facts of a journal: one event by one update, or all of them anew."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from superarm.arguments import Array
from superarm.policies.policy import Policy
from superarm.round import Round
from superarm.sessions.events import (
    Configured,
    Corrected,
    Created,
    Event,
    Expired,
    Fact,
    Observed,
    Pairs,
    Recorded,
    Redacted,
)
from superarm.storage.classes import is_own

Place = tuple[str, int, int, str]  # a cell: decision, arm, outcome, sample


class Parts(Protocol):
    """What events name by digest, and the events themselves."""

    def round(self, digest: str) -> Round:
        """The round."""
        ...

    def policy(self, digest: str) -> Policy:
        """The policy."""
        ...

    def before(self, seq: int) -> Iterable[Event]:
        """The events before one."""
        ...


def taught(policy: Policy, fact: Fact, parts: Parts, force: dict[Place, float] | None = None) -> Policy:
    """A policy that has learnt from a fact; the very same where there is nothing to learn.

    One fact is one update, as several have other last bits. ``force`` has the values of corrected cells.
    """
    if not isinstance(fact, Observed | Recorded | Expired) or not fact.arms:
        return policy
    values = fact.values
    if force:
        sample = fact.sample if isinstance(fact, Observed) else ""
        places = [[(fact.decision, arm, outcome, sample) for outcome in (1, 2)] for arm in fact.arms]
        values = tuple(
            (_forced(pair[0], one, force), _forced(pair[1], two, force))
            for pair, (one, two) in zip(values, places, strict=True)
        )
    noise = fact.noise_std if isinstance(fact, Observed) else None
    more: dict[str, Any] = {} if noise is None else {"noise_std": noise}
    policy = copied(policy)
    policy.update(parts.round(fact.round), np.array(fact.arms, dtype=np.intp), array_of(values), **more)
    return policy


def _forced(value: float | None, place: Place, force: dict[Place, float]) -> float | None:
    return None if value is None else force.get(place, value)


def relearnt(
    events: Iterable[Event], parts: Parts, policy: Policy | None = None, without: Iterable[str] = ()
) -> Policy:
    """A policy, by default the latest that the session was given, taught by events with the values now in force.

    Decisions that were redacted, and those ``without`` which it is asked for, teach nothing.
    """
    force: dict[Place, float] = {}
    redacted = set(without)
    facts: list[Observed | Recorded | Expired] = []
    first = ""
    for event in events:
        fact = event.fact
        if isinstance(fact, Created | Configured):
            first = fact.policy
        elif isinstance(fact, Corrected):
            force[fact.decision, fact.arm, fact.outcome, fact.sample] = fact.value
        elif isinstance(fact, Redacted):
            redacted.add(fact.decision)
        elif isinstance(fact, Observed | Recorded | Expired):
            facts.append(fact)
    policy = parts.policy(first) if policy is None else policy
    for fact in facts:
        if fact.decision not in redacted:
            policy = taught(policy, fact, parts, force)
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
