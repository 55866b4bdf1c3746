"""Ties: a seed and t give every round an order of its arms, in which ties are broken."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.arguments import IntArray, Mask
from superarm.groups import Groups
from superarm.rewards.reward import is_per_arm
from superarm.round import Round


def tie_order(round: Round, seed: int) -> IntArray:
    """(M,) the arms in the order in which ties are broken: a permutation drawn from the seed and t.

    Arms are sorted by group, context, identity and what rewards know of them first, so the order in which they are
    listed does not matter; only arms alike in all keep it. Without the draw the first round, where all arms tie, would
    always favour the same.
    """
    drawn = np.random.default_rng((seed, round.t)).permutation(len(round))
    if _above(round.grouping.codes, *round.contexts.T[:1]).all():  # as many environments list them
        return drawn
    return _canonical(round)[drawn]


def _canonical(round: Round) -> IntArray:
    """The arms by group and context, and those alike in both by identity and what rewards know of them."""
    codes, contexts = round.grouping.codes, round.contexts
    order = np.lexsort((*contexts.T[::-1], codes))
    alike = ~_above(codes[order], *contexts[order].T)
    if alike.any():
        tied = np.append(alike, False) | np.append(False, alike)
        arms = order[tied]
        rewards = (round.reward, *(promise.reward for promise in round.promises))
        keys = [reward.entries(len(round))[arms] for reward in rewards if is_per_arm(reward)]
        if round.arm_ids is not None:
            keys.append(Groups.of(round.arm_ids[arms], "arm_ids").codes)
        keys.append(np.cumsum(np.append(True, ~alike))[tied])
        order[tied] = arms[np.lexsort(keys)]
    return order


def _above(*keys: npt.NDArray[Any]) -> Mask:
    """(n - 1,) whether each entry but the first is above the one before it, by the first key in which they differ."""
    equal = np.ones(max(len(keys[0]) - 1, 0), dtype=np.bool_)
    above = ~equal
    for key in keys:
        above |= equal & (key[1:] > key[:-1])
        equal &= key[1:] == key[:-1]
    return above
