"""Gaussian-process regression with one output in 60-digit arithmetic, for small and badly conditioned problems."""

from decimal import Decimal, localcontext

import numpy as np

DIGITS = 60
SCALES = {"Matern12": 1, "Matern32": 3, "Matern52": 5}


def covariance(kernel, x, y):
    """k(x, y) between numbers."""
    factor = Decimal(SCALES[type(kernel).__name__]).sqrt()
    s = factor * abs(Decimal(x) - Decimal(y)) / Decimal(kernel.lengthscale)
    polynomial = {"Matern12": Decimal(1), "Matern32": 1 + s, "Matern52": 1 + s + s * s / 3}[type(kernel).__name__]
    return Decimal(kernel.variance) * polynomial * (-s).exp()


def regression(kernel, noise_std, x, y, c):
    """Mean (M,), covariance (M, M) and log density; every row of x (N,), repeats included, is a value."""
    with localcontext() as context:
        context.prec = DIGITS
        n, noise = len(x), Decimal(noise_std) ** 2
        lower, z, v, log = [], [], [], Decimal(0)
        for i in range(n):
            row = []
            for j in range(i + 1):
                total = covariance(kernel, x[i], x[j]) + (noise if i == j else 0)
                total -= sum((row[k] * lower[j][k] for k in range(j)), Decimal(0)) if j < i else sum(a * a for a in row)
                row.append(total / lower[j][j] if j < i else total.sqrt())
            lower.append(row)
            z.append((Decimal(y[i]) - sum((row[k] * z[k] for k in range(i)), Decimal(0))) / row[i])
            v.append(
                [
                    (covariance(kernel, x[i], a) - sum((row[k] * v[k][m] for k in range(i)), Decimal(0))) / row[i]
                    for m, a in enumerate(c)
                ]
            )
            log += row[i].ln()
        mean = [float(sum((z[i] * v[i][m] for i in range(n)), Decimal(0))) for m in range(len(c))]
        left = [
            [
                float(covariance(kernel, a, b) - sum((v[i][m] * v[i][k] for i in range(n)), Decimal(0)))
                for k, b in enumerate(c)
            ]
            for m, a in enumerate(c)
        ]
        density = float(-log - sum((a * a for a in z), Decimal(0)) / 2) - 0.5 * n * np.log(2 * np.pi)
    return np.array(mean), np.array(left), density
