"""A reward given by a plain function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from superarm.arguments import Array, IntArray
from superarm.errors import InvalidArgument, safe_repr
from superarm.rewards.group_reward import Comparable, Monotone, equal_by_value


@equal_by_value
@dataclass(frozen=True)
class Custom(Comparable):
    """Any function of the outcomes, as u or as v_G.

    Its structure is unknown, so groups are enumerated (exact up to a limit on their size). A class with a
    ``normal_form`` method has no such limit.

    Parameters
    ----------
    function
        takes the outcomes (k,) of a non-empty set of arms and returns a float
    monotone
        ``"increasing"``, ``"decreasing"`` or ``"none"``; it decides which confidence bound is optimistic
    """

    function: Callable[[Array], float]
    monotone: Monotone

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument("function", "a callable of the outcomes", safe_repr(self.function))
        if not isinstance(self.monotone, str) or self.monotone not in ("increasing", "decreasing", "none"):
            raise InvalidArgument("monotone", "'increasing', 'decreasing' or 'none'", safe_repr(self.monotone))

    def value(self, outcomes: Array, arms: IntArray) -> float:
        """What the function returns."""
        return float(self.function(outcomes))
