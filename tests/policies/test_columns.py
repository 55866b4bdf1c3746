"""Policies on frames: names and text in contexts, in whatever order columns come."""

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.wire.policies import difference, policy_from_bytes, policy_to_bytes

COLOURS = ["red", "green", "blue", "pink"]
SHIFT = dict(zip(COLOURS, [0.0, 0.6, -0.5, 0.3], strict=True))
KERNEL = sa.Matern52(columns=["price"], lengthscale=0.5) + sa.Categories(columns=["colour"])


def frame(t, arms=12, colours=COLOURS):
    rng = np.random.default_rng(t)
    return pl.DataFrame(
        {
            "price": rng.uniform(size=arms),
            "age": rng.uniform(size=arms),
            "colour": rng.choice(colours, size=arms),
            "shop": rng.choice(["u", "v"], size=arms),
        }
    )


def truth(table):
    shift = np.array([SHIFT.get(colour, 0.0) for colour in table["colour"]])
    price, age = table["price"].to_numpy(), table["age"].to_numpy()
    return np.column_stack([1 + np.sin(4 * price) + shift, 1 + 0.5 * age - 0.3 * price + 0.5 * shift])


def a_round(t, table, contexts=("price", "age", "colour")):
    return sa.Round.from_frame(
        table, contexts=list(contexts), group="shop", t=t, constraint=sa.Mean() >= 0.9, feasible=sa.AtMost(3)
    )


def play(policy, rounds, contexts=(("price", "age", "colour"),), first=1):
    """What is picked in some rounds, whose columns come now in this order, now in that."""
    picked = []
    for t in range(first, first + rounds):
        table = frame(t)
        round = a_round(t, table, contexts[t % len(contexts)])
        selection = policy.select(round)
        noise = 0.1 * np.random.default_rng((t, 1)).normal(size=(len(table), 2))
        policy.update(round, selection.arms, (truth(table) + noise)[selection.arms])
        picked.append(selection.arms.tolist())
    return picked


POLICIES = {
    "cautious": sa.CautiousTCGPUCB,
    "cautious with a guess": lambda: sa.CautiousTCGPUCB(sa.GaussianProcess(KERNEL, noise_std=0.2)),
    "tcgp_ucb": lambda: sa.TCGPUCB(sa.ExactPosterior(KERNEL, noise_std=0.2), learn=False),
    "tcgp_ts": lambda: sa.TCGPTS(sa.SparsePosterior(KERNEL, noise_std=0.2), learn=False, seed=1),
    "cgp_ucb": lambda: sa.CGPUCB(sa.GaussianProcess(KERNEL, noise_std=0.2), learn=False),
}
ORDERS = (("price", "age", "colour"), ("colour", "price", "age"), ("age", "colour", "price"))


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_the_order_of_columns_changes_nothing_but_that_of_the_first(make):
    one, other = make(), make()
    assert play(one, 4) == play(other, 4, [ORDERS[2], ORDERS[0], ORDERS[1]])
    assert policy_to_bytes(one) == policy_to_bytes(other)


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_saved_and_loaded_it_goes_on_bit_for_bit(make):
    whole, policy = make(), make()
    play(whole, 4)
    play(policy, 2)
    policy = policy_from_bytes(policy_to_bytes(policy))
    play(policy, 2, ORDERS, first=3)
    assert policy_to_bytes(policy) == policy_to_bytes(whole)
    assert difference(policy, make()) is None or whole.learner.model is not None


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_other_columns_are_refused_by_name_and_nothing_changes(make):
    policy = make()
    play(policy, 2)
    before = policy_to_bytes(policy)
    table = frame(3).with_columns(weight=1.0)
    for contexts, words in (
        (("price", "colour"), "none called 'age'"),
        (("price", "age", "colour", "weight"), "also 'weight'"),
    ):
        round = a_round(3, table, contexts)
        for call in (policy.select, lambda round: policy.update(round, [0], np.ones((1, 2)))):
            with pytest.raises(InvalidArgument, match=words):
                call(round)
    assert policy_to_bytes(policy) == before


def test_a_new_category_is_no_error():
    policy = sa.CautiousTCGPUCB()
    play(policy, 6)
    table = frame(7).with_columns(colour=pl.when(pl.int_range(pl.len()) < 6).then(pl.lit("mauve")).otherwise("colour"))
    round = a_round(7, table)
    belief = policy.learner.belief(policy.learner.arranged(round))
    new = (table["colour"] == "mauve").to_numpy()
    assert belief.std[new].mean() > belief.std[~new].mean()
    policy.update(round, [0, 8], truth(table)[[0, 8]])


def test_decisions_that_are_out_are_known_by_names():
    """What is out teaches the same in whatever order its columns came, and nothing where they are others."""
    found = []
    for orders in ((ORDERS[0], ORDERS[0]), (ORDERS[1], ORDERS[2]), (("price", "colour"), ORDERS[1])):
        policy = sa.CautiousTCGPUCB()
        for t, contexts in enumerate(orders, start=1):
            round = a_round(t, frame(t), contexts)
            policy.decided(f"d{t}", round, sa.CautiousTCGPUCB().select(a_round(t, frame(t))))
        round = a_round(3, frame(3), ORDERS[0])
        found.append(policy._coming(round, round.contexts))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0][len(found[0]) - len(found[2]) :], found[2])
    assert len(found[2]) < len(found[0])


def test_the_robust_policy_learns_from_text_what_it_learns_from_one_hot_columns():
    """Four colours shift both outcomes; without them nothing explains more than a part."""
    spread = {}
    for name, contexts in {"text": ("price", "age", "colour"), "without": ("price", "age")}.items():
        policy = sa.CautiousTCGPUCB()
        play(policy, 16, [contexts])
        table = frame(99, arms=60)
        posterior, points = policy.learner.view(policy.learner.arranged(a_round(99, table, contexts)))
        spread[name] = np.abs(posterior.predict(points).mean - truth(table)).mean(axis=0)
    assert (spread["text"] < 0.75 * spread["without"]).all(), spread


def test_text_alone_is_enough():
    policy = sa.CautiousTCGPUCB()
    play(policy, 8, [("colour",)])
    assert "categories" in str(policy)
    policy = sa.CautiousTCGPUCB()
    play(policy, 6, [("colour", "shop")])
    assert "of colour" in str(policy)


@pytest.mark.parametrize("make", [sa.ACCUCB, lambda: sa.CCMAB(horizon=30)])
def test_policies_that_cut_contexts_into_cells_refuse_text(make):
    policy = make()
    with pytest.raises(InvalidArgument, match=r"contexts: expected columns of numbers, because .* takes no categories"):
        policy.select(a_round(1, frame(1)))


def test_a_posterior_of_ones_own_is_not_given_text():
    class Flat:
        def predict(self, contexts):
            return sa.Belief(mean=np.zeros((len(contexts), 2)), std=np.ones((len(contexts), 2)))

        def condition(self, contexts, outcomes):
            return self

    policy = sa.TCGPUCB(Flat())
    assert len(policy.select(a_round(1, frame(1), ["price", "age"])).arms)
    with pytest.raises(InvalidArgument, match="because Flat takes no categories, got text in column 'colour'"):
        policy.select(a_round(1, frame(1)))


def test_rounds_without_names_came_before():
    """A policy that began with arrays takes the names of the first frame, by position."""
    policy = sa.TCGPUCB(sa.ExactPosterior(sa.Matern52(), noise_std=0.2), learn=False)
    plain = sa.Round(t=1, contexts=np.eye(2), feasible=sa.AtMost(1))
    policy.update(plain, [0], [[1.0, 1.0]])
    policy.update(sa.Round(t=2, contexts={"a": [1.0], "b": [0.0]}, feasible=sa.AtMost(1)), [0], [[1.0, 1.0]])
    turned = sa.Round(t=3, contexts={"b": [0.0], "a": [1.0]}, feasible=sa.AtMost(1))
    assert policy.learner.belief(policy.learner.arranged(turned)).mean[0, 0] > 0.9
    assert len(policy.select(plain).arms) == 1
