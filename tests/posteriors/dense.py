"""Gaussian-process regression on two outputs by plain dense algebra, written from the definitions."""

import math

import numpy as np


def scaled_distance(x, y, lengthscale):
    scales = np.broadcast_to(lengthscale, len(x))
    return math.sqrt(math.fsum(((a - b) / s) ** 2 for a, b, s in zip(x, y, scales, strict=True)))


FORMULAS = {
    "SquaredExponential": lambda r: math.exp(-(r**2) / 2),
    "Matern12": lambda r: math.exp(-r),
    "Matern32": lambda r: (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r),
    "Matern52": lambda r: (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r),
}


class DenseGP:
    """Prior covariances[i][j](x, y) between outputs i and j; every finite outcome is one row."""

    def __init__(self, covariances, noise_std, x, y, mean=(0.0, 0.0)):
        self.covariances, self.mean = covariances, np.asarray(mean)
        rows = [(j, i) for j in (0, 1) for i in range(len(x)) if not np.isnan(y[i, j])]
        self.output = np.array([j for j, _ in rows], dtype=int)
        self.x = x[[i for _, i in rows]]
        self.values = np.array([y[i, j] - self.mean[j] for j, i in rows])
        self.noise = np.asarray(noise_std, dtype=float)[self.output] ** 2
        self.total = self._prior(self.x, self.output, self.x, self.output) + np.diag(self.noise)

    def _prior(self, x, i, y, j):
        k = np.zeros((len(x), len(y)))
        for a in (0, 1):
            for b in (0, 1):
                if self.covariances[a][b] is not None:
                    k[np.ix_(i == a, j == b)] = self.covariances[a][b](x[i == a], y[j == b])
        return k

    def posterior(self, c):
        """Means (M, 2) and the joint covariance (2 M, 2 M), output after output."""
        cc, i = np.concatenate([c, c]), np.repeat([0, 1], len(c))
        k = self._prior(self.x, self.output, cc, i)
        mean = (k.T @ np.linalg.solve(self.total, self.values)).reshape(2, len(c)).T + self.mean
        covariance = self._prior(cc, i, cc, i) - k.T @ np.linalg.solve(self.total, k)
        return mean, covariance

    def predict(self, c):
        mean, covariance = self.posterior(c)
        return mean, np.sqrt(np.clip(np.diag(covariance), 0, None)).reshape(2, len(c)).T

    def log_marginal_likelihood(self):
        _, logdet = np.linalg.slogdet(self.total)
        fit = self.values @ np.linalg.solve(self.total, self.values)
        return -0.5 * (fit + logdet + len(self.values) * np.log(2 * np.pi))


def independent(first, second):
    return [[first, None], [None, second]]


def coregionalised(kernel, matrix):
    return [[lambda x, y, b=b: b * kernel(x, y) for b in row] for row in np.asarray(matrix, dtype=float)]


def data(seed, n, d, *, repeats=0.0, missing=0.0):
    """Contexts (n, d) of which a share repeats earlier ones, and outcomes of which a share is NaN."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, d))
    again = np.flatnonzero(rng.random(n) < repeats)
    again = again[again > 0]
    x[again] = x[[rng.integers(0, i) for i in again]]
    y = np.column_stack([np.sin(3 * x.sum(axis=1)), np.cos(2 * x[:, 0])]) + 0.1 * rng.standard_normal((n, 2))
    y[rng.random((n, 2)) < missing] = np.nan
    return x, y


def grown(posterior, x, y, sizes):
    """The posterior conditioned batch by batch; sizes are repeated as often as needed."""
    start = 0
    while start < len(x):
        for size in sizes:
            posterior = posterior.condition(x[start : start + size], y[start : start + size])
            start += size
    return posterior
