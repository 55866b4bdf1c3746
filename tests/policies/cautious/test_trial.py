"""When to go beyond what is certified; never stuck."""

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.policies.cautious.account import Account
from superarm.policies.cautious.ledger import Ledger
from tests.policies.cautious.small import PRIOR, Asked
from tests.policies.cautious.stuck import ROUNDS, island, noisy, short


def test_the_oracle_is_not_asked_for_trials_of_groups_that_are_certified_or_teach_nothing():
    """Whole groups: which of them could be tried is known before."""
    rng = np.random.default_rng(2)
    contexts = rng.uniform(size=(20, 1))
    posterior = PRIOR.condition(np.repeat(contexts[:10], 40, axis=0), np.full((400, 2), 0.5))

    def asked(threshold, must_teach):
        oracle = Asked()
        policy = sa.CautiousTCGPUCB(posterior, oracle=oracle, must_teach=must_teach)
        policy.ledger = Ledger(account=Account(balance=0.6))
        round = sa.Round(
            t=1,
            contexts=contexts,
            groups=np.arange(20) // 5,
            constraint={0: sa.Sum() >= 0.5, 1: sa.Sum() >= 0.5, 2: sa.Sum() >= threshold, 3: sa.Sum() >= threshold},
            feasible=sa.WholeGroups(4),
        )
        policy.select(round)
        return oracle.times

    assert asked(threshold=2.5, must_teach=0.0) > 1  # two groups on the edge
    assert asked(threshold=-9.0, must_teach=0.0) == 1  # all are certified
    assert asked(threshold=2.5, must_teach=100.0) == 1  # nobody is so uncertain


def share(trace):
    return trace["reward"].sum() / trace["optimal_reward"].sum()


@pytest.mark.slow
def test_never_stuck():
    """Where pure pessimism is (see test_stuck)."""
    cases = {"good": island(good=True), "bad": island(good=False), "noisy": noisy(), "short": short()}
    traces = {
        name: sa.simulate(
            sa.CautiousTCGPUCB(sa.ExactPosterior(case.kernel, case.noise_std)), case, rounds=ROUNDS, seed=0
        )
        for name, case in cases.items()
    }
    last = {name: share(trace.filter(pl.col("t") > ROUNDS - 20)) for name, trace in traces.items()}
    assert share(traces["good"]) > 0.9
    assert last["good"] > 0.99
    assert traces["good"]["group_regret"].sum() == 0.0
    assert share(traces["bad"]) > 0.97
    assert traces["bad"]["group_regret"].sum() < 4.0  # a few trials, each of one group
    assert "TRIAL" in traces["good"]["kind"].to_list()
    assert share(traces["noisy"]) > 0.5
    assert last["noisy"] > 0.9
    assert "ON_CREDIT" in traces["noisy"]["kind"].to_list()
    assert last["short"] > 0.7
