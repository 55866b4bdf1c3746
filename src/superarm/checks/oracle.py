"""The contract of a super-arm oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from superarm.arguments import Array, checked_seed, whole_number
from superarm.checks import CLOSE, require
from superarm.errors import UnsolvableRound, type_of
from superarm.feasible import AtMost, Exactly, Feasible, WholeGroups
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import SuperArmOracle
from superarm.rewards.group_reward import Constraint, GroupReward
from superarm.rewards.reward import reward_of
from superarm.rewards.simple import Count, Max, Mean, Min, Sum
from superarm.round import Round
from superarm.selection import Selection, Status


def check_oracle(oracle: SuperArmOracle, *, rounds: int = 200, seed: int = 0) -> None:
    """Check a super-arm oracle against enumeration on small random rounds.

    It must return feasible sets of good subgroups, true values, upper bounds that hold, and the right status, and do so
    deterministically. ``OPTIMAL`` must mean optimal. Rounds that it refuses with ``UnsolvableRound`` do not count, but
    it must take some.

    Parameters
    ----------
    oracle
        the callable to check
    rounds
        how many rounds to try
    seed
        seed of the rounds
    """
    require(callable(oracle) and not isinstance(oracle, type), f"{oracle!r} is not an oracle: it must be callable")
    rounds = whole_number("rounds", rounds, 1)
    taken = 0
    for index, round, good in _small_rounds(rounds, seed):
        try:
            selection = oracle(index, round, good)
        except UnsolvableRound:
            continue
        taken += 1
        require(isinstance(selection, Selection), f"it returned {type_of(selection)}; use Selection.of")
        _check_selection(selection, oracle(index, round, good), index, round, good)
    require(taken > 0, f"the oracle accepted none of {rounds} small rounds")


def _check_selection(selection: Selection, again: Selection, index: Array, round: Round, good: GoodSubgroups) -> None:
    def demand(truth: bool, message: str) -> None:
        require(truth, f"{message}\nround: {round}\nindex: {index}\nsatisfying: {good.satisfying}\n{selection}")

    best = Exhaustive()(index, round, good)
    arms = round.check_arms(selection.arms)
    close = CLOSE * max(1.0, abs(best.value))
    demand(bool(np.array_equal(arms, np.sort(arms))), "arms must ascend; Selection.of sorts them")
    demand(np.array_equal(arms, again.arms), "the same question got another answer: oracles are deterministic")
    short = selection.status is Status.UNDERFILLED
    demand(
        round.feasible.allows(arms, round.grouping)
        or ((short or good.is_empty()) and len(arms) < round.feasible.totals(len(round))[0]),
        "the super arm is not feasible",
    )
    demand(
        (selection.status is Status.NO_GOOD_SUBGROUP) == good.is_empty(),
        "NO_GOOD_SUBGROUP is the status exactly when good.is_empty()",
    )
    demand(short == (best.status is Status.UNDERFILLED), "UNDERFILLED is wrong here, or missing")
    demand(good.is_empty() or good.allows(arms), "a touched group does not keep its promise at the index")
    value = reward_of(round.reward, index[arms], arms)
    demand(abs(selection.value - value) <= close, f"the value must be u of the super arm, {value}")
    demand(selection.upper_bound >= best.value - close, f"the upper bound is below the optimum, {best.value}")
    demand(selection.value <= best.value + close, f"the value is above the optimum, {best.value}")
    demand(
        selection.status is not Status.OPTIMAL or selection.value >= best.value - close,
        f"the status says OPTIMAL, but {best.value} can be had with arms {best.arms.tolist()}",
    )


def _small_rounds(rounds: int, seed: int) -> Iterator[tuple[Array, Round, GoodSubgroups]]:
    """Small rounds with ties, negative indices, closed groups, and thresholds in and out of reach."""
    rng = np.random.default_rng(checked_seed(seed))
    for _ in range(rounds):
        arms = int(rng.integers(0, 9))
        groups = rng.integers(0, rng.integers(1, 4) + 1, arms)
        distinct = len(np.unique(groups))
        index, satisfying = rng.normal(size=(2, arms))
        if rng.random() < 0.4:
            index, satisfying = np.round(2 * index) / 2, np.round(2 * satisfying) / 2
        rewards: list[GroupReward] = [Sum(), Mean(), Min(), Max(), Count()]
        reward = rewards[rng.integers(len(rewards))]
        thresholds = rng.choice([1.0, 1.0, 4.0]) * np.round(rng.normal(size=distinct), 1)
        sense: Any = rng.choice([">=", "<="])
        caps = rng.integers(0, 4, distinct) if rng.random() < 0.4 else None
        k = int(rng.integers(0, 5))
        allowed: list[Feasible] = [AtMost(k, caps), AtMost(per_group=caps), Exactly(k, caps), WholeGroups(k)]
        round = Round(
            t=1,
            contexts=np.zeros((arms, 1)),
            groups=groups,
            constraint=Constraint(reward=reward, sense=sense, threshold=thresholds) if rng.random() < 0.9 else None,
            feasible=allowed[rng.integers(4)],
        )
        yield index, round, GoodSubgroups(round, satisfying, rng.permutation(arms))
