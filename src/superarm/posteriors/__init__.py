"""Posteriors: what is believed about the two expected outcomes after what was seen."""

from superarm.posteriors.exact import ExactPosterior
from superarm.posteriors.gaussian_process import GaussianProcess
from superarm.posteriors.inducing import GreedyVariance, InducingRule, RandomSubset
from superarm.posteriors.kernel import Kernel, ProductKernel, SumKernel
from superarm.posteriors.kernels import (
    Linear,
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
    SquaredExponential,
)
from superarm.posteriors.learning import Learning
from superarm.posteriors.outputs import Coregionalised, Independent
from superarm.posteriors.posterior import Belief, Posterior
from superarm.posteriors.sparse import SparsePosterior

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
