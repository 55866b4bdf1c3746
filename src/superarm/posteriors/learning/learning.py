"""How hyperparameters are learnt from what was observed, and when."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, Self, runtime_checkable

from superarm.arguments import Seed, whole_number
from superarm.errors import InvalidArgument, safe_repr
from superarm.posteriors.posterior import Posterior
from superarm.storage import storable

MOST = 2.0**62  # largest factor or number that is accepted: beyond, nothing changes


@storable(upgrade=lambda fields: {"seasons": (), **fields})
@dataclass(frozen=True, kw_only=True)
class Learning:
    """How hyperparameters are learnt: the most probable ones given the data and a prior around the values given.

    Lengthscales, variances and whatever else the kernels declare (see :mod:`superarm.kernels.kernel`), the noises
    and the coregionalisation matrix maximise the marginal likelihood times a prior; the prior mean stays. Each has a
    log-normal prior around the value that the posterior was *made* with, however often it was learnt since, so a few
    outcomes cannot move it far. Outputs with one kernel and one noise share what is learnt, and one factor still serves
    both; a pair of kernels, equal or not, is learnt separately.

    If more than ``at_most`` distinct contexts were observed, half of those used are a random subset, fixed by their
    bits, and the other half their nearest neighbours, so that both large and small distances occur. Repeats of all
    contexts inform about the noise.

    Parameters
    ----------
    spread
        one standard deviation of the prior of a kernel's hyperparameter, as a factor; 3 at most where a policy was
        given no posterior
    noise_spread
        the same for the standard deviation of a noise
    reach
        how far a kernel's hyperparameter may go from the value given, as a factor
    noise_reach
        the same for the standard deviation of a noise
    least
        number of outcomes of an output before anything is learnt about it
    at_most
        most distinct contexts to use (half as many if the outputs are correlated); the cost is their third power
    starts
        number of starting points to compare: the values given, the present ones, and others drawn from the prior
    schedule
        the decisions with outcomes, counted from 1, after which a policy learns; None: 1, 2, 3, 4, 6, 8, 12, 16, 24,
        32, ... If the outcomes of one come in parts, it learns again whenever they have doubled
    seasons
        periods, in units of t, with which the truth may recur, such as ``(24, 168)`` if t counts hours; a policy adopts
        those that the outcomes support

    >>> import numpy as np, superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(60, 1))
    >>> y = np.hstack([np.sin(6 * x), np.cos(6 * x)]) + rng.normal(0, 0.05, (60, 2))
    >>> posterior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=3.0), noise_std=0.2).condition(x, y)
    >>> kernel = posterior.learned(Learning(starts=4)).kernel
    >>> 0.2 < kernel.lengthscale < 0.5
    True
    """

    spread: float = 5.0
    noise_spread: float = 3.0
    reach: float = 100.0
    noise_reach: float = 30.0
    least: int = 10
    at_most: int = 300
    starts: int = 8
    schedule: tuple[int, ...] | None = None
    seasons: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for argument in ("spread", "noise_spread", "reach", "noise_reach"):
            factor = getattr(self, argument)
            if isinstance(factor, bool) or not isinstance(factor, float | int) or not 1.0 < factor <= MOST:
                raise InvalidArgument(argument, "a finite factor above 1", safe_repr(factor))
        for argument, least in (("least", 1), ("at_most", 2), ("starts", 1)):
            number = getattr(self, argument)
            if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= MOST:
                raise InvalidArgument(argument, f"a whole number, at least {least}", safe_repr(number))
        if self.schedule is not None:
            _check_schedule(self.schedule)
        if not isinstance(self.seasons, tuple) or self.seasons:
            _check_seasons(self.seasons)

    def due(self, updates: int) -> bool:
        """Whether a policy learns after this many decisions with outcomes.

        >>> [n for n in range(50) if Learning().due(n)]
        [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]
        """
        updates = whole_number("updates", updates)
        if self.schedule is not None:
            return updates in self.schedule
        odd = updates // (updates & -updates) if updates > 0 else 0
        return odd == 1 or odd == 3


LEARNING = Learning()


@runtime_checkable
class Learns(Posterior, Protocol):
    """A posterior that can learn its hyperparameters; a posterior of your own may have this method, too."""

    def learned(self, learning: Learning, seed: Seed) -> Self:
        """The same data under hyperparameters that fit them better; the posterior itself if there are none."""
        ...


def _check_schedule(schedule: tuple[int, ...]) -> None:
    whole = isinstance(schedule, tuple) and all(isinstance(n, int) and not isinstance(n, bool) for n in schedule)
    if not whole or min(schedule, default=1) < 1 or any(a >= b for a, b in pairwise(schedule)):
        raise InvalidArgument(
            "schedule", "a tuple of ascending numbers of updates, from 1, or None", safe_repr(schedule)
        )


def _check_seasons(seasons: tuple[float, ...]) -> None:
    numbers = isinstance(seasons, tuple) and all(
        isinstance(period, float | int) and not isinstance(period, bool) and 1.0 < period <= MOST for period in seasons
    )
    if not numbers or len(set(seasons)) < len(seasons):
        raise InvalidArgument("seasons", "a tuple of different periods, each above 1", safe_repr(seasons))
