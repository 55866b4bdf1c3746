"""Measurements of different noise: a fact of the journal, told to the policy, and learnt again when it is replayed."""

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.wire.policies import policy_to_bytes
from tests.sessions.shop import a_round, outcomes, policy

POLICIES = {
    "trusted": policy,
    "learning": lambda: sa.TCGPUCB(sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.2)),
    "cautious": sa.CautiousTCGPUCB,
}


@pytest.mark.parametrize("kind", POLICIES)
def test_a_session_teaches_the_noise_that_it_was_told(kind, tmp_path):
    told = POLICIES[kind]()
    with sa.Session.open(tmp_path / "shop.db", policy=POLICIES[kind]()) as session:
        for t in range(1, 6):
            decision = session.decide(a_round(t))
            noise = [0.05, 2.0] if t % 2 else None
            session.observe(decision.id, decision.arms, outcomes(t, decision.arms), noise_std=noise)
            if hasattr(told, "observed"):
                told.decided(decision.id, a_round(t), decision.selection)
                told.observed(decision.id, a_round(t), decision.arms, outcomes(t, decision.arms), noise_std=noise)
            else:
                told.update(a_round(t), decision.arms, outcomes(t, decision.arms), noise_std=noise)
        second = decision.arms[:1]
        session.observe(decision.id, second, outcomes(9, second), sample="again", noise_std=0.3)
        learnt = session.policy
    if hasattr(told, "observed"):
        told.observed(decision.id, a_round(5), second, outcomes(9, second), noise_std=0.3)
    else:
        told.update(a_round(5), second, outcomes(9, second), noise_std=0.3)
    believed, expected = learnt.learner.belief(a_round(6)), told.learner.belief(a_round(6))
    np.testing.assert_array_equal(believed.mean, expected.mean)
    np.testing.assert_array_equal(believed.std, expected.std)
    with sa.Session.open(tmp_path / "shop.db") as again:
        assert again.verify().exact
        replayed = again.policy.learner.belief(a_round(6))
    np.testing.assert_array_equal(replayed.mean, believed.mean)


def test_a_policy_that_cannot_use_it_is_told_nothing(tmp_path):
    with sa.Session.open(tmp_path / "shop.db", policy=sa.CUCB()) as session:
        decision = session.decide(a_round(1, arm_ids=list("abcdef")))
        with pytest.raises(InvalidArgument, match="noise_std: expected None, because CUCB"):
            session.observe(decision.id, decision.arms, outcomes(1, decision.arms), noise_std=0.1)


@pytest.mark.parametrize("verb", ["fork", "reconfigure"])
def test_another_policy_that_cannot_use_it_learns_the_outcomes_without(verb, tmp_path):
    alone = sa.CUCB()
    with sa.Session.open(tmp_path / "shop.db", policy=policy()) as session:
        for t in range(1, 4):
            decision = session.decide(a_round(t))
            session.observe(decision.id, decision.arms, outcomes(t, decision.arms), noise_std=0.3)
            alone.update(a_round(t), decision.arms, outcomes(t, decision.arms))
        if verb == "fork":
            session.fork(tmp_path / "other.db", sa.CUCB()).close()
        else:
            session.reconfigure(sa.CUCB())
    with sa.Session.open(tmp_path / ("other.db" if verb == "fork" else "shop.db")) as again:
        assert policy_to_bytes(again.policy) == policy_to_bytes(alone)
        assert again.verify().ok
