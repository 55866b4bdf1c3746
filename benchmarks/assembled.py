"""What one would assemble in place of superarm: a linear model of each outcome, two standard deviations, and HiGHS.

:class:`Script` is the shortest that does for the shops, sixteen lines of code in its two methods; :class:`Assembled`
is the same for the promises that a mixed-integer linear program can hold, with a choice of model.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.optimize import LinearConstraint, milp
from sklearn.linear_model import BayesianRidge
from sklearn.preprocessing import PolynomialFeatures

from superarm.arguments import Array, IntArray
from superarm.rewards.group_reward import Sense
from superarm.rewards.simple import Mean, Sum
from superarm.round import Round

WIDTH = 2.0  # standard deviations
FIRST = 10  # arms of the first round, of as many groups
SECONDS = 2.0  # that HiGHS may take


class Script:
    """For the shops: cubic features and a column a shop, refitted every day."""

    def __init__(self) -> None:
        self.x: list[Array] = []
        self.y: list[Array] = []

    def select(self, round: Round) -> IntArray:
        shops, floors = round.grouping.codes, round.promises[0].thresholds[round.grouping.codes]
        if not self.x:
            return np.unique(shops, return_index=True)[1]
        x, (clicks, margins) = self.columns(round), (BayesianRidge().fit(np.vstack(self.x), y) for y in self.outcomes())
        mean, std = margins.predict(x, return_std=True)
        safe = mean - WIDTH * np.sqrt(np.maximum(std**2 - 1 / margins.alpha_, 0)) - floors
        kept = LinearConstraint(np.eye(len(round.labels))[shops].T * safe, lb=0)
        size = LinearConstraint(np.ones(len(x)), ub=round.feasible.totals(len(x))[1])
        found = milp(-clicks.predict(x), integrality=1, bounds=(0, 1), constraints=[kept, size])
        arms = np.flatnonzero(found.x > 0.5)
        return arms if len(arms) else np.argsort(-safe)[:3]

    def update(self, round: Round, arms: IntArray, outcomes: Array) -> None:
        self.x.append(self.columns(round)[arms])
        self.y.append(outcomes)

    def columns(self, round: Round) -> Array:
        cubic = PolynomialFeatures(3).fit_transform(round.contexts[:, :3])
        return np.hstack([cubic, np.eye(12)[np.asarray(round.groups)]])

    def outcomes(self) -> Array:
        return np.vstack(self.y).T


class Model(Protocol):
    """A model of one outcome."""

    def fit(self, x: Array, y: Array) -> Any: ...

    def mean_and_std(self, x: Array) -> tuple[Array, Array]: ...


class Bayesian:
    """Bayesian ridge regression, whose precisions are learnt; the std is that of the mean, without the noise."""

    def fit(self, x: Array, y: Array) -> None:
        self.ridge = BayesianRidge().fit(x, y)

    def mean_and_std(self, x: Array) -> tuple[Array, Array]:
        mean, std = self.ridge.predict(x, return_std=True)
        return mean, np.sqrt(np.maximum(std**2 - 1.0 / self.ridge.alpha_, 0.0))


class LinUCB:
    """Ridge regression with the width sqrt(x^T A^-1 x) of LinUCB, a tenth of it, as is usual for outcomes around 1."""

    ALPHA = 0.1

    def fit(self, x: Array, y: Array) -> None:
        self.inverse = np.linalg.inv(x.T @ x + np.eye(x.shape[1]))
        self.weights = self.inverse @ x.T @ y

    def mean_and_std(self, x: Array) -> tuple[Array, Array]:
        return x @ self.weights, self.ALPHA * np.sqrt(np.einsum("ij,jk,ik->i", x, self.inverse, x))


class Assembled:
    """For sums and means: cubic features, columns for labels that stay, a model of each outcome, and HiGHS."""

    def __init__(self, model: type[Bayesian | LinUCB] = Bayesian, labels: int = 0) -> None:
        self.model, self.labels = model, labels
        self.x: list[Array] = []
        self.y: list[Array] = []

    @staticmethod
    def takes(round: Round) -> bool:
        """Whether a linear program without more variables holds the promises: means, and sums from above."""
        return (
            all(
                isinstance(p.reward, Mean) or (isinstance(p.reward, Sum) and p.sense is Sense.AT_MOST)
                for p in round.promises
            )
            and round.feasible.totals(len(round))[0] == 0
        )

    def select(self, round: Round) -> IntArray:
        if not self.x:
            return self._first(round)
        x, seen, outcomes = self._columns(round), np.vstack(self.x), np.vstack(self.y)
        models = [self.model() for _ in range(2)]
        for model, y in zip(models, outcomes.T, strict=True):
            model.fit(seen, y)
        reward, _ = models[0].mean_and_std(x)
        rows, most, margins = self._promises(round, *models[1].mean_and_std(x))
        of_groups = np.eye(len(round.labels))[round.grouping.codes].T
        limits = [
            LinearConstraint(rows, ub=most),
            LinearConstraint(of_groups, ub=round.caps),
            LinearConstraint(np.ones(len(x)), ub=round.feasible.totals(len(x))[1]),
        ]
        options = {"time_limit": SECONDS, "mip_rel_gap": 1e-3}
        found = milp(-reward, integrality=1, bounds=(0, 1), constraints=limits, options=options)
        arms = np.flatnonzero(found.x > 0.5) if found.x is not None else np.empty(0, dtype=np.intp)
        return arms if len(arms) else np.argsort(margins)[:3]

    def _promises(self, round: Round, mean: Array, std: Array) -> tuple[Array, Array, Array]:
        """Rows and limits, row @ picked <= limit, of the cautious promises, and by how much each arm misses its own."""
        (promise,) = round.promises
        sign = 1.0 if promise.sense is Sense.AT_MOST else -1.0
        worst, threshold = sign * mean + WIDTH * std, sign * promise.thresholds
        of_groups = np.eye(len(round.labels))[round.grouping.codes].T
        misses = worst - threshold[round.grouping.codes]
        if isinstance(promise.reward, Mean):
            return of_groups * misses, np.zeros(len(threshold)), misses
        return of_groups * worst, threshold, misses

    def update(self, round: Round, arms: IntArray, outcomes: Array) -> None:
        if len(arms):
            self.x.append(self._columns(round)[arms])
            self.y.append(outcomes)

    def _first(self, round: Round) -> IntArray:
        """One arm each of some groups at random."""
        rng = np.random.default_rng(round.t)
        groups = rng.permutation(len(round.labels))[
            : min(max(FIRST, self.labels), round.feasible.totals(len(round))[1])
        ]
        return np.array([rng.choice(round.grouping.members(group)) for group in groups], dtype=np.intp)

    def _columns(self, round: Round) -> Array:
        cubic = PolynomialFeatures(3).fit_transform(round.contexts)
        told = np.eye(self.labels)[np.asarray(round.groups)] if self.labels else np.empty((len(cubic), 0))
        return np.hstack([cubic, told])
