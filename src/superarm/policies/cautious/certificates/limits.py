"""The possible range of expected outcomes, which a Gaussian ignores: 0 to 1 for a probability, 0 on for a rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.policies.cautious.certificates.certificate import Verdicts
from superarm.posteriors.posterior import Belief
from superarm.rewards.group_reward import is_good
from superarm.rewards.promise import Promise


@dataclass(frozen=True)
class Limits:
    """The least and the greatest value that an expected second outcome can have."""

    low: float = -np.inf
    high: float = np.inf

    def __bool__(self) -> bool:
        return math.isfinite(self.low) or math.isfinite(self.high)

    def belief(self, belief: Belief) -> Belief:
        """The same belief with no second mean beyond the limits."""
        if not self:
            return belief
        second = np.clip(belief.mean[:, 1], self.low, self.high)
        return Belief(mean=np.column_stack([belief.mean[:, 0], second]), std=belief.std)

    def verdicts(self, promise: Promise, thresholds: Array, sets: list[IntArray], found: Verdicts) -> Verdicts:
        """The verdicts ``found``, made certain where a promise is kept, or broken, at both ends of the range."""
        if not self or promise.reward.monotone == "none":
            return found
        p_broken, regret = found.p_broken.copy(), found.regret.copy()
        for i, (arms, threshold) in enumerate(zip(sets, thresholds.tolist(), strict=True)):
            ends = [self._value(promise, end, arms) for end in (self.low, self.high)]
            kept = [end is not None and bool(is_good(end, threshold, promise.sense)) for end in ends]
            worst = 0 if promise.optimism > 0 else 1  # the end at which promises are kept least
            if kept[worst]:
                p_broken[i], regret[i] = 0.0, 0.0
            elif ends[1 - worst] is not None and not kept[1 - worst]:
                p_broken[i] = 1.0
        return Verdicts(p_broken=p_broken, regret=regret)

    @staticmethod
    def _value(promise: Promise, end: float, arms: IntArray) -> float | None:
        """v of a set all of whose outcomes are at one end of the range; None if that end is infinite."""
        return promise.reward.value(np.full(len(arms), end), arms) if math.isfinite(end) else None


NO_LIMITS = Limits()
