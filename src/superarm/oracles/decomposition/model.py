"""From a round to groups of options: the form in which the decomposition works.

An option of a group is an arm alone, or one of the undominated subsets of a block of arms that share a root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.oracles.decomposition.canonical import Survivors, compiled
from superarm.oracles.decomposition.gains import Gains
from superarm.oracles.good_subgroups import GoodSubgroups

SUBSETS_PER_COUNT = 256  # undominated subsets of one size that a block keeps


@dataclass(frozen=True, eq=False)
class Options:
    """Options of all groups in flat arrays; see ``compiled/`` for the layout."""

    group_start: IntArray  # (N + 1,) first block of each group
    block_start: IntArray  # (B + 1,) first option of each block
    count: IntArray  # (O,) arms of each option
    a: Array  # (O,) their scores, summed
    g: Array  # (O,) what they add to the promise
    arm_start: IntArray  # (O + 1,) first of an option's arms in ``arms``
    arms: IntArray

    def with_groups(self, other: Options) -> Options:
        """The groups of both."""
        return Options(
            group_start=np.concatenate([self.group_start, self.group_start[-1] + other.group_start[1:]]),
            block_start=np.concatenate([self.block_start, self.block_start[-1] + other.block_start[1:]]),
            count=np.concatenate([self.count, other.count]),
            a=np.concatenate([self.a, other.a]),
            g=np.concatenate([self.g, other.g]),
            arm_start=np.concatenate([self.arm_start, self.arm_start[-1] + other.arm_start[1:]]),
            arms=np.concatenate([self.arms, other.arms]),
        )


@dataclass(frozen=True, eq=False)
class Model:
    """Groups, numbered in the order of ties, with their options; see ``compiled/`` for the layout.

    Groups from ``real`` on are optimistic shadows of groups whose blocks have too many subsets to keep: they give
    the upper bounds, the real ones the super arms.
    """

    real: int
    group_of: IntArray  # (N,) position in the round of each group
    shadow: dict[int, int]
    options: Options
    theta: Array  # (N,)
    cap: IntArray  # (N,)
    entry_start: IntArray  # (N + 1,) entry k of group i is entry_start[i] + k
    ruled_out: Mask  # per entry: counts that the promise rules out
    listed: dict[int, dict[int, tuple[float, IntArray]]]  # groups with a listed profile: count to value and arms


def build(
    scores: Array, lower: float, good: GoodSubgroups, gains: Gains, survivors: Survivors, open_: Mask, extra: Array
) -> Model:
    """State the round as groups of options.

    Scores are lowered along the order of ties by up to ``lower``. Otherwise only their groups would rank equal arms of
    different groups, and a round in which everything ties would take all its arms from one group. ``open_``,
    (M,), are the survivors that may be picked; ``extra``, (G,), is added to the least gain of each group.
    """
    codes, rank = good.round.grouping.codes, survivors.rank
    scores = scores.copy()
    scores[survivors.arms] -= lower * ((survivors.place + 1) / len(survivors.place))
    groups = np.empty(len(rank), dtype=np.intp)
    groups[rank] = np.arange(len(rank))
    arms, starts = survivors.among(open_, gains.listed, codes)
    available = np.diff(starts)[rank]
    listed = {}
    for group in gains.listed.tolist():
        if survivors.caps[group] > 0:
            profile = _listed_profile(scores, good, open_, group, int(survivors.caps[group]))
            listed[int(rank[group])] = profile
            available[group] = max(profile, default=0)
    caps = np.minimum(survivors.caps, available)

    options, shadow = _options(arms, starts, groups, scores, gains, codes, rank, caps)
    group_of = np.concatenate([groups, groups[list(shadow)]]) if shadow else groups
    cap = caps[group_of]
    entry_start = np.concatenate([[0], np.cumsum(cap + 1)])
    size = np.arange(entry_start[-1]) - np.repeat(entry_start[:-1], cap + 1)
    return Model(
        real=len(groups),
        group_of=group_of,
        shadow=shadow,
        options=options,
        theta=(gains.theta + extra)[group_of],
        cap=cap,
        entry_start=entry_start,
        ruled_out=(size > 0) & (size < np.repeat(gains.least[group_of], cap + 1)),
        listed=listed,
    )


def _options(
    arms: IntArray,
    starts: IntArray,
    groups: IntArray,
    scores: Array,
    gains: Gains,
    codes: IntArray,
    rank: IntArray,
    caps: IntArray,
) -> tuple[Options, dict[int, int]]:
    """Options of all groups, and the number of the optimistic shadow of each group that has one."""
    if not gains.power.any():
        return single_arms(arms, starts, scores, gains.gain), {}
    number = rank[codes[arms]]
    # Outside groups in block form every arm is a block of its own, and its gain is not a sum under a root.
    alone = gains.power[codes[arms]] == 0.0
    block = np.where(alone, np.arange(len(arms)), gains.block[arms])
    order = np.lexsort((block, number))
    arms, number, block = arms[order], number[order], block[order]
    power = np.where(gains.power == 0.0, 1.0, gains.power)[groups]
    options, limited = blocks_of_arms(
        arms, number, block, len(groups), scores, gains.gain, power, caps[groups], relaxed=False
    )
    if not len(limited):
        return options, {}
    shadow = {int(group): len(groups) + i for i, group in enumerate(limited)}
    mine = np.isin(number, limited)
    place, caps = np.searchsorted(limited, number[mine]), caps[groups[limited]]
    optimistic, _ = blocks_of_arms(
        arms[mine], place, block[mine], len(limited), scores, gains.gain, power[limited], caps, relaxed=True
    )
    return options.with_groups(optimistic), shadow


def _listed_profile(
    scores: Array, good: GoodSubgroups, open_: Mask, group: int, cap: int
) -> dict[int, tuple[float, IntArray]]:
    """Best good subgroup of every size, from the list of all of them."""
    profile: dict[int, tuple[float, IntArray]] = {}
    members = good.order[(good.round.grouping.codes == group)[good.order] & open_[good.order]]
    n = len(members)
    bits = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    sizes = bits.sum(axis=1)
    totals = bits @ scores[members]
    # From the best down, the first good subset of each size is the best of that size.
    for row in np.lexsort((np.arange(len(totals)), -totals)):
        size = int(sizes[row])
        if size > cap or size in profile:
            continue
        subset = np.sort(members[bits[row] == 1])
        if good.is_good(group, subset):
            profile[size] = (float(totals[row]), subset)
            if len(profile) == cap:
                break
    return profile


def single_arms(arms: IntArray, starts: IntArray, scores: Array, gain: Array) -> Options:
    """Every arm is a block with one option; the arms of the i-th group are ``starts[i]`` to ``starts[i + 1]``."""
    each = np.arange(len(arms) + 1)
    return Options(
        group_start=starts,
        block_start=each,
        count=np.ones(len(arms), dtype=np.intp),
        a=scores[arms],
        g=gain[arms],
        arm_start=each,
        arms=arms,
    )


def blocks_of_arms(
    arms: IntArray,
    group: IntArray,
    block: IntArray,
    groups: int,
    scores: Array,
    terms: Array,
    power: Array,
    cap: IntArray,
    *,
    relaxed: bool,
) -> tuple[Options, IntArray]:
    """Blocks of arms with equal ``group`` and ``block``, whose options are their undominated subsets.

    ``group`` and ``block``, (n,), ascend together. ``power`` and ``cap`` are (groups,); a power of 1 leaves sums of
    terms as they are. Also returns the groups in which a block had too many subsets to keep: the options are then some
    of them or, if ``relaxed``, values that no subset exceeds.
    """
    edge = np.ones(len(arms) + 1, dtype=np.bool_)  # where a block begins, and the end
    edge[1:-1] = (group[1:] != group[:-1]) | (block[1:] != block[:-1])
    edges = edge.nonzero()[0]
    owner = group[edges[:-1]]
    start, count, reward, total, arm_start, members, limited = compiled().subsets_of_blocks(
        edges, terms[arms], scores[arms], cap[owner], SUBSETS_PER_COUNT, relaxed
    )
    exponent = np.repeat(1.0 / power[owner], start[1:] - start[:-1])
    options = Options(
        group_start=np.searchsorted(owner, np.arange(groups + 1)),
        block_start=start,
        count=count,
        a=reward,
        g=np.sign(total) * np.abs(total) ** exponent,
        arm_start=arm_start,
        arms=arms[members],
    )
    return options, np.unique(owner[limited])
