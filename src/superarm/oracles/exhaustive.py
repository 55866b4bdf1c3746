"""Every feasible super arm in turn: the referee of the other oracles, and the answer for rewards without structure."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, whole_number
from superarm.errors import UnsolvableRound
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Found, answer
from superarm.rewards.reward import reward_of
from superarm.round import Round
from superarm.selection import Selection
from superarm.storage import storable


@storable
@dataclass(frozen=True, kw_only=True)
class Exhaustive:
    """Tries every super arm made of good subgroups: for any reward and any promise, in small rounds.

    Parameters
    ----------
    most_arms
        refuse larger rounds: there are 2^M super arms
    """

    most_arms: int = 20

    def __post_init__(self) -> None:
        whole_number("most_arms", self.most_arms)

    def __call__(self, index: Array, round: Round, good: GoodSubgroups) -> Selection:
        return answer(self._solve, "exhaustive", index, round, good)

    def _solve(self, index: Array, round: Round, good: GoodSubgroups) -> Found:
        """The best of all super arms of the required size; if there are none, the best of the largest."""
        if len(round) > self.most_arms:
            raise UnsolvableRound(
                f"exhaustive search takes rounds of at most {self.most_arms} arms, this one has {len(round)}; give the "
                "reward scores and transform, or the group reward a normal_form, or use oracle=Greedy()"
            )
        required, _ = round.feasible.totals(len(round))
        best: dict[int, tuple[float, IntArray]] = {}  # by size, capped at the required one
        for parts in itertools.product(*self._parts(round, good)):
            arms = np.sort(np.array(list(itertools.chain(*parts)), dtype=np.intp))
            if len(arms) >= required and not round.feasible.allows(arms, round.grouping):
                continue
            size = min(len(arms), required)
            value = reward_of(round.reward, index[arms], arms)
            if value > best.get(size, (-math.inf, arms))[0]:
                best[size] = (value, arms)
        size = max(best)
        return Found(arms=best[size][1], upper_bound=best[size][0], underfilled=size < required)

    def _parts(self, round: Round, good: GoodSubgroups) -> list[list[tuple[int, ...]]]:
        """For every group: nothing, or one of its good subgroups within the cap."""
        whole = round.feasible.whole
        sizes = round.grouping.sizes
        caps = round.caps
        position = np.empty(len(round), dtype=np.intp)
        position[good.order] = np.arange(len(round))
        parts = []
        for group in np.argsort(good.round.grouping.first_places(good.order)):
            members = sorted(round.grouping.members(group).tolist(), key=lambda arm: position[arm])
            lengths = [int(sizes[group])] if whole else range(1, int(caps[group]) + 1)
            subsets = itertools.chain.from_iterable(itertools.combinations(members, k) for k in lengths)
            kept = (s for s in subsets if good.is_good(int(group), np.sort(np.array(s, dtype=np.intp))))
            parts.append([(), *kept])
        return parts
