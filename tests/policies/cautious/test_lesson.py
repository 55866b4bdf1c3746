"""What is at risk anyway should teach, within the credit of the round."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.policies.cautious.lesson import with_lesson
from superarm.policies.cautious.trial import on_credit
from superarm.policies.cautious.uncertified import LESSON

NOISY = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3, variance=0.1), noise_std=0.45, mean=0.5)


def a_round(seed, threshold=0.55, t=1):
    rng = np.random.default_rng(seed)
    return sa.Round(
        t=t,
        contexts=rng.uniform(size=(24, 2)),
        groups=rng.integers(5, size=24),
        constraint=sa.Mean() >= threshold,
        feasible=sa.AtMost(8, per_group=3),
    )


@given(st.integers(0, 2**20), st.sampled_from([0.3, 0.5, 0.55, 0.7, 0.9]), st.floats(0.05, 2.0))
def test_a_lesson_adds_arms_within_the_credit_and_the_feasible_set(seed, threshold, credit):
    round, policy = a_round(seed, threshold), sa.CautiousTCGPUCB(NOISY)
    search = policy._search(round, NOISY, round.contexts)
    start = on_credit(search)
    if start is None:
        return
    taught = with_lesson(start, search, 0.03, credit)
    assert np.isin(start.arms, taught.arms).all()
    assert taught.judged.risk <= max(credit, start.judged.risk) + 1e-12
    assert len(taught.arms) <= max(8, len(start.arms))
    assert (np.bincount(round.grouping.codes[taught.arms]) <= 3).all()
    nothing = with_lesson(start, search, 100.0, credit)  # no arm is so uncertain
    assert nothing is start


def test_noisy_outcomes_are_not_asked_for_one_by_one():
    """Nothing is certified and nothing explored, as the noise is larger than what is unknown: 1 arm a round before."""
    policy = sa.CautiousTCGPUCB(NOISY)
    selection = policy.select(a_round(0))
    assert selection.kind is sa.Kind.ON_CREDIT
    assert len(selection.arms) >= 3
    assert sum(1.0 - group.probability for group in selection.groups) <= LESSON
    fixed = sa.CautiousTCGPUCB(NOISY, learn=False)
    assert len(fixed.select(a_round(0)).arms) < len(selection.arms)


@pytest.mark.parametrize(("threshold", "probability"), [(-0.05, 1.0), (1.05, 0.0)])
def test_certificates_of_clicks_keep_to_their_range(threshold, probability):
    policy = sa.CautiousTCGPUCB(outcomes="binary")
    rng = np.random.default_rng(0)
    for t in range(1, 5):
        round = a_round(t, 0.3, t)
        arms = np.arange(8)
        policy.update(round, arms, (rng.uniform(size=(8, 2)) < 0.5).astype(float))
    round = a_round(7, threshold, 7)
    judge = policy._judge(round, np.arange(24))
    each = judge.each([round.grouping.members(g)[:3] for g in range(len(round.labels))])
    np.testing.assert_array_equal(each.p_broken, 1.0 - probability)
    assert judge.belief.mean[:, 1].min() >= 0.0
    assert judge.belief.mean[:, 1].max() <= 1.0
