"""Which super arms are allowed in a round, whatever the groups promise: S_t of the paper."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, whole_number
from superarm.errors import InvalidArgument
from superarm.groups import Groups, own_copy

PerGroup = int | Mapping[Hashable, int] | IntArray | Array | None


@dataclass(frozen=True, eq=False)
class AtMost:
    """At most ``k`` arms in all, and at most ``per_group`` arms of each group.

    ``AtMost(per_group=caps)`` has no limit on the total. Caps are a scalar, a mapping by group label, or one per
    group in the order of the sorted distinct labels; 0 closes a group.
    """

    k: int | None = None
    per_group: PerGroup = None

    def __post_init__(self) -> None:
        if self.k is not None:
            whole_number("k", self.k)
        object.__setattr__(self, "per_group", own_copy(self.per_group))

    def totals(self, arms: int) -> tuple[int, int]:
        """Smallest and largest admissible number of picked arms, of ``arms`` that are there."""
        return 0, arms if self.k is None else min(self.k, arms)

    def caps(self, groups: Groups) -> IntArray:
        """(G,) most arms that each group may give."""
        return _caps(self.per_group, groups)


@dataclass(frozen=True, eq=False)
class Exactly:
    """Exactly ``k`` arms in all, and at most ``per_group`` arms of each group (as in :class:`AtMost`).

    Where no such super arm exists, oracles return the largest that does, with status ``UNDERFILLED``.
    """

    k: int
    per_group: PerGroup = None

    def __post_init__(self) -> None:
        whole_number("k", self.k)
        object.__setattr__(self, "per_group", own_copy(self.per_group))

    def totals(self, arms: int) -> tuple[int, int]:
        """Smallest and largest admissible number of picked arms, whether or not so many are there."""
        return self.k, self.k

    def caps(self, groups: Groups) -> IntArray:
        """(G,) most arms that each group may give."""
        return _caps(self.per_group, groups)


@dataclass(frozen=True, eq=False)
class WholeGroups:
    """At most ``n`` groups, each picked whole or not at all."""

    n: int

    def __post_init__(self) -> None:
        whole_number("n", self.n)


Feasible = AtMost | Exactly | WholeGroups


def is_feasible(feasible: Feasible, arms: IntArray, groups: Groups) -> bool:
    """Whether the super arm ``arms`` belongs to S_t."""
    touched = np.bincount(groups.codes[arms], minlength=len(groups))
    if isinstance(feasible, WholeGroups):
        whole = (touched == 0) | (touched == groups.sizes)
        return bool(whole.all() and np.count_nonzero(touched) <= feasible.n)
    least, most = feasible.totals(len(groups.codes))
    return least <= len(arms) <= most and bool((touched <= feasible.caps(groups)).all())


def largest_sum(weights: Array, feasible: Feasible, groups: Groups) -> float:
    """Largest sum of weights (M,) over super arms within the caps and the largest total; those below 0 are left out.

    So no super arm of S_t has a larger sum, of whatever size it must be.
    """
    if isinstance(feasible, WholeGroups):
        totals = np.bincount(groups.codes, weights=weights, minlength=len(groups))
        return math.fsum(np.sort(np.maximum(totals, 0.0))[::-1][: feasible.n])
    # Caps of groups inside a total are a (laminar) matroid: the heaviest arms that still fit are optimal.
    _, most = feasible.totals(len(groups.codes))
    order = np.lexsort((-weights, groups.codes))
    place = np.arange(len(order)) - np.repeat(groups.starts[:-1], groups.sizes)
    within = weights[order[place < feasible.caps(groups)[groups.codes[order]]]]
    return math.fsum(np.sort(np.maximum(within, 0.0))[::-1][:most])


def _caps(per_group: PerGroup, groups: Groups) -> IntArray:
    if per_group is None:
        return groups.sizes
    caps = groups.spread(per_group, "per_group")
    if (caps < 0).any() or (caps != np.floor(caps)).any():
        raise InvalidArgument("per_group", "whole numbers >= 0", caps[(caps < 0) | (caps != np.floor(caps))][0])
    return np.minimum(caps, groups.sizes).astype(np.intp)
