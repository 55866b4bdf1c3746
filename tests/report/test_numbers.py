# ruff: noqa: RUF001  # true minus signs and dashes
import math

import pytest

from superarm.report.numbers import number, percent, spread


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0.0, "0"),
        (0.98765, "0.988"),
        (-12.345, "−12.35"),
        (123.45, "123.5"),
        (-1e6, "−1,000,000"),
    ],
)
def test_numbers_as_tables_print_them(value, text):
    assert number(value) == text


def test_mean_and_std_share_their_decimals():
    assert spread(0.9881, 0.0312) == "0.988 ± 0.031"
    assert spread(-0.0001, 2.0) == "0.000 ± 2.000"
    assert spread(143.21, 3.456) == "143.2 ± 3.5"
    assert spread(1.0, None) == "1.000"


def test_what_is_undefined_is_a_dash():
    assert spread(math.nan, 1.0) == spread(1.0, math.nan).replace("1.000", "–") == percent(math.nan) == "–"
    assert number(1e308) == "1.0e+308"
