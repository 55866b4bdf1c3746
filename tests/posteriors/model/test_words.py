"""Shapes in words, and what was adopted."""

import numpy as np

import superarm as sa
from superarm.kernels.effects import Constant, Trend
from superarm.posteriors.model.shape import Effects, Shape
from superarm.posteriors.model.story import adopted
from superarm.posteriors.model.words import kernel_in_words, shape_in_words

SMOOTH = sa.Matern52(lengthscale=0.5, variance=4.0)
PLAIN = Shape(base=SMOOTH, noise=0.1)


def test_a_shape_says_what_it_is():
    assert shape_in_words(PLAIN) == (
        "smooth (Matern52, size 2, lengthscale 0.5); noise 0.1; groups add nothing of their own"
    )
    moved = Shape(base=SMOOTH, noise=0.1, mean=500.0, constant=9.0, effects=Effects(offset=0.25, fresh=0.04))
    assert shape_in_words(moved) == (
        "smooth (Matern52, size 2, lengthscale 0.5); noise 0.1; around 500 (give or take 3); every group adds a "
        "constant (standard deviation 0.5) and a new constant in every round (standard deviation 0.2)"
    )


def test_every_kernel_has_words():
    trend = Trend(origin=(0.0,), scale=(1.0,), variance=9.0)
    assert kernel_in_words(SMOOTH + trend) == "smooth (Matern52, size 2, lengthscale 0.5) + linear (size 3)"
    assert kernel_in_words(SMOOTH * Constant(4.0)).endswith(" times a constant (size 2)")
    many = sa.SquaredExponential(lengthscale=np.arange(1.0, 16.0))
    assert kernel_in_words(many) == "smooth (SquaredExponential, size 1, 15 lengthscales from 1 to 15)"

    class Own:
        def __repr__(self):
            return "mine"

    assert kernel_in_words(Own()) == "mine"


def test_each_adoption_has_a_line():
    scaled = PLAIN.rescaled(500.0, 10.0, 4.0)
    effects = Shape(base=SMOOTH, noise=0.1, effects=Effects(offset=1.0))
    rough = Shape(base=sa.Matern32(lengthscale=0.5, variance=4.0), noise=0.1)
    each = Shape(base=sa.Matern52(lengthscale=(0.5, 0.5), variance=4.0), noise=0.1)
    assert adopted((PLAIN, PLAIN), (PLAIN, PLAIN), 3) == []
    [moved] = adopted((PLAIN, PLAIN), (scaled, PLAIN), 3)
    assert moved.startswith("after decision 3, outcome 1: outcomes contradict the mean of 0")
    first, second = adopted((PLAIN, PLAIN), (effects, rough), 4)
    assert first == "after decision 4, outcome 1: every group adds a constant (standard deviation 1)"
    assert second == "after decision 4, outcome 2: smoothness of Matern32"
    assert adopted((PLAIN, effects), (each, PLAIN), 6) == [
        "after decision 6, outcome 1: one lengthscale for each feature",
        "after decision 6, outcome 2: groups add nothing of their own",
    ]
    taken = adopted((None, None), (scaled, scaled), 1)
    assert len(taken) == 2
    assert all("scale taken from the outcomes (mean 500" in line for line in taken)
    assert len(adopted((None, None), (scaled, scaled), 1, (True, False))) == 1


def test_no_scale_is_taken_from_outcomes_that_have_not_come():
    policy = sa.TCGPUCB()
    round = sa.Round(t=1, contexts=np.linspace(0, 1, 4)[:, None], feasible=sa.AtMost(4))
    policy.update(round, np.arange(4), np.column_stack([[1.0, 2.0, 3.0, 4.0], np.full(4, np.nan)]))
    said = str(policy)
    assert "outcome 1: scale taken from the outcomes" in said
    assert "outcome 2: scale taken" not in said
    assert "outcome 2: no outcomes yet: scale 1 assumed; smooth" in said
    policy.update(round, np.arange(4), np.column_stack([np.full(4, np.nan), [1.0, 2.0, 3.0, 4.0]]))
    assert "no outcomes yet" not in str(policy)
