"""Arguments that many calls take, and calls that once took what is none."""

import math
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import superarm as sa
from superarm import arguments
from superarm.arguments import as_floats, checked_seed, seed_number
from superarm.errors import InvalidArgument
from superarm.sums import exact_sums_by

KERNEL = sa.SquaredExponential(lengthscale=1.0)
CONTEXTS = np.array([[0.1], [0.5], [0.9]])
POSTERIOR = sa.ExactPosterior(KERNEL, noise_std=0.1)


def a_round(**changes):
    return sa.Round(**{"t": 1, "contexts": CONTEXTS, "feasible": sa.AtMost(2), **changes})


def indices(**changes):
    return sa.double_ucb(POSTERIOR.predict(CONTEXTS), a_round(), **{"beta": 1.0, "zeta": 0.5, **changes})


@pytest.mark.parametrize(
    ("check", "fine", "wrong"),
    [
        (arguments.flag, [True, np.bool_(False)], [1, 0.0, None, "yes"]),
        (arguments.whole_number, [0, 7, np.int32(3), 10**30], [-1, 1.0, True, "1", None, np.float64(1)]),
        (arguments.positive, [1, 0.5, np.float32(2), np.array(3), Fraction(1, 2)], [0, -1.0, math.inf, 10**400]),
        (arguments.non_negative, [0, 0.5, np.int64(2), np.array(0.0)], [-1e-9, math.inf, math.nan, 1j]),
        (arguments.fraction, [0.5, np.float64(0.1), Fraction(1, 4)], [0, 1, 1.5, Decimal("0.5")]),
        (arguments.weight, [0, 1, 0.5, np.float64(0.1)], [-0.1, 1.1, [0.5], np.array([0.5])]),
    ],
)
def test_numbers_in_their_range(check, fine, wrong):
    for value in fine:
        assert check("name", value) == value
        assert type(check("name", value)) in (bool, int, float)
    never = [] if check is arguments.flag else [True, np.True_, np.array(True), "0.5", None, math.nan]
    for value in [*wrong, *never]:
        with pytest.raises(InvalidArgument, match=r"^name: expected (a|True or) .*, got "):
            check("name", value)


@pytest.mark.parametrize("seed", [0, np.int64(3), None, np.random.default_rng(1)])
def test_a_seed_is_a_number_a_generator_or_none(seed):
    assert arguments.checked_seed(seed) == seed


def test_a_long_value_is_not_spelt_out():
    with pytest.raises(InvalidArgument, match="x: expected numbers, got text: 'many words'"):
        arguments.as_floats("x", ["many words"] * 100, "numbers")


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: sa.TCGPUCB(POSTERIOR, max_arms=True), "max_arms"),
        (lambda: sa.OCLOKUCB(POSTERIOR, max_arms=True), "max_arms"),
        (lambda: sa.Decomposition(deadline=True), "deadline"),
        (lambda: sa.MILP(deadline=True), "deadline"),
        (lambda: sa.Automatic(deadline=True), "deadline"),
        (lambda: a_round(feasible=sa.AtMost(2, per_group=True)), "per_group"),
        (lambda: a_round(constraint=sa.Sum() >= True), "threshold"),
        (lambda: sa.SquaredExponential(lengthscale=True), "lengthscale"),
        (lambda: sa.SquaredExponential(variance=True), "variance"),
        (lambda: sa.RationalQuadratic(alpha=True), "alpha"),
        (lambda: sa.ExactPosterior(KERNEL, noise_std=True), "noise_std"),
        (lambda: sa.ExactPosterior(KERNEL, noise_std=0.1, mean=True), "mean"),
        (lambda: POSTERIOR.sample(CONTEXTS, 2, seed=True), "seed"),
        (lambda: POSTERIOR.learned(seed=True), "seed"),
        (lambda: POSTERIOR.sample(CONTEXTS, 2, seed=-1), "seed"),
        (lambda: sa.theory.group_constant(zeta=True, lipschitz=1.0, eigenvalue=1.0, noise_std=1.0), "zeta"),
        (lambda: indices(zeta=True), "zeta"),
        (lambda: indices(zeta=2.0), "zeta"),
        (lambda: indices(beta=True), "beta"),
        (lambda: indices(beta=math.nan), "beta"),
        (lambda: sa.beta(1, 0, 0.05), "arms"),
        (lambda: sa.beta(1, True, 0.05), "arms"),
        (lambda: sa.beta(0, 1, 0.05), "t"),
        (lambda: sa.beta(1, 1, 0.0), "delta"),
        (lambda: sa.beta(1, 1, True), "delta"),
    ],
)
def test_what_is_no_number_of_the_kind_is_refused_by_name(call, argument):
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert caught.value.argument == argument


def test_truth_values_are_numbers_in_an_array():
    assert a_round(contexts=np.array([[True], [False]])).contexts.tolist() == [[1.0], [0.0]]


def test_what_is_masked_is_missing():
    masked = np.ma.array([[1.0, 1.0], [1e6, 1e6]], mask=[[False, False], [True, True]])
    posterior = sa.ExactPosterior(sa.SquaredExponential(), 0.1).condition([[0.0], [1.0]], masked)
    assert posterior.observations == 1
    with pytest.raises(InvalidArgument, match="contexts"):
        posterior.predict(masked[:, :1])


# Arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        "0.1", b"0.1", ["0.1"], [0.1, "0.2"], np.array(["0.1"]), np.array([b"0.1"]), np.array(["0.1"], dtype=object),
        pl.Series(["0.1"]), pd.Series(["0.1"]),
    ],
    ids=repr,
)  # fmt: skip
def test_text_is_no_number(value):
    with pytest.raises(InvalidArgument, match=r"(?s)noise_std: expected numbers, got .*0\.1"):
        as_floats("noise_std", value, "numbers")


MISSING_TIME = np.datetime64("NaT")


@pytest.mark.parametrize(
    "value",
    [
        MISSING_TIME, np.timedelta64("NaT"), [MISSING_TIME], [[0.5, MISSING_TIME]], [0.5, np.timedelta64("NaT")],
        np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"), np.array([1, "NaT"], dtype="timedelta64[s]"),
        np.array([5], dtype="datetime64[s]"), np.array([1.0, MISSING_TIME], dtype=object), pd.Series([pd.NaT]),
        pd.DataFrame({"x": pd.to_datetime(["2026-01-01", None])}), pl.Series([date(2026, 1, 1), None]),
        pl.Series([timedelta(1), None]), [timedelta(1)], [date(2026, 1, 1)],
    ],
    ids=repr,
)  # fmt: skip
def test_times_are_no_numbers_missing_or_not(value):
    with pytest.raises(InvalidArgument, match="outcomes: expected numbers, got"):
        as_floats("outcomes", value, "numbers")


@pytest.mark.parametrize(
    "value",
    [
        [1.0, None], np.array([1, None], dtype=object), np.ma.array([1, 2], mask=[False, True]), [1.0, np.ma.masked],
        pd.Series([1, None], dtype="Int64"), pd.Series([1.0, None]), pl.Series([1, None]),
        np.array([1, pd.NA], dtype=object),
    ],
    ids=repr,
)  # fmt: skip
def test_a_number_that_is_missing_is_nan(value):
    np.testing.assert_array_equal(as_floats("outcomes", value, "numbers"), [1.0, np.nan])


def test_masks_of_rows_count():
    rows = [np.ma.array([1.0, 2.0], mask=[False, True]), np.array([3.0, 4.0])]
    np.testing.assert_array_equal(as_floats("outcomes", rows, "numbers"), [[1.0, np.nan], [3.0, 4.0]])


def test_a_long_value_is_told_by_what_is_wrong_with_it():
    times = np.arange(1000).astype("datetime64[D]")
    with pytest.raises(InvalidArgument, match=r"got times: np.datetime64"):
        as_floats("contexts", list(times), "numbers")


@pytest.mark.parametrize(
    "seed", [np.eye(3), [1, 2], "1", 1.0, True, -1, np.array(1), np.random.RandomState(0), object()]
)
def test_what_is_no_seed_is_refused(seed):
    for call in (checked_seed, seed_number):
        with pytest.raises(InvalidArgument, match="seed: expected a whole number >= 0, a Generator, or None"):
            call(seed)


@pytest.mark.parametrize("time", [np.timedelta64(5, "s"), np.timedelta64("NaT"), np.datetime64(5, "s"), timedelta(1)])
def test_a_span_of_time_is_no_number(time):
    for check in (arguments.whole_number, arguments.positive, arguments.non_negative):
        with pytest.raises(InvalidArgument, match="horizon: expected"):
            check("horizon", time)
    with pytest.raises(InvalidArgument, match="seed: expected"):
        checked_seed(time)


def test_exact_sums_beyond_all_floats_are_infinite():
    values = np.array([1e308, 1e308, -1e308, 1e308, -1e308, -1e308, 1e308, 1e308, -1e308, -1e308])
    codes = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3, 3])
    assert exact_sums_by(codes, values, 4).tolist() == [np.inf, 0.0, -np.inf, 0.0]
