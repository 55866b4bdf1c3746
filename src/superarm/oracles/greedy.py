"""A quick super arm without a search, for rewards and promises of unknown structure; used only if asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import UnsolvableRound
from superarm.oracles.decomposition.decomposition import solve
from superarm.oracles.decomposition.gains import decomposes
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, answer
from superarm.rewards.group_reward import is_good
from superarm.rewards.reward import Additive, reward_of
from superarm.rewards.simple import Sum
from superarm.round import Round
from superarm.selection import Selection
from superarm.storage import storable

Subset = tuple[int, ...]


@storable
@dataclass(frozen=True)
class Greedy:
    """Takes the arms that add most, then repairs, drops or replaces the subgroups that break their promise.

    It takes any reward and any promise, because it only needs their values, and its super arm keeps every promise. It
    can be far from the best: read ``alpha``. The upper bound is the Lagrangian one of the decomposition where the round
    decomposes, else the best sum without promises; it is infinite if u is not a function of a sum. If ``Exactly`` asks
    for more arms than it can place, the decomposition places them. If the round does not decompose either, the status
    is ``UNDERFILLED``, with an infinite bound, although a search might have placed them.

    If a promise without a normal form is on a group of more than 14 arms, it is unknown whether any good subgroup
    exists. The promises then stay in force: if the repair finds none, the super arm is empty, with status ``LIMIT``
    (``UNDERFILLED`` under ``Exactly``) and never ``NO_GOOD_SUBGROUP``, which would need a proof.
    """

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        """Return a good super arm at ``index``."""
        return answer(self._solve, "greedy", index, round, good, is_empty=_surely_empty)

    def _solve(self, index: Array, round: Round, good: GoodSubgroups) -> Found:
        worth = _worth(index, round)
        arms = _whole_groups(worth, round, good) if round.feasible.whole else _Repair(worth, round, good).run()
        bound = _bound(index, round, good)
        least, _ = round.feasible.totals(len(round))
        if len(arms) < least:
            # A super arm that is too small is not feasible, and a bound on feasible ones does not cover it.
            bound = bound if decomposes(good) else math.inf
            arms = max(arms, _of_full_size(index, round, good), key=len)
        return Found(arms=arms, upper_bound=bound, underfilled=len(arms) < least, limited=True)


def _surely_empty(good: GoodSubgroups) -> bool:
    try:
        return good.is_empty()
    except UnsolvableRound:  # unknown
        return False


def _bound(index: Array, round: Round, good: GoodSubgroups) -> float:
    if not isinstance(round.reward, Additive):
        return math.inf
    if decomposes(good):
        return _quickly(index, round, good).upper_bound
    scores = np.asarray(round.reward.scores(index, np.arange(len(round))), dtype=np.float64)
    scores = np.where(good.closed[round.grouping.codes], 0.0, scores)
    return round.reward.transform(round.feasible.largest_sum(scores, round.grouping))


def _of_full_size(index: Array, round: Round, good: GoodSubgroups) -> IntArray:
    """A good super arm of the required size, or the largest there is; empty if the round does not decompose."""
    if not decomposes(good):
        return np.empty(0, dtype=np.intp)
    summed = round if isinstance(round.reward, Additive) else replace(round, reward=Sum())
    return _quickly(index, summed, good).arms


def _quickly(index: Array, round: Round, good: GoodSubgroups) -> Found:
    """The decomposition with no time to refine: the super arm that its first bounds combine to."""
    return solve(index, round, good, rel_gap=1e-9, label_limit=1, deadline=0.0)


# The worth of a change ----------------------------------------------------------------------------------------


def _changed(arms: IntArray, out: Subset, into: Subset) -> IntArray:
    """``arms`` without ``out`` and with ``into``, ascending."""
    # Sets this small are quicker as lists.
    return np.array(sorted([*(arm for arm in arms.tolist() if arm not in out), *into]), dtype=np.intp)


class _Sum:
    """u is a function of a sum: it rises and falls with the sum of the scores."""

    def __init__(self, scores: Array) -> None:
        self.scores = scores
        self._list: list[float] = scores.tolist()  # element by element, lists are quicker than arrays

    def gains(self, chosen: IntArray, arms: IntArray) -> Array:
        """The gain of adding each of ``arms`` alone to the super arm ``chosen``."""
        return self.scores[arms]

    def change(self, chosen: IntArray, out: Subset, into: Subset) -> float:
        """The gain of removing ``out`` and adding ``into``."""
        return sum([self._list[arm] for arm in into]) - sum([self._list[arm] for arm in out])


class _Any:
    """u is any function: only its values are known."""

    def __init__(self, index: Array, round: Round) -> None:
        self.index, self.reward = index, round.reward

    def gains(self, chosen: IntArray, arms: IntArray) -> Array:
        return np.array([self.change(chosen, (), (arm,)) for arm in arms.tolist()])

    def change(self, chosen: IntArray, out: Subset, into: Subset) -> float:
        return self._value(_changed(chosen, out, into)) - self._value(chosen)

    def _value(self, arms: IntArray) -> float:
        return reward_of(self.reward, self.index[arms], arms)


def _worth(index: Array, round: Round) -> _Sum | _Any:
    if not isinstance(round.reward, Additive):
        return _Any(index, round)
    return _Sum(np.asarray(round.reward.scores(index, np.arange(len(round))), dtype=np.float64))


def _whole_groups(worth: _Sum | _Any, round: Round, good: GoodSubgroups) -> IntArray:
    """Good groups one by one, as long as the best adds something."""
    groups = round.grouping
    ordered = np.argsort(good.round.grouping.first_places(good.order)).tolist()
    left = [group for group in ordered if good.is_good(group, groups.members(group))]
    chosen = np.empty(0, dtype=np.intp)
    for _ in range(min(round.feasible.most_groups(groups), len(left))):
        gains = [worth.change(chosen, (), tuple(groups.members(group).tolist())) for group in left]
        best = int(np.argmax(gains))
        if gains[best] <= 0.0:
            break
        chosen = np.sort(np.append(chosen, groups.members(left.pop(best))))
    return chosen


# Take, repair, polish -----------------------------------------------------------------------------------------


class _Repair:
    """Takes arms by what they add, then makes one subgroup after the other good, or gives the group up."""

    def __init__(self, worth: _Sum | _Any, round: Round, good: GoodSubgroups) -> None:
        self.worth, self.round, self.good = worth, round, good
        self.least, most = round.feasible.totals(len(round))
        self.most = min(most, len(round))
        self.caps = round.caps
        self.position = np.empty(len(round), dtype=np.intp)
        self.position[good.order] = np.arange(len(round))
        self.chosen = np.empty(0, dtype=np.intp)
        self.repaired: set[int] = set()
        self.given_up: set[int] = set(np.flatnonzero((self.caps == 0) | good.closed).tolist())
        for promised in good.promised:
            if promised.form is not None:
                self.given_up.update(promised.promise.groups[~promised.form.attainable(promised.groups)].tolist())
        self._promise = {
            group: (promise, threshold)
            for promise in good.promises
            for group, threshold in zip(promise.groups.tolist(), promise.thresholds.tolist(), strict=True)
        }

    def run(self) -> IntArray:
        """A good super arm, ascending."""
        while self._take():
            codes = self.round.grouping.codes[self.chosen]
            for group in dict.fromkeys(codes.tolist()):
                if group not in self.repaired:
                    self._repair(group)
        for group in sorted(self.repaired):
            self._polish(group)
        return self.chosen

    def _take(self) -> bool:
        """Fill the room: repaired groups stay good, others are repaired afterwards. Whether anything was taken."""
        codes = self.round.grouping.codes
        count = np.bincount(codes[self.chosen], minlength=len(self.round.labels))
        closed = np.isin(codes, list(self.given_up))
        closed[self.chosen] = True
        left = np.flatnonzero(~closed)
        taken = False
        while len(left) and len(self.chosen) < self.most:
            gains = self.worth.gains(self.chosen, left)
            order = np.lexsort((self.position[left], -gains))
            before = len(self.chosen)
            for arm, gain in zip(left[order].tolist(), gains[order].tolist(), strict=True):
                if len(self.chosen) >= self.most or (gain <= 0.0 and len(self.chosen) >= self.least):
                    break
                group = int(codes[arm])
                if count[group] >= self.caps[group]:
                    continue
                if group in self.repaired and not self.good.is_good(group, _changed(self._part(group), (), (arm,))):
                    continue
                self._apply((), (arm,))
                count[group] += 1
                taken = True
                if isinstance(self.worth, _Any):
                    break  # the gains of the others have changed
            if len(self.chosen) == before or isinstance(self.worth, _Sum):
                break
            left = left[~np.isin(left, self.chosen)]
        return taken

    def _repair(self, group: int) -> None:
        """Change the group's part until it is good, one arm at a time; give the group up where that fails."""
        for _ in range(len(self.round.grouping.members(group))):
            part = self._part(group)
            if self.good.is_good(group, part):
                self.repaired.add(group)
                return
            step = self._step(group, part)
            if step is None:
                break
            self._apply(*step)
        part = self._part(group)
        if not self.good.is_good(group, part):
            self._apply(tuple(part.tolist()), self._single(group, part))
        (self.repaired if len(self._part(group)) else self.given_up).add(group)

    def _step(self, group: int, part: IntArray) -> tuple[Subset, Subset] | None:
        """The change that makes the part good at the least loss, else the one that comes nearest."""
        promise, threshold = self._promise[group]

        def rank(arms: IntArray, out: Subset, into: Subset) -> tuple[bool, float, float]:
            value = self.good.value(group, arms)
            gain = self.worth.change(self.chosen, out, into)
            if is_good(value, threshold, promise.sense):
                return True, gain, 0.0
            # One arm fewer at the same margin is progress too: of two equally bad arms one must go first.
            return False, promise.sense.sign * (value - threshold), -math.inf if into else gain

        best, record = None, (*rank(part, (), ())[:2], -math.inf)
        for out, into in self._moves(group, part):
            after = _changed(part, out, into)
            if len(after) and (mark := rank(after, out, into)) > record:
                best, record = (out, into), mark
        return best

    def _moves(self, group: int, part: IntArray) -> Iterator[tuple[Subset, Subset]]:
        outside = np.setdiff1d(self.round.grouping.members(group), part)
        outside = outside[np.argsort(self.position[outside])].tolist()
        inside = part[np.argsort(self.position[part])].tolist()
        if len(self.chosen) < self.most and len(part) < self.caps[group]:
            yield from (((), (into,)) for into in outside)
        yield from (((out,), (into,)) for out in inside for into in outside)
        yield from (((out,), ()) for out in inside)

    def _single(self, group: int, part: IntArray) -> Subset:
        """The best arm that is good alone; nothing where none is."""
        members = self.round.grouping.members(group)
        gains = self.worth.gains(np.setdiff1d(self.chosen, part), members)
        for arm in members[np.lexsort((self.position[members], -gains))].tolist():
            if self.good.is_good(group, np.array([arm])):
                return (arm,)
        return ()

    def _polish(self, group: int) -> None:
        """Exchanges within the group that gain something; and drops, where the size allows."""
        for _ in range(len(self.round.grouping.members(group))):
            part = self._part(group)
            whole = tuple(part.tolist())
            moves = [*self._moves(group, part), (whole, ())] if len(part) else []
            gains = [self.worth.change(self.chosen, out, into) for out, into in moves]
            for number in np.argsort(-np.array(gains), kind="stable").tolist():
                out, into = moves[number]
                if gains[number] <= 0.0:
                    return
                small = len(self.chosen) - len(out) + len(into) < self.least
                if not small and self.good.is_good(group, _changed(part, out, into)):
                    self._apply(out, into)
                    break
            else:
                return

    def _apply(self, out: Subset, into: Subset) -> None:
        self.chosen = _changed(self.chosen, out, into)

    def _part(self, group: int) -> IntArray:
        part: IntArray = self.chosen[self.round.grouping.codes[self.chosen] == group]
        return part
