"""The arithmetic of the benchmarks: spreads, exponents, and how numbers are written."""

import numpy as np
import pytest

from benchmarks.growth import exponent
from benchmarks.measure import Product, Spread, short, slope


def test_spread_is_median_and_extremes():
    spread = Spread.of([3.0, 1.0, 2.0, 10.0])
    assert (spread.median, spread.low, spread.high) == (2.5, 1.0, 10.0)
    assert Spread.read(spread.written()) == spread
    assert spread.text(10.0) == "25.0 [10.0-100]"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0.000"), (0.0123, "0.012"), (1.234, "1.23"), (12.34, "12.3"), (1234.5, "1234")]
)
def test_short_numbers(value, text):
    assert short(value) == text


def test_slope_finds_the_exponent_of_a_power_law():
    x = np.array([1.0, 3.0, 10.0, 40.0])
    assert slope(x, 7.0 * x**1.7) == pytest.approx(1.7)


def test_exponent_looks_at_the_upper_half_alone():
    x = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    assert exponent(x, [5.0, 5.0, 5.0, 64.0, 256.0, 1024.0]) == pytest.approx(2.0)


def test_a_product_is_counted_in_operations_a_second():
    # Any machine of this century, and none of the next.
    assert 1e8 < Product().rate() < 1e13
