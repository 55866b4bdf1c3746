"""The kernel to start from if no prior is given."""

from __future__ import annotations

from functools import reduce

import numpy as np

from superarm.arguments import IntArray
from superarm.kernels.categories import Categories
from superarm.kernels.columns import OfColumns
from superarm.kernels.combinations import ProductKernel, SumKernel
from superarm.kernels.effects import Trend
from superarm.kernels.interactions import FEWEST, Interactions
from superarm.kernels.kernel import Kernel
from superarm.kernels.stationary import Matern52
from superarm.posteriors.model.features import Features

ALIKE = 3.0  # lengthscale of categories whose smooth parts correlate by exp(-1/9) = 0.9


def guessed_kernel(features: Features, variance: float, *, every_column: bool) -> Kernel:
    """A smooth and a linear part of the numbers, each of this variance, and a constant for every category.

    The smooth parts of different categories are much alike. Without numbers, each combination of categories adds
    something of its own.
    """
    numbers, categories = features.numbers, features.categories
    graded = numbers if every_column else features.graded
    parts: list[Kernel] = []
    if len(numbers):
        scale = features.scale
        lengthscale = tuple((np.sqrt(len(graded)) * scale[graded]).tolist())
        smooth = _of(Matern52(lengthscale=lengthscale, variance=variance), graded, features)
        if len(categories):
            alike = Categories(lengthscale=(ALIKE,) * len(categories))
            smooth = ProductKernel(smooth, _of(alike, categories, features))
        origin = tuple(features.mean[numbers].tolist())
        trend = Trend(origin=origin, scale=tuple(scale[numbers].tolist()), variance=variance)
        parts += [smooth, _of(trend, numbers, features)]
    elif len(categories) > 1:
        parts.append(_of(Categories(lengthscale=(1.0,) * len(categories), variance=variance), categories, features))
    parts += [_of(Categories(variance=variance), categories[i : i + 1], features) for i in range(len(categories))]
    return reduce(SumKernel, parts)


def guessed_interactions(features: Features, variance: float) -> Kernel | None:
    """Products of the graded features that vary; None if these are too few."""
    graded = features.graded
    graded = graded[features.high[graded] > features.low[graded]]
    if len(graded) < FEWEST or features.binary[graded].any():
        return None
    origin, scale = features.mean[graded], features.scale[graded]
    kernel = Interactions(origin=tuple(origin.tolist()), scale=tuple(scale.tolist()), variance=variance)
    return _of(kernel, graded, features)


def _of(kernel: Kernel, columns: IntArray, features: Features) -> Kernel:
    """The kernel on these features alone."""
    if len(columns) == len(features.mean):
        return kernel
    return OfColumns(base=kernel, columns=tuple(columns.tolist()), names=features.named(columns))
