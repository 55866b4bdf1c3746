"""Double UCB: from the belief about every arm to its reward index and its satisfying index (section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, fraction, instance, non_negative, weight, whole_number
from superarm.errors import InvalidArgument
from superarm.posteriors.posterior import Belief
from superarm.round import Round, checked_round


@dataclass(frozen=True, kw_only=True, eq=False)
class Indices:
    """The input of the oracles: two numbers per arm.

    Attributes
    ----------
    reward
        (M,) i_t, for the super-arm oracle
    satisfying
        (M,) i'_t, for the good subgroups; None at zeta = 0, where there is no group stage
    """

    reward: Array
    satisfying: Array | None


def beta(t: int, arms: int, delta: float) -> float:
    """beta_t = 2 log(M pi^2 t^2 / (3 delta)), the squared width of the confidence bounds (Theorem 1).

    With it each output's bounds hold for all arms and rounds together with probability at least 1 - delta (Lemma 1),
    so both outputs' hold with probability at least 1 - 2 delta.

    >>> round(beta(1, 100, 0.05), 3)
    17.583
    """
    t, arms, delta = whole_number("t", t, 1), whole_number("arms", arms, 1), fraction("delta", delta)
    return 2.0 * (math.log(arms) + 2.0 * math.log(math.pi) + 2.0 * math.log(t) - math.log(3.0 * delta))


def optimism(round: Round) -> IntArray:
    """+1 where a larger second outcome helps an arm's group keep its promise, -1 where a smaller one does.

    (M,), or (1,) where it is the same for all arms.
    """
    if len(round.promises) == 1 and len(round.promises[0].groups) == len(round.labels):
        return np.array([round.promises[0].optimism], dtype=np.intp)
    per_group = np.ones(len(round.labels), dtype=np.intp)
    for promise in round.promises:
        per_group[promise.groups] = promise.optimism
    return per_group[round.grouping.codes]


def double_ucb(belief: Belief, round: Round, *, beta: float, zeta: float) -> Indices:
    """The two indices of every arm.

    ::

        i_t(x)  = mu_1(x) + sqrt(beta_t) / (1 - zeta) * sigma_1(x)
        i'_t(x) = mu_2(x) + sqrt(beta_t) / zeta       * sigma_2(x)     for a promise ">="
        i'_t(x) = mu_2(x) - sqrt(beta_t) / zeta       * sigma_2(x)     for a promise "<="

    At zeta = 1 the reward index is sigma_1, which orders the arms as the limit does; at zeta = 0 there is no group
    stage, and the reward index is the ordinary upper confidence bound.
    """
    if not isinstance(belief, Belief) or not isinstance(round, Round):
        instance("belief", belief, Belief, "a superarm.Belief")
        checked_round(round)
    if belief.mean.shape != (len(round), 2):
        raise InvalidArgument("belief", f"shape ({len(round)}, 2), one row per arm", f"shape {belief.mean.shape}")
    width, zeta = math.sqrt(non_negative("beta", beta)), weight("zeta", zeta)
    (mu_1, mu_2), (sigma_1, sigma_2) = belief.mean.T, belief.std.T
    reward = sigma_1 if zeta == 1.0 else mu_1 + width / (1.0 - zeta) * sigma_1
    satisfying = None if zeta == 0.0 else mu_2 + optimism(round) * (width / zeta) * sigma_2
    return Indices(reward=reward, satisfying=satisfying)
