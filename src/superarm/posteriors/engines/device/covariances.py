"""Kernels on a device: the public ones are computed there, any other one on the host and sent over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from superarm.arguments import Array
from superarm.kernels.combinations import ProductKernel, SumKernel
from superarm.kernels.kernel import Kernel, evaluate
from superarm.kernels.linear import Linear
from superarm.kernels.stationary import Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential, Stationary
from superarm.posteriors.engines.device.arrays import Arrays, Matrix
from superarm.posteriors.outputs import PointKernel


def covariances(arrays: Arrays, kernel: Kernel, x: Array, y: Array, out: Matrix) -> None:
    """Write k(x_i, y_j) into out ``(n, m)`` on the device, for points x ``(n, P)`` and y ``(m, P)`` on the host."""
    # By the very class: a subclass may have a formula of its own.
    _WRITERS.get(type(kernel), _from_host)(arrays, kernel, x, y, out)


def _from_host(arrays: Arrays, kernel: Kernel, x: Array, y: Array, out: Matrix) -> None:
    k = np.empty((len(x), len(y)))
    evaluate(kernel, x, y, k)
    out[:] = arrays.put(k)


def _stationary(arrays: Arrays, kernel: Stationary, x: Array, y: Array, out: Matrix) -> None:
    arrays.fill(kernel.form, x, y, kernel.reciprocals(x, y), kernel.variance, out)


def _rational_quadratic(arrays: Arrays, kernel: RationalQuadratic, x: Array, y: Array, out: Matrix) -> None:
    arrays.fill(kernel.form, x, y, kernel.reciprocals(x, y), 0.5 / kernel.alpha, out)
    out += 1.0
    out **= -kernel.alpha
    out *= kernel.variance


def _linear(arrays: Arrays, kernel: Linear, x: Array, y: Array, out: Matrix) -> None:
    reciprocals = kernel.reciprocals(x, y)
    out[:] = 0.0
    arrays.subtract_product(out, arrays.put(-kernel.variance * (x * reciprocals)), arrays.put(y * reciprocals))


def _sum(arrays: Arrays, kernel: SumKernel, x: Array, y: Array, out: Matrix) -> None:
    covariances(arrays, kernel.first, x, y, out)
    other = arrays.empty(len(x), len(y))
    covariances(arrays, kernel.second, x, y, other)
    out += other


def _product(arrays: Arrays, kernel: ProductKernel, x: Array, y: Array, out: Matrix) -> None:
    covariances(arrays, kernel.first, x, y, out)
    other = arrays.empty(len(x), len(y))
    covariances(arrays, kernel.second, x, y, other)
    out *= other


def _outputs(arrays: Arrays, kernel: PointKernel, x: Array, y: Array, out: Matrix) -> None:
    covariances(arrays, kernel.outputs.kernel, x[:, :-1], y[:, :-1], out)
    # B_ij as the product of row i of B with column j of I, which rounds nothing.
    i, j = x[:, -1].astype(np.intp), y[:, -1].astype(np.intp)
    related = arrays.empty(len(x), len(y))
    related[:] = 0.0
    arrays.subtract_product(related, arrays.put(-np.asarray(kernel.outputs.matrix)[i]), arrays.put(np.eye(2)[j]))
    out *= related


_WRITERS: dict[type, Callable[[Arrays, Any, Array, Array, Matrix], None]] = {
    **dict.fromkeys((SquaredExponential, Matern12, Matern32, Matern52), _stationary),
    RationalQuadratic: _rational_quadratic,
    Linear: _linear,
    SumKernel: _sum,
    ProductKernel: _product,
    PointKernel: _outputs,
}
