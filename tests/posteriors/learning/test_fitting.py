from dataclasses import replace

import numpy as np
import pytest

from superarm.posteriors import Coregionalised, ExactPosterior, Linear, Matern52, SquaredExponential
from superarm.posteriors.learning import Learning
from superarm.posteriors.learning.evidence import evidence_of_means, evidence_within
from superarm.posteriors.learning.fitting import _problems
from superarm.posteriors.learning.problem import Problem, fit
from tests.posteriors.dense import data

KERNEL = SquaredExponential(lengthscale=(0.6, 1.1), variance=1.4)
POSTERIORS = {
    "tied": ExactPosterior(KERNEL, 0.2),
    "two kernels": ExactPosterior((KERNEL, Matern52() + Linear(variance=0.1)), (0.2, 0.3), mean=(0.2, -0.5)),
    "coregionalised": ExactPosterior(Coregionalised(Matern52(), [[1, 0.3], [0.3, 2]]), (0.1, 0.3), mean=1.0),
}


def evidence(posterior, shift=0.0):
    """Total and gradients of all problems at the present hyperparameters, moved by ``shift`` in the logarithm."""
    problems = _problems(posterior.state, 10**6)
    answers = [problem.evidence(problem.given + shift) for problem in problems]
    return sum(value for value, _ in answers), [gradient for _, gradient in answers]


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", POSTERIORS)
def test_the_evidence_is_the_posteriors_marginal_likelihood(kind, missing):
    x, y = data(3, 60, 2, repeats=0.4, missing=missing)
    posterior = POSTERIORS[kind].condition(x, y)
    value, _ = evidence(posterior)
    np.testing.assert_allclose(value, posterior.log_marginal_likelihood(), rtol=1e-7)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", POSTERIORS)
def test_the_gradient_is_a_central_difference(kind, missing):
    x, y = data(4, 40, 2, repeats=0.4, missing=missing)
    for problem in _problems(POSTERIORS[kind].condition(x, y).state, 30):
        theta = problem.given + 0.1
        _, gradient = problem.evidence(theta)
        for i, shift in enumerate(1e-5 * np.eye(len(theta))):
            slope = (problem.evidence(theta + shift)[0] - problem.evidence(theta - shift)[0]) / 2e-5
            np.testing.assert_allclose(gradient[i], slope, rtol=1e-5, atol=1e-5)


def test_repeats_that_are_left_out_tell_about_the_noise():
    x = np.repeat(np.linspace(0, 1, 30)[:, None], 5, axis=0)
    y = np.random.default_rng(0).normal(0, 0.3, (150, 2))
    (problem,) = _problems(ExactPosterior(SquaredExponential(), 0.1).condition(x, y).state, 4)
    assert len(problem.parts[0].used.points) == 4
    assert len(problem.parts[0].seen.points) == 30
    posterior = ExactPosterior(SquaredExponential(), 0.1).condition(x, y).learned(Learning(at_most=4))
    assert posterior.noise_std[0] == pytest.approx(0.3, rel=0.1)


def test_nothing_is_looked_at_twice(monkeypatch):
    x, y = data(7, 40, 2)
    (problem,) = _problems(POSTERIORS["tied"].condition(x, y).state, 30)
    problem = replace(problem, kernel=SquaredExponential(lengthscale=(0.2, 3.0), variance=0.3))  # not the one given
    looked, evidence = [], Problem.evidence

    def noted(self, theta):
        looked.append(theta.tobytes())
        return evidence(self, theta)

    monkeypatch.setattr(Problem, "evidence", noted)
    twice = fit(problem, Learning(starts=2), np.random.default_rng(0))
    assert len(looked) == len(set(looked)) > 5
    steps, looked[:] = len(looked), []
    once = fit(problem, Learning(starts=2), np.random.default_rng(0), climbs=1)
    assert 5 < len(looked) < steps, "the second start is looked at, and not climbed from"
    assert once.evidence == pytest.approx(twice.evidence, abs=0.1)


def test_a_covariance_that_cannot_be_factored_has_no_evidence():
    x, y = data(5, 10, 1)
    (everything,) = ExactPosterior(SquaredExponential(), 1e-9).condition(x, y).state.observed()

    def indefinite(p, q):
        return -np.ones((len(p), len(q)))

    assert evidence_of_means(indefinite, everything) is None
    assert evidence_of_means(SquaredExponential(lengthscale=1e6), everything) is not None


def test_single_outcomes_say_nothing_within():
    x, y = data(6, 10, 1)
    (everything,) = ExactPosterior(SquaredExponential(), 0.5).condition(x, y).state.observed()
    value, slope = evidence_within(replace(everything, counts=np.ones(10)))
    assert value == 0.0
    np.testing.assert_array_equal(slope, 0.0)
