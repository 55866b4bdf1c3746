"""What every Gaussian-process policy has: a posterior, the width of its bounds, and an order of ties."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from superarm.errors import InvalidArgument
from superarm.groups import IntArray
from superarm.indices import beta
from superarm.posteriors.posterior import Posterior
from superarm.rewards.reward import PerArm
from superarm.round import Outcomes, Round
from superarm.storage import storable

Seed = int | np.random.Generator | None


@storable
@dataclass(eq=False)
class Learner:
    """The state of a policy.

    Attributes
    ----------
    posterior
        what is believed now; replaced, never changed
    delta
        probability with which the bounds of one output may fail
    max_arms
        M, if known beforehand
    seed
        of the order of ties
    largest_round
        most arms seen in an updated round: M where ``max_arms`` is None
    """

    posterior: Posterior
    delta: float
    max_arms: int | None
    seed: int
    largest_round: int = 0

    @classmethod
    def of(cls, posterior: Posterior, *, delta: float, max_arms: int | None, seed: Seed) -> Learner:
        """Check the settings and draw a number from the seed."""
        if isinstance(posterior, type) or not isinstance(posterior, Posterior):
            raise InvalidArgument("posterior", "an object with predict and condition", repr(posterior))
        if isinstance(delta, bool) or not isinstance(delta, Real) or not 0.0 < delta < 1.0:
            raise InvalidArgument("delta", "a number between 0 and 1", repr(delta))
        if max_arms is not None and (not isinstance(max_arms, (int, np.integer)) or max_arms < 1):
            raise InvalidArgument("max_arms", "a whole number >= 1, or None", repr(max_arms))
        return cls(
            posterior=posterior,
            delta=float(delta),
            max_arms=None if max_arms is None else int(max_arms),
            seed=_number(seed),
        )

    def beta(self, round: Round) -> float:
        """beta_t for this round."""
        if self.max_arms is not None and len(round) > self.max_arms:
            raise InvalidArgument("max_arms", f"at least the arms of every round ({len(round)})", self.max_arms)
        return beta(round.t, self.max_arms or max(self.largest_round, len(round), 1), self.delta)

    def tie_order(self, round: Round) -> IntArray:
        """(M,) the arms in the order in which ties are broken: a permutation drawn from the seed and t.

        Arms are sorted by group, context and what rewards know of them first, so the order in which they are listed
        does not matter; only arms alike in all keep it. Without the draw the first round, where all arms tie, would
        always favour the same.
        """
        rewards = (round.reward, *(promise.reward for promise in round.promises))
        entries = [reward.entries(len(round)) for reward in rewards if isinstance(reward, PerArm)]
        canonical = np.lexsort((*entries, *round.contexts.T[::-1], round.grouping.codes))
        return canonical[np.random.default_rng((self.seed, round.t)).permutation(len(round))]

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Condition the posterior on the outcomes of a round; if anything is wrong, nothing changes."""
        shown = Outcomes.of(round, arms, outcomes)
        self.posterior = self.posterior.condition(round.contexts[shown.arms], shown.values)
        self.largest_round = max(self.largest_round, len(round))


def _number(seed: Seed) -> int:
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if seed is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidArgument("seed", "a whole number >= 0, a Generator, or None", repr(seed))
    return int(seed)
