"""The contracts of a super-arm reward and of a group reward."""

from __future__ import annotations

import itertools

import numpy as np

from superarm.arguments import Array, IntArray, checked_seed, whole_number
from superarm.checks import CLOSE, keeps, require
from superarm.feasible import AtMost
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.rewards.group_reward import Constraint, GroupReward, Sense
from superarm.rewards.reward import Additive, Reward
from superarm.round import Round

MOST_ARMS = 10  # all subsets of them are tried


def check_reward(reward: Reward, *, arms: int = 6, seed: int = 0) -> None:
    """Check a super-arm reward: monotone (Assumption 1), and equal to its declared structure.

    Parameters
    ----------
    reward
        the object to check
    arms
        number of arms in the rounds to try; a reward with one value per arm needs its own number, at most 10
    seed
        seed of the outcomes to try
    """
    keeps(reward, Reward, "has no method value(outcomes, arms)")
    arms, rng = whole_number("arms", arms, 1, MOST_ARMS), np.random.default_rng(checked_seed(seed))
    for _ in range(30):
        outcomes = rng.uniform(0.05, 0.95, arms)
        _check_monotone(reward, outcomes, 1, rng)
        if not isinstance(reward, Additive):
            continue
        everyone = np.arange(arms)
        for subset in _subsets(everyone):
            summed = reward.transform(float(np.sum(reward.scores(outcomes[subset], subset))))
            value = reward.value(outcomes[subset], subset)
            require(
                abs(summed - value) <= CLOSE * max(1.0, abs(value)),
                f"transform(sum of scores) is {summed}, value {value}",
            )


def check_group_reward(reward: GroupReward, *, arms: int = 6, seed: int = 0) -> None:
    """Check a group reward: monotone as it declares, and a normal form that agrees with the predicate on every subset.

    Parameters
    ----------
    reward
        the object to check; outcomes between 0 and 1 are tried
    arms
        number of arms in the rounds to try; a reward with one value per arm needs its own number, at most 10
    seed
        seed of the outcomes and thresholds to try
    """
    keeps(reward, GroupReward, "lacks monotone, or value(outcomes, arms)")
    require(
        reward.monotone in ("increasing", "decreasing", "none"),
        f"monotone is {reward.monotone!r}; it must be 'increasing', 'decreasing' or 'none'",
    )
    arms, rng = whole_number("arms", arms, 1, MOST_ARMS), np.random.default_rng(checked_seed(seed))
    for _ in range(20):
        outcomes = rng.uniform(0.05, 0.95, arms)
        sign = {"increasing": 1, "decreasing": -1, "none": 0}[reward.monotone]
        _check_monotone(reward, outcomes, sign, rng)
        some = rng.choice(arms, size=rng.integers(1, arms + 1), replace=False)
        for sense, shift in itertools.product(Sense, (0.0, 0.1, -0.1, 5.0)):
            # Thresholds at, near and far from what a subset attains.
            threshold = reward.value(outcomes[np.sort(some)], np.sort(some)) + shift
            _check_form(Constraint(reward=reward, sense=sense, threshold=threshold), outcomes, rng)


def _check_monotone(reward: Reward | GroupReward, outcomes: Array, sign: int, rng: np.random.Generator) -> None:
    arms = np.sort(rng.choice(len(outcomes), size=rng.integers(1, len(outcomes) + 1), replace=False))
    raised = outcomes[arms] + rng.uniform(0.0, 0.05, len(arms)) * rng.integers(0, 2, len(arms))
    before, after = reward.value(outcomes[arms], arms), reward.value(raised, arms)
    require(isinstance(before, (int, float, np.number)), f"value returned {before!r}; it must be a number")
    require(before == reward.value(outcomes[arms], arms), "value gives another number the second time; it must be pure")
    require(
        sign * (after - before) >= -CLOSE,
        f"raising outcomes from {outcomes[arms]} to {raised} moved the value from {before} to {after}, against its "
        f"declared monotonicity",
    )


def _check_form(constraint: Constraint, outcomes: Array, rng: np.random.Generator) -> None:
    groups = np.arange(len(outcomes)) % 2
    round = Round(
        t=1,
        contexts=np.zeros((len(outcomes), 1)),
        groups=groups,
        constraint=constraint,
        feasible=AtMost(int(rng.integers(1, len(outcomes) + 1))),
    )
    good = GoodSubgroups(round, outcomes)
    index = rng.uniform(-0.2, 1.0, len(outcomes))
    for label in round.labels:
        listed = list(good.subgroups(label))
        case = f"{constraint.reward} {constraint.sense.value} {constraint.threshold} at {outcomes}"
        require(good.is_empty(label) == (not listed), f"the normal form misjudges whether anything is good: {case}")
        counts = sorted({len(subset) for subset in listed})
        require(
            list(good.counts(label)) == counts,
            f"the normal form gives sizes {good.counts(label)}, not {counts}: {case}",
        )
    exact, referee = Decomposition()(index, round, good), Exhaustive()(index, round, good)
    require(
        abs(exact.value - referee.value) <= CLOSE,
        f"with the normal form the best value is {exact.value}, by enumeration {referee.value}: {case}",
    )


def _subsets(arms: IntArray) -> list[IntArray]:
    return [np.array(s, dtype=np.intp) for k in range(1, len(arms) + 1) for s in itertools.combinations(arms, k)]
