"""Stated against kept, in bins."""

import numpy as np
import pytest

from benchmarks.stated import BlindProblem, by_bins, played, table
from superarm.environments.random_problem import RandomProblem


def test_honest_statements_are_within_three_standard_errors_and_others_are_not():
    rng = np.random.default_rng(0)
    stated, runs = rng.uniform(size=20_000), np.repeat(np.arange(40), 500)
    kept = (rng.uniform(size=20_000) < stated).astype(float)
    honest = by_bins(stated, kept, runs)
    assert sum(one.groups for one in honest) == 20_000
    assert max(abs(one.off) for one in honest) < 3.5
    hopeful = by_bins(np.sqrt(stated), kept, runs)
    assert min(one.off for one in hopeful) < -10


def test_a_bin_has_what_lies_in_it():
    stated, kept = np.array([0.05, 0.95, 1.0, 0.9, 0.41]), np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    low, middle, high = by_bins(stated, kept, np.array([0, 0, 1, 2, 2]))
    assert (low.low, low.groups, low.runs, low.off) == (0.0, 1, 1, 0.0)  # one run cannot tell
    assert (middle.low, middle.kept) == (0.4, 1.0)
    assert (high.groups, high.runs) == (3, 3)
    assert high.stated == pytest.approx(0.95)
    assert high.kept == pytest.approx(2 / 3)
    assert "| 0.9 to 1.0 | 3 | 3 | 0.9500 | 0.6667 |" in table([low, middle, high])


def test_errors_are_clustered_by_run():
    """Runs whose groups are all kept or all broken count once each: the error is that of the runs."""
    kept = np.repeat([1.0, 0.0] * 10, 50)
    (one,) = by_bins(np.full(1000, 0.5), kept, np.repeat(np.arange(20), 50), bins=1)
    assert one.error == pytest.approx(0.5 / np.sqrt(19))
    (independent,) = by_bins(np.full(1000, 0.5), np.tile([1.0, 0.0], 500), np.repeat(np.arange(20), 50), bins=1)
    assert independent.error == pytest.approx(0.5 / np.sqrt(1000))


def test_thresholds_know_nothing_of_the_truth():
    blind, usual = BlindProblem(3), RandomProblem(3)
    np.testing.assert_array_equal(blind.truth, usual.truth)
    assert not np.isclose(blind._thresholds.mean(), usual._thresholds.mean(), rtol=1e-3)
    object.__setattr__(blind, "truth", blind.truth + 5.0)
    before = blind._thresholds
    del blind.__dict__["_thresholds"]
    np.testing.assert_array_equal(blind._thresholds, before)


def test_a_run_states_and_keeps():
    stated, kept = played({"learn": False, "opening": 0.0}, seed=1, rounds=3)
    assert len(stated) == len(kept) > 0
    assert all(0.0 <= one <= 1.0 for one in stated)
