"""Which arms of a part of a round can matter, judged where the part is stored, so that the others need not be sent.

The part may hold any arms of the round, of whole groups or split ones. An arm stays if fewer others of its group beat
it than the group's cap (T1 of ``docs/oracles.md``). Judging each part and then the union of the survivors leaves the
same arms as judging all at once (T2). In a block, an item of Dixit-Stiglitz, an arm is beaten only by others of its
block, because only these can take its place under the root.

Of a whole group the best good part of every size is enough (T3): with these arms any super arm can be made as good as
before, whatever the other groups give. This depends on the group alone, so not on where others are stored.
"""

from __future__ import annotations

import math

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.oracles.decomposition.canonical import compiled, survivors
from superarm.oracles.decomposition.gains import Gains
from superarm.oracles.decomposition.model import build
from superarm.oracles.decomposition.profiles import Profiles
from superarm.oracles.good_subgroups import GoodSubgroups

FEW = 3  # up to this many times its cap, the unbeaten arms of a group are kept without a search
LARGEST = 32  # largest cap of a group that is searched; more sizes are not worth it
LABELS = 2_000  # most labels alive for one (group, count); beyond, all unbeaten arms of the group are kept
SMALL = 1e-4  # of the largest score: if the best part of a group is worth less, the scale is too coarse for the group


def unbeaten(scores: Array, good: GoodSubgroups, gains: Gains, caps: IntArray) -> IntArray:
    """The arms, ascending, that fewer others of their group, or of their block, beat than its cap, ``caps`` (G,)."""
    codes = good.round.grouping.codes
    caps = np.where(good.attainable, np.minimum(caps, gains.most), 0)
    keep_all = np.zeros(len(caps), dtype=np.bool_)
    keep_all[gains.listed] = True
    parts, owner = codes, np.arange(len(caps))
    in_blocks = (gains.power > 0.0)[codes]
    if in_blocks.any():
        pairs = np.column_stack([codes, np.where(in_blocks, gains.block, -1)])
        distinct, parts = np.unique(pairs, axis=0, return_inverse=True)
        parts, owner = parts.reshape(-1), distinct[:, 0]
    order = good.order
    _, arms, _, _ = compiled().lay_out(
        order, parts[order], gains.usable, scores, gains.gain, caps[owner], keep_all[owner]
    )
    return np.sort(arms)


def attaining(scores: Array, good: GoodSubgroups, gains: Gains, caps: IntArray, whole: Mask) -> IntArray:
    """The :func:`unbeaten` arms, ascending; of groups that are ``whole``, (G,), in the part only those that suffice."""
    kept = unbeaten(scores, good, gains, caps)
    grouping = good.round.grouping
    codes, groups = grouping.codes, len(grouping)
    number = np.bincount(codes[kept], minlength=groups)
    caps = np.minimum(caps, gains.most)
    searched = whole & (gains.power == 0.0) & (caps <= LARGEST) & (number > FEW * caps)
    searched[gains.listed] = False
    if not searched.any():
        return kept
    mine = kept[searched[codes[kept]]]
    scale = np.zeros(groups)
    np.maximum.at(scale, codes[mine], np.abs(scores[mine]))
    scale[scale == 0.0] = 1.0
    open_ = np.zeros(len(scores), dtype=np.bool_)
    open_[mine] = True
    among = survivors(scores, good, gains, caps)
    model = build(scores / scale[codes], 0.0, good, gains, among, open_, -among.slack)
    profiles = Profiles(model, 0, len(mine), 0.0, LABELS, math.inf)
    by_count, unknown = profiles.attaining()
    of_round = model.group_of[: model.real]
    left = np.zeros(groups, dtype=np.bool_)  # whose unbeaten arms all stay
    left[of_round[unknown]] = True
    left[_coarse(profiles, of_round, groups)] = True
    stays = np.zeros(len(scores), dtype=np.bool_)
    for arms in by_count:
        # Gains were relaxed by what their sums may lose: a part may not be good after all.
        valued = good.valued(np.sort(arms))
        left[valued.groups[~good.kept(valued)]] = True
        stays[arms] = True
    stays[kept] |= (~searched | left)[codes[kept]]
    return np.flatnonzero(stays)


def _coarse(profiles: Profiles, of_round: IntArray, groups: int) -> IntArray:
    """Groups whose best parts are all worth little on the scale of their scores, which hides differences."""
    heads = profiles.model.entry_start[: len(of_round) + 1]
    caps = np.diff(heads)
    count = np.arange(heads[-1]) - np.repeat(heads[:-1], caps)
    worth = np.abs(profiles.L[: heads[-1]])
    largest = np.zeros(groups)
    some = (count > 0) & np.isfinite(worth)
    np.maximum.at(largest, np.repeat(of_round, caps)[some], np.maximum(worth[some], 1e-300))
    return np.flatnonzero((largest > 0.0) & (largest <= SMALL))
