"""Worlds of new kinds: each shows what its line says, and keeps the contract of an environment."""

import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.environments.unseen import FLOORS, KINDS, WEEK, UnseenWorld
from superarm.regret import optimum

RARE = ("rare loss", "rare cost")


def first(world, n, seed=0):
    return list(itertools.islice(world.rounds(np.random.default_rng(seed)), n))


def seen(world, round, draws):
    noise = np.random.default_rng(3)
    return np.stack([world.outcomes(round, noise) for _ in range(draws)])


@pytest.mark.parametrize("kind", KINDS)
def test_conformance(kind):
    world = UnseenWorld(kind, seed=5)
    sa.check_environment(world, rounds=2, repetitions=2000 if kind in RARE else 100)
    assert kind in world.description
    assert world.length == KINDS[kind].rounds


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_something_to_earn(kind):
    world = UnseenWorld(kind, seed=2)
    assert sum(optimum(round, world.expected_outcomes(round)).value for round in first(world, 2)) > 0.0


@pytest.mark.parametrize("kind", ["base", "scales"])
def test_floors_are_quantiles_of_what_the_group_brings_and_stay(kind):
    world = UnseenWorld(kind, seed=3)
    rounds = first(world, 40)
    for label in range(12):
        floors = {r.promises[0].thresholds[r.labels.index(label)] for r in rounds if label in r.labels}
        (floor,) = floors
        members = [r.expected[r.round.grouping.codes == r.code, 1] for r in _of_label(world, rounds, label)]
        assert FLOORS[0] - 0.15 < (np.concatenate(members) < floor).mean() < FLOORS[1] + 0.15


class _Part:
    def __init__(self, round, code, expected):
        self.round, self.code, self.expected = round, code, expected


def _of_label(world, rounds, label):
    return [_Part(r, r.labels.index(label), world.expected_outcomes(r)) for r in rounds if label in r.labels]


def test_groups_differ_in_offset_and_in_slope():
    world = UnseenWorld("base", seed=1)
    x = np.hstack([np.ones((3000, 1)), world.contexts])
    y = world._expected(1, np.arange(3000))[:, 1]
    shared = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    fits = [np.linalg.lstsq(x[world.labels == g], shared[world.labels == g], rcond=None)[0] for g in range(12)]
    assert np.std(fits, axis=0)[1:].min() > 0.3  # slopes of features with a standard deviation of 0.29
    means = [shared[world.labels == g].mean() for g in range(12)]
    assert np.std(means) > 0.2


def test_a_shock_moves_a_group_together():
    world = UnseenWorld("shock", seed=1)
    (round,) = first(world, 1)
    off = seen(world, round, 300)[:, :, 1] - world.expected_outcomes(round)[:, 1]
    codes = round.grouping.codes
    pairs = np.corrcoef(off.T)
    same = (codes[:, None] == codes) & ~np.eye(len(codes), dtype=bool)
    assert pairs[same].mean() == pytest.approx(0.6**2 / (0.6**2 + 0.3**2), abs=0.06)
    assert abs(pairs[codes[:, None] != codes].mean()) < 0.05


def test_what_is_seen_is_what_is_judged_where_that_is_promised():
    world = UnseenWorld("shock, seen", seed=1)
    (round,) = first(world, 1)
    assert (seen(world, round, 2) == world.expected_outcomes(round)).all()


def test_units_span_four_decades():
    world = UnseenWorld("scales", seed=1)
    spread = [np.std(world._expected(1, np.flatnonzero(world.labels == g))[:, 1]) for g in (0, 11)]
    assert 1000 < spread[1] / spread[0] < 100_000


def test_a_week_returns():
    world = UnseenWorld("weekly", seed=1)
    days = np.array([world._expected(t, np.arange(9))[:, 1] for t in range(1, 15)])
    assert days[WEEK:] == pytest.approx(days[:WEEK])
    assert np.ptp(days, axis=0).min() > 1.0


def test_arms_are_offered_against_a_belief():
    world, plain = UnseenWorld("adverse", seed=1), UnseenWorld("base", seed=1)
    offer = [
        np.mean([w.expected_outcomes(r)[:, 1].mean() for r in first(w, 30)]) - w._latent[:, 1].mean()
        for w in (world, plain)
    ]
    assert offer[0] < offer[1] - 0.05


def test_one_group_turns_bad():
    world = UnseenWorld("turns bad", seed=1)
    change = world._expected(61, np.arange(3000)) - world._expected(60, np.arange(3000))
    assert (change[:, 0] == 0.0).all()
    (bad,) = np.unique(world.labels[change[:, 1] != 0.0])
    assert change[world.labels == bad, 1] == pytest.approx(-1.2)


def test_three_features_matter():
    world = UnseenWorld("30 features", seed=1)
    x, y = world.contexts, world._latent[:, 1]
    found = np.abs([np.corrcoef(x[:, j], y)[0, 1] for j in range(30)])
    assert found[3:].max() < 0.08 < found[:3].max()


def test_floors_rise():
    rounds = first(UnseenWorld("rising floors", seed=1), 60)
    floors = np.array([round.promises[0].thresholds.mean() for round in rounds if len(round.labels) == 12])
    assert (np.diff(floors) > 0.0).all()


def test_outcomes_come_late_or_never():
    world = UnseenWorld("late", seed=1)
    days = np.concatenate([world.lateness(round) for round in first(world, 40)])
    assert set(days[np.isfinite(days)]) == set(range(1, 8))
    assert np.isinf(days).mean() == pytest.approx(0.2, abs=0.03)
    assert UnseenWorld("base").lateness(first(world, 1)[0]) is None


def test_losses_are_rare_and_large():
    world = UnseenWorld("rare loss", seed=1)
    (round,) = first(world, 1)
    off = seen(world, round, 500)[:, :, 1] - world.expected_outcomes(round)[:, 1]
    assert (off < -4.0).mean() == pytest.approx(1 / 40, abs=0.005)


def test_a_cost_is_all_or_nothing():
    world = UnseenWorld("rare cost", seed=1)
    (round,) = first(world, 1)
    costs, amount = seen(world, round, 500)[:, :, 1], world.cost_of_click[round.arm_ids]
    assert ((costs == 0.0) | (costs == amount)).all()
    clicks = (costs > 0.0).mean(axis=0)
    assert 0.005 < clicks.mean() < 0.03
    assert round.contexts[:, -1] == pytest.approx(np.log(amount))
    assert round.promises[0].sense.value == "<="
