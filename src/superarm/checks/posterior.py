"""The contract of a posterior."""

from __future__ import annotations

import math
import warnings

import numpy as np

from superarm.arguments import Array, checked_seed, whole_number
from superarm.checks import CLOSE, keeps, require
from superarm.errors import InvalidArgument, NonConforming, type_of
from superarm.posteriors.learning import LEARNING, Learns
from superarm.posteriors.outputs import checked_noise
from superarm.posteriors.posterior import Belief, CovaryingPosterior, Posterior


def check_posterior(posterior: Posterior, *, dimension: int = 1, seed: int = 0) -> None:
    """Check that a posterior predicts and conditions as the policies rely on.

    Parameters
    ----------
    posterior
        the object to check, usually without observations; it is not changed if it keeps its contract
    dimension
        D of the contexts that it takes
    seed
        seed of the contexts and outcomes to try
    """
    keeps(posterior, Posterior, "lacks predict(contexts) or condition(contexts, outcomes)")
    dimension, rng = whole_number("dimension", dimension, 1), np.random.default_rng(checked_seed(seed))
    contexts, seen = rng.uniform(size=(7, dimension)), rng.uniform(size=(5, dimension))
    outcomes = rng.normal(size=(5, 2))
    prior = _belief(posterior, contexts)
    _same(prior, _belief(posterior, contexts), 0.0, "predict gives another belief the second time; it must be pure")
    permutation = rng.permutation(len(contexts))
    shuffled = Belief(mean=prior.mean[permutation], std=prior.std[permutation])
    _same(shuffled, _belief(posterior, contexts[permutation]), CLOSE, "the belief about a context depends on its row")
    _belief(posterior, np.empty((0, dimension)))

    once = posterior.condition(seen, outcomes)
    require(once is not None, "condition returned None; it must return the conditioned posterior")
    _same(
        prior, _belief(posterior, contexts), 0.0, "condition changed the posterior it was called on; return a new one"
    )
    after = _belief(once, contexts)
    other = posterior.condition(seen, -outcomes)
    _same(after, _belief(once, contexts), 0.0, "two continuations of one posterior disturb each other")
    require(
        not np.array_equal(_belief(other, seen).mean, _belief(once, seen).mean),
        "opposite outcomes give the same mean: condition seems to ignore the outcomes",
    )
    require(
        bool((after.std <= prior.std + CLOSE).all()),
        "conditioning widened the belief about a context; the variance of a Gaussian process never grows",
    )
    stepwise = posterior.condition(seen[:2], outcomes[:2]).condition(seen[2:], outcomes[2:])
    _same(after, _belief(stepwise, contexts), 1e-5, "two batches give another belief than one")
    _same(after, _belief(once.condition(seen[:0], outcomes[:0]), contexts), CLOSE, "an empty batch changed the belief")

    repeated = np.repeat(contexts[:1], 400, axis=0)
    learnt = _belief(posterior.condition(repeated, np.full((400, 2), 0.5)), contexts[:1])
    nearer = np.abs(learnt.mean - 0.5) <= np.abs(prior.mean[:1] - 0.5) + CLOSE
    require(bool(nearer.all()), "400 equal outcomes at one context moved its mean away from them")
    partial = outcomes.copy()
    partial[0, 1] = partial[1, 0] = math.nan
    partial[2] = math.nan
    _belief(posterior.condition(seen, partial), contexts)
    if isinstance(posterior, CovaryingPosterior):
        _check_covariance(posterior, prior, contexts)
        _check_covariance(once, after, contexts)
    if isinstance(posterior, Learns):
        _check_learning(posterior, contexts, rng)


def _check_covariance(posterior: Posterior, belief: Belief, contexts: Array) -> None:
    if not isinstance(posterior, CovaryingPosterior):
        raise NonConforming(f"condition returned {type_of(posterior)}, which has lost covariance or noise_std")
    try:
        checked_noise(posterior.noise_std)
    except InvalidArgument as error:
        raise NonConforming(str(error)) from None
    m = len(contexts)
    whole, part = posterior.covariance(contexts), posterior.covariance(contexts[:3], contexts)
    require(np.shape(whole) == (2, m, m), f"covariance gave {np.shape(whole)} for {m} contexts, not (2, {m}, {m})")
    require(np.shape(part) == (2, 3, m), f"covariance gave {np.shape(part)} for 3 contexts and {m} others")
    require(bool(np.allclose(part, whole[:, :3], rtol=0.0, atol=CLOSE)), "covariance depends on what else is asked for")
    variances = np.diagonal(whole, axis1=1, axis2=2).T
    require(
        bool(np.allclose(variances, np.square(belief.std), rtol=0.0, atol=CLOSE)),
        "the diagonal of covariance is not the square of the standard deviation of predict",
    )


def _check_learning(posterior: Learns, contexts: Array, rng: np.random.Generator) -> None:
    conditioned = posterior.condition(rng.uniform(size=(30, contexts.shape[1])), rng.normal(size=(30, 2)))
    if not isinstance(conditioned, Learns):
        raise NonConforming(f"condition returned {type_of(conditioned)}, which has lost the method learned")
    before = _belief(conditioned, contexts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say about outcomes that mean nothing
        once, again = (conditioned.learned(LEARNING, np.random.default_rng(0)) for _ in range(2))
    _same(
        before, _belief(conditioned, contexts), 0.0, "learned changed the posterior it was called on; return a new one"
    )
    _same(_belief(once, contexts), _belief(again, contexts), 0.0, "learned gives another belief for the same seed")


def _belief(posterior: Posterior, contexts: Array) -> Belief:
    belief = posterior.predict(contexts)
    require(isinstance(belief, Belief), f"predict returned {type_of(belief)}, not a superarm.Belief")
    require(belief.mean.shape == (len(contexts), 2), f"predict gave {belief.mean.shape} for {len(contexts)} contexts")
    return belief


def _same(one: Belief, other: Belief, tolerance: float, message: str) -> None:
    close = np.allclose(one.mean, other.mean, rtol=0.0, atol=tolerance) and np.allclose(
        one.std, other.std, rtol=0.0, atol=tolerance
    )
    require(bool(close), message)
