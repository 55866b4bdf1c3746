"""The first step at which a falling function is not positive, against halving the interval."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.policies.cautious.certificates.draws import first_step

STEPS = 2**20
STEP = 8.0 / STEPS


def halved(margin):
    low, high = 0, STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if margin(middle * STEP) > 0.0 else (low, middle)
    return high * STEP


SHAPES = {
    "line": lambda x, at: at - x,
    "cube": lambda x, at: (at - x) ** 3,
    "root": lambda x, at: math.copysign(abs(at - x) ** (1 / 3), at - x),
    "exponential": lambda x, at: math.exp(-x) - math.exp(-at),
    "steep": lambda x, at: math.exp(40.0 * (at - x)) - 1.0,
    "step": lambda x, at: 1.0 if x < at else -1e6,
    "stairs": lambda x, at: math.floor(3.0 * at) - math.floor(3.0 * x),
    "wall": lambda x, at: at - x if x < at else -math.inf,
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@given(at=st.floats(-1.0, 10.0))
def test_it_is_what_halving_finds(shape, at):
    looks = itertools.count()

    def margin(x):
        next(looks)
        return shape(x, at)

    assert first_step(margin, STEP, STEPS) == halved(lambda x: shape(x, at))
    assert next(looks) <= 2 * 20 + 3


def test_a_line_takes_a_few_looks():
    looked = []

    def margin(x):
        looked.append(x)
        return 0.7 - x

    assert first_step(margin, STEP, STEPS) == pytest.approx(0.7, abs=STEP)
    assert len(looked) <= 6
