"""Random problems from one fixed generator, to test policies on problems that they were not tuned on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from superarm.arguments import Array, IntArray, generator, whole_number
from superarm.environments.environment import places_in_pool, with_gaussian_noise
from superarm.environments.gp_sample import gp_draw
from superarm.feasible import AtMost, Exactly, Feasible, WholeGroups
from superarm.kernels.stationary import Matern52, SquaredExponential
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint, GroupReward, Sense
from superarm.rewards.simple import Max, Mean, Min, Sum, Variance
from superarm.round import Round

POOL = 600  # number of contexts; they recur, so a posterior stays small
SIZES = (6, 20)  # arms of a group
ITEMS = 6  # of a Dixit-Stiglitz reward
QUANTILES = (0.2, 0.9)  # quantiles of the group rewards of random subsets between which thresholds are drawn
SUBSETS = 4000  # number of random subsets for these quantiles

REWARDS: dict[str, GroupReward] = {"sum": Sum(), "mean": Mean(), "min": Min(), "max": Max(), "variance": Variance()}
DIXIT_STIGLITZ = "ds"  # its items come with the arms
WHOLE = "variance"  # by whole groups, as in the paper: exact oracles would have to list the subsets of a group


@dataclass(frozen=True, eq=False)
class RandomProblem:
    """A problem drawn by ``seed``: kernel, truth, group reward, sense, thresholds, sizes and noise.

    Both truths are draws of a Gaussian process of variance 1 on a pool of 600 uniform contexts of the unit cube. Arms
    of a round are uniform draws from the pool, so contexts recur. What a seed decides:

    =================  =================================================================================================
    dimension          1 to 4
    kernel             squared exponential or Matern-5/2, lengthscale 0.15 to 0.8 times sqrt(dimension)
    groups             Poisson a round with a mean of 5 to 40, at least one, of 6 to 20 arms each
    promise            sum, mean, min, max, variance or Dixit-Stiglitz (6 items), at least or at most a threshold that
                       is new for each group in each round: a quantile, from 0.2 to 0.9, of the group reward of random
                       subsets of up to 6 arms (whole groups for variance) under the truth
    feasible           K from 5 to 30 arms; a quarter exactly K, the others at most K; half of them with a cap for each
                       group, which together leave room for about 2 K arms; variance: at most K / 6 whole groups
    noise              standard deviation 0.02 to 0.3
    =================  =================================================================================================

    The first truth changes its sign if its mean is negative, so that there is something to earn. Count is not among the
    promises because it needs no learning. The environment has its ``kernel`` and ``noise_std``: a policy that is given
    them knows the prior that the truth was drawn from.

    >>> RandomProblem(7).description
    'max<= D4 m52 l1.47 G13 K6 n0.25 caps'
    """

    seed: int = 0
    dimension: int = field(init=False)
    kernel: SquaredExponential | Matern52 = field(init=False)
    groups: float = field(init=False)
    reward: str = field(init=False)
    sense: Sense = field(init=False)
    k: int = field(init=False)
    exactly: bool = field(init=False)
    capped: bool = field(init=False)
    noise_std: float = field(init=False)

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)
        rng = np.random.default_rng((self.seed, 0))
        # The order of these draws decides which problem a seed means, so it must stay.
        dimension = int(rng.integers(1, 5))
        family = (SquaredExponential, Matern52)[rng.integers(2)]
        lengthscale = rng.uniform(0.15, 0.8) * np.sqrt(dimension)
        reward = str(rng.choice([*REWARDS, DIXIT_STIGLITZ]))
        whole = reward == WHOLE
        drawn = {
            "dimension": dimension,
            "kernel": family(lengthscale=float(lengthscale)),
            "groups": float(rng.uniform(5.0, 40.0)),
            "reward": reward,
            "sense": (Sense.AT_LEAST, Sense.AT_MOST)[rng.integers(2)],
            "k": int(rng.integers(5, 31)),
            "exactly": bool(rng.uniform() < 0.25) and not whole,
            "capped": bool(rng.uniform() < 0.5) and not whole,
            "noise_std": float(rng.uniform(0.02, 0.3)),
        }
        for name, value in drawn.items():
            object.__setattr__(self, name, value)

    @property
    def description(self) -> str:
        """The problem in one line: promise, dimension, kernel, lengthscale, groups, size, noise."""
        kernel = "se" if isinstance(self.kernel, SquaredExponential) else "m52"
        size = f"W{self._whole_groups}" if self.reward == WHOLE else f"K{self.k}"
        marks = (" =K" if self.exactly else "") + (" caps" if self.capped else "")
        return (
            f"{self.reward}{self.sense.value} D{self.dimension} {kernel} l{self.kernel.lengthscale:.2f} "
            f"G{self.groups:.0f} {size} n{self.noise_std:.2f}{marks}"
        )

    @property
    def _whole_groups(self) -> int:
        return max(1, self.k // SIZES[0])

    @cached_property
    def contexts(self) -> Array:
        """(600, D) the pool."""
        return np.random.default_rng((self.seed, 1)).uniform(size=(POOL, self.dimension))

    @cached_property
    def truth(self) -> Array:
        """(600, 2) expected outcomes at the pool."""
        truth = gp_draw(self.kernel, self.contexts, np.random.default_rng((self.seed, 2)))
        truth[:, 0] *= 1.0 if truth[:, 0].mean() >= 0.0 else -1.0
        return truth

    @cached_property
    def _thresholds(self) -> Array:
        """Group rewards of random subsets under the truth, ascending."""
        rng = np.random.default_rng((self.seed, 3))
        low, high = SIZES if self.reward == WHOLE else (1, SIZES[0])
        values = []
        for size in rng.integers(low, high + 1, SUBSETS):
            reward = self._reward(rng.integers(ITEMS, size=size))
            values.append(reward.value(self.truth[rng.integers(POOL, size=size), 1], np.arange(size)))
        return np.sort(values)

    def _reward(self, items: IntArray) -> GroupReward:
        return DixitStiglitz(items=items) if self.reward == DIXIT_STIGLITZ else REWARDS[self.reward]

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds with new groups and thresholds each."""
        generator("rng", rng)
        for t in itertools.count(1):
            groups = max(1, int(rng.poisson(self.groups)))
            sizes = rng.integers(SIZES[0], SIZES[1] + 1, groups)
            ids = rng.integers(POOL, size=sizes.sum())
            items = rng.integers(ITEMS, size=len(ids))
            thresholds = np.quantile(self._thresholds, rng.uniform(*QUANTILES, groups))
            yield Round(
                t=t,
                contexts=self.contexts[ids],
                groups=np.repeat(np.arange(groups), sizes),
                constraint=Constraint(reward=self._reward(items), sense=self.sense, threshold=thresholds),
                feasible=self._feasible(groups, rng),
                arm_ids=ids,
            )

    def _feasible(self, groups: int, rng: np.random.Generator) -> Feasible:
        if self.reward == WHOLE:
            return WholeGroups(self._whole_groups)
        mean = max(2, -(-2 * self.k // groups))
        caps = rng.integers(1, 2 * mean, groups) if self.capped else None
        return Exactly(self.k, per_group=caps) if self.exactly else AtMost(self.k, per_group=caps)

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) the two truths at the arms."""
        at: Array = self.truth[places_in_pool(round, POOL)]
        return at

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) the same with Gaussian noise."""
        return with_gaussian_noise(self.expected_outcomes(round), self.noise_std, rng)
