"""An environment of your own from two functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.arguments import Array, function_of, generator, real_array, whole_number
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.round import LARGEST, Round, checked_round


@dataclass(frozen=True, eq=False, repr=False)
class Simulator:
    """An environment from two functions: one draws the rounds, one knows the truth. Noise is Gaussian.

    Parameters
    ----------
    draw
        takes t = 1, 2, ... and a random generator, and returns round t; it draws from this generator alone, so that
        every policy meets the same rounds
    expected
        takes a round and returns the expected outcomes of its arms, (M, 2): what each arm earns, and what its group
        gets from it; no policy sees them
    noise_std
        standard deviation of the noise, one number or one for each outcome
    delay
        number of further rounds after which a policy gets the outcomes

    >>> import numpy as np, superarm as sa
    >>> def draw(t, rng):
    ...     return sa.Round(t=t, contexts=rng.uniform(size=(5, 1)), constraint=sa.Sum() >= 0.5, feasible=sa.AtMost(2))
    >>> def expected(round):
    ...     return np.hstack([round.contexts, 1 - round.contexts])
    >>> shop = sa.environments.Simulator(draw, expected, noise_std=0.1)
    >>> sa.check_environment(shop)
    >>> sa.simulate(sa.CUCB(), shop, rounds=3)["t"].to_list()
    [1, 2, 3]
    """

    draw: Callable[[int, np.random.Generator], Round]
    expected: Callable[[Round], Any]
    noise_std: float | tuple[float, float] = 0.0
    delay: int = 0

    def __post_init__(self) -> None:
        function_of("draw", self.draw, "t", "a generator", returns="a round")
        function_of("expected", self.expected, "a round", returns="expected outcomes")
        noise = real_array(self.noise_std, "noise_std", "numbers")
        if noise.shape not in ((), (2,)) or not ((noise >= 0.0) & (noise <= LARGEST)).all():
            expected = f"a number from 0 to {LARGEST}, or one for each outcome"
            raise InvalidArgument("noise_std", expected, safe_repr(self.noise_std))
        whole_number("delay", self.delay)

    def __repr__(self) -> str:
        draw, expected = (getattr(each, "__qualname__", type(each).__qualname__) for each in (self.draw, self.expected))
        return f"Simulator({draw}, {expected}, noise_std={self.noise_std}, delay={self.delay})"

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds as ``draw`` draws them."""
        generator("rng", rng)
        for t in itertools.count(1):
            round = self.draw(t, rng)
            if not isinstance(round, Round):
                raise InvalidArgument("draw", "a function that returns a superarm.Round", type_of(round))
            if round.t != t:
                raise InvalidArgument("draw", f"a function that returns round t = {t}", f"t = {round.t}")
            yield round

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) what ``expected`` returns, checked."""
        shape = (len(checked_round(round)), 2)
        values: Array = real_array(self.expected(round), "expected", "a function that returns numbers")
        if values.shape != shape:
            raise InvalidArgument(
                "expected", f"a function that returns shape {shape}, a row per arm", f"shape {values.shape}"
            )
        if not (np.abs(values) <= LARGEST).all():
            raise InvalidArgument(
                "expected", f"a function that returns numbers from {-LARGEST} to {LARGEST}", safe_repr(values)
            )
        return values

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) the same with Gaussian noise."""
        expected = self.expected_outcomes(round)
        noise: Array = generator("rng", rng).normal(size=expected.shape) * np.asarray(self.noise_std, dtype=np.float64)
        return expected + noise
