"""Groups picked whole: evaluate, filter, sort."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superarm.errors import UnsolvableRound
from superarm.feasible import WholeGroups
from superarm.groups import Array
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, Selection, additive_scores, answer, found_by_sum
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
        totals = np.array([math.fsum(scores[groups.members(group)]) for group in range(len(groups))])
        first = np.full(len(groups), len(round), dtype=np.intp)
        np.minimum.at(first, groups.codes[good.order], np.arange(len(round)))
        worthwhile = [
            group
            for group in np.lexsort((first, -totals))
            if totals[group] > 0.0 and good.is_good(int(group), groups.members(group))
        ]
        chosen = worthwhile[: round.feasible.n]
        arms = np.concatenate([np.empty(0, dtype=np.intp), *(groups.members(group) for group in chosen)])
        return found_by_sum(arms, math.fsum(totals[chosen]), scores, round)
