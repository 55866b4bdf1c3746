"""Arguments that many calls take, and calls that once took what is none."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import superarm as sa
from superarm import arguments
from superarm.errors import InvalidArgument

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
