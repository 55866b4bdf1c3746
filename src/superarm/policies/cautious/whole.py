"""The same search where groups are picked whole: every group is one set, so its certificate needs no surrogate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from superarm.certificates.judge import Judge
from superarm.groups import Array, IntArray
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.cautious.search import CLOSED, Candidate
from superarm.posteriors.posterior import Belief
from superarm.rewards.normal_forms import Mask
from superarm.rewards.reward import reward_of
from superarm.round import Round


class WholeSearch:
    """Certified super arms of one round of whole groups."""

    def __init__(
        self, *, round: Round, index: Array, belief: Belief, judge: Judge, oracle: SuperArmOracle, order: IntArray,
        eps: float,
    ) -> None:  # fmt: skip
        self.round, self.index, self.belief, self.judge = round, index, belief, judge
        self.oracle, self.order, self.eps = oracle, order, eps
        self.whole = judge(np.arange(len(round)))  # every group, whole

    def best(self) -> Candidate | None:
        """The best certified super arm; None where nothing at all is certified."""
        certified = self.whole.broken <= self.eps
        return self._solve(certified) if certified.any() else None

    def optimistic(self, level: float) -> Candidate | None:
        """The best super arm of groups that break their promise with a probability of at most ``level``."""
        possible = self.whole.broken <= level
        return self._solve(possible) if possible.any() else None

    def admitting(self, group: int, level: float) -> Candidate | None:
        """The best super arm of certified groups and ``group``."""
        allowed = self.whole.broken <= self.eps
        allowed[group] = True
        return self._solve(allowed)

    def candidate(self, arms: IntArray) -> Candidate:
        """A super arm with its verdicts."""
        value = reward_of(self.round.reward, self.index[arms], arms)
        return Candidate(arms=arms, judged=self.judge(arms), value=value)

    def _solve(self, allowed: Mask) -> Candidate:
        # Thresholds so far off that they decide by themselves who may be touched.
        promises = tuple(
            replace(
                promise,
                thresholds=promise.thresholds + promise.sense.sign * np.where(allowed[promise.groups], -CLOSED, CLOSED),
            )
            for promise in self.round.promises
        )
        good = GoodSubgroups(self.round, self.belief.mean[:, 1], self.order, promises)
        selection = self.oracle(self.index, self.round, good)
        return replace(self.candidate(selection.arms), selection=selection)
