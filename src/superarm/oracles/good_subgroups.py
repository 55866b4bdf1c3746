"""Oracle_grp: which parts of a group keep its promise (section 2.4.1, Alg. 1 lines 8 and 9).

The good subgroups are described, not listed: a group of 100 arms has 2^100 subsets.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from superarm.arguments import Array, IntArray, Mask, checked_index, group_mask, instance, magnitude, permutation
from superarm.errors import InvalidArgument, UnsolvableRound, safe_repr
from superarm.rewards.group_reward import is_good, is_structured
from superarm.rewards.normal_forms import ROUNDING, NormalForm
from superarm.rewards.promise import Promise
from superarm.rewards.reward import checked_value
from superarm.round import Round, checked_round
from superarm.selection import TouchedGroup, TouchedGroups

ENUMERATE_AT_MOST = 14  # arms of a group: 2^14 subsets


@dataclass(frozen=True, eq=False)
class PromisedGroups:
    """A promise with its normal form (None: nothing declared) and the arms of its groups."""

    promise: Promise
    form: NormalForm | None
    arms: IntArray  # (n,)
    groups: IntArray  # (n,) positions in ``promise.groups``


class Valued(NamedTuple):
    """The parts of a super arm, one for each touched group, and their rewards."""

    groups: IntArray  # positions of the touched groups, ascending
    values: Array  # v_G of each at the satisfying index; NaN without a promise
    parts: list[IntArray]  # the arms of each, ascending


class GoodSubgroups:
    """G_{t,good}: every set of arms of one group whose reward at the satisfying index keeps the promise.

    Parameters
    ----------
    round
        the round
    satisfying
        (M,) satisfying index i'_t of every arm; None leaves out the group stage, so that everything is good
    order
        (M,) the arms in the order in which oracles break ties; by default as listed
    promises
        promises that replace the round's, for the same groups; for instance stricter ones
    closed
        (G,) groups that must not be touched: none of their subgroups is good; by default there are none
    attainable
        (G,) which groups have a good subgroup at all. Give it if this round holds only some arms of a larger round and
        you judged that on all of them; by default it is judged on this round

    >>> import numpy as np, superarm as sa
    >>> round = sa.Round(t=1, contexts=np.zeros((4, 1)), constraint=sa.Sum() >= 6, feasible=sa.AtMost(4))
    >>> good = GoodSubgroups(round, np.array([1.0, 2.0, 3.0, 4.0]))
    >>> [tuple(arm + 1 for arm in subset) for subset in good.subgroups(0)]
    [(2, 4), (3, 4), (1, 2, 3), (1, 2, 4), (1, 3, 4), (2, 3, 4), (1, 2, 3, 4)]
    """

    def __init__(
        self,
        round: Round,
        satisfying: Array | None,
        order: IntArray | None = None,
        promises: tuple[Promise, ...] | None = None,
        closed: Mask | None = None,
        attainable: Mask | None = None,
    ) -> None:
        self.round = round if isinstance(round, Round) else checked_round(round)
        arms, groups = len(round.grouping.codes), len(round.grouping.labels)
        self.satisfying, self.promises = None, cast(tuple[Promise, ...], ())
        if satisfying is not None:
            self.satisfying = checked_index(satisfying, arms, "satisfying").copy()
            self.satisfying.setflags(write=False)
            self.promises = round.promises if promises is None else _checked_promises(promises, groups)
        self.order = np.arange(arms) if order is None else permutation("order", order, arms)
        self.closed = np.zeros(groups, dtype=np.bool_) if closed is None else group_mask("closed", closed, groups)
        self._judged = None if attainable is None else group_mask("attainable", attainable, groups)
        # Per group: which promise it has (-1: none), its threshold, and on which side of it the value must be.
        self._promise_of = np.full(groups, -1, dtype=np.intp)
        self._thresholds, self._signs = np.zeros(groups), np.zeros(groups)
        for number, promise in enumerate(self.promises):
            self._promise_of[promise.groups] = number
            self._thresholds[promise.groups] = promise.thresholds
            self._signs[promise.groups] = promise.sense.sign

    def without_promises(self) -> GoodSubgroups:
        """The same round without promises; closed groups stay closed. The paper's fallback if nothing is good."""
        return GoodSubgroups(self.round, None, self.order, closed=self.closed)

    def allows(self, arms: Any) -> bool:
        """Whether every group that the super arm ``arms`` touches keeps its promise."""
        return bool(self.kept(self.valued(np.sort(self.round.check_arms(arms)))).all())

    def __contains__(self, subset: Any) -> bool:
        """Whether ``subset`` is a good subgroup: non-empty, of one group, and keeping its promise."""
        valued = self.valued(np.sort(self.round.check_arms(subset)))
        return len(valued.groups) == 1 and bool(self.kept(valued).all())

    def touched(self, arms: Any) -> tuple[TouchedGroup, ...]:
        """The groups that ``arms`` picks from, with value, threshold and margin, in the order of the labels."""
        return self.described(self.valued(np.sort(self.round.check_arms(arms)))).rows()

    def valued(self, arms: IntArray) -> Valued:
        """The groups that ``arms``, ascending, touch, with their parts and rewards; trusts its arguments."""
        groups, starts, arms = self.round.grouping.parts(arms)
        cuts = starts.tolist()
        parts = [arms[start:end] for start, end in itertools.pairwise(cuts)]
        values = np.full(len(groups), np.nan)
        if self.satisfying is not None:
            index = self.satisfying[arms]
            for i, number in enumerate(self._promise_of[groups].tolist()):
                if number >= 0:
                    reward = self.promises[number].reward
                    value = reward.value(index[cuts[i] : cuts[i + 1]], parts[i])
                    # Nearly all are plain numbers, and there are many.
                    values[i] = value if type(value) is float and value == value else checked_value(value, reward)
        return Valued(groups, values, parts)

    def kept(self, valued: Valued) -> Mask:
        """Whether each of the touched groups is open and keeps its promise."""
        groups, values, _ = valued
        good: Mask = is_good(values, self._thresholds[groups], self._signs[groups])
        return (good | np.isnan(values)) & ~self.closed[groups]

    def margins(self, valued: Valued) -> Array:
        """By how much each of the touched groups keeps its promise; NaN without one."""
        return self._signs[valued.groups] * (valued.values - self._thresholds[valued.groups])

    def described(self, valued: Valued) -> TouchedGroups:
        """What :meth:`touched` returns, from what :meth:`valued` found."""
        groups, values, parts = valued
        labels = self.round.grouping.labels
        return TouchedGroups(
            labels=[labels[group] for group in groups.tolist()],
            parts=parts,
            promised=self._promise_of[groups] >= 0,
            values=values,
            thresholds=self._thresholds[groups],
            margins=self.margins(valued),
        )

    def is_good(self, group: int, arms: IntArray) -> bool:
        """Whether ``arms``, ascending and all of the group at position ``group``, are good; trusts its arguments."""
        if not len(arms) or self.is_closed(group) or self.is_free(group):
            return not len(arms) or not self.is_closed(group)
        return bool(is_good(self.value(group, arms), float(self._thresholds[group]), float(self._signs[group])))

    def value(self, group: int, arms: IntArray) -> float:
        """v_G at the satisfying index."""
        assert self.satisfying is not None
        reward = self.promises[self._promise_of[group]].reward
        return checked_value(reward.value(self.satisfying[arms], arms), reward)

    @cached_property
    def whole(self) -> Mask:
        """(G,) whether each group is good when it is picked whole."""
        good = np.ones(len(self._promise_of), dtype=np.bool_)
        for promised in self.promised:
            mine, doubtful = promised.promise.groups, promised.promise.groups
            if promised.form is not None:
                assert self.satisfying is not None
                margin, off = promised.form.whole(promised.groups)
                # Thresholds and indices were rounded on their own scale before they met in the form.
                scale = magnitude(self.satisfying) + magnitude(promised.promise.thresholds)
                off = off + 4.0 * ROUNDING * self.round.grouping.largest * scale
                good[mine] = margin > 0.0
                doubtful = mine[np.abs(margin) <= off]
            for group in doubtful.tolist():
                good[group] = self.is_good(group, self.round.grouping.members(group))
        return good & ~self.closed

    def is_free(self, group: int) -> bool:
        """Whether the group has no promise."""
        return bool(self._promise_of[group] < 0)

    def is_closed(self, group: int) -> bool:
        """Whether the group may not be touched."""
        return bool(self.closed[group])

    def keeps(self, touched: TouchedGroup) -> bool:
        """Whether a touched group is open and keeps its promise; one without a promise does."""
        instance("touched", touched, TouchedGroup, "a superarm.TouchedGroup")
        group = self.round.grouping.position(touched.label)
        if touched.value is None or self.is_closed(group):
            return not self.is_closed(group)
        return bool(is_good(touched.value, float(self._thresholds[group]), float(self._signs[group])))

    @cached_property
    def promised(self) -> tuple[PromisedGroups, ...]:
        """Every promise with its normal form at the satisfying index."""
        codes = self.round.grouping.codes
        found = []
        for promise in self.promises:
            outcomes = self.satisfying
            assert outcomes is not None
            if len(promise.groups) == len(self._promise_of):
                arms, groups = np.arange(len(codes)), codes
            else:
                local = np.full(len(self._promise_of), -1, dtype=np.intp)
                local[promise.groups] = np.arange(len(promise.groups))
                arms = np.flatnonzero(local[codes] >= 0)
                groups, outcomes = local[codes[arms]], outcomes[arms]
            form = None
            if is_structured(promise.reward):
                form = promise.reward.normal_form(outcomes, arms, groups, promise.thresholds, promise.sense)
            found.append(PromisedGroups(promise, form, arms, groups))
        return tuple(found)

    @cached_property
    def attainable(self) -> Mask:
        """(G,) whether each group has a good subgroup at all, caps and sizes aside.

        A group without a normal form is listed until one is found. Where it has more than 14 arms and is picked whole
        or not at all, only the whole and its single arms are looked at: the round can be solved without the others.
        """
        if self._judged is not None:
            return self._judged & ~self.closed
        attainable = np.ones(len(self._promise_of), dtype=np.bool_)
        for promised in self.promised:
            if promised.form is not None:
                attainable[promised.promise.groups] = promised.form.attainable(promised.groups)
            else:
                attainable[promised.promise.groups] = [self._some_good(int(group)) for group in promised.promise.groups]
        return attainable & ~self.closed

    def _some_good(self, group: int) -> bool:
        if self.is_closed(group):
            return False
        members = self.round.grouping.members(group)
        likely = [members, *members[:, None]]  # all together and each alone, before the whole list
        if any(len(arms) and self.is_good(group, arms) for arms in likely):
            return True
        if self.round.feasible.whole and len(members) > ENUMERATE_AT_MOST:
            return False
        return any(self._enumerate(group))

    def is_empty(self, label: Hashable | None = None) -> bool:
        """Whether the group ``label``, or with None every group, has no good subgroup."""
        if label is None:
            # Oracles for whole groups need these anyway, and one good group settles the question.
            if self._judged is None and self.round.feasible.whole and self.whole.any():
                return False
            return len(self.attainable) > 0 and not self.attainable.any()
        return not self.attainable[self.round.grouping.position(label)]

    def counts(self, label: Hashable) -> tuple[int, ...]:
        """Sizes of the good subgroups of a group, ascending, without regard to caps."""
        group = self.round.grouping.position(label)
        sizes = range(1, len(self.round.grouping.members(group)) + 1)
        if self.is_closed(group) or self.is_free(group):
            return () if self.is_closed(group) else tuple(sizes)
        for promised in self.promised:
            position = np.flatnonzero(promised.promise.groups == group)
            if len(position) and promised.form is not None:
                mine = promised.groups == position[0]
                return tuple(size for size in sizes if promised.form.has_size(size, mine, position[0]))
        return tuple(sorted({len(subset) for subset in self._enumerate(group)}))

    def subgroups(self, label: Hashable) -> Iterator[tuple[int, ...]]:
        """List the good subgroups of a group, smaller ones first; refuses groups of more than 14 arms."""
        return self._enumerate(self.round.grouping.position(label))

    def _enumerate(self, group: int) -> Iterator[tuple[int, ...]]:
        if self.is_closed(group):
            return iter(())
        members = self.round.grouping.members(group)
        if len(members) > ENUMERATE_AT_MOST:
            raise UnsolvableRound(
                f"group {self.round.labels[group]!r} has {len(members)} arms, and subgroups are listed only up to "
                f"{ENUMERATE_AT_MOST} arms; give the group reward a normal_form, or use oracle=Greedy(): neither needs "
                "the list"
            )
        return (
            subset
            for size in range(1, len(members) + 1)
            for subset in itertools.combinations(members.tolist(), size)
            if self.is_good(group, np.array(subset, dtype=np.intp))
        )


def _checked_promises(promises: Any, groups: int) -> tuple[Promise, ...]:
    listed = promises if isinstance(promises, (tuple, list)) else [promises]
    if all(isinstance(promise, Promise) and promise.groups.max(initial=-1) < groups for promise in listed):
        return tuple(listed)
    raise InvalidArgument("promises", f"promises to {groups} groups, as in round.promises", safe_repr(promises))
