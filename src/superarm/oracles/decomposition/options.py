"""The options of every group: each arm alone, or the undominated subsets of a block of arms that share a root."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from superarm.groups import Array, IntArray

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
    compiled: ModuleType,
    *,
    relaxed: bool = False,
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
    start, count, reward, total, arm_start, members, limited = compiled.subsets_of_blocks(
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
