"""The constants and the three regret bounds of Theorem 1, and the Lipschitz constants that they need.

All functions take arrays as well as numbers for T, K, beta, gamma and lambda*, and broadcast.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, as_floats, instance, interval, non_negative, weight
from superarm.errors import InvalidArgument, safe_repr
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import GroupReward
from superarm.rewards.reward import Reward
from superarm.rewards.simple import Count, Max, Mean, Min, Sum
from superarm.theory.information import noise_variance


def group_constant(*, zeta: float, lipschitz: float, eigenvalue: npt.ArrayLike, noise_std: float) -> Array:
    """C_1(K) = 2 B^2 ((zeta + 1) / zeta)^2 (lambda*(K) + sigma^2); infinite at zeta = 0, where groups do not count.

    Parameters
    ----------
    zeta
        trade-off, 0 to 1
    lipschitz
        B of the group rewards (Assumption 5)
    eigenvalue
        lambda*(K) of the second output
    noise_std
        sigma of the second output
    """
    return _constant(group_factor(zeta), checked_lipschitz("lipschitz", lipschitz), eigenvalue, noise_std)


def super_arm_constant(*, zeta: float, lipschitz: float, eigenvalue: npt.ArrayLike, noise_std: float) -> Array:
    """C_2(K) = 2 B'^2 ((2 - zeta) / (1 - zeta))^2 (lambda*(K) + sigma^2); infinite at zeta = 1.

    Parameters
    ----------
    zeta
        trade-off, 0 to 1
    lipschitz
        B' of the super-arm reward (Assumption 2)
    eigenvalue
        lambda*(K) of the first output
    noise_std
        sigma of the first output
    """
    return _constant(super_arm_factor(zeta), checked_lipschitz("lipschitz", lipschitz), eigenvalue, noise_std)


def total_constant(
    *, group_lipschitz: float, reward_lipschitz: float, eigenvalue: npt.ArrayLike, noise_std: float
) -> Array:
    """C(K) = 8 (B + B')^2 (lambda*(K) + sigma^2), for every zeta from 0 to 1, both ends included.

    At the ends the total regret is one of the two regrets alone, whose own factor is 2 there. Where the outputs
    differ, lambda* and sigma are the larger ones.
    """
    both = checked_lipschitz("group_lipschitz", group_lipschitz) + checked_lipschitz(
        "reward_lipschitz", reward_lipschitz
    )
    return _constant(2.0, both, eigenvalue, noise_std)


def group_regret_bound(
    rounds: npt.ArrayLike,
    size: npt.ArrayLike,
    beta: npt.ArrayLike,
    gamma: npt.ArrayLike,
    *,
    zeta: float,
    lipschitz: float,
    eigenvalue: npt.ArrayLike,
    noise_std: float,
) -> Array:
    """R_g(T) <= sqrt(C_1(K) beta_T K T gamma) on the event F_2, probability at least 1 - delta (Theorem 1).

    Parameters
    ----------
    rounds, size
        T, and K, the most arms of a super arm
    beta
        beta_T
    gamma
        overline-gamma_T of the second output or anything above it; or the run's own information gain (the line of
        the proof before the last)
    zeta, lipschitz, eigenvalue, noise_std
        as for :func:`group_constant`

    >>> bound = group_regret_bound(100, 5, 30.0, 8.0, zeta=0.5, lipschitz=1.0, eigenvalue=1.2, noise_std=0.1)
    >>> round(float(bound))
    1617
    """
    constant = group_constant(zeta=zeta, lipschitz=lipschitz, eigenvalue=eigenvalue, noise_std=noise_std)
    return _bound(constant, rounds, size, beta, gamma)


def super_arm_regret_bound(
    rounds: npt.ArrayLike,
    size: npt.ArrayLike,
    beta: npt.ArrayLike,
    gamma: npt.ArrayLike,
    *,
    zeta: float,
    lipschitz: float,
    eigenvalue: npt.ArrayLike,
    noise_std: float,
) -> Array:
    """R_s(T) <= sqrt(C_2(K) beta_T K T gamma) on both events F_1 and F_2, probability at least 1 - 2 delta (Theorem 1).

    The paper says 1 - delta and names F_1; its proof needs F_2 as well, for the optimum to be among the super arms
    that the oracle is offered. Parameters as for :func:`group_regret_bound`, of the first output.
    """
    constant = super_arm_constant(zeta=zeta, lipschitz=lipschitz, eigenvalue=eigenvalue, noise_std=noise_std)
    return _bound(constant, rounds, size, beta, gamma)


def total_regret_bound(
    rounds: npt.ArrayLike,
    size: npt.ArrayLike,
    beta: npt.ArrayLike,
    gamma: npt.ArrayLike,
    *,
    group_lipschitz: float,
    reward_lipschitz: float,
    eigenvalue: npt.ArrayLike,
    noise_std: float,
) -> Array:
    """R(T) = zeta R_g(T) + (1 - zeta) R_s(T) <= sqrt(C(K) beta_T K T gamma), probability at least 1 - 2 delta.

    gamma, lambda* and sigma are the larger ones of the two outputs; the others as for :func:`group_regret_bound`.
    """
    constant = total_constant(
        group_lipschitz=group_lipschitz, reward_lipschitz=reward_lipschitz, eigenvalue=eigenvalue, noise_std=noise_std
    )
    return _bound(constant, rounds, size, beta, gamma)


def lipschitz_constant(
    reward: Reward | GroupReward, outcome_range: tuple[float, float] = (-np.inf, np.inf)
) -> float | None:
    """B' or B of a reward: |v(h) - v(g)| <= B sum_i |h_i - g_i| for all sizes of sets (Assumptions 2 and 5).

    ===================  ==================================================================================
    Sum                  1
    Mean                 1: it is 1 / k for k arms, and a set may have one arm
    Min, Max             1: no extreme moves more than the outcome that moves most
    Count                0: the outcomes play no part
    DixitStiglitz        1 where outcomes have one sign: (sum |x|^p)^(1/p) is a norm, and at most the sum of |x|.
                         With mixed signs None: where the powers cancel, its slope has no bound (but for power 1)
    anything else        None: not known; ``Variance`` also breaks Assumption 4, and the bounds with it
    ===================  ==================================================================================

    Parameters
    ----------
    reward
        a super-arm reward or a group reward
    outcome_range
        least and largest value of the outcomes compared, which are the expected ones and the indices. Indices above
        expected outcomes that are not negative (a promise ``>=``, on the event) are not negative either.

    >>> from superarm import DixitStiglitz, Sum
    >>> lipschitz_constant(Sum())
    1.0
    >>> ratings = DixitStiglitz(items=["alien", "brazil"])
    >>> lipschitz_constant(ratings), lipschitz_constant(ratings, outcome_range=(0.0, 5.0))
    (None, 1.0)
    """
    instance("reward", reward, Reward, "a super-arm reward or a group reward")
    low, high = interval("outcome_range", outcome_range)
    if isinstance(reward, Sum | Mean | Min | Max):
        return 1.0
    if isinstance(reward, Count):
        return 0.0
    if isinstance(reward, DixitStiglitz) and (reward.power == 1.0 or low >= 0.0 or high <= 0.0):
        return 1.0
    return None


def group_factor(zeta: float) -> float:
    """(zeta + 1) / zeta, by which the group regret exceeds B times the widths (Lemma 4); infinite at 0."""
    zeta = weight("zeta", zeta)
    return (zeta + 1.0) / zeta if zeta > 0.0 else np.inf


def super_arm_factor(zeta: float) -> float:
    """(2 - zeta) / (1 - zeta), by which the super-arm regret exceeds B' times the widths (Lemma 5); infinite at 1."""
    zeta = weight("zeta", zeta)
    return (2.0 - zeta) / (1.0 - zeta) if zeta < 1.0 else np.inf


def checked_lipschitz(argument: str, value: Any) -> float:
    """``value`` as a finite float >= 0; None, from :func:`lipschitz_constant`, means that there is no bound."""
    if value is None:
        raise InvalidArgument(argument, "a finite number >= 0 (see lipschitz_constant)", "None")
    return non_negative(argument, value)


def _not_negative(argument: str, value: npt.ArrayLike) -> Array:
    array = as_floats(argument, value, "numbers >= 0")
    if not (array >= 0.0).all():
        raise InvalidArgument(argument, "numbers >= 0", safe_repr(value))
    return array


def _constant(factor: float, lipschitz: float, eigenvalue: npt.ArrayLike, noise_std: float) -> Array:
    spread = _not_negative("eigenvalue", eigenvalue) + noise_variance(noise_std)
    # Infinity first: a Lipschitz constant of 0 does not help where the bound says nothing.
    with np.errstate(over="ignore"):  # a bound beyond all numbers says nothing, and so does infinity
        scale = np.inf if np.isinf(factor) else 2.0 * np.float64(lipschitz * factor) ** 2
        return np.asarray(scale * spread)


def _bound(
    constant: Array, rounds: npt.ArrayLike, size: npt.ArrayLike, beta: npt.ArrayLike, gamma: npt.ArrayLike
) -> Array:
    given = {"beta": beta, "size": size, "rounds": rounds, "gamma": gamma}
    first, *others = (_not_negative(argument, value) for argument, value in given.items())
    try:
        np.broadcast_shapes(constant.shape, first.shape, *(other.shape for other in others))
    except ValueError:
        shapes = [constant.shape, first.shape, *(other.shape for other in others)]
        raise InvalidArgument(f"eigenvalue, {', '.join(given)}", "shapes that broadcast", shapes) from None
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.where(np.isinf(constant), np.inf, np.sqrt(constant * math.prod(others, start=first))))
