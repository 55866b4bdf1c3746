"""Groups picked whole: evaluate, filter, sort."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superarm.errors import UnsolvableRound
from superarm.feasible import WholeGroups
from superarm.groups import Array, Groups, sums_by
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, Selection, additive_scores, answer, found_by_sum
from superarm.rewards.normal_forms import ROUNDING
from superarm.round import Round
from superarm.storage import storable


@storable
@dataclass(frozen=True)
class BestWholeGroups:
    """Exact for ``WholeGroups(n)``: the n good groups with the largest positive sums of scores."""

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        """Return the best super arm at ``index``."""
        return answer(self._solve, "whole groups", index, round, good)

    def _solve(self, index: Array, round: Round, good: GoodSubgroups) -> Found:
        if not isinstance(round.feasible, WholeGroups):
            raise UnsolvableRound(f"BestWholeGroups takes WholeGroups(n), not {round.feasible}")
        scores = additive_scores(index, round, "BestWholeGroups")
        groups = round.grouping
        totals = _totals(scores, groups)
        first = np.full(len(groups), len(round), dtype=np.intp)
        np.minimum.at(first, groups.codes[good.order], np.arange(len(round)))
        ranked = np.lexsort((first, -totals))
        chosen = ranked[(good.whole & (totals > 0.0))[ranked]][: round.feasible.n]
        picked = np.zeros(len(groups), dtype=np.bool_)
        picked[chosen] = True
        arms = picked[groups.codes].nonzero()[0]
        return found_by_sum(arms, math.fsum(totals[chosen].tolist()), scores, round)


def _totals(scores: Array, groups: Groups) -> Array:
    """(G,) sums of the scores of each group, exactly rounded wherever their order or sign hangs on it."""
    totals = sums_by(groups.codes, scores, len(groups))
    ranked = totals.argsort()
    off = 2.0 * ROUNDING * float(np.max(groups.sizes, initial=0)) * float(np.abs(scores).sum())
    close = totals[ranked[1:]] - totals[ranked[:-1]] <= off
    doubtful = np.abs(totals) <= off
    doubtful[ranked[1:]] |= close
    doubtful[ranked[:-1]] |= close
    for group in doubtful.nonzero()[0].tolist():
        totals[group] = math.fsum(scores[groups.members(group)])
    return totals
