"""Information gains by their definition, and all multisets: the referees of the theory."""

import itertools

import numpy as np
from hypothesis import strategies as st


def dense_gain(kernel, x, noise_std):
    """1/2 log det(I + K / sigma^2) by the definition, every repeat a row."""
    sign, logdet = np.linalg.slogdet(np.eye(len(x)) + kernel(x, x) / noise_std**2)
    assert sign == 1
    return 0.5 * logdet


def dense_covariance(kernel, seen, x, noise_std):
    if not len(seen):
        return kernel(x, x)
    cross = kernel(seen, x)
    return kernel(x, x) - cross.T @ np.linalg.solve(kernel(seen, seen) + noise_std**2 * np.eye(len(seen)), cross)


# Few distinct values, so contexts repeat inside rounds and across them.
coordinates = st.integers(0, 6).map(lambda k: k / 6)


def multisets(x, n):
    return (x[list(rows)] for rows in itertools.combinations_with_replacement(range(len(x)), n))
