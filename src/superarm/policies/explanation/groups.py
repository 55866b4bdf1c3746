"""The touched groups, and what the promise to each costs."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from superarm.errors import UnsolvableRound
from superarm.policies.explanation.moves import Moves
from superarm.rewards.group_reward import Constraint
from superarm.round import Round
from superarm.selection import TouchedGroup


@dataclass(frozen=True, kw_only=True)
class Price:
    """What would be gained if the promise to one group alone were dropped.

    Attributes
    ----------
    gain
        u, at the same index, of what the policy would pick without the promise, less u of the selection. It is below 0
        if the policy does not only look at u: it explores, tries groups, ignored the promises, or must pick more arms
    at_most
        a bound: nothing that could be picked without the promise gains more. Equal to ``gain`` if that answer is proved
        to be the best; None if no bound is known
    arms
        the arms that would be picked
    """

    gain: float
    at_most: float | None
    arms: tuple[int, ...]

    @property
    def exact(self) -> bool:
        """Whether nothing could gain more."""
        return self.at_most == self.gain


@dataclass(frozen=True, kw_only=True)
class ExplainedGroup:
    """A touched group.

    Attributes
    ----------
    label, arms
        the group, and its picked arms
    cap, size
        the most arms that may be picked from it, and how many it has
    promise
        the promise in words, without the threshold; without a promise this and everything below is None
    threshold
        the threshold of the promise
    value, margin
        the group reward at which the policy judges the promise, and by how much it keeps the promise; None without a
        group stage
    probability
        probability that the promise is kept, given all outcomes so far; None if the posterior has no covariance
    vouched
        whether the promise is kept by your word (only safe arms are picked)
    price
        price of the promise; None if it was not computed, and then ``remark`` says why
    """

    label: Hashable
    arms: tuple[int, ...]
    cap: int
    size: int
    promise: str | None = None
    threshold: float | None = None
    value: float | None = None
    margin: float | None = None
    probability: float | None = None
    vouched: bool = False
    price: Price | None = None
    remark: str | None = None


def explained_groups(moves: Moves, touched: tuple[TouchedGroup, ...], prices: Prices) -> tuple[ExplainedGroup, ...]:
    """The touched groups, those with the least margin first; ``prices`` limits how many prices are computed."""
    round, promised = moves.round, _promises(moves.round)
    found = []
    for group in sorted(touched, key=_tightness):
        position = round.grouping.position(group.label)
        size = len(round.grouping.members(position))
        one = ExplainedGroup(label=group.label, arms=group.arms, cap=int(round.caps[position]), size=size)
        if position in promised:
            constraint = promised[position]
            price, remark = prices.of(position)
            one = replace(
                one,
                promise=f"{_name(constraint.reward)} {constraint.sense.value}",
                threshold=float(constraint.threshold),  # type: ignore[arg-type]  # of one group
                value=group.value,
                margin=group.margin,
                probability=group.probability,
                vouched=group.vouched,
                price=price,
                remark=remark,
            )
        found.append(one)
    return tuple(found)


def _tightness(group: TouchedGroup) -> tuple[float, float]:
    return math.inf if group.margin is None else group.margin, 1.0 if group.probability is None else group.probability


def _name(reward: object) -> str:
    """A group reward in a word or two, without what it holds for every arm."""
    function = getattr(reward, "function", None)
    inner = "" if function is None else f"({getattr(function, '__name__', 'function')})"
    return f"{type(reward).__name__}{inner}"


class Prices:
    """Computes the prices of promises, once for each group and for at most ``most`` groups."""

    def __init__(self, moves: Moves, most: int) -> None:
        self.moves, self.most = moves, most
        self._found: dict[int, tuple[Price | None, str | None]] = {}

    def more(self, most: int) -> None:
        """Let further groups have a price."""
        self.most = len(self._found) + most

    def of(self, group: int) -> tuple[Price | None, str | None]:
        """The price of the promise to the group at this position, or why there is none."""
        if group not in self._found:
            if len(self._found) >= self.most:
                return None, f"computed only for the {self.most} with the least margin"
            self._found[group] = self._price(group)
        return self._found[group]

    def _price(self, group: int) -> tuple[Price | None, str | None]:
        """The price by the policy's answer to the same round without this promise, or why there is none."""
        moves = self.moves
        try:
            found = moves.grounds.answer(without_promise(moves.round, group))
        except UnsolvableRound as error:
            return None, f"no oracle can answer the round without it: {error}"
        arms = np.sort(found.arms)
        worth = moves.worth(arms)
        # The bound is on u at the index of the answer, which is this index except in a start-up.
        bounded = found.value == worth and found.upper_bound < math.inf
        price = Price(
            gain=worth - moves.value,
            at_most=max(found.upper_bound, worth) - moves.value if bounded else None,
            arms=tuple(arms.tolist()),
        )
        return price, None


def without_promise(round: Round, group: int) -> Round:
    """The same round with no promise to the group at this position."""
    promised = _promises(round)
    promised.pop(group, None)
    labels = round.labels
    return replace(round, constraint={labels[position]: constraint for position, constraint in promised.items()})


def _promises(round: Round) -> dict[int, Constraint]:
    """The promise to each group that has one, by position."""
    return {
        int(group): Constraint(reward=promise.reward, sense=promise.sense, threshold=float(threshold))
        for promise in round.promises
        for group, threshold in zip(promise.groups, promise.thresholds, strict=True)
    }
