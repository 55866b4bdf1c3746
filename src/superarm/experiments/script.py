"""What a practitioner writes instead: a linear model of each outcome, two standard deviations, and HiGHS.

For promises about a mean, or about a sum from above; anything else it cannot express. It needs scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from superarm.arguments import Array, IntArray
from superarm.rewards.group_reward import Sense
from superarm.rewards.simple import Mean
from superarm.round import Round

WIDTH = 2.0  # standard deviations
WIDE = 30  # features; of more, as many principal components, or products would be thousands of columns
SECONDS = 2.0  # that HiGHS may take
FALLBACK = 3  # arms that are played where no set is trusted


class Script:
    """Bayesian ridge regression on squares, products and one column a group, refitted every round."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.rounds: list[tuple[Array, Array]] = []  # contexts, and labels as text
        self.y: list[Array] = []

    def select(self, round: Round) -> IntArray:
        if not self.y:
            return first_of_groups(round)
        seen, x = self.columns(round)
        models = [fitted(seen, y) for y in np.vstack(self.y).T]
        mean, std = models[1].predict(x, return_std=True)
        std = np.sqrt(np.maximum(std**2 - 1.0 / models[1].alpha_, 0.0))  # of the mean, without the noise
        misses = missed(round, mean, WIDTH * std)
        arms = best(round, models[0].predict(x), misses)
        return arms if len(arms) else np.argsort(misses)[:FALLBACK]

    def update(self, round: Round, arms: IntArray, outcomes: Array) -> None:
        known = np.isfinite(outcomes).all(axis=1)
        if known.any():
            self.rounds.append((round.contexts[arms[known]], texts(round)[arms[known]]))
            self.y.append(outcomes[known])

    def columns(self, round: Round) -> tuple[Array, Array]:
        """Of what was seen, and of the arms of a round."""
        from sklearn.decomposition import PCA
        from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

        contexts, labels = (np.concatenate(each) for each in zip(*self.rounds, strict=True))
        scaler, groups = StandardScaler().fit(contexts), OneHotEncoder(sparse_output=False, handle_unknown="ignore")
        groups.fit(labels[:, None])
        wide = contexts.shape[1] > WIDE < len(contexts)
        pca = PCA(WIDE, random_state=0).fit(scaler.transform(contexts)) if wide else None

        def made(contexts: Array, labels: Array) -> Array:
            x = np.clip(scaler.transform(contexts), -5.0, 5.0)
            x = x if pca is None else pca.transform(x)
            more = PolynomialFeatures(2, include_bias=False).fit_transform(x)
            return np.hstack([more, groups.transform(labels[:, None])])

        return made(contexts, labels), made(round.contexts, texts(round))


def fitted(x: Array, y: Array) -> Any:
    """Bayesian ridge regression."""
    from sklearn.linear_model import BayesianRidge

    try:
        return BayesianRidge().fit(x, y)
    except np.linalg.LinAlgError:  # LAPACK gives up on a matrix now and then; not on one that hardly differs
        return BayesianRidge().fit(x + 1e-6 * np.random.default_rng(0).normal(size=x.shape), y)


def texts(round: Round) -> Any:
    """(M,) labels of the arms as text, which any encoder takes."""
    return np.array([str(label) for label in round.labels])[round.grouping.codes]


def first_of_groups(round: Round) -> IntArray:
    """One arm each of as many groups as may be picked."""
    first = np.unique(round.grouping.codes, return_index=True)[1]
    return np.sort(first[: round.feasible.totals(len(round))[1]])


def missed(round: Round, mean: Array, width: Array) -> Array:
    """(M,) by how much each arm at its cautious value adds to what its group may miss; below 0 it helps."""
    (promise,) = round.promises
    sign = 1.0 if promise.sense is Sense.AT_MOST else -1.0
    threshold = promise.thresholds[round.grouping.codes] if isinstance(promise.reward, Mean) else 0.0
    return sign * (mean - threshold) + width


def best(round: Round, reward: Array, misses: Array, most: int | None = None) -> IntArray:
    """The arms of the largest reward with which no group misses its promise, by HiGHS; none if none are found."""
    (promise,) = round.promises
    of_groups = np.eye(len(round.labels))[round.grouping.codes].T
    limit = 0.0 if isinstance(promise.reward, Mean) else promise.thresholds
    unit = np.maximum(np.abs(of_groups * misses).max(axis=1), 1e-12)  # rows of one size, for HiGHS
    limits = [
        LinearConstraint(of_groups * misses / unit[:, None], ub=limit / unit),
        LinearConstraint(of_groups, ub=round.caps),
        LinearConstraint(np.ones(len(reward)), ub=min(most or len(reward), round.feasible.totals(len(reward))[1])),
    ]
    found = milp(
        -reward,
        integrality=np.ones(len(reward), dtype=np.intp),
        bounds=Bounds(0.0, 1.0),
        constraints=limits,
        options={"time_limit": SECONDS, "mip_rel_gap": 1e-3},
    )
    return np.flatnonzero(found.x > 0.5) if found.x is not None else np.empty(0, dtype=np.intp)
