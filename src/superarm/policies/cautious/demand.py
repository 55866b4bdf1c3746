"""The demands of promises on single arms, in standard deviations of the belief about these arms."""

from __future__ import annotations

import numpy as np

from superarm.arguments import Array
from superarm.posteriors.posterior import Belief
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Sense
from superarm.rewards.promise import Promise
from superarm.rewards.simple import Max, Mean, Min, Sum, Variance
from superarm.round import Round

SMALLEST = 1e-300  # standard deviation: no quotient divides by 0


def demand(round: Round, belief: Belief, *, either_side: bool = False) -> float:
    """Distance from the arm nearest to keeping a promise to the level that keeps it, in standard deviations of f_2.

    Negative if it is expected to keep it, and 0 if no promise implies a level. ``either_side``: the distance of the arm
    nearest to just keeping or just breaking a promise.
    """
    nearest = [np.inf]
    for promise in round.promises:
        for levels in _levels(round, promise, either_side):
            place = np.searchsorted(promise.groups, round.grouping.codes).clip(max=max(len(promise.groups) - 1, 0))
            mine = np.flatnonzero(np.isin(round.grouping.codes, promise.groups[np.isfinite(levels)]))
            level, mean = levels[place[mine]], belief.mean[mine, 1]
            away = level if isinstance(promise.reward, Variance) else promise.sense.sign * (level - mean)
            away = np.abs(away) if either_side else away
            with np.errstate(over="ignore"):
                nearest.append(float((away / np.maximum(belief.std[mine, 1], SMALLEST)).min(initial=np.inf)))
    found = min(nearest)
    return found if len(nearest) > 1 and found < np.inf else 0.0


def _levels(round: Round, promise: Promise, either_side: bool) -> list[Array]:
    """Levels (g,) of every arm of a group at which the promise is just kept, with few arms and with many.

    A variance is reached by arms that are its root away from their mean. Other rewards imply no level.
    """
    gamma, least, most = promise.thresholds, *_sizes(round, promise)
    match promise.reward:
        case Sum():
            return [gamma / least, gamma / most]
        case Mean() | Min() | Max():
            return [gamma + 0.0 * most]
        case DixitStiglitz() as reward:  # v(c, ..., c) = c v(1, ..., 1)
            whole = np.array([_of_ones(reward, round, group) for group in promise.groups.tolist()])
            sizes = round.grouping.sizes[promise.groups]
            return [gamma / (whole if round.feasible.whole else least), gamma / (whole * most / sizes)]
        case Variance() if either_side or promise.sense is Sense.AT_LEAST:
            return [np.sqrt(np.maximum(gamma, 0.0)) + 0.0 * most]
        case _:
            return []


def _sizes(round: Round, promise: Promise) -> tuple[Array, Array]:
    """(g,) fewest and most arms that can be picked of each promised group; NaN where none can."""
    most = np.minimum(round.caps, round.feasible.totals(len(round))[1])[promise.groups].astype(np.float64)
    most[most < 1.0] = np.nan
    return (most if round.feasible.whole else most / most), most


def _of_ones(reward: DixitStiglitz, round: Round, group: int) -> float:
    members = round.grouping.members(group)
    return reward.value(np.ones(len(members)), members)
