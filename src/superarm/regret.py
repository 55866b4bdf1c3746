"""Regret: one definition for the simulation, the report and all others (section 2.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, as_floats
from superarm.errors import InvalidArgument, safe_repr
from superarm.oracles.automatic import Automatic
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.rewards.reward import reward_of
from superarm.round import LARGEST, Round, checked_round
from superarm.selection import Selection, Status


@dataclass(frozen=True, kw_only=True)
class Performance:
    """The true performance of a super arm in its round.

    Attributes
    ----------
    reward
        u(f_1(x_S)), the expected reward
    group_regret
        sum over touched groups of how much they miss their thresholds
    groups_touched, groups_satisfied
        groups with a promise that the super arm picks from, and those of them that keep it
    kept
        whether each group that the super arm picks from keeps its promise, in the order of their labels; a group
        without a promise breaks none
    """

    reward: float
    group_regret: float
    groups_touched: int
    groups_satisfied: int
    kept: tuple[bool, ...] = ()


def performance(round: Round, arms: IntArray, expected: Array) -> Performance:
    """Judge ``arms`` by the truth ``expected``, (M, 2).

    Untouched groups are satisfied and cause no regret. Nor does a part that the predicate calls good, so a promise
    missed by less than the tolerance does not count.
    """
    expected = _truth(round, expected)
    arms = np.sort(round.check_arms(arms))
    truth = GoodSubgroups(round, expected[:, 1])
    valued = truth.valued(arms)
    kept = truth.kept(valued)
    broken = truth.margins(valued)[~kept]
    promised = int(np.count_nonzero(~np.isnan(valued.values)))
    return Performance(
        reward=reward_of(round.reward, expected[arms, 0], arms),
        group_regret=math.fsum(-broken),
        groups_touched=promised,
        groups_satisfied=promised - len(broken),
        kept=tuple(kept.tolist()),
    )


def optimum(round: Round, expected: Array) -> Selection:
    """The best super arm by the truth: opt(f_t) is its value.

    It is the best *good* super arm. If no group has a good subgroup, the empty one is good if it is feasible; only if
    it is not (``Exactly``) does the oracle's own fallback stand, and its status says so.
    """
    expected = _truth(round, expected)
    good = GoodSubgroups(round, expected[:, 1])
    no_arms = np.empty(0, dtype=np.intp)
    if good.is_empty() and round.feasible.allows(no_arms, round.grouping):
        value = reward_of(round.reward, expected[:0, 0], no_arms)
        return Selection.of(
            no_arms,
            round=round,
            index=expected[:, 0],
            good=good,
            upper_bound=value,
            status=Status.OPTIMAL,
            solver="nothing is good",
        )
    return Automatic()(expected[:, 0], round, good)


def _truth(round: Round, expected: Array) -> Array:
    """Expected outcomes of every arm of the round, checked."""
    arms = len(checked_round(round))
    shape = f"numbers from {-LARGEST} to {LARGEST} of shape ({arms}, 2), one row per arm"
    truth = as_floats("expected", expected, shape)
    if truth.shape != (arms, 2) or not (np.abs(truth) <= LARGEST).all():
        raise InvalidArgument("expected", shape, safe_repr(truth))
    return truth


def super_arm_regret(reward: float, optimal_reward: float, alpha: float = 1.0) -> float:
    """Regret of one round, alpha opt(f_t) - u(f_1(x_S)); signed, so a policy that breaks promises can go below 0.

    ``alpha`` is 1 for an exact oracle, and otherwise the ratio that the oracle guarantees.
    """
    return alpha * optimal_reward - reward


def total_regret(group_regret: float, super_arm_regret: float, zeta: float) -> float:
    """Weighted sum of both regrets, zeta R_g + (1 - zeta) R_s, equation (1)."""
    return zeta * group_regret + (1.0 - zeta) * super_arm_regret
