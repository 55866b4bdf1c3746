import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.policies.baselines.index_policy import ahead
from superarm.policies.policy import tie_order


def a_round(feasible, arms=12):
    return sa.Round(t=1, contexts=np.arange(arms)[:, None] / arms, groups=np.arange(arms) % 3, feasible=feasible)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6))
def test_as_many_first_arms_as_any_feasible_super_arm_has(seed):
    rng = np.random.default_rng(seed)
    feasible = rng.choice(
        [
            sa.AtMost(int(rng.integers(0, 7)), per_group=rng.integers(0, 4, 3)),
            sa.AtMost(per_group=rng.integers(0, 4, 3)),
            sa.Exactly(int(rng.integers(0, 7))),
            sa.WholeGroups(int(rng.integers(0, 4))),
        ]
    )
    round = a_round(feasible)
    index, first = 10.0 ** rng.integers(-2, 4) * rng.normal(size=12), rng.uniform(size=12) < 0.4
    raised = ahead(index, first, round)
    assert np.array_equal(raised[~first], index[~first])
    good = sa.GoodSubgroups(round, None)
    most = sa.Automatic()(first.astype(float), round, good)
    picked = sa.Automatic()(raised, round, good).arms
    assert np.count_nonzero(first[picked]) == most.value


def test_arms_that_tie_are_taken_in_the_order_of_ties_and_not_group_by_group():
    round = a_round(sa.Exactly(5))
    order = tie_order(round, seed=1)
    picked = sa.Automatic()(np.ones(12), round, sa.GoodSubgroups(round, None, order)).arms
    assert picked.tolist() == sorted(order[:5].tolist())


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6))
def test_the_order_of_ties_permutes_the_arms_sorted_by_all_that_is_known_of_them(seed):
    rng = np.random.default_rng(seed)
    arms, dimensions = int(rng.integers(0, 15)), int(rng.integers(1, 4))
    contexts = rng.integers(0, rng.choice([1, 2, 50]) + 1, (arms, dimensions)) / 7.0
    groups, ids = rng.integers(0, 3, arms), rng.choice(["x", "y", "z"], arms)
    items = rng.integers(0, 3, arms)
    if rng.uniform() < 0.3:
        contexts, groups = np.arange(arms)[:, None] / 20.0, np.sort(groups)
    round = sa.Round(
        t=int(rng.integers(1, 9)),
        contexts=contexts,
        groups=groups,
        constraint=rng.choice([None, sa.DixitStiglitz(items=items) >= 1.0]),
        feasible=sa.AtMost(3),
        arm_ids=ids if rng.uniform() < 0.5 else None,
    )
    known = [items] if round.promises else []
    if round.arm_ids is not None:
        known.append(ids)
    by_all = sorted(range(arms), key=lambda m: (groups[m], *contexts[m], *(key[m] for key in reversed(known)), m))
    drawn = np.random.default_rng((5, round.t)).permutation(arms)
    assert tie_order(round, 5).tolist() == [by_all[i] for i in drawn]
