"""Rounds of the four families on which the oracles are timed, and small mixed ones for the tests.

The sizes are those of the paper. Indices stand for what a policy would have computed; MovieLens itself is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.feasible import AtMost, Exactly, Feasible, WholeGroups
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint, GroupReward, Sense
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.round import Round

Constraints = Constraint | dict[Hashable, Constraint]


@dataclass(frozen=True, eq=False)
class Instance:
    """A round with the two indices of its arms."""

    round: Round
    index: Array
    satisfying: Array

    def good(self) -> GoodSubgroups:
        # Made anew for every solver: it remembers what one has asked.
        return GoodSubgroups(self.round, self.satisfying)


def instance(groups: IntArray, a: Array, b: Array, constraint: Constraints | None, feasible: Feasible) -> Instance:
    round = Round(t=1, contexts=np.zeros((len(a), 1)), groups=groups, constraint=constraint, feasible=feasible)
    return Instance(round, a, b)


# F1: clients of a federated learner, 100 requests each, total leakage below a limit ---------------------------


def federated(rng: np.random.Generator, variant: str) -> Instance:
    clients = max(int(rng.poisson(50)), 1)
    x = np.tile(np.arange(1, 101) / 100.0, clients)
    groups = np.repeat(np.arange(clients), 100)
    a, b = 1.0 / (1.0 + np.exp(5.0 - 10.0 * x)), 0.05 + 0.95 * np.exp(-5.0 * x)
    if variant != "paper":
        b = np.maximum(b + 0.05 * rng.standard_normal(len(x)), 0.0)
        a = a + 0.05 * rng.standard_normal(len(x))
    if variant == "conflict":  # what earns leaks
        a = b + 0.05 * rng.standard_normal(len(x))
    limits = rng.uniform(0.0, 1.0, clients)
    return instance(groups, a, b, Sum() <= limits, AtMost(per_group=rng.poisson(5, clients)))


# F2: movie-user pairs at ten locations, as many as the MovieLens rounds have, each location served well --------


def movies(rng: np.random.Generator, variant: str) -> Instance:
    items, users = int(rng.poisson(75)), int(rng.poisson(200))
    pairs = np.unique(np.column_stack([rng.integers(items, size=545), rng.integers(users, size=545)]), axis=0)
    location = rng.integers(10, size=users)[pairs[:, 1]]
    x = np.clip(rng.gamma(4.0, 0.08, len(pairs)), 0.0, 1.0)
    a, b = x, 2.0 / (1.0 + np.exp(-4.0 * x)) - 1.0
    if variant == "conflict":  # users like what their location does not need
        b = np.clip(1.0 - a + 0.1 * rng.standard_normal(len(x)), 0.0, None)
    limits = rng.uniform(0.5, 4.0, len(np.unique(location)))
    return instance(location, a, b, DixitStiglitz(items=pairs[:, 0]) >= limits, Exactly(20))


# F3: groups picked whole, their outcomes diverse ---------------------------------------------------------------


def whole_groups(rng: np.random.Generator, variant: str) -> Instance:
    sizes = rng.poisson(5, max(int(rng.poisson(50)), 1))
    groups = np.repeat(np.arange(len(sizes)), sizes)
    a, b = rng.standard_normal((2, len(groups)))
    variances = [float(np.var(b[groups == group])) for group in np.unique(groups)]
    return instance(groups, a, b, Variance() >= float(np.quantile(variances, 0.8)), WholeGroups(10))


# F4: some 200 groups of some 25 arms, K = 100 ------------------------------------------------------------------


def generic(rng: np.random.Generator, variant: str) -> Instance:
    count = 200
    groups = np.repeat(np.arange(count), np.maximum(rng.poisson(25, count), 1))
    a = rng.uniform(size=len(groups))
    anti = np.clip(1.0 - a + 0.1 * rng.standard_normal(len(a)), 0.0, None)
    independent = rng.uniform(size=len(a))
    feasible: Feasible = Exactly(100) if "exactly" in variant else AtMost(100)
    b = anti if "anti" in variant else independent
    constraint: Constraints
    if variant.startswith("sum"):
        constraint = Sum() >= rng.uniform(1.0, 4.0, count)
    elif variant.startswith("mean"):
        constraint = Mean() >= rng.uniform(0.4, 0.8, count)
    elif variant == "min":
        constraint = Min() >= rng.uniform(0.4, 0.9, count)
    elif variant == "loss":
        b = np.clip(a + 0.1 * rng.standard_normal(len(a)), 0.0, None)
        constraint = Sum() <= rng.uniform(0.5, 2.0, count)
    else:
        assert variant == "mixed anti"
        b = anti
        rewards: list[tuple[GroupReward, float, float]] = [
            (Sum(), 1.0, 4.0),
            (Mean(), 0.4, 0.8),
            (Min(), 0.2, 0.6),
            (Max(), 0.5, 0.9),
        ]
        constraint = {}
        for group in range(count):
            reward, low, high = rewards[group % len(rewards)]
            constraint[group] = promise(reward, ">=", float(rng.uniform(low, high)))
    return instance(groups, a, b, constraint, feasible)


@dataclass(frozen=True)
class Family:
    """A generator and the variant of it that the table shows as a row."""

    name: str
    draw: Callable[[np.random.Generator, str], Instance]
    variant: str

    def instances(self, number: int, seed: int = 0) -> list[Instance]:
        """The first ``number`` rounds, the same ones every time."""
        return [self.draw(np.random.default_rng([seed, i]), self.variant) for i in range(number)]


FAMILIES = [
    *(Family("F1 federated", federated, variant) for variant in ("paper", "noisy", "conflict")),
    *(Family("F2 movies", movies, variant) for variant in ("paper", "conflict")),
    Family("F3 whole groups", whole_groups, "variance"),
    *(
        Family("F4 generic", generic, variant)
        for variant in ("sum", "sum anti", "sum anti exactly", "mean", "mean anti", "min", "mixed anti", "loss")
    ),
]


# Small and middling rounds in which every promise meets every other ------------------------------------------------


def promise(reward: GroupReward, sense: str, threshold: float) -> Constraint:
    return Constraint(reward=reward, sense=Sense(sense), threshold=threshold)


def mixed(
    rng: np.random.Generator,
    *,
    groups: int,
    most_arms: int,
    rewards: list[tuple[GroupReward, str]],
    negative: bool = True,
    feasible: Feasible | None = None,
) -> Instance:
    """``groups`` groups of 1 to ``most_arms`` arms, each with one of ``rewards`` (and its sense) or none.

    Half of the rounds have values on a coarse grid, so that ties and sums exactly at the threshold are common. With
    ``negative`` either index can be.
    """
    sizes = rng.integers(1, most_arms + 1, groups)
    labels = np.repeat(np.arange(groups), sizes)
    low = -0.5 if negative else 0.0
    a, b = rng.uniform(low, 1.0, len(labels)), rng.uniform(low, 1.0, len(labels))
    if rng.uniform() < 0.5:
        a, b = np.round(a, 1), np.round(b, 1)
    constraint: dict[Hashable, Constraint] = {}
    for group in range(groups):
        if rng.uniform() < 0.1:
            continue
        reward, sense = rewards[rng.integers(len(rewards))]
        # Near the value of a subset that exists, so that thresholds are neither idle nor out of reach.
        members = np.flatnonzero(labels == group)
        subset = np.sort(rng.choice(members, rng.integers(1, min(len(members), 4) + 1), replace=False))
        threshold = reward.value(b[subset], subset) + rng.choice([0.0, 0.1, -0.1])
        constraint[group] = promise(reward, sense, float(threshold))
    if feasible is None:
        caps = rng.integers(0, most_arms + 1, groups)
        k = int(rng.integers(0, min(len(labels), 12) + 2))
        choices: list[Feasible] = [
            AtMost(k),
            AtMost(k, per_group=caps),
            AtMost(per_group=caps),
            Exactly(k),
            Exactly(k, per_group=caps),
        ]
        feasible = choices[rng.integers(len(choices))]
    return instance(labels, a, b, constraint, feasible)


def many_items(rng: np.random.Generator, arms: int, power: float = 3.0) -> DixitStiglitz:
    """Dixit-Stiglitz over few items, so that some have several arms in a group."""
    return DixitStiglitz(items=rng.integers(max(arms // 3, 1), size=arms), power=power)


SIMPLE: list[tuple[GroupReward, str]] = [
    (reward, sense) for reward in (Sum(), Mean(), Min(), Max(), Count()) for sense in (">=", "<=")
]
