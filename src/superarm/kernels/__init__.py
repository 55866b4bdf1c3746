"""Kernels: covariance functions of contexts, with the gradients that learning needs."""

from superarm.kernels.categories import Categories
from superarm.kernels.combinations import ProductKernel, SumKernel
from superarm.kernels.kernel import Kernel, Tunable
from superarm.kernels.linear import Linear
from superarm.kernels.stationary import Laplacian, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential

__all__ = [
    "Kernel",
    "SquaredExponential",
    "Matern12",
    "Matern32",
    "Matern52",
    "Laplacian",
    "Linear",
    "RationalQuadratic",
    "Categories",
    "SumKernel",
    "ProductKernel",
    "Tunable",
]
