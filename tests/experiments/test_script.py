"""The practitioner's script: it finds the best set that it trusts, and it fits what it saw."""

import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.experiments.script import FALLBACK, Script, best, first_of_groups, fitted, missed


def made(rng, *, sums=False, arms=9):
    thresholds = rng.uniform(0.2, 0.8, 3)
    return sa.Round(
        t=1,
        contexts=rng.uniform(size=(arms, 2)),
        groups=np.arange(arms) % 3,
        constraint=sa.Sum() <= 3 * thresholds if sums else sa.Mean() >= thresholds,
        feasible=sa.AtMost(5, per_group=2),
    )


@pytest.mark.parametrize("sums", [False, True])
def test_the_best_set_is_that_of_enumeration(sums):
    rng = np.random.default_rng(0)
    for _ in range(10):
        round = made(rng, sums=sums)
        reward, values = rng.normal(size=9), rng.uniform(size=9)
        found = best(round, reward, missed(round, values, np.full(9, 0.05)))
        cautious = values + (0.05 if sums else -0.05)
        thresholds = round.promises[0].thresholds
        every = []
        for size in range(6):
            for some in map(list, itertools.combinations(range(9), size)):
                parts = [[arm for arm in some if arm % 3 == g] for g in range(3)]
                kept = all(
                    not part
                    or (cautious[part].sum() <= thresholds[g] if sums else cautious[part].mean() >= thresholds[g])
                    for g, part in enumerate(parts)
                )
                if kept and max(map(len, parts)) <= 2:
                    every.append(reward[some].sum())
        assert reward[found].sum() == pytest.approx(max(every), rel=2e-3)


def test_it_begins_with_an_arm_of_each_group():
    round = made(np.random.default_rng(0))
    assert Script().select(round).tolist() == [0, 1, 2]
    assert len(first_of_groups(sa.Round(t=1, contexts=np.zeros((9, 1)), groups=range(9), feasible=sa.AtMost(4)))) == 4


def test_it_learns_squares_products_and_groups():
    rng, script = np.random.default_rng(1), Script()
    truth = lambda x, g: x[:, 0] * x[:, 1] + 0.5 * (g == 2)  # noqa: E731
    for _ in range(15):
        round = made(rng)
        y = truth(round.contexts, round.grouping.codes)
        script.update(round, np.arange(9), np.column_stack([y, y]))
    floors = [0.6, 0.6, 0.6]
    last = sa.Round(
        t=16,
        contexts=np.array([[0.1, 0.9], [0.9, 0.9], [0.5, 0.5], [0.5, 0.5], [0.2, 0.2]]),
        groups=[0, 0, 0, 2, 1],
        constraint=sa.Mean() >= dict(enumerate(floors)),
        feasible=sa.AtMost(5),
    )
    assert 3 in script.select(last)  # good by its group alone
    assert 1 in script.select(last)  # good by a product alone
    assert 4 not in script.select(last)


def test_where_nothing_is_trusted_it_plays_a_few():
    rng, script = np.random.default_rng(1), Script()
    round = made(rng)
    script.update(round, np.arange(9), np.zeros((9, 2)))
    hopeless = sa.Round(
        t=2, contexts=round.contexts, groups=round.groups, constraint=sa.Mean() >= 99.0, feasible=sa.AtMost(5)
    )
    assert len(script.select(hopeless)) == FALLBACK


def test_outcomes_that_never_came_teach_nothing():
    script, round = Script(), made(np.random.default_rng(0))
    script.update(round, np.arange(2), np.full((2, 2), np.nan))
    assert not script.y
    script.update(round, np.arange(2), np.array([[1.0, np.nan], [1.0, 2.0]]))
    assert [len(y) for y in script.y] == [1]


def test_a_fit_that_lapack_gives_up_is_tried_again(monkeypatch):
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng, seen = np.random.default_rng(0), []
    x, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    plain = linear_model.BayesianRidge().fit(x, y).coef_

    class Stubborn(linear_model.BayesianRidge):
        def fit(self, x, y):
            seen.append(x)
            if len(seen) == 1:
                raise np.linalg.LinAlgError("SVD did not converge")
            return super().fit(x, y)

    monkeypatch.setattr(linear_model, "BayesianRidge", Stubborn)
    assert fitted(x, y).coef_ == pytest.approx(plain, abs=1e-4)
    assert len(seen) == 2
