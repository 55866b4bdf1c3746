"""One-hot columns that only spell the group."""

import numpy as np
import pytest

import superarm as sa
from superarm.kernels.columns import OfColumns
from superarm.posteriors.learning import LEARNING
from superarm.posteriors.model import Model, after
from superarm.posteriors.model.features import Features
from superarm.posteriors.model.log import Log, beside_labels
from superarm.posteriors.model.shape import of_columns, without_columns
from superarm.round import Outcomes

SHOPS, FEATURES = 5, 2
PRIOR = sa.GaussianProcess(sa.SquaredExponential(lengthscale=1.0), noise_std=0.2)
EFFECTS = np.random.default_rng(3).normal(0.0, 1.0, SHOPS)


def round_at(t, flag=False):
    """Four arms of every shop, with a column for each, and a floor that stays; and a switch that tells more."""
    rng = np.random.default_rng(t)
    shops = np.repeat(np.arange(SHOPS), 4)
    columns = [rng.uniform(size=(len(shops), FEATURES)), np.eye(SHOPS)[shops]]
    if flag:
        columns.append(rng.integers(2, size=(len(shops), 1)).astype(float))
    floors = {shop: float(EFFECTS[shop]) for shop in range(SHOPS)}
    constraint = sa.Mean() >= floors
    return sa.Round(t=t, contexts=np.hstack(columns), groups=shops, constraint=constraint, feasible=sa.AtMost(9))


def played(rounds, flag=False, prior=PRIOR):
    model, posterior, rng = Model.of(prior), prior, np.random.default_rng(0)
    for t in range(1, rounds + 1):
        round = round_at(t, flag)
        arms = np.sort(rng.permutation(len(round))[:8])
        x, shops = round.contexts[arms], np.asarray(round.groups)[arms]
        expected = np.sin(3.0 * x[:, 0]) + EFFECTS[shops] + (2.0 * x[:, -1] if flag else 0.0)
        values = expected[:, None] + rng.normal(0.0, 0.2, (len(arms), 2))
        model, posterior = after(model, posterior, round, Outcomes.of(round, arms, values), LEARNING, 0)
    return model, posterior


def test_columns_one_to_one_with_the_labels_are_left_out():
    model, posterior = played(6)
    shape = model.shapes[1]
    assert isinstance(shape.base, OfColumns)
    assert shape.base.columns == (0, 1)
    assert shape.effects.offset or shape.effects.deviation
    assert any("only encode the group" in line for line in model.lines())
    round = round_at(50)
    expected = np.sin(3.0 * round.contexts[:, 0]) + EFFECTS[np.asarray(round.groups)]
    believed = posterior.predict(model.points(round))
    assert np.abs((believed.mean[:, 1] - expected) / believed.std[:, 1]).max() < 5.0


def test_columns_that_tell_more_stay():
    model, _ = played(6, flag=True)
    assert model.shapes is None or not isinstance(model.shapes[1].base, OfColumns)


def test_columns_are_back_once_they_tell_more():
    model, posterior = played(6)
    for t in range(7, 13):
        round = round_at(t)
        contexts = round.contexts.copy()
        contexts[:, FEATURES:] = np.roll(contexts[:, FEATURES:], 1, axis=1)
        moved = sa.Round(
            t=t, contexts=contexts, groups=round.groups, constraint=round.constraint, feasible=round.feasible
        )
        arms = np.arange(t % 3, 20, 3)
        expected = np.sin(3.0 * contexts[arms, 0]) + EFFECTS[np.asarray(round.groups)[arms]]
        values = np.column_stack([expected, expected])
        model, posterior = after(model, posterior, moved, Outcomes.of(moved, arms, values), LEARNING, 0)
    assert not isinstance(model.shapes[1].base, OfColumns)
    assert any("say more than the group" in line for line in model.lines())


def logged(contexts, groups):
    round = sa.Round(t=1, contexts=contexts, groups=groups, feasible=sa.AtMost(1))
    arms = np.arange(len(round))
    return Log.empty(contexts.shape[1]).with_rows(round, arms, np.zeros((len(round), 2))), Features.of_round(round)


@pytest.mark.parametrize(
    ("columns", "groups", "expected"),
    [
        ([[0, 1], [1, 0], [0, 1]], [0, 1, 0], (0,)),
        ([[0, 1], [1, 0], [1, 0]], [0, 1, 0], None),  # a group of two kinds
        ([[0, 1], [0, 1], [1, 0]], [0, 1, 2], None),  # two groups of a kind
        ([[0, 1], [0, 1]], [0, 0], None),  # one group
        ([[2, 1], [1, 2]], [0, 1], None),  # no 0 or 1
    ],
)
def test_which_columns_spell_the_group(columns, groups, expected):
    number = np.linspace(0.0, 1.0, len(columns))[:, None] * 0.9 + 0.05
    assert beside_labels(*logged(np.hstack([number, np.array(columns, dtype=float)]), groups)) == expected


def test_contexts_of_nothing_else_stay():
    assert beside_labels(*logged(np.eye(2), [0, 1])) is None
    assert beside_labels(Log.empty(1), None) is None


def test_kernels_of_one_lengthscale_leave_columns_and_come_back():
    kernel = sa.Matern32(lengthscale=0.5, variance=2.0)
    some = of_columns(kernel, (0, 1))
    assert without_columns(some) == kernel
    wider = OfColumns(base=sa.Matern32(lengthscale=(0.5, 2.0), variance=2.0), columns=(0, 1))
    assert without_columns(wider) == sa.Matern32(lengthscale=1.0, variance=2.0)
    assert of_columns(sa.Matern32(lengthscale=(0.5, 2.0)), (0, 1)) is None
    assert without_columns(kernel) is None
