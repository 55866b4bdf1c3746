"""By how much certificates are wider than the posterior."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array
from superarm.posteriors.posterior import Belief


@dataclass(frozen=True)
class Widening:
    """Certificates use kappa2 times the covariance of f_2, plus tau2 times the noise variance between arms of a group.

    >>> Widening(kappa2=2.25), Widening(tau2=0.09), Widening()
    (standard deviations x 1.5, a common error of 0.3 noise standard deviations in each group, none)
    """

    kappa2: float = 1.0
    tau2: float = 0.0

    def __bool__(self) -> bool:
        return self.kappa2 > 1.0 or self.tau2 > 0.0

    def __repr__(self) -> str:
        said = []
        if self.kappa2 > 1.0:
            said.append(f"standard deviations x {math.sqrt(self.kappa2):.2g}")
        if self.tau2 > 0.0:
            said.append(f"a common error of {math.sqrt(self.tau2):.2g} noise standard deviations in each group")
        return " and ".join(said) or "none"

    def covariance(self, covariance: Array, noise: float) -> Array:
        """Widened covariance of f_2, of which only blocks within a group are read; ``noise`` is the noise variance."""
        return self.kappa2 * covariance + self.tau2 * noise if self else covariance

    def std(self, std: Array, noise: float) -> Array:
        """Widened standard deviations of f_2."""
        return np.sqrt(self.kappa2 * np.square(std) + self.tau2 * noise) if self else std

    def belief(self, belief: Belief, noise: float) -> Belief:
        """A belief with wider standard deviations of f_2."""
        if not self:
            return belief
        return Belief(mean=belief.mean, std=np.column_stack([belief.std[:, 0], self.std(belief.std[:, 1], noise)]))


NONE = Widening()
