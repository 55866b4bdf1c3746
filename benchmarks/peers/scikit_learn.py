"""scikit-learn's GaussianProcessRegressor, which has no way to append: it is fitted again. Both outputs, one factor."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern

from benchmarks.peers.peer import Array, Maker, Problem

PACKAGES = ("scikit-learn", "numpy", "scipy")


class Refit:
    def __init__(self, problem: Problem) -> None:
        length = problem.lengthscale
        kernel = RBF(length) if problem.kernel == "se" else Matern(length, nu=2.5)
        # The hyperparameters are known: nothing is optimised.
        self.model = GaussianProcessRegressor(kernel, alpha=problem.noise_std**2, optimizer=None, copy_X_train=False)

    def start(self, x: Array, y: Array) -> None:
        self.x, self.y = x, y
        self.model.fit(x, y)

    def predict(self, candidates: Array) -> tuple[Array, Array]:
        mean, std = self.model.predict(candidates, return_std=True)
        return mean, std

    def append(self, x: Array, y: Array) -> None:
        self.start(np.concatenate([self.x, x]), np.concatenate([self.y, y]))


MAKERS: dict[str, Maker] = {"scikit-learn": Refit}
