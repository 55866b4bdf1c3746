"""The benchmark: plays on the truth with the exact oracle, so its regret is zero wherever a good super arm exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from superarm.arguments import instance
from superarm.environments.environment import Environment
from superarm.regret import optimum
from superarm.round import Outcomes, Round, checked_round
from superarm.selection import Selection


@dataclass(frozen=True, eq=False)
class Clairvoyant:
    """Knows the expected outcomes of every arm; learns nothing, and cannot be saved without its environment."""

    environment: Environment

    def __post_init__(self) -> None:
        expected = "an object with rounds, expected_outcomes and outcomes"
        instance("environment", self.environment, Environment, expected)

    def select(self, round: Round) -> Selection:
        """The best good super arm by the truth."""
        return optimum(round, self.environment.expected_outcomes(checked_round(round)))

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Check the outcomes, as every policy does, and forget them."""
        Outcomes.of(round, arms, outcomes)
