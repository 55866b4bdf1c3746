"""The cautious policy picks from shards what it picks from a plain round: certified, on trial, exploring, on credit."""

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.errors import UnsolvableRound
from superarm.oracles.decomposition.canonical import compiled
from superarm.sharding import cautious
from tests.sharding.cautious_rounds import Tally, play
from tests.sharding.memory import in_memory


def test_certified_rounds_trials_and_exploring():
    tally = Tally()
    for seed in (1, 2, 4):
        play(seed, 6, 150, ((3, False), (2, True)), tally)
    assert not tally.wrong
    assert {"CERTIFIED", "EXPLORING"} <= set(tally.kinds)
    assert tally.whole["CERTIFIED"] < tally.kinds["CERTIFIED"] / 2
    assert tally.left < tally.arms


def test_rounds_on_credit_and_in_the_start_up():
    tally = Tally()
    play(1005, 5, 60, ((3, False), (2, True)), tally, noisy=True)
    assert not tally.wrong
    assert tally.kinds["ON_CREDIT"] >= 4
    assert tally.kinds["START_UP"] >= 4


def test_few_of_many_arms_are_left():
    tally = Tally()
    play(2, 4, 2500, ((3, True),), tally)
    assert not tally.wrong
    assert tally.left < 0.5 * tally.arms


@pytest.mark.slow
def test_certified_rounds_trials_and_exploring_many_times():
    tally = Tally()
    for seed in range(100, 170):  # trials are rare
        play(seed, 12, 200, ((3, False),), tally)
    for seed in range(1000, 1050, 5):
        play(seed, 12, 150, ((3, False),), tally, noisy=True)
    assert not tally.wrong
    assert tally.kinds["TRIAL"] >= 20
    assert tally.kinds["EXPLORING"] >= 20
    assert tally.kinds["ON_CREDIT"] >= 20


@pytest.mark.parametrize("seed", range(5))
def test_unbeaten_in_three_ways_is_what_counting_finds(seed):
    rng = np.random.default_rng(seed)
    n, cap = 120, 1 + seed
    values = rng.integers(6, size=(n, 3)).astype(float) if seed % 2 else rng.normal(size=(n, 3))
    order = np.lexsort((np.arange(n), -values[:, 2], -values[:, 1], -values[:, 0]))
    keep = np.zeros(n, dtype=bool)
    _, b, c = values[order].T
    compiled().unbeaten_in_three(np.array([0, n]), b, c, np.array([cap]), keep)
    beats = (values[:, None] >= values).all(axis=2) & (
        (values[:, None] != values).any(axis=2) | (np.arange(n)[:, None] < np.arange(n))
    )
    assert sorted(order[keep].tolist()) == np.flatnonzero(beats.sum(axis=0) < cap).tolist()


def test_what_needs_all_arms_is_refused_beyond_a_number(monkeypatch):
    frame = pl.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0], "group": [0, 1], "id": [0, 1]}).with_columns(
        item=pl.lit(0), weight=pl.lit(1.0), safe=pl.lit(False)
    )
    arms = in_memory(frame, 1, whole=True)
    round = sa.ShardedRound(t=1, arms=arms, constraint=sa.Sum() <= 1.0, feasible=sa.AtMost(1))
    picked = sa.select(sa.CautiousTCGPUCB(), round)
    assert picked.whole
    assert picked.kind is sa.Kind.EXPLORING
    monkeypatch.setattr(cautious, "MOST_GATHERED", 1)
    with pytest.raises(UnsolvableRound, match="explore"):
        sa.select(sa.CautiousTCGPUCB(), round)
