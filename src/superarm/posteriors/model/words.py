"""A shape in words, as a policy prints it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from superarm.kernels.categories import Categories
from superarm.kernels.columns import OfColumns
from superarm.kernels.combinations import ProductKernel, SumKernel
from superarm.kernels.effects import Constant, Trend
from superarm.kernels.interactions import Interactions
from superarm.kernels.kernel import Kernel
from superarm.kernels.stationary import Laplacian, Stationary
from superarm.posteriors.model.shape import Shape
from superarm.posteriors.model.story import drift_in_words, effects_in_words, seasons_in_words

LISTED = 6  # lengthscales that are written out


def shape_in_words(shape: Shape) -> str:
    """Kernel, noise, mean, group effects, memory and seasons."""
    about = "" if shape.mean == 0.0 and shape.constant == 0.0 else f"; around {shape.mean:.3g}"
    if shape.constant:
        about += f" (give or take {math.sqrt(shape.constant):.3g})"
    drift = f"; {drift_in_words(shape)}" if shape.memory else ""
    drift += f"; {seasons_in_words(shape)}" if shape.seasons else ""
    return f"{kernel_in_words(shape.base)}; noise {shape.noise:.3g}{about}; {effects_in_words(shape.effects)}{drift}"


def kernel_in_words(kernel: Kernel) -> str:
    """The kind of function that a kernel stands for, with lengthscales and standard deviations.

    >>> from superarm import Matern52
    >>> kernel_in_words(Matern52(lengthscale=(0.5, 2.0), variance=4.0))
    'smooth (Matern52, size 2, lengthscales 0.5, 2)'
    """
    if isinstance(kernel, SumKernel):
        return f"{kernel_in_words(kernel.first)} + {kernel_in_words(kernel.second)}"
    if isinstance(kernel, ProductKernel):
        return f"{kernel_in_words(kernel.first)} times {kernel_in_words(kernel.second)}"
    if isinstance(kernel, OfColumns):
        which = ", ".join(kernel.names) or f"{len(kernel.columns)} of the features"
        return f"{kernel_in_words(kernel.base)} of {which}"
    if isinstance(kernel, Constant):
        return f"a constant (size {math.sqrt(kernel.variance):.3g})"
    if isinstance(kernel, Trend):
        return f"linear (size {math.sqrt(kernel.variance):.3g})"
    if isinstance(kernel, Interactions):
        return f"products of features (size {math.sqrt(kernel.variance):.3g})"
    if isinstance(kernel, Stationary):
        size, way = math.sqrt(kernel.variance), "with jumps" if isinstance(kernel, Laplacian) else "smooth"
        return f"{way} ({type(kernel).__name__}, size {size:.3g}, {_lengthscales(kernel)})"
    if isinstance(kernel, Categories):
        size, scales = math.sqrt(kernel.variance), np.atleast_1d(kernel.lengthscale)
        each = ", ".join(f"{correlation:.2g}" for correlation in np.exp(-(scales**-2.0)).tolist())
        return f"categories (size {size:.3g}, unequal ones correlate by {each})"
    return repr(kernel)


def _lengthscales(kernel: Stationary) -> str:
    each: Sequence[float] = np.atleast_1d(kernel.lengthscale).tolist()
    if len(each) == 1:
        return f"lengthscale {each[0]:.3g}"
    if len(each) > LISTED:
        return f"{len(each)} lengthscales from {min(each):.3g} to {max(each):.3g}"
    return f"lengthscales {', '.join(f'{value:.3g}' for value in each)}"
