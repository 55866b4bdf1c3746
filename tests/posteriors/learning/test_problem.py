from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from superarm.posteriors import ExactPosterior, Linear, Matern32, SquaredExponential
from superarm.posteriors.learning import Learning
from superarm.posteriors.learning.problem import Part, Problem, fit, theta_of
from tests.posteriors.dense import data


def problem_of(kernel, noise=0.3, n=40, seed=0, **others):
    """Both columns of random data, as one problem."""
    x, y = data(seed, n, 2, repeats=0.2)
    (observed,) = ExactPosterior(kernel, noise).condition(x, y).state.observed()
    part = Part.of(observed, 1000)
    return Problem(parts=(part,), kernel=kernel, noise=(noise,), given=theta_of(kernel, (noise,)), **others)


def penalised(problem, theta, spread):
    """The objective by its definition."""
    return problem.evidence(theta)[0] - 0.5 * (((theta - problem.given) / spread) ** 2).sum()


def fitted(problem, learning=None):
    return fit(problem, learning or Learning(), np.random.default_rng(0))


def test_the_evidence_is_that_of_what_was_found_and_no_other_search_does_better():
    problem = problem_of(Matern32(lengthscale=(3.0, 3.0)))
    found = fitted(problem)
    spread = np.log([5.0, 5.0, 5.0, 3.0])
    here = theta_of(found.kernel, found.noise)
    assert found.evidence == pytest.approx(penalised(problem, here, spread), abs=1e-8)
    assert found.before == pytest.approx(problem.evidence(problem.given)[0])
    other = minimize(lambda theta: -penalised(problem, theta, spread), here + 0.2, method="Nelder-Mead")
    assert found.evidence > -other.fun - 0.02
    assert found.worthwhile
    assert not found.limited.any()


def test_fixed_hyperparameters_stay_and_the_others_are_as_good_as_they_can_be():
    kernel = Matern32(lengthscale=(3.0, 0.7), variance=2.0)
    fixed = np.array([False, True, True, False])
    found = fitted(problem_of(kernel, fixed=fixed))
    assert (found.kernel.lengthscale[1], found.kernel.variance) == (0.7, 2.0)
    assert found.kernel.lengthscale[0] != 3.0
    assert found.evidence < fitted(problem_of(kernel)).evidence
    nothing = fitted(problem_of(kernel, fixed=np.ones(4, dtype=bool)))
    assert (nothing.kernel, nothing.noise) == (kernel, (0.3,))
    assert nothing.evidence == nothing.before


def test_a_narrow_prior_keeps_and_a_short_reach_limits():
    kernel = SquaredExponential(lengthscale=2.0)
    free = fitted(problem_of(kernel))
    narrow = fitted(problem_of(kernel, spread=np.array([1.01, 5.0, 3.0])))
    assert free.kernel.lengthscale < 1.0 < 1.9 < narrow.kernel.lengthscale
    short = fitted(problem_of(kernel, reach=np.array([1.5, 100.0, 30.0])))
    assert short.kernel.lengthscale == pytest.approx(2.0 / 1.5)
    assert short.limited.tolist() == [True, False, False]
    assert narrow.evidence < short.evidence < free.evidence


def test_structures_are_compared_on_the_same_rows():
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (80, 2))
    smooth, linear = np.sin(5 * x[:, :1]), 3.0 * x[:, 1:]
    plain = SquaredExponential(lengthscale=0.5)
    for truth, richer in [(smooth, False), (smooth + linear, True)]:
        y = np.hstack([truth, truth]) + rng.normal(0, 0.1, (80, 2))
        (observed,) = ExactPosterior(plain, 0.1).condition(x, y).state.observed()
        base = Problem(parts=(Part.of(observed, 60),), kernel=plain, noise=(0.1,), given=theta_of(plain, (0.1,)))
        more = plain + Linear(variance=0.5)
        with_linear = replace(base, kernel=more, given=theta_of(more, (0.1,)))
        assert (fitted(with_linear).evidence > fitted(base).evidence + 3.0) == richer


def test_few_outcomes_change_nothing_but_have_an_evidence():
    problem = problem_of(SquaredExponential(), n=6)
    found = fitted(problem)
    assert (found.kernel, found.noise) == (problem.kernel, problem.noise)
    assert found.evidence == found.before == pytest.approx(problem.evidence(problem.given)[0])
    assert not found.worthwhile


def test_without_a_density_nothing_is_worthwhile():
    class Indefinite:
        def __call__(self, x, y):
            return -SquaredExponential(lengthscale=0.1)(x, y)

        def diagonal(self, x):
            return -np.ones(len(x))

    problem = replace(problem_of(SquaredExponential()), kernel=Indefinite(), given=np.log([0.3]))
    found = fitted(problem, Learning(noise_reach=1.1))
    assert found.evidence == -np.inf
    assert not found.worthwhile


def test_the_evidence_is_the_same_for_those_who_do_not_climb():
    problem = problem_of(Matern32(lengthscale=(3.0, 0.7), variance=2.0))
    assert problem.evidence(problem.given, climbs=False)[0] == problem.evidence(problem.given)[0]
