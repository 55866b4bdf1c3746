"""Worlds made of tables, small ones made here."""

import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.datasets.tables import Table
from superarm.environments.real import DRAWN, SETS, Promise, RealWorld
from superarm.errors import InvalidArgument


def made(*, days=False, groups=True, items=60, repeats=5):
    rng = np.random.default_rng(0)
    return Table(
        features=rng.normal(size=(items, 2)),
        items=np.tile(np.arange(items), repeats),
        outcomes=rng.normal(size=(items * repeats, 2)),
        groups=np.array(list("abc"))[np.arange(items) % 3] if groups else None,
        days=np.repeat(np.arange(repeats), items) if days else None,
    )


def world(table, seed=0, **settings):
    promise = Promise(table=lambda: table, about="made here", **settings)
    return RealWorld("made", seed, table=table, promise=promise)


def first(world, n, seed=0):
    return list(itertools.islice(world.rounds(np.random.default_rng(seed)), n))


@pytest.mark.parametrize(
    "settings", [{}, {"drawn": True}, {"at_least": False}, {"between": (0.1, 0.3), "as_numbers": True}]
)
def test_conformance(settings):
    sa.check_environment(world(made(), **settings))


def test_what_is_seen_is_a_record_and_their_mean_is_the_truth():
    table = made()
    one = world(table)
    (round,) = first(one, 1)
    drawn = np.stack([one.outcomes(round, np.random.default_rng(i)) for i in range(300)])
    for arm, item in enumerate(round.arm_ids):
        records = table.outcomes[table.items == item]
        assert {tuple(row) for row in drawn[:, arm]} == {tuple(row) for row in records}
        assert one.expected_outcomes(round)[arm] == pytest.approx(records.mean(axis=0))
        assert round.contexts[arm] == pytest.approx(table.features[item])
        assert round.groups[arm] == table.groups[item]


@pytest.mark.parametrize("seen", [False, True])
def test_days_follow_each_other(seen):
    table = made(days=True)
    one = world(table, seen=seen)
    rounds = first(one, 7)
    shown = [one.outcomes(round, np.random.default_rng(0)) for round in rounds]
    days = []
    for round, outcomes in zip(rounds, shown, strict=True):
        (day,) = {
            int(table.days[(table.items == item) & (table.outcomes == row).all(axis=1)][0])
            for item, row in zip(round.arm_ids, outcomes, strict=True)
        }
        days.append(day)
        judged = outcomes if seen else table.truth[round.arm_ids]
        assert one.expected_outcomes(round) == pytest.approx(judged)
    assert [(day - days[0]) % 5 for day in days] == [0, 1, 2, 3, 4, 0, 1]


def test_only_what_has_a_record_of_the_day_is_offered():
    table = made(days=True)
    some = Table(
        features=table.features,
        items=np.delete(table.items, np.arange(20)),  # on day 0 the first 20 items are not there
        outcomes=np.delete(table.outcomes, np.arange(20), axis=0),
        groups=table.groups,
        days=np.delete(table.days, np.arange(20)),
    )
    one = world(some, arms=20)
    there = [set(round.arm_ids.tolist()) for round in first(one, 5)]
    assert min(map(min, there)) == 0
    assert max(min(items) for items in there) >= 20


def test_thresholds_are_quantiles_of_the_group_and_stay_unless_drawn():
    table = made()
    for drawn, kinds in ((False, 1), (True, 20)):
        rounds = first(world(table, drawn=drawn), 20)
        assert len({tuple(round.promises[0].thresholds) for round in rounds}) == kinds
        for round in rounds:
            for label, threshold in zip(round.labels, round.promises[0].thresholds, strict=True):
                assert 0.25 < (table.truth[table.groups == label, 1] < threshold).mean() < 0.65


def test_groups_that_no_column_says_are_drawn_by_the_seed():
    table = made(groups=False)
    one, other = world(table), world(table, seed=1)
    assert set(np.bincount(one.codes)) == {60 // DRAWN}
    assert (one.codes == world(table).codes).all()
    assert (one.codes != other.codes).any()


def test_only_known_names():
    with pytest.raises(InvalidArgument, match=r"name: expected one of .*digits"):
        RealWorld("nothing")


@pytest.mark.parametrize("name", ["digits", "wine", "tumours", "diabetes"])
def test_sets_of_scikit_learn(name):
    one = RealWorld(name, seed=1)
    sa.check_environment(one, rounds=2)
    assert SETS[name].about in one.description
    assert (one.table.counts == 1).all()
    (round,) = first(one, 1)
    assert (one.outcomes(round, np.random.default_rng(0)) == one.expected_outcomes(round)).all()  # seen without noise
