"""A monotone function of a weighted sum, as super-arm reward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from superarm.errors import InvalidArgument
from superarm.groups import Array, IntArray


@dataclass(frozen=True, eq=False)
class TransformedSum:
    """u(S) = function(sum over S of weights * outcomes), for a non-decreasing ``function``.

    The exact decomposition maximises the sum, which maximises u. Products of probabilities fit by taking logarithms
    of the outcomes beforehand.

    Parameters
    ----------
    function
        a non-decreasing function of one float
    weights
        non-negative (Assumption 1 needs u monotone): one number, or one per arm of the round

    >>> import numpy as np
    >>> u = TransformedSum(np.sqrt, weights=2.0)
    >>> u.value(np.array([1.0, 7.0]), np.array([0, 1]))
    4.0
    """

    function: Callable[[float], float]
    weights: float | Array = 1.0
    per_arm: Array = field(init=False, repr=False)  # (M,) or (1,)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument("function", "a callable of the weighted sum", repr(self.function))
        try:
            weights = np.atleast_1d(np.array(self.weights, dtype=np.float64))
        except (TypeError, ValueError):
            raise InvalidArgument("weights", "numbers, one or one per arm", repr(self.weights)) from None
        if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any():
            raise InvalidArgument("weights", "non-negative finite numbers, one or one per arm", repr(self.weights))
        weights.setflags(write=False)
        object.__setattr__(self, "per_arm", weights)

    def check_size(self, arms: int) -> None:
        """Refuse a round with another number of arms."""
        if len(self.per_arm) not in (1, arms):
            raise InvalidArgument("weights", f"one weight, or one per arm ({arms})", f"{len(self.per_arm)} weights")

    def entries(self, arms: int) -> Array:
        """The weight of every arm."""
        return np.broadcast_to(self.per_arm, arms)

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Function of the exactly rounded weighted sum."""
        return self.transform(math.fsum(self.scores(outcomes, arms)))

    def scores(self, outcomes: Array, arms: IntArray) -> Array:
        """(k,) weighted outcomes."""
        return self.per_arm * outcomes if len(self.per_arm) == 1 else self.per_arm[arms] * outcomes

    def transform(self, total: float) -> float:
        """The function itself."""
        return float(self.function(total))
