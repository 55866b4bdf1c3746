import math

import numpy as np
import pytest

import superarm as sa
from tests.policies.rounds import PRIOR, federated


def test_oclok_is_tcgp_ucb_without_groups_and_ignores_promises():
    rng = np.random.default_rng(0)
    round = federated(1, rng)
    assert np.array_equal(sa.OCLOKUCB(PRIOR).select(round).arms, sa.TCGPUCB(PRIOR, zeta=0.0).select(round).arms)
    impossible = sa.Round(
        t=1, contexts=round.contexts, groups=round.groups, constraint=sa.Count() >= 999, feasible=sa.AtMost(3)
    )
    selection = sa.OCLOKUCB(PRIOR).select(impossible)
    assert selection.status is sa.Status.OPTIMAL
    assert all(group.margin is None for group in selection.groups)


def test_cgp_ucb_picks_the_largest_upper_bound():
    posterior = PRIOR.condition(np.array([[0.2], [0.7]]), np.array([[0.3, np.nan], [0.9, np.nan]]))
    policy = sa.OCLOKUCB(posterior, max_arms=30)
    x = np.linspace(0, 1, 30)[:, None]
    round = sa.Round(t=4, contexts=x, feasible=sa.Exactly(1))
    belief = posterior.predict(x)
    index = belief.mean[:, 0] + math.sqrt(sa.beta(4, 30, 0.05)) * belief.std[:, 0]
    assert policy.select(round).arms.tolist() == [int(np.argmax(index))]


def test_cgp_ucb_plays_one_arm_where_that_is_allowed():
    policy = sa.CGPUCB(PRIOR)
    x = np.linspace(0, 1, 5)[:, None]
    assert len(policy.select(sa.Round(t=1, contexts=x, feasible=sa.AtMost(4))).arms) == 1
    assert len(policy.select(sa.Round(t=1, contexts=x, feasible=sa.Exactly(1))).arms) == 1
    assert len(policy.select(sa.Round(t=1, contexts=x, feasible=sa.AtMost(0))).arms) == 0
    for feasible in (sa.Exactly(3), sa.WholeGroups(1)):
        with pytest.raises(sa.errors.UnsolvableRound, match="one arm a round"):
            policy.select(sa.Round(t=1, contexts=x, feasible=feasible))
