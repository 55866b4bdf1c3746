"""The same search where groups are picked whole: every group is one set, so its certificate needs no surrogate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.arguments import IntArray, Mask
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.policies.cautious.search import Candidate, Search
from superarm.selection import Selection


@dataclass(kw_only=True, eq=False)
class GroupSearch(Search):
    """Certified super arms of one round of whole groups."""

    proves = True

    def __post_init__(self) -> None:
        self.p_broken = self.judge.at_least()  # (G,) what p of a group is at least, until the group is judged
        self.known = np.zeros(len(self.p_broken), dtype=np.bool_)

    def best(self) -> Candidate | None:
        certified = self._within(self.eps)
        return self._solve(certified) if certified.any() else None

    def hopeful(self) -> Mask:
        possible: Mask = self._within(1.0 - self.eps / 2.0) & (self.p_broken < 1.0 - self.eps / 2.0)
        return possible

    def may_try(self, groups: Mask, level: float) -> bool:
        return bool((self._within(level, groups) & (self.p_broken > self.eps)).any())

    def optimistic(self, level: float) -> IntArray | None:
        """The arms of the best super arm of groups that break their promise with a probability of at most ``level``."""
        possible = self._within(level)
        return self._answer(possible).arms if possible.any() else None

    def admitting(self, group: int, level: float) -> Candidate | None:
        allowed = self._within(self.eps)
        allowed[group] = True
        return self._solve(allowed)

    def _within(self, level: float, groups: Mask | None = None) -> Mask:
        """(G,) the groups, or those of ``groups``, that break their promise with a probability of at most ``level``."""
        asked = self.p_broken <= level
        if groups is not None:
            asked &= groups
        fresh = np.flatnonzero(asked & ~self.known)
        self.p_broken[fresh] = self.judge.whole(fresh).p_broken
        self.known[fresh] = True
        return asked & (self.p_broken <= level)

    def _solve(self, allowed: Mask) -> Candidate:
        selection = self._answer(allowed)
        return self.candidate(selection.arms, selection=selection)

    def _answer(self, allowed: Mask) -> Selection:
        # Certificates, not an index, have decided who may be touched.
        good = GoodSubgroups(self.round, None, self.order, closed=~allowed)
        return self.oracle(self.index, self.round, good)
