"""On which scale sums of scores are judged, and which arms it comes from.

Solvers divide the scores by the largest of them and know sums up to some 1e-10 on that scale. An arm of huge score that
no good super arm of any worth contains would blur all others. So "proved" is judged on the scale of the scores that are
picked, and where it fails, arms that cannot matter are taken out and the rest is solved on its own, finer scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array, IntArray, Mask, magnitude, sums_by
from superarm.oracles.good_subgroups import GoodSubgroups, Valued
from superarm.rewards.normal_forms import Filter, WeightedSum
from superarm.selection import EXACT, is_proved

FEW_ORDERS = 1e4  # scores that differ by less are of one scale, which is that of the largest
FINER = 0.5  # times the old scale: what is worth another solve


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """What a solver knows of the best super arm of some of the arms, ``open_``."""

    arms: IntArray
    upper: float  # on the sum of scores over any good super arm of open arms
    open_: Mask  # (M,)
    sizes: tuple[int, int]  # least and most arms that a super arm must have, as far as they can be had
    limited: bool
    matters: Callable[[float], Mask] | None = None  # (M,) the arms of super arms worth so much, where the solver knows
    valued: Valued | None = None  # the touched groups, where the solver has valued them


def scale_of_sums(scores: Array, arms: IntArray, open_: Mask | None = None) -> float:
    """The size of score that a gap in the sum over ``arms`` is to be compared with.

    Mostly it is the largest picked one. Where all scores that are ``open_`` (None: all) are of one scale it is the
    largest of these: sums that cancel, to 0 for instance, are known no better than the scores that they are made of.
    """
    sizes = np.abs(scores if open_ is None else scores[open_])
    sizes = sizes[sizes > 0.0]
    if len(sizes) and sizes.max() <= FEW_ORDERS * sizes.min():
        return float(sizes.max())
    return magnitude(scores[arms])


def solved_to_scale(
    scores: Array,
    good: GoodSubgroups,
    rel_gap: float,
    sizes: tuple[int, int],
    solve: Callable[[Mask, float, tuple[int, int]], Solved],
) -> Solved:
    """What ``solve(open arms, scale, sizes)`` finds, on scales as fine as it takes to prove it.

    A gap can be small on the scale of all scores, but not on that of the picked ones. Without arms that no better super
    arm contains the scale may be finer. They are in neither the optimum nor what was found, so both stay.
    """
    scale = magnitude(scores) or 1.0
    best = solve(np.ones(len(scores), dtype=np.bool_), scale, sizes)
    while not best.limited:
        value = math.fsum(scores[best.arms].tolist())
        if is_proved(value, best.upper, max(EXACT, rel_gap), magnitude(scores[best.arms])):
            break
        left = can_matter(scores, value, good, best.open_)
        if best.matters is not None:
            left &= best.matters(value)
        finer = magnitude(scores[left])
        if finer == 0.0:  # and so is the sum of every super arm that is left
            return replace(best, upper=value)
        if finer > FINER * scale:
            break
        scale = finer
        again = solve(left, scale, best.sizes)
        if math.fsum(scores[again.arms].tolist()) < value:  # a limit came first
            return replace(best, upper=min(best.upper, again.upper), limited=again.limited)
        best = again
    return best


def can_matter(scores: Array, value: float, good: GoodSubgroups, open_: Mask) -> Mask:
    """(M,) the arms of ``open_`` that a good super arm worth ``value`` or more, made of them, can contain.

    What contains arm m is worth at most s_m + B, with B the largest sum of positive scores within caps and total. So
    an arm with s_m + B < value is in no better super arm, however much the promise to its group may need it.
    """
    round = good.round
    open_ = open_ & _in_good_subgroups(good)
    best = round.feasible.largest_sum(np.where(open_, scores, 0.0), round.grouping)
    rounding = 1e-12 * (best + abs(value))
    return open_ & (scores >= value - best - rounding)


def _in_good_subgroups(good: GoodSubgroups) -> Mask:
    """(M,) the arms that some good subgroup may contain, as far as its normal form tells at once."""
    usable = good.attainable[good.round.grouping.codes]
    for promised in good.promised:
        match promised.form:
            case Filter(allowed=allowed):
                usable[promised.arms] &= allowed
            case WeightedSum(weights=weights, least=least):
                # The largest sum with arm m takes every positive weight and its own.
                positive = sums_by(promised.groups, np.maximum(weights, 0.0), len(least))
                rounding = 1e-12 * (sums_by(promised.groups, np.abs(weights), len(least)) + np.abs(least))
                usable[promised.arms] &= np.minimum(weights, 0.0) >= (least - positive - rounding)[promised.groups]
    return usable
