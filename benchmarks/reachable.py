"""How much clicks and counts let anybody earn: `python -m benchmarks.reachable [worlds] [rounds] [first seed]`.

In the worlds of clicks and of counts (:class:`superarm.environments.WrongWorld`) three players are set beside the best
super arms that keep every promise:

- the policy with the world's prior, its outcomes recognised, and declared;
- the same policy told the truth: the kernel of what lies behind the expected outcomes, how these follow from it, and
  the likelihood of clicks and counts. Nothing is left to learn but the function itself (Laplace's approximation,
  turned into means and covariances of the expected outcomes);
- the best super arms that are certified under its posterior, found by one who knows what every arm earns.

What lies between the policy told the truth and 1 is missing because outcomes are noisy, whatever the model.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

import superarm as sa
from benchmarks.certifiable import TOLD, line, play
from superarm.arguments import Array, IntArray
from superarm.environments import WrongWorld
from superarm.environments.wrong import LENGTHSCALE, POOL
from superarm.posteriors.learning import LEARNING
from superarm.posteriors.posterior import Belief

WORLDS, ROUNDS = 10, 60
PROMISES = ("sum", "mean", "ds")
SLOPES = {"bernoulli": 1.7, "poisson": 0.6}  # of the logit, and of the logarithm, of what is expected
DECLARED = {"bernoulli": "binary", "poisson": "count"}
DRAWS = 2000  # by which chances that depend on each other are averaged
STEPS, NEAR = 30, 1e-6  # of Newton's method
RECOGNISED, AS_DECLARED = "recognised", "declared"


@dataclass(frozen=True, eq=False)
class Truth:
    """What the outcomes so far say of a world to one who knows its kernel, its links and its likelihood."""

    world: WrongWorld
    sums: Array = field(default_factory=lambda: np.zeros((POOL, 2)))  # of the outcomes at each context of the pool
    counts: Array = field(default_factory=lambda: np.zeros((POOL, 2)))
    start: Array = field(default_factory=lambda: np.zeros((POOL, 2)))  # where Newton's method begins

    @cached_property
    def _prior(self) -> Array:
        x = self.world.contexts
        return np.asarray(sa.SquaredExponential(lengthscale=LENGTHSCALE)(x, x)) + 1e-6 * np.eye(POOL)

    @property
    def _slope(self) -> float:
        return SLOPES[self.world.kind]

    def link(self, latent: Array) -> Array:
        """What is expected."""
        scaled = self._slope * latent
        expected: Array = 1.0 / (1.0 + np.exp(-scaled)) if self.world.kind == "bernoulli" else np.exp(scaled)
        return expected

    def latent(self, output: int) -> tuple[Array, Array]:
        """Mean (220,) and covariance of what lies behind one output: Laplace's, at the mode of the posterior."""
        prior, mode = self._prior, self.start[:, output].copy()
        sums, counts, slope = self.sums[:, output], self.counts[:, output], self._slope
        for _ in range(STEPS):
            expected = self.link(mode)
            spread = expected * (1.0 - expected) if self.world.kind == "bernoulli" else expected
            weight = slope**2 * counts * spread  # of the second derivative of the log likelihood
            root = np.sqrt(weight)
            lower = np.linalg.cholesky(np.eye(POOL) + root[:, None] * prior * root)
            target = weight * mode + slope * (sums - counts * expected)
            pulled = solve_triangular(lower, root * (prior @ target), lower=True)
            step = prior @ (target - root * solve_triangular(lower, pulled, lower=True, trans=1)) - mode
            mode += np.clip(step, -2.0, 2.0)
            if np.abs(step).max() < NEAR:
                break
        within = solve_triangular(lower, root[:, None] * prior, lower=True)
        return mode, prior - within.T @ within

    @cached_property
    def _moments(self) -> tuple[Array, Array, Array]:
        """Means (220, 2) and covariances (2, 220, 220) of the expected outcomes, and the modes behind them (220, 2)."""
        means, covariances, modes = [], [], []
        for output in (0, 1):
            mode, covariance = self.latent(output)
            modes.append(mode)
            if self.world.kind == "poisson":  # log-normal
                mean = self.link(mode + 0.5 * self._slope * np.diagonal(covariance))
                covariances.append(np.outer(mean, mean) * np.expm1(self._slope**2 * covariance))
            else:
                half = np.random.default_rng(0).standard_normal((DRAWS // 2, POOL))
                lower = np.linalg.cholesky(covariance + 1e-6 * np.eye(POOL))
                drawn = self.link(mode + np.concatenate([half, -half]) @ lower.T)
                mean = drawn.mean(axis=0)
                covariances.append((drawn - mean).T @ (drawn - mean) / DRAWS)
            means.append(mean)
        return np.column_stack(means), np.stack(covariances), np.column_stack(modes)

    @property
    def noise_std(self) -> tuple[float, float]:
        """Of an outcome at a context like any other."""
        mean = self._moments[0]
        first, second = np.sqrt((mean * (1.0 - mean) if self.world.kind == "bernoulli" else mean).mean(axis=0))
        return float(first), float(second)

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {row.tobytes(): i for i, row in enumerate(np.add(self.world.contexts, 0.0))}

    def _at(self, contexts: npt.ArrayLike) -> IntArray:
        rows = np.add(np.asarray(contexts, dtype=np.float64), 0.0)
        return np.array([self._places[row.tobytes()] for row in rows], dtype=np.intp)

    def predict(self, contexts: npt.ArrayLike) -> Belief:
        at, (mean, covariance, _) = self._at(contexts), self._moments
        variance = np.column_stack([np.diagonal(each)[at] for each in covariance])
        return Belief(mean=mean[at], std=np.sqrt(np.maximum(variance, 0.0)))

    def covariance(self, contexts: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Array:
        at = self._at(contexts)
        beside = at if others is None else self._at(others)
        between: Array = self._moments[1][:, at[:, None], beside]
        return between

    def condition(self, contexts: npt.ArrayLike, outcomes: npt.ArrayLike) -> Truth:
        at, values = self._at(contexts), np.asarray(outcomes, dtype=np.float64)
        sums, counts = self.sums.copy(), self.counts.copy()
        np.add.at(sums, at, np.nan_to_num(values))
        np.add.at(counts, at, ~np.isnan(values))
        return replace(self, sums=sums, counts=counts, start=self._moments[2])


def players(world: WrongWorld, seed: int) -> dict[str, sa.CautiousTCGPUCB]:
    """The policy with its outcomes recognised, declared, and told the truth."""
    told = sa.CautiousTCGPUCB(Truth(world), learn=False, seed=seed)
    told.learner.learning = LEARNING  # rounds on credit teach, as where a model is learnt
    return {
        RECOGNISED: sa.CautiousTCGPUCB(world.prior, seed=seed),
        AS_DECLARED: sa.CautiousTCGPUCB(world.prior, outcomes=DECLARED[world.kind], seed=seed),
        TOLD: told,
    }


def main() -> int:
    """All worlds of a kind with every promise, then a line for each player."""
    given = [int(word) for word in sys.argv[1:4]]
    worlds, rounds, first = (*given, *(WORLDS, ROUNDS, 0)[len(given) :])
    warnings.simplefilter("ignore")
    for kind in SLOPES:
        runs: dict[str, list[Any]] = {}
        for seed, promise in itertools.product(range(first, first + worlds), PROMISES):
            world = WrongWorld(kind, promise, seed)
            tallies, best = play(world, players(world, seed), rounds, seed)
            for name, tally in tallies.items():
                runs.setdefault(name, []).append((tally, best))
        print(f"{kind}, {worlds} worlds with {len(PROMISES)} promises each, {rounds} rounds")
        for name, of_name in runs.items():
            print(line(name, of_name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
