"""Log density of collapsed outcomes under a kernel and a noise, with its gradient."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from superarm.arguments import Array
from superarm.kernels.kernel import Kernel, evaluate, parameters, slopes
from superarm.posteriors.engines.engine import Observations

# Share of the prior variance that is always added to the noise: no hyperparameters make the covariance singular.
RIDGE = 1e-10


def evidence_of_means(
    kernel: Kernel, data: Observations, room: Array | None = None, *, noise: Array | None = None, climbs: bool = True
) -> tuple[float, Array, Array] | None:
    """Log density of the means, all columns together, and its gradients; every count positive.

    With C = K + N, N the noise variances over the counts, a = C^-1 y and W = sum_columns (a a^T - C^-1), the derivative
    by any parameter is tr(W dC) / 2.

    Returns
    -------
    value
        log density
    by_kernel
        derivatives by the logarithms of the kernel's hyperparameters, ``(p,)``
    by_noise
        derivatives by the logarithm of the standard deviation of the noise of each point, ``(n,)``

    None where the covariance cannot be factored. ``room`` ``(2, n, n)`` is memory to work in. The variances of the
    noise of one value are those of the data, or ``noise``, ``(n,)``. Gradients take most of the time; without
    ``climbs`` they are left at 0.
    """
    n, q = data.means.shape
    noise = (data.noise if noise is None else noise) / data.precision
    total, w = np.empty((2, n, n)) if room is None else room
    evaluate(kernel, data.points, data.points, total)
    total.flat[:: n + 1] *= 1.0 + RIDGE
    total.flat[:: n + 1] += noise
    # A symmetric matrix is its own transpose, which LAPACK takes without a copy: all happens in the same memory.
    lower, failed = lapack.dpotrf(total.T, lower=1, overwrite_a=1)
    if failed or not np.isfinite(np.diagonal(lower)).all():
        return None
    weights, _ = lapack.dpotrs(lower, data.means, lower=1)
    half_log_determinant = np.log(np.diagonal(lower)).sum()
    value = -0.5 * np.vdot(data.means, weights) - q * (half_log_determinant + 0.5 * n * np.log(2 * np.pi))
    if not climbs:
        return float(value), np.zeros(len(parameters(kernel))), np.zeros(n)
    inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)  # its lower half; the upper one is 0
    inverse *= q
    np.matmul(weights, weights.T, out=w)
    w -= inverse
    inverse.flat[:: n + 1] = 0.0
    w -= inverse.T
    by_noise = np.diagonal(w) * noise
    # The ridge is a share of the diagonal of K, so it has the same derivatives.
    w.flat[:: n + 1] *= 1.0 + RIDGE
    return float(value), 0.5 * slopes(kernel, data.points, w), by_noise


def evidence_within(data: Observations, noise: Array | None = None) -> tuple[float, Array]:
    """Log density of the repeats given their means, and its derivatives by each log noise ``(n,)``.

    The variances of the noise are those of the data, or ``noise``, ``(n,)``.
    This part of the evidence is about the noise alone, whatever the kernel, and is cheap:
    see :meth:`Observations.within`.
    """
    q, noise = data.means.shape[1], data.noise if noise is None else noise
    return float(data.within(noise).sum()), data.scatters.sum(axis=1) / noise - q * (data.counts - 1.0)
