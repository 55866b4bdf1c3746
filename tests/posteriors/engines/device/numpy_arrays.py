"""NumPy in the place of a card's library: the blocked code is the same."""

import numpy as np
from scipy.linalg import solve_triangular

from superarm.kernels.stationary import loops


class NumpyArrays:
    def empty(self, rows, columns):
        return np.full((rows, columns), np.nan)  # whoever reads what was never written is found out

    def put(self, values):
        return np.array(values, order="C")

    def get(self, values):
        return np.array(values, order="C")

    def fill(self, form, x, y, reciprocals, variance, out):
        k = np.empty(out.shape)
        loops().fill(form, np.ascontiguousarray(x), np.ascontiguousarray(y.T), reciprocals, variance, k)
        out[:] = k

    def subtract_product(self, part, left, right):
        part -= left @ right.T

    def solve(self, part, lower):
        part[:] = solve_triangular(np.tril(lower), part.T, lower=True).T

    def root(self, matrix, added):
        total = matrix + np.diag(added)
        try:
            root = np.linalg.cholesky(total)
        except np.linalg.LinAlgError:
            return None
        return root, np.diagonal(root).copy()
