"""Posteriors: beliefs about the two expected outcomes, given the outcomes so far."""

from superarm.kernels import (
    Kernel,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    ProductKernel,
    RationalQuadratic,
    SquaredExponential,
    SumKernel,
)
from superarm.posteriors.engines.inducing import GreedyVariance, InducingRule, RandomSubset
from superarm.posteriors.gaussian_process import ExactPosterior, GaussianProcess, SparsePosterior
from superarm.posteriors.learning import Learning
from superarm.posteriors.outputs import Coregionalised, Independent
from superarm.posteriors.posterior import Belief, Posterior

__all__ = [
    "Belief",
    "Posterior",
    "GaussianProcess",
    "ExactPosterior",
    "SparsePosterior",
    "Kernel",
    "SquaredExponential",
    "Matern12",
    "Matern32",
    "Matern52",
    "Laplacian",
    "Linear",
    "RationalQuadratic",
    "SumKernel",
    "ProductKernel",
    "Independent",
    "Coregionalised",
    "InducingRule",
    "GreedyVariance",
    "RandomSubset",
    "Learning",
]
