"""Dixit-Stiglitz group reward: diminishing returns within an item, additive over items (section 5.2)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar

import numpy as np

from superarm.errors import InvalidArgument
from superarm.groups import Array, Groups, IntArray
from superarm.rewards.group_reward import Comparable, Monotone, Sense, tolerance
from superarm.rewards.normal_forms import Blocks


@dataclass(frozen=True, eq=False)
class DixitStiglitz(Comparable):
    """v_G = sum over items i of (sum over arms j of item i of f_2(x_ij)^power)^(1/power).

    Power and root keep the sign of their argument, so v_G increases in every outcome, negative ones included;
    for odd powers such as the paper's 3 this is the plain formula.

    Parameters
    ----------
    items
        (M,) item of each arm of the round (the movie of a movie-user pair), any hashable labels
    power
        at least 1
    """

    items: Iterable[Hashable]
    power: float = 3.0
    monotone: ClassVar[Monotone] = "increasing"
    codes: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        power = self.power
        if isinstance(power, bool) or not isinstance(power, Real) or not 1.0 <= power < math.inf:
            raise InvalidArgument("power", "a finite number >= 1", repr(power))
        object.__setattr__(self, "codes", Groups.of(self.items, "items").codes)

    def check_size(self, arms: int) -> None:
        """Refuse a round with another number of arms."""
        if len(self.codes) != arms:
            raise InvalidArgument("items", f"one item per arm ({arms})", f"{len(self.codes)} items")

    def entries(self, arms: int) -> IntArray:
        """The item of every arm."""
        return self.codes

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Exactly rounded sums within and over the items."""
        sums: dict[int, list[float]] = {}
        for term, item in zip(self._power(outcomes), self.codes[arms].tolist(), strict=True):
            sums.setdefault(item, []).append(term)
        roots = [math.fsum(terms) for terms in sums.values()]
        return math.fsum(math.copysign(abs(total) ** (1.0 / self.power), total) for total in roots)

    def values(self, outcomes: Array, arms: IntArray) -> Array:
        """The same for many draws, in plain floating point."""
        item = self.codes[arms]
        totals = self._power(outcomes) @ (item[:, None] == np.array(sorted(set(item.tolist()))))
        values: Array = (np.sign(totals) * np.abs(totals) ** (1.0 / self.power)).sum(axis=1)
        return values

    def normal_form(self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense) -> Blocks:
        """Blocks are the items; the root is increasing, so either sense and any sign are exact."""
        return Blocks(
            blocks=self.codes[arms],
            terms=self._power(outcomes),
            power=float(self.power),
            sign=sense.sign,
            least=sense.sign * thresholds - tolerance(thresholds),
        )

    def _power(self, outcomes: Array) -> Array:
        return np.sign(outcomes) * np.abs(outcomes) ** self.power
