"""Which arms can matter, judged before anything is rounded: by exact scores and gains, and the order of ties.

Arm x beats arm y of the same group if neither its score nor its gain is smaller and, if both are equal, it comes first
in the order of ties. If k arms of a group may be picked, some optimum has none that k others beat; and which arms are
beaten by fewer than k does not depend on whether other beaten arms are present (T1 and T2 of ``docs/oracles.md``). The
later stages (the scale of the scores, the room for rounding, the order of groups, the breaking of ties) read the
survivors alone. So leaving out arms that cannot be in the optimum changes nothing, not even among ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.compiled import loops
from superarm.oracles.decomposition.gains import Gains
from superarm.oracles.good_subgroups import GoodSubgroups

LOST = 1e-15  # relative loss of a sum of gains per summand, whatever the order


@cache
def compiled() -> ModuleType:
    """The compiled loops of the decomposition."""
    return loops("superarm.oracles.decomposition.compiled", "compiling the exact oracle; about 20 seconds, once")


@dataclass(frozen=True, kw_only=True, eq=False)
class Survivors:
    """The n arms that can matter, group by group, the groups in the order of ties of their first survivors."""

    rank: IntArray  # (G,) the number of each group; those without survivors come last
    arms: IntArray  # (n,) by group, in the order of ties within; group number i has starts[i] to starts[i + 1]
    starts: IntArray  # (G + 1,)
    place: IntArray  # (n,) of each among all survivors, in the order of ties
    caps: IntArray  # (G,) most arms that each group may give
    slack: Array  # (G,) more than a sum of gains can lose by rounding, whatever the order

    def mask(self, arms: int) -> Mask:
        """(arms,) which arms of the round survive."""
        survives = np.zeros(arms, dtype=np.bool_)
        survives[self.arms] = True
        return survives

    def among(self, open_: Mask, without: IntArray, codes: IntArray) -> tuple[IntArray, IntArray]:
        """``arms`` and ``starts`` of the survivors that are ``open_``, (M,), and not of the groups ``without``."""
        mine = open_[self.arms]
        if len(without):
            mine &= ~np.isin(codes[self.arms], without)
        if mine.all():
            return self.arms, self.starts
        return self.arms[mine], np.concatenate([[0], np.cumsum(mine)])[self.starts]


def survivors(scores: Array, good: GoodSubgroups, gains: Gains, caps: IntArray) -> Survivors:
    """The arms that fewer others of their group beat than its cap, ``caps`` (G,), allows to pick.

    In groups in block form or with a list, all arms stay: there a beaten arm may help in other ways.
    """
    codes = good.round.grouping.codes
    caps = np.where(good.attainable, np.minimum(caps, gains.most), 0)
    keep_all = gains.power > 0.0
    keep_all[gains.listed] = True
    rank, arms, starts, place = compiled().lay_out(
        good.order, codes[good.order], gains.usable, scores, gains.gain, caps, keep_all
    )
    # A good subgroup has at most k arms, none of which gains more than the largest; a largest one needs no sum.
    largest = np.zeros(len(caps))
    np.maximum.at(largest, codes[arms], gains.size[arms])
    number = np.minimum(caps, np.diff(starts)[rank])
    slack = LOST * (1.0 + number * largest + np.abs(gains.theta))
    return Survivors(rank=rank, arms=arms, starts=starts, place=place, caps=caps, slack=slack)
