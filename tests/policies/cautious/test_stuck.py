"""Pure pessimism stays stuck where something is worth trying."""

import warnings

import numpy as np
import polars as pl
import pytest

import superarm as sa
from tests.policies.cautious.stuck import ARRIVES, ROUNDS, Pessimist, island, noisy, short

SEEDS = [0, pytest.param(1, marks=pytest.mark.slow)]
CASES = {"island good": island(good=True), "island bad": island(good=False), "noisy": noisy(), "short": short()}


def play(case, make, seed):
    policy = make(sa.ExactPosterior(case.kernel, case.noise_std))
    return sa.simulate(policy, case, rounds=ROUNDS, seed=seed)


def share(trace):
    return trace["reward"].sum() / trace["optimal_reward"].sum()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cases_are_environments(case):
    sa.check_environment(case, rounds=ARRIVES + 1, repetitions=50)


def test_pessimist_is_a_policy():
    sa.check_policy(Pessimist(sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.4), noise_std=0.1)))


@pytest.mark.parametrize("seed", SEEDS)
def test_pessimism_never_sets_foot_on_the_island(seed):
    good, bad = (play(CASES[name], Pessimist, seed) for name in ("island good", "island bad"))
    assert share(good) < 0.5
    assert share(good.filter(pl.col("t") > ROUNDS - 20)) < 0.5  # for ever
    assert share(bad) > 0.95  # where it is right to stay away
    for trace in (good, bad):
        assert trace["group_regret"].sum() == 0.0
        assert trace.filter(pl.col("t") > 1)["reward"].min() > 0.0  # home is certified


@pytest.mark.parametrize("seed", SEEDS)
def test_pessimism_stops_playing_where_it_cannot_be_sure(seed):
    trace = play(CASES["noisy"], Pessimist, seed)
    assert 0.0 < share(trace) < 0.05  # it explored
    assert trace.filter(pl.col("t") > 20)["reward"].sum() == 0.0  # and then stopped
    assert trace["optimal_reward"].min() > 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_pessimism_settles_for_the_contexts_that_it_met_first(seed):
    trace = play(CASES["short"], Pessimist, seed)
    assert 0.0 < share(trace.filter(pl.col("t") > ROUNDS - 20)) < 0.6


@pytest.mark.parametrize("seed", SEEDS)
def test_optimism_is_not_stuck(seed):
    """What is there to be had; on the bad island at the price of promises."""
    traces = {name: play(case, sa.TCGPUCB, seed) for name, case in CASES.items()}
    assert share(traces["island good"]) > 0.9
    assert share(traces["noisy"]) > 0.9
    assert traces["island good"]["group_regret"].sum() == 0.0
    assert traces["island bad"]["group_regret"].sum() > 1.0
    assert traces["short"]["group_regret"].sum() > 10.0 * play(CASES["short"], Pessimist, seed)["group_regret"].sum()


@pytest.mark.parametrize(("seed", "hours"), [(2, 1), (4, 1), (4, 24)])
def test_two_days_of_wrong_outcomes_do_not_end_it(seed, hours):
    """They look like a break after which no promise can be kept, and without new outcomes that would last for ever.

    Days count, whatever t does.
    """
    rng = np.random.default_rng(seed)
    policy, arms = sa.CautiousTCGPUCB(), []
    for t in range(1, 34):
        x = rng.uniform(size=(20, 2))
        round = sa.Round(
            t=hours * t,
            contexts=x,
            groups=rng.integers(0, 4, 20),
            constraint=sa.Mean() >= 0.3,  # every arm gives 0.4 or more
            feasible=sa.AtMost(6, per_group=3),
        )
        selection = policy.select(round)
        picked = x[selection.arms]
        outcomes = np.column_stack([picked[:, 0], 0.4 + 0.4 * picked[:, 1]]) + 0.05 * rng.normal(size=picked.shape)
        outcomes[:, 1] = np.where(t in (15, 16), 0.0, outcomes[:, 1])
        arms.append(len(selection.arms))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sa.errors.ModelWarning)  # that the outcome broke
            policy.update(round, selection.arms, outcomes)
    assert 0 in arms[16:23]  # nothing is hopeful then
    assert arms[23] > 1  # one group is asked again
    assert min(arms[25:]) > 4
