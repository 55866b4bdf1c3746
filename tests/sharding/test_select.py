"""Sharded rounds against enumeration and against plain rounds: the same value, status and margins, for any sharding."""

from contextlib import closing

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.errors import InvalidArgument, UnsolvableRound
from superarm.oracles.decomposition.gains import gains_of
from superarm.oracles.decomposition.shards import attaining, unbeaten
from tests.sharding.enumeration import a_policy, check
from tests.sharding.memory import SHARDINGS, at_the_edge, drawn, in_memory, prior


def test_any_promise_any_sharding():
    statuses = [check(drawn(seed), seed) for seed in range(30)]
    assert set(statuses) == {sa.Status.OPTIMAL, sa.Status.NO_GOOD_SUBGROUP, sa.Status.UNDERFILLED}


def test_groups_that_are_just_good_or_just_not_and_split():
    """Whether a group has a good subgroup is told by all of its shards together, and by arms that were left out."""
    split = [(shards, whole) for shards, whole in SHARDINGS if not whole]
    statuses = [check(at_the_edge(seed), seed, split) for seed in range(50)]
    assert min(statuses.count(status) for status in (sa.Status.OPTIMAL, sa.Status.NO_GOOD_SUBGROUP)) > 3


def test_ties_under_a_promise_that_leaves_no_arm_out_are_the_same_for_any_sharding(tmp_path):
    """Of equal variances the search takes what comes first: all arms are put in one order before it."""
    rng, statuses = np.random.default_rng(3), []
    known = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.4), noise_std=0.1)
    known = known.condition([[0.0], [0.5], [1.0]], [[0.2, 0.1], [0.5, 0.9], [0.4, 0.3]])
    for number in range(20):
        size, threshold = int(rng.integers(8, 36)), float(rng.choice([0.01, 0.03, 0.07, 0.3]))
        frame = pl.DataFrame(
            {"x": rng.integers(0, 3, size) / 2, "g": rng.integers(0, 3, size), "i": rng.permutation(size)}
        )
        picked = []
        for shards, whole in ((1, True), (3, True), (3, False)):
            folder = tmp_path / f"{number} {shards} {whole}"
            arms = sa.Catalogue.write(frame, folder, contexts=["x"], group="g", id="i", shards=shards, whole=whole)
            round = sa.ShardedRound(t=3, arms=arms, constraint=sa.Variance() >= threshold, feasible=sa.AtMost(4))
            picked.append(sa.select(sa.TCGPUCB(known, beta_scale=0.05, seed=1), round))
        assert picked[0].ids == picked[1].ids == picked[2].ids
        assert len({each.status for each in picked}) == 1
        statuses.append(picked[0].status)
    assert {*statuses} == {sa.Status.OPTIMAL, sa.Status.NO_GOOD_SUBGROUP}


@pytest.mark.slow
def test_any_promise_any_sharding_many_times():
    statuses = [check(drawn(seed), seed) for seed in range(100, 800)]
    assert min(map(statuses.count, set(statuses))) > 50
    for seed in range(100, 200):
        check(at_the_edge(seed), seed)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), shards=st.integers(1, 5), whole=st.booleans())
def test_pruning_where_arms_lie_leaves_the_same_arms(seed, shards, whole):
    """T2: what no shard can rule out, pruned again, is what is left of all arms pruned at once."""
    one = drawn(seed, 60, reward=sa.Sum())
    index, round = prior(one, seed).predict(one.plain.contexts).mean, one.plain
    good = sa.GoodSubgroups(round, index[:, 1])
    caps = np.minimum(round.caps, round.feasible.totals(len(round))[1])
    at_once = unbeaten(index[:, 0], good, gains_of(good), caps)
    dealt = (round.grouping.codes if whole else np.arange(len(round))) % shards
    left = []
    for shard in range(shards):
        everyone = np.ones(len(round.labels), dtype=bool)
        score = np.where(dealt == shard, index[:, 0], -np.inf)
        part = sa.GoodSubgroups(round, index[:, 1], attainable=everyone)
        gains = gains_of(part)
        gains.usable[dealt != shard] = False
        left.append(unbeaten(score, part, gains, caps))
    kept = np.sort(np.concatenate(left))
    again = gains_of(good)
    again.usable[np.setdiff1d(np.arange(len(round)), kept)] = False
    assert unbeaten(index[:, 0], good, again, caps).tolist() == at_once.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_the_best_part_of_every_size_is_enough(seed):
    """Large groups in conflict: what earns leaks. What is kept solves the round as well as all of it."""
    rng = np.random.default_rng(seed)
    arms, groups = 1200, 3
    earns = rng.normal(size=arms)
    leaks = 0.95 * earns + 0.3 * rng.normal(size=arms) + 3.0
    round = sa.Round(
        t=1,
        contexts=np.zeros((arms, 1)),
        groups=rng.integers(groups, size=arms),
        constraint=(sa.Sum() <= 9.0) if seed % 2 else (sa.Mean() <= 2.5),
        feasible=sa.AtMost(9, per_group=4) if seed % 3 else sa.Exactly(9, per_group=4),
    )
    good = sa.GoodSubgroups(round, leaks)
    gains, everyone = gains_of(good), np.ones(groups, dtype=bool)
    kept = attaining(earns, good, gains, round.caps, everyone)
    unpruned = unbeaten(earns, good, gains, round.caps)
    assert set(kept) <= set(unpruned)
    assert len(kept) <= 10 * groups < len(unpruned) / 2
    some = sa.Round(
        t=1,
        contexts=np.zeros((len(kept), 1)),
        groups=round.groups[kept],
        constraint=round.constraint,
        feasible=round.feasible,
    )
    all_of_it = sa.Decomposition()(earns, round, good)
    left = sa.Decomposition()(earns[kept], some, sa.GoodSubgroups(some, leaks[kept]))
    assert left.value == pytest.approx(all_of_it.value, rel=1e-10)
    assert left.status is all_of_it.status is sa.Status.OPTIMAL
    assert kept[left.arms].tolist() == all_of_it.arms.tolist()


@pytest.mark.parametrize("those", ["here", pytest.param("processes:2", marks=pytest.mark.slow)])
def test_a_large_round_over_workers(tmp_path, those):
    """Files and workers, with what a learning policy believes after two rounds of either kind."""
    rng = np.random.default_rng(0)
    x, shop = rng.uniform(size=(3000, 2)), rng.integers(40, size=3000)
    frame = pl.DataFrame({"x": x[:, 0], "y": x[:, 1], "shop": [f"shop {s}" for s in shop], "sku": np.arange(3000)})
    names = {"contexts": ["x", "y"], "group": "shop", "id": "sku"}
    told = {"constraint": sa.Sum() <= 1.5, "feasible": sa.AtMost(20, per_group=3)}
    whole, split = (
        sa.Catalogue.write(frame, tmp_path / name, **names, shards=3, whole=name == "whole")
        for name in ("whole", "split")
    )
    policies = {name: sa.TCGPUCB(beta_scale=0.01) for name in ("plain", "whole", "split")}
    outcomes = np.column_stack([np.sin(4 * x[:, 0]) + x[:, 1], x[:, 0] + 0.1 * np.cos(9 * x[:, 1])])
    with closing(sa.connect(those)) as workers:
        for t in (1, 2):
            round = sa.Round(t=t, contexts=x, groups=frame["shop"].to_list(), arm_ids=np.arange(3000), **told)
            plain = policies["plain"].select(round)
            policies["plain"].update(round, plain.arms, outcomes[plain.arms])
            picked = {}
            for name, arms in (("whole", whole), ("split", split)):
                asked = sa.ShardedRound(t=t, arms=arms, **told)
                picked[name] = sa.select(policies[name], asked, workers=workers if name == "whole" else "here")
                sa.update(policies[name], picked[name], outcomes[picked[name].ids])
                assert picked[name].survivors < 800
                assert picked[name].sent < 200_000
                assert picked[name].value == pytest.approx(plain.value, rel=1e-9)
                assert picked[name].status is plain.status is sa.Status.OPTIMAL
                assert picked[name].digest == arms.digest
            assert picked["whole"].ids == picked["split"].ids
            assert sorted(picked["whole"].ids) == plain.arms.tolist()
            assert whole.rows(picked["whole"].rows)["sku"].to_list() == picked["whole"].ids
    for name in ("whole", "split"):
        mine, other = policies[name].learner, policies["plain"].learner
        assert (mine.largest_round, mine.updates) == (other.largest_round, other.updates) == (3000, 2)
        assert mine.model.features.count == other.model.features.count
        np.testing.assert_allclose(mine.model.features.squares, other.model.features.squares, rtol=1e-12)
        np.testing.assert_array_equal(mine.model.labels, other.model.labels)
        belief, plainly = (each.posterior.predict(each.model.points(round)) for each in (mine, other))
        np.testing.assert_allclose(belief.mean, plainly.mean, rtol=1e-6, atol=1e-8)


def test_what_cannot_be_pruned_is_gathered_or_refused(monkeypatch):
    one = drawn(3, 40, reward=sa.Variance())
    while len(one.frame) < 30 or max(one.plain.grouping.sizes) < 15:
        one = drawn(len(one.frame) + 1000, 40, reward=sa.Variance())
    policy = a_policy(prior(one, 3), 0)
    picked = sa.select(policy, one.sharded(3, whole=False))
    plain = policy.select(one.plain)
    assert picked.whole
    assert (picked.value, picked.status) == (plain.value, plain.status)
    monkeypatch.setattr("superarm.sharding.select.MOST_WHOLE", 10)
    with pytest.raises(UnsolvableRound, match="Variance"):
        sa.select(policy, one.sharded(3, whole=False))


def test_rounds_that_are_not_taken():
    one = drawn(0, reward=sa.Sum())
    arms = in_memory(one.frame, 1, whole=True)
    items = sa.DixitStiglitz(items=()) >= 1.0
    for wrong, argument in [
        ({"feasible": sa.WholeGroups(1)}, "feasible"),
        ({"items": "nothing"}, "items"),
        ({"constraint": items}, "items"),
        ({"constraint": sa.DixitStiglitz(items=one.frame["item"].to_list()) >= 1.0, "items": "item"}, "items"),
        ({"weights": "weight"}, "weights"),
        ({"reward": sa.TransformedSum(np.arctan, weights=[1.0, 2.0])}, "reward"),
        ({"reward": sa.Mean()}, "reward"),
        ({"t": 0}, "t"),
        ({"arms": one.plain}, "arms"),
    ]:
        with pytest.raises(InvalidArgument) as error:
            sa.ShardedRound(**{"t": 1, "arms": arms, "feasible": sa.AtMost(2), **wrong})
        assert error.value.argument == argument
    round = one.sharded(1, whole=True)
    for policy in (
        sa.CUCB(),
        sa.TCGPUCB(prior(one, 0), batch_aware=True),
        sa.TCGPUCB(prior(one, 0), oracle=sa.Greedy()),
        sa.TCGPTS(prior(one, 0)),
    ):
        with pytest.raises(InvalidArgument, match="policy"):
            sa.select(policy, round)


def test_the_digest_tells_rounds_apart():
    one = drawn(0, reward=sa.Sum())
    rounds = [one.sharded(1, whole=True), one.sharded(3, whole=True)]
    rounds.append(sa.ShardedRound(arms=rounds[0].arms, **{**one.told, "t": 9}))
    rounds.append(sa.ShardedRound(arms=rounds[0].arms, **{**one.told, "constraint": sa.Sum() >= 0.0}))
    assert len({round.digest() for round in rounds}) == 4
    assert one.sharded(1, whole=True).digest() == rounds[0].digest()


def test_a_group_that_is_good_only_together_is_good_when_it_is_split():
    frame = pl.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": 0.0, "group": 0, "id": range(4)}).with_columns(
        item=pl.lit(0), weight=pl.lit(1.0), safe=pl.lit(False)
    )
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1, mean=(1.0, 1.0))
    policy = sa.TCGPUCB(prior, learn=False, beta_scale=1e-9)
    for shards in (1, 3, 4):
        arms = in_memory(frame, shards, whole=False)
        round = sa.ShardedRound(t=1, arms=arms, constraint=sa.Sum() >= 3.5, feasible=sa.AtMost(4))
        picked = sa.select(policy, round)
        assert (picked.status, sorted(picked.ids)) == (sa.Status.OPTIMAL, [0, 1, 2, 3])
