import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.environments import Shops
from superarm.regret import optimum


def first(environment, n, seed=0):
    return list(itertools.islice(environment.rounds(np.random.default_rng(seed)), n))


@pytest.mark.parametrize("promised", ["margins", "clicks"])
@pytest.mark.parametrize("one_hot", [False, True])
def test_conformance(promised, one_hot):
    sa.check_environment(Shops(promised=promised, one_hot=one_hot), rounds=2, repetitions=200)


def test_a_day():
    for round in first(Shops(), 5):
        assert len(round) == 300
        assert round.labels == tuple(range(12))
        assert round.feasible.k == 40
        assert round.promises[0].thresholds == pytest.approx(Shops().floors)
        assert round.contexts.shape == (300, 3)


def test_shops_without_coupons_are_left_out():
    for round in first(Shops(coupons=4, most=2), 20):
        assert round.promises[0].thresholds == pytest.approx(Shops().floors[list(round.labels)])


def test_one_hot_columns_tell_the_shop_of_the_same_coupons():
    for plain, told in zip(first(Shops(seed=3), 2), first(Shops(seed=3, one_hot=True), 2), strict=True):
        assert np.array_equal(told.contexts[:, :3], plain.contexts)
        assert np.array_equal(told.contexts[:, 3:].argmax(axis=1), np.asarray(plain.groups))
        ours = Shops(seed=3).expected_outcomes(plain)
        assert np.array_equal(ours, Shops(seed=3, one_hot=True).expected_outcomes(told))


def test_what_is_promised_comes_second():
    margins, clicks = Shops(seed=2), Shops(seed=2, promised="clicks")
    ours, theirs = first(margins, 1)[0], first(clicks, 1)[0]
    assert np.array_equal(margins.expected_outcomes(ours), clicks.expected_outcomes(theirs)[:, ::-1])
    for shops, round, column in ((margins, ours, 0), (clicks, theirs, 1)):
        seen = shops.outcomes(round, np.random.default_rng(0))[:, column]
        assert set(seen.tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("promised", ["margins", "clicks"])
def test_floors_are_quantiles_of_what_the_coupons_of_a_shop_bring(promised):
    shops = Shops(seed=4, promised=promised, coupons=12_000)
    round = first(shops, 1)[0]
    brought = shops.expected_outcomes(round)[:, 1]
    ranks = [(brought[round.grouping.members(code)] < shops.floors[code]).mean() for code in range(12)]
    assert 0.15 < min(ranks) < max(ranks) < 0.45


def test_a_discount_brings_clicks_and_costs_margin_and_shops_differ():
    shops = Shops(seed=1, coupons=12_000)
    round = first(shops, 1)[0]
    truth = shops.expected_outcomes(round)
    slopes = []
    for code in range(12):
        some = round.grouping.members(code)
        columns = np.column_stack([np.ones(len(some)), round.contexts[some]])
        slopes.append(np.linalg.lstsq(columns, truth[some], rcond=None)[0])
    intercepts, discounts = np.array(slopes)[:, 0], np.array(slopes)[:, 1]
    assert (discounts[:, 0] > 0).all()
    assert discounts[:, 1].mean() < -0.5
    assert (intercepts.std(axis=0) > 0.05).all()
    assert (discounts.std(axis=0) > 0.05).all()


def test_the_noise_of_a_margin_grows_with_the_discount():
    shops = Shops(coupons=20_000)
    round = first(shops, 1)[0]
    off = (shops.outcomes(round, np.random.default_rng(0)) - shops.expected_outcomes(round))[:, 1]
    discount = round.contexts[:, 0]
    assert off[discount < 0.05].std() == pytest.approx(0.11, rel=0.08)
    assert off[discount > 0.95].std() == pytest.approx(0.49, rel=0.08)


def test_the_best_day_takes_from_some_of_the_shops_as_many_as_may_be_shown():
    shops = Shops(seed=5)
    for round in first(shops, 3):
        best = optimum(round, shops.expected_outcomes(round))
        assert best.exact
        assert len(best.arms) == 40
        assert 2 <= len(best.groups) < 12


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"coupons": 0}, "coupons"),
        ({"most": 1.5}, "most"),
        ({"one_hot": 1}, "one_hot"),
        ({"promised": "both"}, "promised"),
    ],
)
def test_bad_arguments(arguments, wrong):
    with pytest.raises(ValueError, match=rf"^{wrong}: expected"):
        Shops(**arguments)


def test_rounds_of_others_are_refused():
    contexts = np.zeros((2, 3))
    for groups in (["a", "b"], [0, 12]):
        with pytest.raises(ValueError, match=r"^round: expected a round of this environment, with labels from 0 to 11"):
            Shops().expected_outcomes(sa.Round(t=1, contexts=contexts, groups=groups, feasible=sa.AtMost(1)))
