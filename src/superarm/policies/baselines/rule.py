"""A fixed rule as a policy: what you do today, for comparison."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.arguments import IntArray, function_of
from superarm.errors import InvalidArgument, safe_repr
from superarm.feasible import playable
from superarm.round import Outcomes, Round, checked_round
from superarm.selection import Selection, Status


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """Picks by a function of the round, and learns nothing: the rule that you use today, as a policy.

    Parameters
    ----------
    pick
        takes a round and returns the numbers of the arms to pick, in any order; it must always return the same for the
        same round

    >>> import numpy as np, superarm as sa
    >>> def largest_first(round):
    ...     return np.argsort(-round.contexts[:, 0])[:2]
    >>> sa.Rule(largest_first).select(sa.Round(t=1, contexts=[[0.2], [0.9], [0.5]], feasible=sa.AtMost(2))).arms
    array([1, 2])
    """

    pick: Callable[[Round], Any]

    def __post_init__(self) -> None:
        function_of("pick", self.pick, "a round", returns="arms")

    def __repr__(self) -> str:
        return f"Rule({getattr(self.pick, '__qualname__', type(self.pick).__qualname__)})"

    def select(self, round: Round) -> Selection:
        """The arms that the rule picks, if the round allows them."""
        arms = allowed("pick", "a function that returns arms", self.pick(checked_round(round)), round)
        return claiming_nothing(arms, solver="rule")

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Check the outcomes, as every policy does, and forget them."""
        Outcomes.of(round, arms, outcomes)


def allowed(argument: str, expected: str, answer: Any, round: Round) -> IntArray:
    """Arms picked by a rule of the user's, in ascending order, refused unless the round allows them."""
    try:
        arms: IntArray = np.sort(round.check_arms(answer))
    except InvalidArgument as error:
        raise InvalidArgument(argument, f"{expected}: {error.expected}", error.came) from None
    if not playable(arms, round.feasible, round.grouping):
        raise InvalidArgument(argument, f"arms that {round.feasible} allows", safe_repr(arms.tolist()))
    return arms


def claiming_nothing(arms: IntArray, *, solver: str) -> Selection:
    """A selection of these arms that states neither a value nor a probability."""
    return Selection(
        arms=arms, value=0.0, upper_bound=math.inf, status=Status.LIMIT, solver=solver, seconds=0.0, groups=()
    )
