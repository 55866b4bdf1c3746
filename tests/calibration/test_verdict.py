"""The bets against enumeration and chance: an honest posterior must not lose them often."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.calibration import Finding, Verdict
from superarm.calibration.verdict import FALSE_ALARM, capital, enough, scaled, too_narrow, too_wide


@settings(deadline=None)
@given(st.floats(0.02, 0.98), st.integers(1, 7))
def test_fair_bets_win_nothing_on_average(chance, units):
    """All 2^n courses of units that fail altogether or not at all, weighted by their probability."""
    mean = 0.0
    for course in itertools.product([0.0, 1.0], repeat=units):
        probability = math.prod(chance if failed else 1 - chance for failed in course)
        mean += probability * capital(np.array(course), chance, chance)
    assert mean == pytest.approx(1.0, rel=1e-9)


@settings(deadline=None)
@given(st.floats(0.05, 0.95), st.lists(st.floats(0, 1), max_size=30))
def test_the_capital_is_the_mean_of_plain_products(fair, came):
    stakes = [1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.9]
    plain = sum(math.prod(1 + stake * (c - fair) / fair for c in came) for stake in stakes) / len(stakes)
    assert capital(np.array(came), fair, fair) == pytest.approx(plain, rel=1e-9)


def test_false_alarms_are_rare_at_any_time():
    """Shares with the right mean and the widest scatter, looked at after every unit."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(400):
        shares = (rng.uniform(size=60) < 0.95).astype(float)
        alarms += any(too_narrow(shares[:n], 0.95) >= 1 / FALSE_ALARM for n in range(5, 61, 5))
    assert alarms <= 10  # 1 % of 400, and chance


def test_long_series_do_not_overflow():
    assert too_narrow(np.zeros(100_000), 0.95) == math.inf
    assert too_narrow(np.ones(100_000), 0.95) == 0.0
    assert too_wide(np.ones(100_000), 0.95) == math.inf


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99])
def test_scaled_intervals_hold_what_chance_says(level):
    normal = NormalDist()
    z = normal.inv_cdf((1 + level) / 2)
    for factor in (0.5, 1.0, 1.5, 3.0):
        assert scaled(level, factor) == pytest.approx(2 * normal.cdf(z / factor) - 1)
    assert scaled(level, 1.0) == pytest.approx(level)


def test_enough_grows_with_units_and_never_beyond_their_sizes():
    def says(units, size, share=0.95):
        return enough(np.full(units, share), np.full(units, float(size)), 0.95)

    assert not says(0, 10)
    assert not says(3, 1e9)
    assert not says(20, 1)  # twenty single outcomes
    assert says(40, 1)
    assert says(12, 10)
    assert says(8, 1000)
    scattered = np.tile([1.0, 1.0, 1.0, 0.0], 8)
    assert not enough(scattered, np.full(32, 1000.0), 0.95)


def test_a_verdict_reads_as_a_sentence():
    verdict = Verdict(
        about="output 1",
        finding=Finding.TOO_FEW_TO_TELL,
        expected=0.95,
        observed=1.0,
        units=2,
        evidence=1.0,
        said="So it is.",
    )
    assert str(verdict) == "output 1: too few to tell. So it is. Collect more before you trust or distrust it."
