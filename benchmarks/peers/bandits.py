"""A policy assembled from `bayesianbandits`: its empirical-Bayes regression on the script's columns, and HiGHS.

The library has no promises to groups, so these come from the script: a mean two standard deviations on the safe side.
Two rules explore: where no set is trusted, the best set of one joint draw, of at most ten arms; and one group that is
left out is tried every round. It needs `bayesianbandits` (1.5), which no extra of superarm brings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bayesianbandits import EmpiricalBayesNormalRegressor
from scipy.stats import norm

from superarm.experiments.script import WIDTH, Script, best, first_of_groups, missed
from superarm.rewards.simple import Mean

SAMPLES = 500  # of the posterior, for standard deviations
DRAWN = 10  # most arms of a set that one draw recommends


class Peer(Script):
    """The script with a model that has a joint posterior, which it uses to explore."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.rng = np.random.default_rng(seed)
        self.said: dict[Any, float] = {}

    def select(self, round: Any) -> Any:
        self.said = {}
        if not self.y:
            return first_of_groups(round)
        seen, x = (np.column_stack([np.ones(len(rows)), rows]) for rows in self.columns(round))
        outcomes = np.vstack(self.y)
        level, unit = outcomes.mean(axis=0), np.maximum(outcomes.std(axis=0), 1e-9)
        models = [EmpiricalBayesNormalRegressor(random_state=self.rng) for _ in range(2)]
        for model, y in zip(models, ((outcomes - level) / unit).T, strict=True):
            model.fit(seen, y)
        reward = level[0] + unit[0] * models[0].predict(x)
        mean = level[1] + unit[1] * models[1].predict(x)
        joint = unit[1] ** 2 * np.cov(models[1].sample(x, SAMPLES).T)  # its own covariance is refused now and then
        misses = missed(round, mean, WIDTH * np.sqrt(np.maximum(np.diagonal(joint), 0.0)))
        arms = best(round, reward, misses)
        if not len(arms):
            drawn = [level[i] + unit[i] * models[i].sample(x)[0] for i in (0, 1)]
            arms = best(round, drawn[0], missed(round, drawn[1], np.zeros(len(x))), DRAWN)
        arms = self._with_one_more(round, arms, misses)
        plain, (promise,) = missed(round, mean, np.zeros(len(x))), round.promises
        limits = np.zeros(len(round.labels)) if isinstance(promise.reward, Mean) else promise.thresholds
        for group in np.unique(round.grouping.codes[arms]):
            mine = arms[round.grouping.codes[arms] == group]
            spread = np.sqrt(max(float(joint[np.ix_(mine, mine)].sum()), 1e-18))
            self.said[round.labels[group]] = float(norm.cdf((limits[group] - plain[mine].sum()) / spread))
        return arms

    def stated(self, round: Any, arms: Any) -> dict[Any, float]:
        """With what probability each group keeps its promise, by the posterior."""
        return self.said

    def _with_one_more(self, round: Any, arms: Any, misses: Any) -> Any:
        """Also the arm nearest to being trusted of a group that is left out, if there is room."""
        left = np.setdiff1d(np.flatnonzero(round.caps > 0), round.grouping.codes[arms])
        if not len(left) or len(arms) >= round.feasible.totals(len(round))[1]:
            return arms
        members = round.grouping.members(int(self.rng.choice(left)))
        return np.sort(np.append(arms, members[np.argmin(misses[members])]))
