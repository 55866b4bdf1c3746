"""Dixit-Stiglitz group reward: diminishing returns within an item, additive over items (section 5.2)."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import InvalidArgument, safe_repr
from superarm.groups import Groups
from superarm.rewards.group_reward import Comparable, Monotone, Sense, tolerance
from superarm.rewards.normal_forms import Blocks
from superarm.storage.content import AS_GIVEN
from superarm.storage.hashes import label_hashes

RANGE = 1e140  # largest power, and inverse of the smallest: their quotient is still finite
NEGLIGIBLE = 1e-13  # outcomes below this cannot move what is kept up to 1e-9


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

    items: Iterable[Hashable] = field(metadata=AS_GIVEN)
    power: float = 3.0
    monotone: ClassVar[Monotone] = "increasing"
    codes: IntArray = field(init=False, repr=False)
    labels: tuple[Hashable, ...] = field(init=False, repr=False)  # of the items, by code

    def __post_init__(self) -> None:
        power = self.power
        if isinstance(power, bool) or not isinstance(power, Real) or not 1.0 <= power <= sys.float_info.max:
            raise InvalidArgument("power", "a finite number >= 1", safe_repr(power))
        object.__setattr__(self, "power", float(power))
        items = Groups.of(self.items, "items")
        object.__setattr__(self, "codes", items.codes)
        object.__setattr__(self, "labels", items.labels)

    def check_size(self, arms: int) -> None:
        if len(self.codes) != arms:
            raise InvalidArgument("items", f"one item per arm ({arms})", f"{len(self.codes)} items")

    def entries(self, arms: int) -> IntArray:
        # Codes number the items of this round; a hash does not depend on which other items there are.
        return label_hashes(self.labels).view(np.int64)[self.codes]

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Exactly rounded sums within and over the items."""
        codes = self.codes[arms]
        if np.abs(outcomes).max(initial=0.0) > self._reach:
            return math.fsum(self._scaled(outcomes[codes == item]) for item in dict.fromkeys(codes.tolist()))
        sums: dict[int, list[float]] = {}
        for term, item in zip(self._power(outcomes), codes.tolist(), strict=True):
            sums.setdefault(item, []).append(term)
        totals = {item: math.fsum(terms) for item, terms in sums.items()}
        return math.fsum(
            math.copysign(abs(total) ** (1.0 / self.power), total)
            if abs(total) >= 1.0 / RANGE
            else self._scaled(outcomes[codes == item])
            for item, total in totals.items()
        )

    def values(self, outcomes: Array, arms: IntArray) -> Array:
        """The same for many draws, in plain floating point."""
        item = self.codes[arms]
        of_item = item[:, None] == np.array(sorted(set(item.tolist())))
        values: Array
        if np.abs(outcomes).max(initial=0.0) <= self._reach:
            totals = self._power(outcomes) @ of_item
            if (np.abs(totals) >= 1.0 / RANGE).all():
                values = (np.sign(totals) * np.abs(totals) ** (1.0 / self.power)).sum(axis=1)
                return values
        unit = np.stack([np.abs(outcomes[:, mine]).max(axis=1) for mine in of_item.T], axis=1)
        unit[unit == 0.0] = 1.0
        totals = self._power(outcomes / unit[:, of_item.argmax(axis=1)]) @ of_item
        values = (unit * np.sign(totals) * np.abs(totals) ** (1.0 / self.power)).sum(axis=1)
        return values

    def normal_form(
        self, outcomes: Array, arms: IntArray, groups: IntArray, thresholds: Array, sense: Sense
    ) -> Blocks | None:
        """Blocks are the items; the root is increasing, so either sense and any sign are exact.

        Outcomes and threshold of a group are scaled by one unit. None if no unit keeps the powers of all outcomes
        within the range of floating point, as for high powers of outcomes of very different size.
        """
        unit = np.ones(len(thresholds))
        sizes = np.abs(outcomes)
        counted = sizes[sizes > NEGLIGIBLE]
        if len(counted) and not 1.0 / self._reach <= counted.min() <= counted.max() <= self._reach:
            largest = np.full(len(thresholds), NEGLIGIBLE)
            np.maximum.at(largest, groups, sizes)
            unit = largest / self._reach
            if ((sizes > NEGLIGIBLE) & (sizes * self._reach < unit[groups])).any():
                return None
        return Blocks(
            blocks=self.codes[arms],
            terms=self._power(outcomes / unit[groups]),
            power=float(self.power),
            sign=sense.sign,
            least=(sense.sign * thresholds - tolerance(thresholds)) / unit,
        )

    @property
    def _reach(self) -> float:
        """Outcomes between 1 / reach and reach have powers that floating point holds with room to spare."""
        return float(RANGE ** (1.0 / self.power))

    def _power(self, outcomes: Array) -> Array:
        return np.sign(outcomes) * np.abs(outcomes) ** self.power

    def _scaled(self, outcomes: Array) -> float:
        """The root of the powers of one item, in units of its largest outcome."""
        unit = float(np.abs(outcomes).max())
        if unit == 0.0:
            return 0.0
        total = math.fsum(self._power(outcomes / unit))
        return math.copysign(unit * abs(total) ** (1.0 / self.power), total)
