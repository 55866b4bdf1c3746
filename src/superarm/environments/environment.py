"""The contract of an environment: arrivals, noisy outcomes, and the truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np

from superarm.arguments import Array
from superarm.round import Round


@runtime_checkable
class Environment(Protocol):
    """Generates rounds and answers for their arms.

    Any object with these three methods is an environment; there is nothing to inherit. All randomness comes from the
    generators that it is handed, one for arrivals and one for noise, so that every policy meets the same rounds and,
    arm by arm, the same noise.
    """

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds t = 1, 2, ..., for as long as somebody asks."""
        ...

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) f(x_{t,m}) of every arm: the truth, for regret and the clairvoyant only."""
        ...

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) noisy outcomes r(x_{t,m}) of every arm; a simulation shows those of the picked arms only."""
        ...


def with_gaussian_noise(expected: Array, std: float, rng: np.random.Generator) -> Array:
    """Expected outcomes plus independent N(0, std^2) noise (section 2.1)."""
    return expected + rng.normal(0.0, std, expected.shape)
