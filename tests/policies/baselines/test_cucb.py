import datetime
import math

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from tests.policies.baselines.replay import FEASIBLE, greedy, play


def by_number(rng):
    return rng.permutation(40)[:24]


def by_name(rng):
    return [f"arm {number}" for number in by_number(rng)]


def by_pair(rng):
    return [(int(number), "x") for number in by_number(rng)]


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize("ids", [None, by_number, by_name, by_pair])
def test_the_same_super_arms_as_the_plain_version(ids, feasible):
    policy, seen = sa.CUCB(), {}
    for round, selection, outcomes in play(
        policy, 50, 1, FEASIBLE[feasible], **({} if ids is None else {"arm_ids": ids})
    ):
        names = [float(x) for x in round.contexts[:, 0]] if ids is None else list(round.arm_ids)
        index = [
            sum(past) / len(past) + math.sqrt(3 * math.log(round.t) / (2 * len(past)))
            if (past := seen.get(name))
            else 1e3
            for name in names
        ]
        assert sorted(index[arm] for arm in selection.arms) == pytest.approx(greedy(index, round), abs=1e-8)
        ours, played = policy.indices(round).reward, np.array([name in seen for name in names])
        np.testing.assert_allclose(ours[played], np.array(index)[played], rtol=1e-12)
        assert ours[~played].min(initial=math.inf) > max(0.0, ours[played].max(initial=0.0))
        for arm, y in zip(selection.arms, outcomes[:, 0], strict=True):
            if not math.isnan(y):
                seen.setdefault(names[arm], []).append(y)
    tally = policy.by_context if ids is None else policy.by_id
    assert tally.count.sum() == sum(map(len, seen.values()))


def test_every_arm_is_played_before_any_is_played_again():
    policy, played = sa.CUCB(), []
    x = np.arange(12)[:, None] / 12
    for t in range(1, 5):
        round = sa.Round(t=t, contexts=x, feasible=sa.Exactly(3))
        arms = policy.select(round).arms
        policy.update(round, arms, np.ones((3, 2)))
        played += arms.tolist()
    assert sorted(played) == list(range(12))


def test_an_arm_is_its_id_and_without_ids_its_context():
    policy = sa.CUCB()
    x = np.array([[0.1, 0.2], [0.1, 0.2], [-0.0, 0.3], [0.0, 0.3]])
    named = sa.Round(t=1, contexts=x, arm_ids=["a", "b", "a", "c"], feasible=sa.AtMost(4))
    policy.update(named, [0, 1, 2], [[1.0, 0.0], [5.0, 0.0], [3.0, 0.0]])
    assert policy.by_id.look_up(["a", "b"])[1].tolist() == [2.0, 5.0]
    unnamed = sa.Round(t=2, contexts=x, feasible=sa.AtMost(4))
    policy.update(unnamed, [0, 1, 2, 3], [[1.0, 0.0], [5.0, 0.0], [7.0, 0.0], [9.0, 0.0]])
    count, mean = policy.by_context.look_up([(0.1, 0.2), (0.0, 0.3)])
    assert count.tolist() == [2, 2]
    assert mean.tolist() == [3.0, 8.0]
    assert policy.by_id.count.sum() == 3


@pytest.mark.parametrize("ids", [None, by_number, by_name, by_pair])
def test_save_load_and_continue_equals_never_stopped(ids, tmp_path):
    more = {} if ids is None else {"arm_ids": ids}
    policy = sa.CUCB(seed=2)
    list(play(policy, 10, **more))
    policy.save(tmp_path / "policy")
    loaded = sa.load(tmp_path / "policy")
    ours, theirs = (play(p, 10, seed=1, first=11, **more) for p in (policy, loaded))
    for (round, selection, _), (_, other, _) in zip(ours, theirs, strict=True):
        assert selection.arms.tolist() == other.arms.tolist()
        assert policy.indices(round).reward.tobytes() == loaded.indices(round).reward.tobytes()


def test_ids_that_cannot_be_remembered_are_refused():
    two = {"t": 1, "contexts": np.zeros((2, 1)), "feasible": sa.AtMost(1)}
    with pytest.raises(InvalidArgument, match="arm_ids: expected hashable labels"):
        sa.CUCB().select(sa.Round(**two, arm_ids=[["a"], ["b"]]))
    with pytest.raises(InvalidArgument, match="arm_ids: expected a label for every arm"):
        sa.CUCB().select(sa.Round(**two, arm_ids=np.array([0.5, np.nan])))
    with pytest.raises(InvalidArgument, match="arm_ids: expected text"):
        sa.CUCB().select(sa.Round(**two, arm_ids=[frozenset("a"), frozenset("b")]))


@pytest.mark.parametrize("settings", [{"oracle": 3}, {"seed": -1}])
def test_bad_settings_are_refused_by_name(settings):
    with pytest.raises(InvalidArgument, match=next(iter(settings))):
        sa.CUCB(**settings)


DAY = datetime.date(2026, 11, 15)


@pytest.mark.parametrize(
    "ids",
    [
        [DAY, DAY + datetime.timedelta(1), DAY],
        [datetime.datetime(2026, 1, 1, 12), datetime.datetime(2026, 1, 1, 13), datetime.datetime(2026, 1, 1, 12)],
        np.array(["2026-01-01", "2026-01-02", "2026-01-01"], dtype="datetime64[D]"),
        [b"a", b"b", b"a"],
        [("a", DAY), ("b", DAY), ("a", DAY)],
        [1, 2.5, True],
    ],
    ids=["dates", "times", "datetime64", "bytes", "tuples", "numbers"],
)
def test_ids_that_are_taken_are_saved(ids, tmp_path):
    policy = sa.CUCB()
    round = sa.Round(t=2, contexts=np.zeros((3, 1)), arm_ids=ids, feasible=sa.AtMost(1))
    policy.update(round, [0, 1], [[0.5, 0.0], [0.2, 0.0]])
    policy.save(tmp_path / "policy")
    loaded = sa.load(tmp_path / "policy")
    assert loaded.by_id.names == policy.by_id.names
    assert loaded.indices(round).reward.tobytes() == policy.indices(round).reward.tobytes()
    assert policy.indices(round).reward[0] == policy.indices(round).reward[2]


@pytest.mark.parametrize("name", [frozenset("ab"), sa.Status.OPTIMAL, 1j, datetime.timedelta(1)])
def test_ids_that_cannot_be_saved_are_refused_before_anything_changes(name):
    policy = sa.CUCB()
    known = sa.Round(t=1, contexts=np.zeros((2, 1)), arm_ids=["a", "b"], feasible=sa.AtMost(1))
    policy.update(known, [0], [[0.5, 0.0]])
    before = policy.by_id
    ids = np.empty(2, dtype=object)
    ids[:] = ["c", name]
    strange = sa.Round(t=2, contexts=np.zeros((2, 1)), arm_ids=ids, feasible=sa.AtMost(1))
    for method in (policy.select, lambda round: policy.update(round, [0, 1], np.ones((2, 2)))):
        with pytest.raises(InvalidArgument, match="arm_ids: expected"):
            method(strange)
    assert policy.by_id is before


def test_an_arm_is_the_same_however_its_number_is_written():
    policy = sa.CUCB()
    for ids in ([1], [1.0], [True], np.array([1], dtype=np.int8), [np.float64(1.0)], np.array([1.0])):
        round = sa.Round(t=1, contexts=[[0.5]], arm_ids=ids, feasible=sa.AtMost(1))
        policy.update(round, [0], [[1.0, 0.0]])
    assert policy.by_id.names == (1,)
    assert policy.by_id.count.tolist() == [6]
