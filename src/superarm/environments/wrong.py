"""Worlds in which the prior that a policy is given is wrong, to see how well promises are kept nevertheless."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from superarm.arguments import Array, IntArray, generator, one_of, whole_number
from superarm.environments.environment import places_in_pool
from superarm.environments.gp_sample import gp_draw
from superarm.errors import InvalidArgument, safe_repr
from superarm.feasible import AtMost
from superarm.kernels.stationary import SquaredExponential
from superarm.posteriors.gaussian_process import GaussianProcess
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint, GroupReward, Sense
from superarm.rewards.simple import Mean, Sum
from superarm.round import Round

POOL = 220  # number of contexts
LABELS = 14  # number of groups
SIZES = (5, 10)  # groups of a round, and arms of a group
MOST, CAP = 10, 4  # arms picked: in all, and of each group
ITEMS = 4  # of a Dixit-Stiglitz reward
QUANTILES = (0.25, 0.85)  # quantiles of the group rewards of random subsets between which thresholds are drawn
SUBSETS = 2000  # number of random subsets for these quantiles
LENGTHSCALE, NOISE = 0.35, 0.2
EFFECT = 0.7  # standard deviation of the differences between groups
TURN = 60  # rounds in which a slow drift turns a truth halfway into another; an abrupt break is in their middle

PROMISES = ("sum", "mean", "ds")


@dataclass(frozen=True, kw_only=True)
class Flaw:
    """The flaw of a world: its truth (the first fields), and the prior that a learner is given (the last four)."""

    about: str
    dimension: int = 2
    categories: int = 0  # one-hot columns behind the features
    truth: Literal["smooth", "categorical", "step", "interactions"] = "smooth"
    offset: float = 0.0
    scale: float = 1.0
    noise: Literal["gaussian", "hetero", "t3", "bernoulli", "poisson"] = "gaussian"
    drift: Literal["slow", "abrupt"] | None = None
    # Differences between groups: permanent, with labels that never return, or drawn anew in every round.
    effects: Literal["kept", "new", "redrawn"] | None = None
    delay: int = 0  # rounds after which outcomes come
    missing: float = 0.0  # share of the outcomes that never come
    lengthscale: float = LENGTHSCALE
    variance: float = 1.0
    noise_std: float = NOISE
    mean: float = 0.0


KINDS: dict[str, Flaw] = {
    "right": Flaw(about="nothing is wrong"),
    "lengthscale x0.3": Flaw(about="the given lengthscale is too short", lengthscale=0.3 * LENGTHSCALE),
    "lengthscale x3": Flaw(about="the given lengthscale is too long", lengthscale=3 * LENGTHSCALE),
    "variance x0.25": Flaw(about="the given variance is too small", variance=0.25),
    "variance x4": Flaw(about="the given variance is too large", variance=4.0),
    "noise x0.3": Flaw(about="the given noise is too small", noise_std=0.3 * NOISE),
    "noise x3": Flaw(about="the given noise is too large", noise_std=3 * NOISE),
    "step": Flaw(about="outcomes jump", truth="step"),
    "interactions": Flaw(
        about="products of features, in five dimensions", truth="interactions", dimension=5, lengthscale=0.8
    ),
    "one-hot": Flaw(about="two features and five one-hot columns", truth="categorical", categories=5, lengthscale=0.5),
    "hetero": Flaw(about="noise differs from context to context", noise="hetero"),
    "offset 5": Flaw(about="outcomes lie around 5", offset=5.0),
    "scale 100": Flaw(about="outcomes are a hundred times as large", scale=100.0),
    "offset 500 scale 100": Flaw(about="both: around 500, and a hundred times as large", offset=500.0, scale=100.0),
    "groups kept": Flaw(about="groups differ permanently, and no context shows it", effects="kept"),
    "groups new": Flaw(about="groups differ, no context shows it, and they never come back", effects="new"),
    "delay 1": Flaw(about="outcomes come one round late", delay=1),
    "delay 5": Flaw(about="outcomes come five rounds late", delay=5),
    "partial": Flaw(about="half of the outcomes never come", missing=0.5),
    "groups redrawn": Flaw(
        about="groups differ in another way in every round, and no context shows it", effects="redrawn"
    ),
    "bernoulli": Flaw(about="outcomes are 0 or 1", noise="bernoulli", mean=0.5, variance=0.1, noise_std=0.4),
    "poisson": Flaw(about="outcomes are counts", noise="poisson", mean=1.0, noise_std=1.0),
    "t3": Flaw(about="noise has heavy tails", noise="t3"),
    "drift slow": Flaw(about="the truth changes slowly", drift="slow"),
    "drift abrupt": Flaw(about="the truth changes abruptly", drift="abrupt"),
}
BEYOND = ("groups redrawn",)  # differences that no outcome can teach: reported, but not counted with the others


@dataclass(frozen=True, eq=False)
class WrongWorld:
    """A world drawn by ``seed`` in which something is wrong: the ``kind``, one of ``KINDS``, says what.

    There are 220 contexts in the unit square (if the kind says so, in five dimensions, or with one-hot columns behind
    the two). A round has 5 to 10 groups, out of 14 labels, of 5 to 10 arms each; at most 10 arms are picked, at most 4
    of a group. Both truths are draws of a Gaussian process of variance 1 and lengthscale 0.35, and noise has a standard
    deviation of 0.2, unless the kind says otherwise. ``prior`` is the prior that a policy is given, right or wrong.

    Parameters
    ----------
    kind
        what is wrong
    promise
        "sum" (at most a threshold), "mean" or "ds" (Dixit-Stiglitz; both at least a threshold). Each group gets a new
        threshold in each round: a quantile, from 0.25 to 0.85, of the group reward of random subsets under the truth
    seed
        draws contexts, truths and thresholds

    >>> WrongWorld("offset 5", "mean", seed=3).description
    'offset 5, mean: outcomes lie around 5'
    """

    kind: str = "right"
    promise: str = "mean"
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("kind", self.kind, [*KINDS])
        one_of("promise", self.promise, PROMISES)
        whole_number("seed", self.seed)

    @property
    def description(self) -> str:
        """The world in one line."""
        return f"{self.kind}, {self.promise}: {self._flaw.about}"

    @property
    def delay(self) -> int:
        """Number of rounds by which outcomes are late: 0 if they come before the next round."""
        return self._flaw.delay

    @property
    def prior(self) -> GaussianProcess:
        """The prior that a learner is given."""
        flaw = self._flaw
        kernel = SquaredExponential(lengthscale=flaw.lengthscale, variance=flaw.variance)
        return GaussianProcess(kernel, flaw.noise_std, mean=flaw.mean)

    @property
    def _flaw(self) -> Flaw:
        return KINDS[self.kind]

    def _draws(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, purpose))

    @cached_property
    def contexts(self) -> Array:
        """(220, D) the pool."""
        rng, flaw = self._draws(0), self._flaw
        features = rng.uniform(size=(POOL, flaw.dimension))
        if not flaw.categories:
            return features
        return np.hstack([features, np.eye(flaw.categories)[rng.integers(flaw.categories, size=POOL)]])

    @cached_property
    def _truths(self) -> Array:
        """(2, 220, 2) the truths of both outcomes, and those into which they drift."""
        rng = self._draws(1)
        drawn = np.stack([TRUTHS[self._flaw.truth](self.contexts, rng) for _ in range(2)])
        drawn[:, :, 0] *= np.where(drawn[:, :, 0].mean(axis=1) < 0.0, -1.0, 1.0)[
            :, None
        ]  # so that there is something to earn
        return drawn

    def _truth(self, t: int) -> Array:
        """(220, 2) the truths in round t, before offset, scale and effects."""
        before, after = self._truths
        if self._flaw.drift == "slow":
            angle = 0.25 * np.pi * min(t / TURN, 1.0)
            turned: Array = np.cos(angle) * before + np.sin(angle) * after
            return turned
        now: Array = after if self._flaw.drift == "abrupt" and t > TURN // 2 else before
        return now

    def _effects(self, t: int, labels: IntArray) -> Array:
        """(n, 2) differences of arms of groups with these labels from the function of their contexts."""
        how = self._flaw.effects
        if not how:
            return np.zeros((len(labels), 2))
        known, place = np.unique(labels, return_inverse=True)
        when = 0 if how == "kept" else t
        drawn = [np.random.default_rng((self.seed, 3, when, g)).normal(0.0, EFFECT, 2) for g in known.tolist()]
        effects: Array = np.reshape(drawn, (-1, 2))[place]
        return effects

    def _expected(self, latent: Array) -> Array:
        flaw = self._flaw
        if flaw.noise == "bernoulli":
            chance: Array = 1.0 / (1.0 + np.exp(-1.7 * latent))  # nearly the normal distribution function
            return chance
        if flaw.noise == "poisson":
            rate: Array = np.exp(0.6 * latent)
            return rate
        return flaw.offset + flaw.scale * latent

    @cached_property
    def _thresholds(self) -> Array:
        """Group rewards of random subsets under the truth, ascending."""
        rng = self._draws(2)
        values = []
        for size in rng.integers(1, CAP + 1, SUBSETS).tolist():
            label = np.full(size, rng.integers(LABELS))
            latent = self._truth(1)[rng.integers(POOL, size=size)] + self._effects(1, label)
            reward = self._reward(rng.integers(ITEMS, size=size))
            values.append(reward.value(self._expected(latent)[:, 1], np.arange(size)))
        return np.sort(values)

    def _reward(self, items: IntArray) -> GroupReward:
        return DixitStiglitz(items=items) if self.promise == "ds" else Sum() if self.promise == "sum" else Mean()

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Rounds with some of the groups, new arms and new thresholds each."""
        generator("rng", rng)
        sense = Sense.AT_MOST if self.promise == "sum" else Sense.AT_LEAST
        for t in itertools.count(1):
            groups = int(rng.integers(SIZES[0], SIZES[1] + 1))
            sizes = rng.integers(SIZES[0], SIZES[1] + 1, groups)
            labels = np.sort(rng.permutation(LABELS)[:groups])
            ids = rng.integers(POOL, size=sizes.sum())
            items = rng.integers(ITEMS, size=len(ids))
            thresholds = np.quantile(self._thresholds, rng.uniform(*QUANTILES, groups))
            if self._flaw.effects == "new":
                labels = labels + LABELS * t
            yield Round(
                t=t,
                contexts=self.contexts[ids],
                groups=np.repeat(labels, sizes),
                constraint=Constraint(reward=self._reward(items), sense=sense, threshold=thresholds),
                feasible=AtMost(MOST, per_group=CAP),
                arm_ids=ids,
            )

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) the two truths at the arms."""
        places = places_in_pool(round, POOL)
        return self._expected(self._truth(round.t)[places] + self._effects(round.t, _numbers(round)))

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) the same with noise; NaN where the world withholds one."""
        expected, flaw = self.expected_outcomes(round), self._flaw
        generator("rng", rng)
        if flaw.noise == "bernoulli":
            seen: Array = (rng.uniform(size=expected.shape) < expected).astype(float)
        elif flaw.noise == "poisson":
            seen = rng.poisson(expected).astype(float)
        else:
            std = flaw.scale * NOISE * (_roughness(self.contexts[round.arm_ids]) if flaw.noise == "hetero" else 1.0)
            heavy = flaw.noise == "t3"  # of Student's t with three degrees of freedom the variance is 3
            drawn = rng.standard_t(3, expected.shape) / np.sqrt(3) if heavy else rng.normal(size=expected.shape)
            seen = expected + std * drawn
        if flaw.missing:
            seen[rng.uniform(size=seen.shape) < flaw.missing] = np.nan
        return seen


def _numbers(round: Round) -> IntArray:
    """(M,) labels of the arms, which are whole numbers in the rounds of this environment."""
    labels = np.asarray(round.groups)
    if labels.dtype.kind != "i" or (len(labels) and labels.min() < 0):
        raise InvalidArgument("round", "a round of this environment, whose labels are whole numbers", safe_repr(round))
    return labels


def _roughness(contexts: Array) -> Array:
    """(M, 1) factor on the usual standard deviation of the noise at each context, from 0.25 to 1.75."""
    rough: Array = 0.25 + 1.5 * contexts[:, :1]
    return rough


def _smooth(contexts: Array, rng: np.random.Generator) -> Array:
    return gp_draw(SquaredExponential(lengthscale=LENGTHSCALE), contexts, rng)


def _categorical(contexts: Array, rng: np.random.Generator) -> Array:
    """A smooth function of two features and an effect of the category."""
    shared = _smooth(contexts[:, :2], rng)
    effects = rng.normal(size=(contexts.shape[1] - 2, 2))
    drawn: Array = np.sqrt(0.5) * (shared + contexts[:, 2:] @ effects)
    return drawn


def _steps(contexts: Array, rng: np.random.Generator) -> Array:
    """Standard normal values of the 16 cells that cuts at random features and places leave, for each outcome."""
    columns = []
    for _ in range(2):
        cell = np.zeros(len(contexts), dtype=np.intp)
        for _ in range(4):
            cut = contexts[:, rng.integers(contexts.shape[1])] > rng.uniform(0.2, 0.8)
            cell = 2 * cell + cut
        columns.append(rng.normal(size=16)[cell])
    return np.column_stack(columns)


def _interactions(contexts: Array, rng: np.random.Generator) -> Array:
    """Products of two and of three features with normal weights, of variance 1 over the pool."""
    centred = np.sqrt(12.0) * (contexts - 0.5)  # of variance 1
    chosen = [some for size in (2, 3) for some in itertools.combinations(range(contexts.shape[1]), size)]
    products = np.column_stack([centred[:, some].prod(axis=1) for some in chosen])
    weighted = products @ rng.normal(size=(products.shape[1], 2))
    drawn: Array = weighted / weighted.std(axis=0)
    return drawn


TRUTHS: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "smooth": _smooth,
    "categorical": _categorical,
    "step": _steps,
    "interactions": _interactions,
}
