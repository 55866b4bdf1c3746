"""What returns after some rounds is adopted where it was asked for and the outcomes speak for it."""

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from tests.posteriors.model.streams import Truth, fresh_model, learnt, stream

PRIOR = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
WEEKLY = sa.Learning(seasons=(7,))


def swell(t):
    return 1.0 + 0.6 * np.sin(2 * np.pi * t / 7)


def weekly(rounds):
    """Outcomes swell and ebb every seven rounds."""
    for round, arms, values in stream(Truth(), rounds):
        yield round, arms, swell(round.t) * values


def test_a_season_is_adopted_foretold_and_told():
    data = list(weekly(27))
    model, posterior = learnt(*fresh_model(PRIOR), data[:24], WEEKLY)
    assert model.shapes[0].periods == (7,)
    assert any("something returns every 7 rounds" in line for line in model.story)
    assert any("something returns every 7 rounds" in line for line in model.lines())
    for round, _, _ in data[24:]:
        x = round.contexts
        truth = (np.sin(4 * x[:, 0]) + x[:, 1]) * swell(round.t)
        error = np.abs(posterior.predict(model.points(round)).mean[:, 0] - truth).mean()
        assert error < 0.25, "of truths that are some 1 away from 0, and swell by 0.6 of it"


def test_a_season_takes_the_place_of_a_drift_that_it_was_taken_for():
    data = [(round, arms, values + np.sin(2 * np.pi * round.t / 7)) for round, arms, values in stream(Truth(), 24)]
    model, posterior = learnt(*fresh_model(None), data[:8], WEEKLY)
    assert model.drifts, "before a week has come round"
    model, _ = learnt(model, posterior, data[8:], WEEKLY)
    assert [shape.periods for shape in model.shapes] == [(7,), (7,)]
    assert not model.drifts


def test_none_is_adopted_without_one_or_unasked():
    model, _ = learnt(*fresh_model(PRIOR), stream(Truth(), 16), WEEKLY)
    assert model.shapes is None or not any(shape.seasons for shape in model.shapes)
    model, _ = learnt(*fresh_model(PRIOR), weekly(12))
    assert model.shapes is None or not any(shape.seasons for shape in model.shapes)


@pytest.mark.parametrize("wrong", [[7], (0.5,), (7, 7), (True,), ("week",), (float("inf"),), 7])
def test_seasons_are_different_periods(wrong):
    with pytest.raises(InvalidArgument, match="seasons"):
        sa.Learning(seasons=wrong)
