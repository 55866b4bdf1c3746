"""Certified whole groups."""

import numpy as np

import superarm as sa
from superarm.policies.cautious.certificates import Judge
from superarm.policies.cautious.searches import GroupSearch
from tests.policies.cautious.small import EPS, PRIOR


def test_whole_groups_that_cannot_vary_enough_are_not_judged():
    """By what is known of their arms; the others are found as if all were judged."""
    rng = np.random.default_rng(8)
    contexts = np.concatenate([rng.uniform(0.0, 0.1, (30, 1)), rng.uniform(0.0, 1.0, (10, 1))])
    posterior = PRIOR.condition(contexts, np.hstack([1.0 + contexts, np.sin(6.0 * contexts)]))
    round = sa.Round(
        t=1,
        contexts=contexts,
        groups=np.arange(40) // 5,
        constraint=sa.Variance() >= 0.2,
        feasible=sa.WholeGroups(3),
    )
    belief = posterior.predict(contexts)
    search = GroupSearch(
        round=round, index=belief.mean[:, 0], belief=belief, judge=Judge(round, posterior, round.contexts, belief, EPS),
        oracle=sa.Automatic(), order=np.arange(40), eps=EPS,
    )  # fmt: skip
    everyone = Judge(round, posterior, round.contexts, belief, EPS)(np.arange(40)).p_broken
    best = search.best()
    assert set(best.judged.groups.tolist()) == set(np.flatnonzero(everyone <= EPS).tolist()) != set()
    assert not search.known[:6].any()
    np.testing.assert_array_equal(search.hopeful(), everyone < 1.0 - EPS / 2.0)


def test_whole_groups_of_any_size_need_no_list_of_subgroups():
    round = sa.Round(
        t=1,
        contexts=np.random.default_rng(2).uniform(size=(60, 1)),
        groups=np.arange(60) % 3,
        constraint=sa.Custom(np.median, monotone="increasing") >= 0.1,
        feasible=sa.WholeGroups(2),
    )
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    for _ in range(4):
        selection = policy.select(round)
        policy.update(round, selection.arms, np.full((len(selection.arms), 2), 0.1))
    assert policy.ledger.balance >= 0.0
