"""u, the reward of a super arm: the contract, what a reward may declare about its structure, and functions of a sum."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from superarm.arguments import Array, IntArray, real_array
from superarm.errors import InvalidArgument, safe_repr
from superarm.storage.content import AS_GIVEN
from superarm.sums import exact_sum

LARGEST_WEIGHT = 1e100  # sums of indices up to 1e150 with such weights stay finite


@runtime_checkable
class Reward(Protocol):
    """u(S, f_1(x_S)): monotonically non-decreasing in every outcome (Assumption 1).

    Any object with this method is a reward; there is nothing to inherit.
    """

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Reward of the non-empty super arm ``arms`` (k,), ascending, with first outcomes ``outcomes`` (k,)."""
        ...


@runtime_checkable
class Additive(Reward, Protocol):
    """A reward of the form u(S) = transform(sum of scores), which the exact decomposition can maximise."""

    def scores(self, outcomes: Array, arms: IntArray) -> Array:
        """(k,) contribution of each arm to the sum."""
        ...

    def transform(self, total: float) -> float:
        """The non-decreasing function applied to the sum of the scores."""
        ...


def is_additive(reward: object) -> TypeGuard[Additive]:
    """``isinstance(reward, Additive)`` at a hundredth of its price: a protocol lists its members every time."""
    return hasattr(reward, "value") and hasattr(reward, "scores") and hasattr(reward, "transform")


def reward_of(reward: Reward, outcomes: Array, arms: IntArray) -> float:
    """u of a super arm; an empty one is worth transform(0) where u is a function of a sum, and otherwise 0."""
    if len(arms):
        return checked_value(reward.value(outcomes, arms), reward)
    return checked_value(reward.transform(0.0), reward) if is_additive(reward) else 0.0


def checked_value(value: Any, reward: object) -> float:
    """The value that u or v_G returned, refused unless it is a number: NaN is neither the best nor good."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, (int, float, np.number)) or math.isnan(value):
        raise InvalidArgument("reward", f"a number as the value of {reward}", safe_repr(value))
    return float(value)


@runtime_checkable
class PerArm(Protocol):
    """A reward, of either kind, that holds one entry per arm of the round."""

    def check_size(self, arms: int) -> None:
        """Refuse a round of ``arms`` arms if the entries do not fit it."""
        ...

    def entries(self, arms: int) -> Array | IntArray:
        """(arms,) the entries as numbers: arms of one group and context that differ here are not alike.

        The number of an entry does not depend on the others, so that arms left out change nothing among the rest.
        """
        ...


def is_per_arm(reward: object) -> TypeGuard[PerArm]:
    """``isinstance(reward, PerArm)``, cheaply."""
    return hasattr(reward, "check_size") and hasattr(reward, "entries")


@dataclass(frozen=True, eq=False)
class TransformedSum:
    """u(S) = function(sum over S of weights * outcomes), for a non-decreasing ``function``.

    The exact decomposition maximises the sum, which maximises u. For products of probabilities, use the logarithms as
    outcomes.

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
    weights: float | Array = field(default=1.0, metadata=AS_GIVEN)
    per_arm: Array = field(init=False, repr=False)  # (M,) or (1,)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument("function", "a callable of the weighted sum", safe_repr(self.function))
        expected = "non-negative finite numbers, one or one per arm"
        weights = np.atleast_1d(real_array(self.weights, "weights", expected))
        if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0.0).any():
            raise InvalidArgument("weights", expected, safe_repr(self.weights))
        if weights.max(initial=0.0) > LARGEST_WEIGHT:
            raise InvalidArgument("weights", f"numbers of at most {LARGEST_WEIGHT:g}", weights.max())
        weights.setflags(write=False)
        object.__setattr__(self, "per_arm", weights)

    def check_size(self, arms: int) -> None:
        if len(self.per_arm) not in (1, arms):
            raise InvalidArgument("weights", f"one weight, or one per arm ({arms})", f"{len(self.per_arm)} weights")

    def entries(self, arms: int) -> Array:
        return np.broadcast_to(self.per_arm, arms)

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """Function of the exactly rounded weighted sum."""
        return self.transform(exact_sum(self.scores(outcomes, arms).tolist()))

    def scores(self, outcomes: Array, arms: IntArray) -> Array:
        return self.per_arm * outcomes if len(self.per_arm) == 1 else self.per_arm[arms] * outcomes

    def transform(self, total: float) -> float:
        return float(self.function(total))
