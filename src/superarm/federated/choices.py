"""Who remembers what was chosen in which round: a selector itself, or a session."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from superarm.errors import Conflict, InvalidArgument, UnknownDecision, type_of
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.policy import Policy
from superarm.round import Round
from superarm.selection import Selection
from superarm.sessions.session import Session

Chosen = tuple[Sequence[Any], Selection]  # ids of requests, and the selection
Pair = tuple[float, float]  # utility and leakage of a request, NaN where unknown
NAMES = ("the utility", "the leakage")
KEPT = 64  # rounds that a selector without a session remembers


def key_of(server_round: int) -> str:
    """Under which a round is chosen, and found again."""
    return f"round {server_round}"


def number_of(key: str | None) -> int:
    """The number of the round that has a key; 0 where it is a key of something else."""
    found = re.fullmatch(r"round ([1-9][0-9]*)", key or "")
    return int(found[1]) if found else 0


class Choices(Protocol):
    """Who remembers what was chosen in which round."""

    @property
    def policy(self) -> Policy: ...

    def known(self, key: str) -> Chosen | None: ...

    def latest(self) -> int: ...

    def decide(self, key: str, t: int, parts: dict[str, Any]) -> Chosen: ...

    def observe(self, key: str, ids: list[str], pairs: list[Pair]) -> int: ...

    def close(self, key: str) -> None: ...


def choices_of(policy: Any) -> Choices:
    """That of a policy, which learns in place, or of a session."""
    if isinstance(policy, Session):
        return Durable(policy)
    if policy is None:
        return InMemory(CautiousTCGPUCB())
    if isinstance(policy, type) or not isinstance(policy, Policy):
        raise InvalidArgument("policy", "a policy (methods: select, update), a Session, or None", type_of(policy))
    return InMemory(policy)


class InMemory:
    """A policy, and the latest rounds that it was asked about with what is known of them."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._rounds: dict[str, tuple[Round, Selection, dict[str, Pair]]] = {}

    def latest(self) -> int:
        """The largest number of a round so far: rounds come in order."""
        return number_of(next(reversed(self._rounds), None))

    def known(self, key: str) -> Chosen | None:
        if key not in self._rounds:
            return None
        round, selection, _ = self._rounds[key]
        return _picked(round, selection), selection

    def decide(self, key: str, t: int, parts: dict[str, Any]) -> Chosen:
        round = Round(t=t, **parts)
        selection = self.policy.select(round)
        self._rounds = dict([*self._rounds.items()][1 - KEPT :])
        self._rounds[key] = round, selection, {}
        return _picked(round, selection), selection

    def observe(self, key: str, ids: list[str], pairs: list[Pair]) -> int:
        if key not in self._rounds:
            raise InvalidArgument("proposal", f"one of the latest {KEPT} proposals of this selector", key)
        round, selection, told = self._rounds[key]
        picked = {str(round.arm_ids[arm]): arm for arm in selection.arms.tolist()}
        strange = [id for id in ids if id not in picked]
        if strange:
            raise InvalidArgument("proposal", f"the proposal of this selector for {key}", f"one with {strange[0]!r}")
        before = np.array([told.get(id, (math.nan, math.nan)) for id in ids])
        values = np.array(pairs)
        clash = ~np.isnan(before) & ~np.isnan(values) & (before != values)
        if clash.any():
            place, outcome = np.argwhere(clash)[0]
            was, now = before[place, outcome], values[place, outcome]
            raise Conflict(f"{key}: {NAMES[outcome]} of {ids[place]} is known to be {was:g}, but {now:g} was reported")
        fresh = np.where(np.isnan(before), values, math.nan)
        rows = np.flatnonzero(~np.isnan(fresh).all(axis=1))
        if len(rows):
            self.policy.update(round, [picked[ids[row]] for row in rows], fresh[rows])
        after = np.where(np.isnan(values), before, values).tolist()
        told.update({id: (pair[0], pair[1]) for id, pair in zip(ids, after, strict=True)})
        return int(np.count_nonzero(~np.isnan(fresh)))

    def close(self, key: str) -> None:
        """Nothing: a policy by itself does not wait."""


class Durable:
    """A session, in which every round is a decision under its own key."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen = self._latest = 0  # the last event that was looked at, and the largest round up to it

    def latest(self) -> int:
        """The largest number of a round so far, of all processes that ever chose in the session."""
        for event in self._session.events(self._seen):
            self._seen = event.seq
            if event.kind == "decided":
                self._latest = max(self._latest, number_of(event.key))
        return self._latest

    @property
    def policy(self) -> Policy:
        return self._session.policy

    def known(self, key: str) -> Chosen | None:
        try:
            decision = self._session.decision(key=key)
        except UnknownDecision:
            return None
        if decision.state == "withdrawn":
            raise Conflict(f"{key} was withdrawn and cannot be proposed again; propose the next round")
        return decision.arm_ids or (), decision.selection

    def decide(self, key: str, t: int, parts: dict[str, Any]) -> Chosen:
        decision = self._session.decide(key=key, **parts)
        return decision.arm_ids or (), decision.selection

    def observe(self, key: str, ids: list[str], pairs: list[Pair]) -> int:
        return self._session.observe(self._session.decision(key=key).id, ids, pairs, by="id").new

    def close(self, key: str) -> None:
        decision = self._session.decision(key=key)
        if decision.state in ("open", "partial"):
            self._session.expire(decision.id)


def _picked(round: Round, selection: Selection) -> list[str]:
    return [str(round.arm_ids[arm]) for arm in selection.arms.tolist()]
