"""Ties: a seed and t give every round an order of its arms, in which ties are broken."""

from __future__ import annotations

import numpy as np

from superarm.errors import InvalidArgument
from superarm.feasible import WholeGroups
from superarm.groups import Array, Groups, IntArray
from superarm.rewards.normal_forms import Mask
from superarm.rewards.reward import is_per_arm
from superarm.round import Round

Seed = int | np.random.Generator | None


def seed_number(seed: Seed) -> int:
    """The seed as a whole number, drawn where it is a Generator or None."""
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if seed is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidArgument("seed", "a whole number >= 0, a Generator, or None", repr(seed))
    return int(seed)


def tie_order(round: Round, seed: int) -> IntArray:
    """(M,) the arms in the order in which ties are broken: a permutation drawn from the seed and t.

    Arms are sorted by group, context, identity and what rewards know of them first, so the order in which they are
    listed does not matter; only arms alike in all keep it. Without the draw the first round, where all arms tie, would
    always favour the same.
    """
    rewards = (round.reward, *(promise.reward for promise in round.promises))
    entries = [reward.entries(len(round)) for reward in rewards if is_per_arm(reward)]
    if round.arm_ids is not None:
        entries.append(Groups.of(round.arm_ids, "arm_ids").codes)
    canonical = np.lexsort((*entries, *round.contexts.T[::-1], round.grouping.codes))
    return canonical[np.random.default_rng((seed, round.t)).permutation(len(round))]


def ahead(index: Array, first: Mask, round: Round) -> Array:
    """(M,) the index with one finite value, above that of every other arm, for the arms marked in ``first``.

    With ``AtMost`` and ``Exactly``, caps or not, feasible super arms form a matroid: the best one at this index
    of a u that sums takes as many marked arms as any feasible one can, and fills up with the others by their index.
    With ``WholeGroups`` a marked arm outweighs all others together, so the groups with most marked arms come first. A u
    that weighs arms weighs this value too.
    """
    others = index[~first]
    if isinstance(round.feasible, WholeGroups):
        value = 1.0 + 2.0 * float(np.abs(others).sum())
    else:
        top = float(others.max(initial=0.0))
        value = top + max(1.0, top)
    return np.where(first, value, index)
