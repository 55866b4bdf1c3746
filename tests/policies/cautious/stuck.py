"""Problems on which a policy that only ever plays what it is sure of stays stuck, and such a policy.

Each case names its ``kernel`` and ``noise_std``, so that a learner can be given the right prior::

    case = island(good=True)
    trace = sa.simulate(make(sa.ExactPosterior(case.kernel, case.noise_std)), case, rounds=ROUNDS, seed=0)
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

import superarm as sa
from superarm.environments.gp_sample import gp_draw
from superarm.indices import optimism
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.policies.learner import Learner

ROUNDS = 150
PLACES = np.linspace(0.0, 1.0, 21)  # they recur, so that a posterior stays small
ARRIVES = 6  # the round in which the island comes into sight


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """Groups of arms whose mean must reach a threshold."""

    kernel: Any
    noise_std: float
    threshold: float
    arrivals: Callable[[int, np.random.Generator], np.ndarray]  # (groups, arms, D) contexts of a round
    truth: Callable[[np.ndarray], np.ndarray]  # (M, 2) at contexts (M, D)
    k: int

    def rounds(self, rng):
        for t in itertools.count(1):
            contexts = self.arrivals(t, rng)
            groups, arms, dimension = contexts.shape
            yield sa.Round(
                t=t,
                contexts=contexts.reshape(-1, dimension),
                groups=np.repeat(np.arange(groups), arms),
                constraint=sa.Mean() >= self.threshold,
                feasible=sa.AtMost(self.k, per_group=2),
            )

    def expected_outcomes(self, round):
        return self.truth(round.contexts)

    def outcomes(self, round, rng):
        return self.expected_outcomes(round) + rng.normal(0.0, self.noise_std, (len(round), 2))


def island(*, good):
    """From round 6 on half of the groups come from 10 lengthscales away and earn three times as much.

    At home every promise is kept; on the island every promise is kept (``good``) or broken. Nothing seen at home tells.
    """

    def arrivals(t, rng):
        away = (np.arange(20) % 2 == 1) & (t >= ARRIVES)
        return rng.choice(PLACES, (20, 5, 1)) + np.where(away, 6.0, 0.0)[:, None, None]

    def truth(contexts):
        away = contexts[:, 0] > 3.0
        reward = np.where(away, 3.0, 1.0) * (0.5 + 0.1 * (contexts[:, 0] - np.where(away, 6.0, 0.0)))
        return np.column_stack([reward, np.where(away, 1.0 if good else 0.0, 1.0)])

    return Case(
        kernel=sa.SquaredExponential(lengthscale=0.5),
        noise_std=0.1,
        threshold=0.5,
        arrivals=arrivals,
        truth=truth,
        k=20,
    )


def noisy():
    """Every promise would be kept with a margin of 0.2, but the noise is 0.6: exploration ends with nothing certain."""

    def truth(contexts):
        return np.column_stack([0.5 + 0.5 * contexts[:, 0], np.full(len(contexts), 0.7)])

    return Case(
        kernel=sa.SquaredExponential(lengthscale=1.0),
        noise_std=0.6,
        threshold=0.5,
        arrivals=lambda t, rng: rng.choice(PLACES, (10, 5, 1)),
        truth=truth,
        k=10,
    )


def short(seed=0):
    """80 contexts in two dimensions, too far apart for their lengthscale: each must be learnt by itself."""
    kernel, rng = sa.SquaredExponential(lengthscale=0.05), np.random.default_rng(seed)
    pool = rng.uniform(0.0, 1.0, (80, 2))
    drawn = gp_draw(kernel, pool, rng) + np.array([1.0, 0.0])
    number = {tuple(context): i for i, context in enumerate(pool)}

    return Case(
        kernel=kernel,
        noise_std=0.2,
        threshold=0.0,
        arrivals=lambda t, rng: pool[rng.integers(len(pool), size=(10, 8))],
        truth=lambda contexts: drawn[[number[tuple(context)] for context in contexts]],
        k=10,
    )


class Pessimist:
    """Certifies groups at the pessimistic index b = mu_2 - s z sigma_2 and plays nothing that is not certified.

    It explores only as long as nothing at all is certified and some arm's variance exceeds that of the noise, and it
    tries nothing.
    """

    def __init__(self, posterior, *, confidence=0.99, seed=0):
        self.learner = Learner.of(posterior, delta=0.05, max_arms=None, seed=seed, learn=False)
        self.z = float(ndtri(confidence))

    def select(self, round):
        belief = self.learner.belief(round)
        (mu_1, mu_2), (sigma_1, sigma_2) = belief.mean.T, belief.std.T
        sure = GoodSubgroups(round, mu_2 - self.z * optimism(round) * sigma_2, self.learner.tie_order(round))
        index = mu_1 + 2.0 * sigma_1
        if sure.is_empty():
            selection = sa.Selection.of(self._informative(round), round=round, index=index, good=sure)
        else:
            selection = sa.Automatic()(index, round, sure)
        return replace(selection, belief=belief[selection.arms])

    def _informative(self, round):
        """Up to ten arms, each the one least known when those before it have been seen."""
        noise = self.learner.posterior.noise_std[1] ** 2
        known = self.learner.posterior.covariance(round.contexts)[1]
        arms = np.empty(0, dtype=np.intp)
        free = np.ones(len(round), dtype=np.bool_)
        while len(arms) < 10 and free.any():
            arm = int(np.argmax(np.where(free, known.diagonal(), -np.inf)))
            if known[arm, arm] <= noise:
                break
            free[arm] = False
            if round.feasible.allows(np.append(arms, arm), round.grouping):
                arms = np.append(arms, arm)
                known = known - np.outer(known[:, arm], known[arm]) / (known[arm, arm] + noise)
        return arms

    def update(self, round, arms, outcomes):
        self.learner.update(round, sa.Outcomes.of(round, arms, outcomes))
