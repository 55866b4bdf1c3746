"""Groups picked whole: evaluate, filter, sort."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import UnsolvableRound
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, additive_scores, answer, found_by_sum
from superarm.rewards.normal_forms import ROUNDING
from superarm.round import Round
from superarm.selection import Selection
from superarm.storage import storable
from superarm.sums import sums_by


@storable
@dataclass(frozen=True)
class BestWholeGroups:
    """Exact for ``WholeGroups(n)``: the n good groups with the largest positive sums of scores."""

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        return answer(self._solve, "whole groups", index, round, good)

    def _solve(self, index: Array, round: Round, good: GoodSubgroups) -> Found:
        if not round.feasible.whole:
            raise UnsolvableRound(f"BestWholeGroups takes WholeGroups(n), not {round.feasible}")
        scores = additive_scores(index, round, "BestWholeGroups")
        groups = round.grouping
        totals, ranked = _ranking(scores, good)
        falling = totals[ranked]
        best = (good.whole[ranked] & (falling > 0.0)).nonzero()[0][: round.feasible.most_groups(groups)]
        picked = np.zeros(len(groups), dtype=np.bool_)
        picked[ranked[best]] = True
        arms = picked[groups.codes].nonzero()[0]
        return found_by_sum(arms, math.fsum(falling[best].tolist()), scores, round)


def _ranking(scores: Array, good: GoodSubgroups) -> tuple[Array, IntArray]:
    """(G,) sums of the scores of each group, and the groups from the largest sum down, equals in the order of ties.

    The sums are exactly rounded wherever order or sign hangs on it.
    """
    groups = good.round.grouping
    totals = sums_by(groups.codes, scores, len(groups))
    ranked = (-totals).argsort()
    falling = totals[ranked]
    off = 2.0 * ROUNDING * groups.largest * float(np.abs(scores).sum())
    close = falling[:-1] - falling[1:] <= off
    doubtful = np.abs(falling) <= off
    doubtful[1:] |= close
    doubtful[:-1] |= close
    if not doubtful.any():
        return totals, ranked
    for group in ranked[doubtful].tolist():
        totals[group] = math.fsum(scores[groups.members(group)])
    return totals, np.lexsort((good.round.grouping.first_places(good.order), -totals))
