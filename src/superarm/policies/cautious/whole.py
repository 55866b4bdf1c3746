"""The same search where groups are picked whole: every group is one set, so its certificate needs no surrogate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superarm.groups import IntArray
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import Selection
from superarm.policies.cautious.candidates import CLOSED, Candidate, Candidates
from superarm.rewards.normal_forms import Mask


@dataclass(kw_only=True, eq=False)
class WholeSearch(Candidates):
    """Certified super arms of one round of whole groups."""

    def __post_init__(self) -> None:
        self.whole = self.judge(np.arange(len(self.round)))  # every group, whole

    def best(self) -> Candidate | None:
        """The best certified super arm; None where nothing at all is certified."""
        certified = self.whole.broken <= self.eps
        return self._solve(certified) if certified.any() else None

    def hopeful(self) -> Mask:
        """(G,) the groups that may keep their promise."""
        possible: Mask = self.whole.broken < 1.0 - self.eps / 2.0
        return possible

    def may_try(self, groups: Mask, level: float) -> bool:
        """Whether :meth:`optimistic` may touch an uncertified group among ``groups``, (G,)."""
        return bool((groups & (self.whole.broken > self.eps) & (self.whole.broken <= level)).any())

    def optimistic(self, level: float) -> IntArray | None:
        """The arms of the best super arm of groups that break their promise with a probability of at most ``level``."""
        possible = self.whole.broken <= level
        return self._answer(possible).arms if possible.any() else None

    def admitting(self, group: int, level: float) -> Candidate | None:
        """The best super arm of certified groups and ``group``."""
        allowed = self.whole.broken <= self.eps
        allowed[group] = True
        return self._solve(allowed)

    def _solve(self, allowed: Mask) -> Candidate:
        selection = self._answer(allowed)
        return self.candidate(selection.arms, selection=selection)

    def _answer(self, allowed: Mask) -> Selection:
        # Thresholds so far off that they decide by themselves who may be touched.
        promises = tuple(
            replace(
                promise,
                thresholds=promise.thresholds + promise.sense.sign * np.where(allowed[promise.groups], -CLOSED, CLOSED),
            )
            for promise in self.round.promises
        )
        good = GoodSubgroups(self.round, self.belief.mean[:, 1], self.order, promises)
        return self.oracle(self.index, self.round, good)
