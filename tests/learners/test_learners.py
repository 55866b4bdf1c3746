"""Many small learners: each is TCGP-UCB by itself, alone as in a batch, and its super arms are those of enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.learners.batch import STATUSES


def made(arms=40, d=4, groups=8, seed=0, **rest):
    rng = np.random.default_rng(seed)
    given = {"noise_std": 0.3, "beta_scale": 0.05, **rest}
    return sa.Learners(rng.standard_normal((arms, d)), rng.integers(groups, size=arms), **given)


def offered(rng, keys, n, arms=40):
    """Arms of every key, of which some have fewer."""
    table = np.stack([rng.choice(arms, n, replace=False) for _ in range(keys)])
    table[rng.random((keys, n)) < 0.15] = -1
    return table


def taught(learners, rng, keys, batches=3, n=8):
    for _ in range(batches):
        batch = learners.select(keys, offered(rng, len(keys), n), feasible=sa.AtMost(3))
        learners.update(batch, rng.standard_normal((*batch.arms.shape, 2)))
    return learners


def promise(rng):
    limit = float(np.round(rng.uniform(-1.5, 1.5), 2))
    kind = rng.integers(7)
    if kind < 4:
        reward = (sa.Sum, sa.Mean)[kind % 2]()
        return reward <= limit if kind < 2 else reward >= limit
    if kind < 6:
        count = int(rng.integers(0, 4))
        return sa.Count() <= count if kind == 4 else sa.Count() >= count
    chosen = rng.permutation(8)[:3].tolist()
    return {chosen[0]: sa.Sum() <= limit, chosen[1]: sa.Mean() >= limit, chosen[2]: sa.Count() >= 2}


def by_enumeration(learners, key, arms, constraint, feasible, t, zeta=0.5):
    """The referee: the same indices, every super arm tried."""
    mean, std = learners.predict([key], arms[None])
    codes = learners.model.grouping.codes[arms]
    if isinstance(constraint, dict):
        constraint = {label: one for label, one in constraint.items() if label in codes} or None
    round = sa.Round(
        t=t, contexts=learners.model.features[arms], groups=codes, constraint=constraint, feasible=feasible
    )
    belief = sa.Belief(mean=mean[0], std=std[0])
    width = learners.model.beta_scale * sa.beta(t, len(arms), learners.model.delta)
    indices = sa.double_ucb(belief, round, beta=width, zeta=zeta)
    good = sa.GoodSubgroups(round, indices.satisfying)
    return sa.Exhaustive()(indices.reward, round, good), indices, good


FEW = [*range(2), *range(10, 15)]  # one with each zeta
MANY = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(20) if seed not in FEW]


@pytest.mark.parametrize("seed", [*FEW, *MANY])
def test_decisions_are_those_of_enumeration(seed):
    """20 times 100 keys: promises on Sum, Mean and Count in both senses, both sizes, with and without caps."""
    rng = np.random.default_rng(seed)
    zeta = (0.5, 0.3, 0.8, 0.0, 1.0)[seed % 5] if seed >= 10 else 0.5
    learners = taught(made(seed=seed, zeta=zeta), rng, list(range(20)))
    statuses = set()
    for _ in range(5):
        constraint, k = promise(rng), int(rng.integers(1, 5))
        cap = None if rng.random() < 0.5 else int(rng.integers(0, 3))
        feasible = (sa.AtMost if rng.random() < 0.6 else sa.Exactly)(k, per_group=cap)
        keys = list(range(20))
        table = offered(rng, len(keys), 9)
        batch = learners.select(keys, table, feasible=feasible, constraint=constraint)
        for key in keys:
            arms = table[key][table[key] >= 0]
            if not len(arms):
                continue
            found, indices, good = by_enumeration(learners, key, arms, constraint, feasible, 4, zeta)
            picked = np.sort([np.flatnonzero(arms == arm)[0] for arm in batch.arms[key] if arm >= 0]).astype(int)
            assert batch.statuses[key] is found.status
            assert batch.values[key] == pytest.approx(found.value, rel=1e-12, abs=1e-12)
            assert indices.reward[picked].sum() == pytest.approx(found.value, rel=1e-12, abs=1e-12)
            if found.status is not sa.Status.NO_GOOD_SUBGROUP:
                assert good.allows(picked)
            statuses.add(found.status)
    assert sa.Status.OPTIMAL in statuses


def test_all_statuses_are_met():
    rng = np.random.default_rng(3)
    learners, met = made(seed=3), set()
    for constraint, feasible in (
        (None, sa.AtMost(2)),
        (sa.Sum() >= 1e6, sa.AtMost(2)),
        (sa.Count() <= 1, sa.Exactly(9)),
    ):
        met |= set(learners.select([1, 2], offered(rng, 2, 9), feasible=feasible, constraint=constraint).statuses)
    assert met == {sa.Status.OPTIMAL, sa.Status.NO_GOOD_SUBGROUP, sa.Status.UNDERFILLED}


def test_a_search_that_is_cut_says_so():
    """Sixty arms in one group, gains against scores, and a sum that is hardly reached."""
    rng = np.random.default_rng(0)
    scores = rng.uniform(1, 2, 60)
    features = np.column_stack([scores, -scores + 1e-3 * rng.standard_normal(60)])
    learners = sa.Learners(features, noise_std=0.1, mean=np.eye(2), beta_scale=0.0)
    total = np.sort(features[:, 1])[20:40].sum()
    batch = learners.select(["ann"], np.arange(60)[None], feasible=sa.Exactly(20), constraint=sa.Sum() >= float(total))
    assert batch.statuses == (sa.Status.LIMIT,)
    assert features[batch.arms[0], 1].sum() >= total - 1e-9 * abs(total)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_alone_is_as_in_a_batch_to_the_last_bit(seed, size):
    """Whatever other keys a batch has, in whatever order keys and arms are listed."""
    rng = np.random.default_rng(seed)
    keys = [f"key {i}" for i in range(size)]
    together = made(seed=seed)
    alone = [made(seed=seed) for _ in keys]
    for _ in range(3):
        table = offered(rng, size, 7)
        order, among = rng.permutation(size), rng.permutation(7)
        asked = {"feasible": sa.AtMost(3, per_group=2), "constraint": sa.Sum() <= 0.7}
        batch = together.select([keys[i] for i in order], table[order][:, among], **asked)
        outcomes = rng.standard_normal((size, *batch.arms.shape[1:], 2))
        together.update(batch, outcomes[order])
        for i, learners in enumerate(alone):
            mine = learners.select([keys[i]], table[i : i + 1], **asked)
            place = int(np.flatnonzero(order == i)[0])
            assert mine.arms.tobytes() == batch.arms[place : place + 1].tobytes()
            assert mine.values.tobytes() == batch.values[place : place + 1].tobytes()
            learners.update(mine, outcomes[i : i + 1])
    arms = np.arange(40)[None]
    for i, learners in enumerate(alone):
        for one, other in zip(learners.predict([keys[i]], arms), together.predict([keys[i]], arms), strict=True):
            assert one.tobytes() == other.tobytes()


def test_each_key_is_tcgp_ucb_with_a_linear_kernel():
    """The referee: a policy object of its own, on a Gaussian process whose kernel is the product of the features."""
    rng = np.random.default_rng(5)
    learners = made(arms=12, seed=5, noise_std=0.2)
    features, codes = learners.model.features, learners.model.grouping.codes
    process = sa.GaussianProcess(sa.Linear(lengthscale=1.0), noise_std=0.2)
    policy = sa.TCGPUCB(process, beta_scale=0.05, learn=False)
    truth = rng.standard_normal((4, 2))
    for t in range(1, 15):
        batch = learners.select(
            ["ann", "bob"], [list(range(12))] * 2, feasible=sa.AtMost(3), constraint={0: sa.Sum() <= 0.5}
        )
        round = sa.Round(t=t, contexts=features, groups=codes, constraint={0: sa.Sum() <= 0.5}, feasible=sa.AtMost(3))
        selection = policy.select(round)
        assert selection.arms.tolist() == [arm for arm in batch.arms[0].tolist() if arm >= 0]
        outcomes = features[batch.arms] @ truth + 0.2 * rng.standard_normal((2, 3, 2))
        learners.update(batch, outcomes)
        policy.update(round, selection.arms, outcomes[0, : len(selection.arms)])
        mean, std = learners.predict(["ann"], [list(range(12))])
        belief = policy.posterior.predict(features)
        np.testing.assert_allclose(mean[0], belief.mean, atol=1e-9)
        np.testing.assert_allclose(std[0], belief.std, atol=1e-9)


def test_scale_and_mean_are_units_and_a_prior():
    rng = np.random.default_rng(1)
    plain, scaled = made(noise_std=0.3), made(noise_std=0.3, scale=(10.0, 0.5), mean=np.full((4, 2), 2.0))
    arms = np.arange(6)[None]
    batch = plain.select(["ann"], arms, feasible=sa.Exactly(6))
    outcomes = rng.standard_normal((1, 6, 2))
    plain.update(batch, outcomes)
    shift = plain.model.features[batch.arms] @ np.full((4, 2), 2.0)
    scaled.update(batch, outcomes * [10.0, 0.5] + shift)
    (mean, std), (other, wide) = plain.predict(["ann"], arms), scaled.predict(["ann"], arms)
    np.testing.assert_allclose(other - shift, mean * [10.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(wide, std * [10.0, 0.5], atol=1e-12)


def test_select_is_pure_and_a_wrong_update_teaches_nothing():
    rng = np.random.default_rng(0)
    learners = taught(made(), rng, ["ann", "bob"])
    before = learners.digest()
    batch = learners.select(["cid", "ann"], offered(rng, 2, 6), feasible=sa.AtMost(2))
    assert learners.digest() == before
    good = np.zeros((2, 2, 2))
    for outcomes, number in (
        (np.zeros((2, 3, 2)), None),
        (np.full((2, 2, 2), np.inf), None),
        (np.where(np.arange(2) == 0, np.nan, good), None),
        (good, 9),
    ):
        with pytest.raises(InvalidArgument):
            learners.update(batch, outcomes, number=number)
        assert learners.digest() == before
    learners.update(batch, good)
    assert learners.digest() != before


def test_a_batch_that_is_repeated_by_its_number_is_learnt_once():
    rng = np.random.default_rng(0)
    learners = made()
    batch = learners.select(["ann"], offered(rng, 1, 6), feasible=sa.AtMost(2))
    learners.update(batch, np.zeros((1, 2, 2)), number=1)
    once = learners.digest()
    learners.update(batch, np.zeros((1, 2, 2)), number=1)
    assert learners.digest() == once
    assert learners.batches == 1


def test_outcomes_that_never_came_teach_nothing_and_rows_of_one_key_follow_each_other():
    learners, one_by_one = made(), made()
    arms = np.array([[0, 1], [2, 3]])
    batch = learners.select(["ann", "ann"], arms, feasible=sa.Exactly(2))
    outcomes = np.arange(8.0).reshape(2, 2, 2)
    outcomes[0, 1] = np.nan
    learners.update(batch, outcomes)
    for row in range(2):
        single = one_by_one.select(["ann"], arms[row : row + 1], feasible=sa.Exactly(2))
        one_by_one.update(single, outcomes[row : row + 1])
    one, other = learners.predict(["ann"], [[0, 1, 2, 3]]), one_by_one.predict(["ann"], [[0, 1, 2, 3]])
    assert one[0].tobytes() == other[0].tobytes()
    assert one[1].tobytes() == other[1].tobytes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"constraint": sa.Min() >= 0.1},
        {"constraint": {0: sa.Variance() <= 1.0}},
        {"constraint": sa.DixitStiglitz(items=np.arange(40)) >= 1.0},
        {"feasible": sa.WholeGroups(2)},
        {"arms": [[0, 0], [1, 2]]},
        {"arms": [[0, 40], [1, 2]]},
        {"arms": [[0, -2], [1, 2]]},
        {"arms": [[0, 1]]},
        {"arms": [[0.5, 1.0], [1.0, 2.0]]},
        {"keys": [1.0, float("nan")]},
        {"keys": "ab"},
        {"keys": {"ann", "bob"}},
        {"keys": [[1], [2]]},
    ],
)
def test_what_is_refused(wrong):
    asked = {"keys": ["ann", "bob"], "arms": [[0, 1], [1, 2]], "feasible": sa.AtMost(2), **wrong}
    with pytest.raises(InvalidArgument):
        made().select(asked.pop("keys"), asked.pop("arms"), **asked)


def test_there_are_arms():
    with pytest.raises(InvalidArgument, match="A at least 1"):
        sa.Learners(np.zeros((0, 3)), noise_std=0.3)


def test_equal_labels_are_one_key():
    learners = made()
    batch = learners.select([1, 1.0, True, np.int64(1)], [[0]] * 4, feasible=sa.AtMost(1))
    learners.update(batch, np.zeros((4, 1, 2)))
    assert len(learners) == 1


def test_nothing_is_a_batch_too():
    learners = made()
    batch = learners.select([], np.empty((0, 3), dtype=int), feasible=sa.AtMost(2))
    learners.update(batch, np.empty((0, 2, 2)))
    assert len(learners) == 0
    assert len(batch) == 0
    assert learners.batches == 1
    nobody = learners.select(["ann"], [[-1, -1]], feasible=sa.Exactly(2))
    assert nobody.statuses == (sa.Status.UNDERFILLED,)
    assert (nobody.arms == -1).all()


def test_ties_follow_seed_and_key_and_not_the_order_of_the_arms():
    arms = np.arange(6)[None]
    picks = set()
    for seed in range(8):
        learners = sa.Learners(np.ones((6, 1)), noise_std=0.1, seed=seed)
        first = learners.select(["ann"], arms, feasible=sa.AtMost(2)).arms.tolist()
        assert learners.select(["ann"], arms[:, ::-1], feasible=sa.AtMost(2)).arms.tolist() == first
        picks.add(tuple(first[0]))
    assert len(picks) > 2


def test_statuses_have_their_numbers():
    from superarm.learners import batch

    assert [status.name for status in STATUSES] == [
        next(name for name, value in vars(batch).items() if name.isupper() and value == i and name != "TWICE")
        for i in range(4)
    ]
