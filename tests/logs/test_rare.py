"""Intervals of rewards where few outcomes differ from the usual one."""

import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.errors import NoEstimate
from superarm.logs.estimate import mean_and_interval
from superarm.logs.rare import rewards_interval
from superarm.logs.turns import Shared


def interval(outcomes, weights, seen=None, values=None):
    """Of a log with one arm a round; weights of 0 where the policy picks another."""
    places = np.flatnonzero(weights)
    shared = Shared(places=places, weights=weights[places], outcomes=outcomes[places])
    values = weights * outcomes if values is None else values
    seen = outcomes if seen is None else seen
    return rewards_interval(values, weights, shared, seen, level=0.95, method="", cut=0.0, skewed=True)


@pytest.mark.parametrize("clicks", [0, 1, 7])
def test_few_events_of_equal_weight_have_the_exact_interval_of_poisson(clicks):
    outcomes = np.r_[np.ones(clicks), np.zeros(300 - clicks)]
    found = interval(outcomes, np.ones(300), seen=np.array([0.0, 1.0]))
    low = stats.chi2.ppf(0.025, 2 * clicks) / 600 if clicks else 0.0
    assert (found.low, found.high) == pytest.approx((low, stats.chi2.ppf(0.975, 2 * clicks + 2) / 600))


@pytest.mark.parametrize(
    ("rounds", "arms", "rate", "model"),
    [(300, 6, 0.01, 0.0), (200, 4, 0.05, 0.1), (300, 6, 0.99, 0.0), (60, 1, 0.98, 0)],
)
def test_rare_outcomes_are_not_missed(rounds, arms, rate, model):
    """Whether the rare outcome is the larger or the smaller, and with a model that is wrong."""
    rng, held = np.random.default_rng(1), []
    for _ in range(400):
        outcomes, weights = rng.uniform(size=rounds) < rate, arms * (rng.uniform(size=rounds) < 1.0 / arms)
        values = model + weights * (outcomes - model)
        found = interval(outcomes.astype(float), weights.astype(float), np.array([0.0, 1.0]), values)
        held.append(found.low <= rate <= found.high)
    assert np.mean(held) > stats.binom.ppf(0.001, 400, 0.95) / 400


def test_rare_outcomes_with_unequal_weights_are_not_missed():
    rng, held = np.random.default_rng(2), []
    for _ in range(400):
        outcomes, weights = (rng.uniform(size=300) < 0.01).astype(float), rng.lognormal(-0.5, 1.0, 300)
        found = interval(outcomes, weights, np.array([0.0, 1.0]))
        held.append(found.low <= 0.01 <= found.high)
    assert np.mean(held) > stats.binom.ppf(0.001, 400, 0.95) / 400


@pytest.mark.parametrize("draw", [np.random.Generator.normal, np.random.Generator.standard_exponential])
def test_outcomes_that_all_differ_have_the_usual_interval(draw):
    outcomes, weights = draw(np.random.default_rng(0), size=30), np.ones(30)
    assert interval(outcomes, weights) == mean_and_interval(outcomes, weights, level=0.95, method="", skewed=True)


class First:
    def select(self, round):
        return [0]

    def update(self, round, arms, outcomes):
        pass


def log(outcome):
    rng, entries = np.random.default_rng(0), []
    for t in range(1, 121):
        round, arm = sa.Round(t=t, contexts=np.eye(3), groups=list("abb"), feasible=sa.Exactly(1)), rng.integers(3)
        outcomes = [[outcome(t, arm), 0.0]]
        entries.append(sa.LogEntry(round=round, arms=[arm], outcomes=outcomes, probabilities=np.full(3, 1 / 3)))
    return entries


def test_no_click_among_the_policys_picks_does_not_mean_none_ever():
    replayed = sa.replay(First(), log(lambda t, arm: float(arm > 0 and t % 10 == 0)))
    found = replayed.value(method="inverse propensity")
    assert (found.mean, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(3 * stats.chi2.ppf(0.975, 2) / 240)
    assert replayed.by_group(method="inverse propensity")["reward_high"][0] == pytest.approx(found.high)


@pytest.mark.parametrize("method", ["inverse propensity", "doubly robust"])
def test_a_log_of_one_outcome_tells_nothing(method):
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
    with pytest.raises(NoEstimate, match="every outcome of the log is 0"):
        sa.replay(First(), log(lambda t, arm: 0.0)).value(method=method, model=prior)
