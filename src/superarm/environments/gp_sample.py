"""Outcomes drawn from a Gaussian process: the trade-off study of the appendix."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from superarm.arguments import Array, IntArray, between, generator, non_negative, whole_number
from superarm.environments.environment import mean_number, places_in_pool, with_gaussian_noise
from superarm.feasible import WholeGroups
from superarm.kernels.kernel import Kernel, checked_kernel
from superarm.kernels.stationary import SquaredExponential
from superarm.posteriors.engines.inducing import Basis, greedy_pivots
from superarm.rewards.simple import Variance
from superarm.round import Round

NEGLIGIBLE = 1e-12  # share of the prior variance that a draw leaves out


@dataclass(frozen=True, kw_only=True)
class GPSample:
    """Groups of arms whose contexts and outcomes come from a pool of points where a GP was sampled once.

    The pool is ``pool`` uniform points of [0, 1]^2 and two independent draws of a GP there, fixed by ``seed``. Every
    round Poisson(``groups``) groups of Poisson(``arms``) arms arrive, and empty groups are dropped. Each arm is a
    uniform draw from the pool. The promise is a variance of at least the ``percentile`` of the variances of all groups
    of the first ``horizon`` rounds; at most ``most_groups`` groups are picked, each whole.
    """

    seed: int = 0
    groups: float = 50.0
    arms: float = 5.0
    pool: int = 6000
    kernel: Kernel = field(default_factory=lambda: SquaredExponential(lengthscale=0.5))
    noise_std: float = 0.1
    percentile: float = 80.0
    most_groups: int = 10
    horizon: int = 100

    def __post_init__(self) -> None:
        for argument in ("seed", "most_groups", "horizon"):
            whole_number(argument, getattr(self, argument))
        mean_number("groups", self.groups)
        mean_number("arms", self.arms)
        non_negative("noise_std", self.noise_std)
        checked_kernel("kernel", self.kernel)
        whole_number("pool", self.pool, 1)
        between("percentile", self.percentile, 0.0, 100.0)

    @cached_property
    def contexts(self) -> Array:
        """(pool, 2) points of the pool."""
        return np.random.default_rng((self.seed, 0)).uniform(size=(self.pool, 2))

    @cached_property
    def truth(self) -> Array:
        """(pool, 2) expected outcomes at the points of the pool."""
        return gp_draw(self.kernel, self.contexts, np.random.default_rng((self.seed, 1)))

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds with new groups each."""
        generator("rng", rng)
        known = [self._arrive(rng) for _ in range(self.horizon)]
        rewards = [np.var(self.truth[ids[codes == g], 1]) for ids, codes in known for g in np.unique(codes)]
        threshold = float(np.percentile(rewards, float(self.percentile))) if rewards else 0.0
        later = (self._arrive(rng) for _ in itertools.count())
        for t, (ids, codes) in enumerate(itertools.chain(known, later), start=1):
            yield Round(
                t=t,
                contexts=self.contexts[ids],
                groups=codes,
                constraint=Variance() >= threshold,
                feasible=WholeGroups(self.most_groups),
                arm_ids=ids,
            )

    def _arrive(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        sizes = rng.poisson(self.arms, rng.poisson(self.groups))
        codes = np.repeat(np.arange(np.count_nonzero(sizes)), sizes[sizes > 0])
        return rng.integers(self.pool, size=len(codes)), codes

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) the sampled functions at the arms."""
        at: Array = self.truth[places_in_pool(round, self.pool)]
        return at

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) the same with Gaussian noise."""
        return with_gaussian_noise(self.expected_outcomes(round), self.noise_std, rng)


def gp_draw(kernel: Kernel, contexts: Array, rng: np.random.Generator) -> Array:
    """Two independent draws of a GP with mean 0 at ``contexts``, (n, D), as the columns of an array (n, 2).

    K = Phi^T Phi up to a negligible remainder, so Phi^T z with standard normal z is a draw of the GP, at a fraction of
    the cost of factoring K.
    """
    chosen = greedy_pivots(kernel, Basis.of(kernel, contexts[:0]), contexts, NEGLIGIBLE, None)
    phi = Basis.of(kernel, contexts[chosen]).features(kernel, contexts)
    return phi.T @ rng.normal(size=(len(phi), 2))
