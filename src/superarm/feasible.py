"""Which super arms are allowed in a round, whatever the groups promise: S_t of the paper."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from superarm.arguments import LARGEST_WHOLE, Array, IntArray, whole_number
from superarm.errors import InvalidArgument
from superarm.groups import Groups, own_copy

PerGroup = int | Mapping[Hashable, int] | IntArray | Array | None


class Feasible(Protocol):
    """The contract of S_t, the allowed super arms; its members are AtMost, Exactly and WholeGroups.

    A super arm is allowed iff its number of arms is within ``totals``, it touches at most ``most_groups`` groups, and
    it takes no more arms of a group than its cap. If groups are picked ``whole``, it takes all arms of each.
    """

    @property
    def whole(self) -> bool:
        """Whether a group is picked whole or not at all."""
        ...

    def totals(self, arms: int) -> tuple[int, int]:
        """Smallest and largest number of arms that may be picked in a round of ``arms`` arms."""
        ...

    def caps(self, groups: Groups) -> IntArray:
        """(G,) most arms that each group may give."""
        ...

    def most_groups(self, groups: Groups) -> int:
        """Most groups that may be touched."""
        ...

    def allows(self, arms: IntArray, groups: Groups) -> bool:
        """Whether the super arm ``arms`` belongs to S_t."""
        ...

    def largest_sum(self, weights: Array, groups: Groups) -> float:
        """Largest sum of weights (M,) over super arms within the caps and the largest total, without negative weights.

        So no super arm of S_t has a larger sum, whatever size S_t demands.
        """
        ...


class _Counted(ABC):
    """The shared part of :class:`AtMost` and :class:`Exactly`, which limit the number of arms."""

    whole: ClassVar[bool] = False
    k: int | None
    per_group: PerGroup

    def __post_init__(self) -> None:
        if self.k is not None:
            object.__setattr__(self, "k", _count("k", self.k))
        object.__setattr__(self, "per_group", own_copy(self.per_group))

    @abstractmethod
    def totals(self, arms: int) -> tuple[int, int]: ...

    def caps(self, groups: Groups) -> IntArray:
        if self.per_group is None:
            return groups.sizes
        caps = groups.spread(self.per_group, "per_group")
        if (caps < 0).any() or (caps != np.floor(caps)).any():
            raise InvalidArgument("per_group", "whole numbers >= 0", caps[(caps < 0) | (caps != np.floor(caps))][0])
        return np.minimum(caps, groups.sizes).astype(np.intp)

    def most_groups(self, groups: Groups) -> int:
        return len(groups)

    def allows(self, arms: IntArray, groups: Groups) -> bool:
        least, most = self.totals(len(groups.codes))
        touched = np.bincount(groups.codes[arms], minlength=len(groups))
        return least <= len(arms) <= most and bool((touched <= self.caps(groups)).all())

    def largest_sum(self, weights: Array, groups: Groups) -> float:
        # Caps of groups inside a total are a (laminar) matroid: the heaviest arms that still fit are optimal.
        _, most = self.totals(len(groups.codes))
        heaviest = np.argsort(-weights, kind="stable")
        # Codes that fit into 16 bits are sorted in linear time.
        codes = groups.codes[heaviest].astype(np.uint16 if len(groups) < 2**16 else np.intp)
        order = heaviest[np.argsort(codes, kind="stable")]
        place = np.arange(len(order)) - np.repeat(groups.starts[:-1], groups.sizes)
        within = weights[order[place < np.repeat(self.caps(groups), groups.sizes)]]
        return math.fsum(np.sort(np.maximum(within, 0.0))[::-1][:most])


@dataclass(frozen=True, eq=False)
class AtMost(_Counted):
    """At most ``k`` arms in all, and at most ``per_group`` arms of each group.

    ``AtMost(per_group=caps)`` has no limit on the total. Caps are a scalar, a mapping by group label, or one per
    group in the order of the sorted distinct labels; 0 closes a group.
    """

    k: int | None = None
    per_group: PerGroup = None

    def totals(self, arms: int) -> tuple[int, int]:
        return 0, arms if self.k is None else min(self.k, arms)


@dataclass(frozen=True, eq=False)
class Exactly(_Counted):
    """Exactly ``k`` arms in all, and at most ``per_group`` arms of each group (as in :class:`AtMost`).

    Where no such super arm exists, oracles return the largest that does, with status ``UNDERFILLED``.
    """

    k: int
    per_group: PerGroup = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _count("k", self.k))
        super().__post_init__()

    def totals(self, arms: int) -> tuple[int, int]:
        return self.k, self.k  # even if the round has fewer arms


@dataclass(frozen=True, eq=False)
class WholeGroups:
    """At most ``n`` groups, each picked whole or not at all."""

    whole: ClassVar[bool] = True
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", _count("n", self.n))

    def totals(self, arms: int) -> tuple[int, int]:
        return 0, arms

    def caps(self, groups: Groups) -> IntArray:
        return groups.sizes

    def most_groups(self, groups: Groups) -> int:
        return self.n

    def allows(self, arms: IntArray, groups: Groups) -> bool:
        touched = np.bincount(groups.codes[arms], minlength=len(groups))
        whole = (touched == 0) | (touched == groups.sizes)
        return bool(whole.all() and np.count_nonzero(touched) <= self.n)

    def largest_sum(self, weights: Array, groups: Groups) -> float:
        totals = np.bincount(groups.codes, weights=weights, minlength=len(groups))
        return math.fsum(np.sort(np.maximum(totals, 0.0))[::-1][: self.n])


def _count(argument: str, value: Any) -> int:
    """A number of arms or groups, cut to what arrays can count, because no round has more."""
    return min(whole_number(argument, value), LARGEST_WHOLE)


def playable(arms: IntArray, feasible: Feasible, groups: Groups) -> bool:
    """Whether arms may be played: in S_t, or fewer arms than S_t demands, as oracles return if S_t has no super arm.

    >>> groups = Groups.of([0, 0, 1])
    >>> [playable(np.array(arms), Exactly(3, per_group=1), groups) for arms in ([0, 2], [0, 1])]
    [True, False]
    """
    least, _ = feasible.totals(len(groups.codes))
    if feasible.whole or len(arms) >= least:
        return feasible.allows(arms, groups)
    return bool((np.bincount(groups.codes[arms], minlength=len(groups)) <= feasible.caps(groups)).all())
