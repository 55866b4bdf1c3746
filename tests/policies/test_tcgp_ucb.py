import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.errors import InvalidArgument
from tests.policies.rounds import PRIOR, federated, play


def test_one_round_equals_algorithm_1_by_hand():
    """The policy against the formulas evaluated here, with enumeration as oracle."""
    rng = np.random.default_rng(4)
    seen, seen_outcomes = rng.uniform(size=(5, 2)), rng.normal(size=(5, 2))
    policy = sa.TCGPUCB(
        sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.5), noise_std=0.2), zeta=0.3, delta=0.1, max_arms=20
    )
    past = sa.Round(t=1, contexts=seen, feasible=sa.AtMost(5))
    policy.update(past, np.arange(5), seen_outcomes)
    x = rng.uniform(size=(9, 2))
    groups, gamma = np.arange(9) % 3, [0.5, 4.0, -1.0]
    round = sa.Round(t=2, contexts=x, groups=groups, constraint=sa.Sum() >= gamma, feasible=sa.AtMost(4))

    def kernel(p, q):
        return np.exp(-((p[:, None] - q[None]) ** 2).sum(-1) / (2 * 0.25))

    inverse = np.linalg.inv(kernel(seen, seen) + 0.04 * np.eye(5))
    mean = kernel(x, seen) @ inverse @ seen_outcomes
    std = np.sqrt(1 - np.einsum("mi,ij,mj->m", kernel(x, seen), inverse, kernel(x, seen)))
    width = math.sqrt(2 * math.log(20 * math.pi**2 * 4 / (3 * 0.1)))
    reward, satisfying = mean[:, 0] + width / 0.7 * std, mean[:, 1] + width / 0.3 * std
    best = max(
        sum(reward[m] for m in arms)
        for arms in ([m for m in range(9) if bits >> m & 1] for bits in range(512))
        if len(arms) <= 4
        and all(
            not (part := [m for m in arms if m % 3 == g]) or sum(satisfying[m] for m in part) >= gamma[g]
            for g in range(3)
        )
    )
    assert policy.select(round).value == pytest.approx(best, abs=1e-9)


def test_a_notebook_shows_the_summary_of_a_selection():
    selection = sa.TCGPUCB(PRIOR).select(federated(1, np.random.default_rng(0)))
    assert repr(selection) == str(selection)
    assert "array(" not in repr(selection)


def test_learning_helps():
    policy = sa.TCGPUCB(PRIOR)
    play(policy, 25)
    round = federated(26, np.random.default_rng(9))
    selection = policy.select(round)
    x = round.contexts[:, 0]
    truth = np.column_stack([1 / (1 + np.exp(5 - 10 * x)), 0.05 + 0.95 * np.exp(-5 * x)])
    best = sa.Automatic()(truth[:, 0], round, sa.GoodSubgroups(round, truth[:, 1]))
    assert truth[selection.arms, 0].sum() > 0.95 * best.value


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_the_order_in_which_arms_are_listed_does_not_matter(seed, t):
    """Even where everything ties, as in the first round."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (12, 2)) / 4 + np.arange(12)[:, None] / 1000
    groups = rng.choice(["a", "b", "c"], 12)
    shuffle = rng.permutation(12)

    def picked(order):
        round = sa.Round(
            t=t,
            contexts=x[order],
            groups=groups[order],
            constraint=sa.Mean() >= 0.1,
            feasible=sa.AtMost(5, per_group=2),
        )
        return sorted(order[sa.TCGPUCB(PRIOR, seed=seed).select(round).arms].tolist())

    assert picked(np.arange(12)) == picked(shuffle)


def test_ties_depend_on_seed_and_t_and_favour_nobody():
    x = np.arange(40)[:, None] / 40
    picks = [
        sa.TCGPUCB(PRIOR, seed=seed).select(sa.Round(t=t, contexts=x, feasible=sa.Exactly(1))).arms[0]
        for seed in range(20)
        for t in range(1, 11)
    ]
    assert len(set(picks)) > 30


def test_seed_may_be_a_generator_or_none():
    first = sa.TCGPUCB(PRIOR, seed=np.random.default_rng(5))
    second = sa.TCGPUCB(PRIOR, seed=np.random.default_rng(5))
    assert first.learner.seed == second.learner.seed != sa.TCGPUCB(PRIOR, seed=None).learner.seed


def test_beta_uses_the_largest_round_so_far():
    policy = sa.TCGPUCB(PRIOR)
    small = sa.Round(t=2, contexts=np.zeros((3, 1)), feasible=sa.AtMost(1))
    large = sa.Round(t=1, contexts=np.zeros((50, 1)), feasible=sa.AtMost(1))
    assert policy.learner.beta(small) == sa.beta(2, 3, 0.05)
    policy.select(large)  # pure: looking at a round teaches nothing
    assert policy.learner.beta(small) == sa.beta(2, 3, 0.05)
    policy.update(large, [], np.empty((0, 2)))
    assert policy.learner.beta(small) == sa.beta(2, 50, 0.05)
    policy.update(small, [], np.empty((0, 2)))  # a smaller round does not make M smaller
    assert policy.learner.beta(small) == sa.beta(2, 50, 0.05)
    with pytest.raises(InvalidArgument, match="max_arms: expected at least the arms of every round"):
        sa.TCGPUCB(PRIOR, max_arms=10).select(large)


def test_beta_scale_multiplies_beta():
    x = np.linspace(0, 1, 30)[:, None]
    posterior = PRIOR.condition(np.array([[0.2], [0.7]]), np.array([[0.3, 0.1], [0.9, 0.4]]))
    round = sa.Round(t=4, contexts=x, constraint=sa.Sum() >= 0.0, feasible=sa.Exactly(1))
    belief = posterior.predict(x)
    width = math.sqrt(0.09 * sa.beta(4, 30, 0.05)) / 0.5
    indices = sa.TCGPUCB(posterior, beta_scale=0.09).indices(round)
    np.testing.assert_allclose(indices.reward, belief.mean[:, 0] + width * belief.std[:, 0])
    np.testing.assert_allclose(indices.satisfying, belief.mean[:, 1] + width * belief.std[:, 1])
    greedy = int(np.argmax(belief.mean[:, 0]))
    for make in (sa.OCLOKUCB, sa.CGPUCB):
        assert make(posterior, beta_scale=1e-9).select(round).arms.tolist() == [greedy]
        assert make(posterior).select(round).arms.tolist() != [greedy]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"zeta": -0.1}, "zeta: expected a number from 0 to 1, got -0.1"),
        ({"zeta": 1.01}, "zeta"),
        ({"zeta": float("nan")}, "zeta"),
        ({"zeta": "half"}, "zeta"),
        ({"delta": 0.0}, "delta: expected a number between 0 and 1, got 0.0"),
        ({"delta": 1.0}, "delta"),
        ({"max_arms": 0}, "max_arms"),
        ({"max_arms": 2.5}, "max_arms"),
        ({"beta_scale": 0.0}, "beta_scale: expected a positive finite number, got 0.0"),
        ({"beta_scale": "wide"}, "beta_scale"),
        ({"seed": -1}, "seed"),
        ({"seed": "x"}, "seed"),
        ({"oracle": 3}, "oracle"),
    ],
)
def test_bad_settings(settings, said):
    with pytest.raises(InvalidArgument, match=said):
        sa.TCGPUCB(PRIOR, **settings)


def test_a_posterior_must_predict_and_condition():
    with pytest.raises(InvalidArgument, match="posterior: expected an object with predict and condition"):
        sa.TCGPUCB(sa.SquaredExponential())


@pytest.mark.parametrize(
    ("arms", "values", "said"),
    [
        ([0, 0], np.zeros((2, 2)), "arms: expected every arm at most once, got arm 0 more than once"),
        ([0, 120], np.zeros((2, 2)), "arms: expected arm numbers from 0 to 119, got 120"),
        ([-1], np.zeros((1, 2)), "arms"),
        ([0.5], np.zeros((1, 2)), "arms"),
        ([[0]], np.zeros((1, 2)), "arms"),
        ([0, 1], np.zeros((3, 2)), r"outcomes: expected shape \(2, 2\), one row per picked arm, got shape \(3, 2\)"),
        ([0, 1], np.zeros((2, 3)), "outcomes"),
        ([0, 1], np.zeros(2), "outcomes"),
        ([0], [[np.inf, 0.0]], "outcomes"),
        ([0], [["a", "b"]], "outcomes"),
    ],
)
def test_a_bad_update_changes_nothing(arms, values, said):
    policy = sa.TCGPUCB(PRIOR)
    play(policy, 2)
    round = federated(3, np.random.default_rng(1))
    posterior, largest = policy.posterior, policy.learner.largest_round
    with pytest.raises(ValueError, match=said):
        policy.update(round, arms, values)
    assert policy.posterior is posterior
    assert policy.learner.largest_round == largest


def test_contexts_of_another_dimension_are_refused_and_change_nothing():
    policy = sa.TCGPUCB(PRIOR)
    play(policy, 1)
    posterior = policy.posterior
    other = sa.Round(t=2, contexts=np.zeros((4, 3)), feasible=sa.AtMost(2))
    with pytest.raises(ValueError, match="contexts"):
        policy.select(other)
    with pytest.raises(ValueError, match="contexts"):
        policy.update(other, [0], [[0.0, 0.0]])
    assert policy.posterior is posterior


def test_an_empty_round_is_legal():
    policy = sa.TCGPUCB(PRIOR)
    empty = sa.Round(t=1, contexts=np.empty((0, 1)), groups=[], constraint=sa.Sum() >= [], feasible=sa.AtMost(3))
    selection = policy.select(empty)
    assert selection.arms.tolist() == []
    assert selection.status is sa.Status.OPTIMAL
    policy.update(empty, selection.arms, [])


def test_outcomes_that_never_came():
    policy = sa.TCGPUCB(PRIOR)
    round = federated(1, np.random.default_rng(0))
    policy.update(round, [3, 4], [[np.nan, 0.2], [0.5, np.nan]])
    belief = policy.posterior.predict(round.contexts[[3, 4]])
    assert belief.std[0, 1] < 0.06 < belief.std[0, 0]
    assert belief.std[1, 0] < 0.06 < belief.std[1, 1]


def test_listing_does_not_matter_for_arms_that_differ_only_in_their_item():
    x = np.repeat([[0.2], [0.7]], 6, axis=0)
    items = np.tile(list("abcdef"), 2)
    rng = np.random.default_rng(0)
    for seed in range(8):
        picked = set()
        for order in (np.arange(12), rng.permutation(12)):
            round = sa.Round(
                t=1,
                contexts=x[order],
                constraint=sa.DixitStiglitz(items=items[order]) >= 0.5,
                feasible=sa.Exactly(4),
            )
            arms = order[sa.TCGPUCB(PRIOR, seed=seed).select(round).arms]
            picked.add(tuple(sorted(arms.tolist())))
        assert len(picked) == 1


def test_settings_of_any_numeric_type():
    assert sa.TCGPUCB(PRIOR, zeta=np.float32(0.5), delta=np.float64(0.1)).zeta == 0.5
    with pytest.raises(InvalidArgument, match="zeta"):
        sa.TCGPUCB(PRIOR, zeta=True)
    with pytest.raises(InvalidArgument, match="posterior"):
        sa.TCGPUCB(sa.ExactPosterior)
    with pytest.raises(InvalidArgument, match=r"round: expected a superarm\.Round, got a NoneType"):
        sa.TCGPUCB(PRIOR).select(None)
    with pytest.raises(InvalidArgument, match=r"round: expected a superarm\.Round, got an int"):
        sa.TCGPUCB(PRIOR).select(3)
    with pytest.raises(InvalidArgument, match="round"):
        sa.TCGPUCB(PRIOR).update(None, [], [])
    policy, round = sa.TCGPUCB(PRIOR), federated(1, np.random.default_rng(0))
    selection = policy.select(round)
    with pytest.raises(InvalidArgument, match=r"arms: expected arm numbers: pass selection\.arms"):
        policy.update(round, selection, [])
