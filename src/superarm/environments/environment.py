"""The contract of an environment: arrivals, noisy outcomes, and the truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np

from superarm.arguments import Array, IntArray, between, generator
from superarm.errors import InvalidArgument, safe_repr
from superarm.round import Round, checked_round


@runtime_checkable
class Environment(Protocol):
    """Generates rounds, and outcomes for their arms.

    Any object with these three methods is an environment; there is nothing to inherit. All randomness comes from the
    two generators that are passed in, one for arrivals and one for noise, so every policy meets the same rounds and,
    arm by arm, the same noise. If outcomes come late, the environment has a whole number ``delay``: a policy gets those
    of round t after round t + delay was decided.
    """

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds t = 1, 2, ..., without an end."""
        ...

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) f(x_{t,m}) of every arm: the truth, for regret and the clairvoyant only."""
        ...

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) noisy outcomes r(x_{t,m}) of every arm; a simulation shows those of the picked arms only."""
        ...


def with_gaussian_noise(expected: Array, std: float, rng: np.random.Generator) -> Array:
    """Expected outcomes plus independent N(0, std^2) noise (section 2.1)."""
    return expected + generator("rng", rng).normal(0.0, abs(std), expected.shape)  # NumPy refuses a std of -0.0


def mean_number(argument: str, value: float) -> float:
    """A mean number of arrivals, from 0 to a billion: more would fit into no memory."""
    return between(argument, value, 0.0, 1e9)


def contexts_of(round: Round, dimension: int = 1) -> Array:
    """(M, D) contexts of a round, which must have as many features as the environment gives them."""
    contexts = checked_round(round).contexts
    if contexts.shape[1] != dimension:
        raise InvalidArgument("round", f"a round of this environment, with {dimension} features", safe_repr(round))
    return contexts


def places_in_pool(round: Round, pool: int) -> IntArray:
    """(M,) which of the ``pool`` points each arm is: its identity in the rounds of an environment with a pool."""
    ids = np.asarray(checked_round(round).arm_ids)
    if ids.dtype.kind != "i" or (len(ids) and not (ids.min() >= 0 and ids.max() < pool)):
        raise InvalidArgument(
            "round", f"a round of this environment, with arm_ids from 0 to {pool - 1}", safe_repr(round)
        )
    return ids
