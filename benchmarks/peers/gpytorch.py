"""GPyTorch's ExactGP, of one output: for two it would do everything twice, so this is half of its work.

"exact" forces Cholesky factors at any size; the default switches to conjugate gradients and LOVE above 800
observations.
"""

from __future__ import annotations

from contextlib import ExitStack

import gpytorch
import torch

from benchmarks.peers.peer import Array, Maker, Problem

PACKAGES = ("gpytorch", "linear_operator", "torch")

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


class Model(gpytorch.models.ExactGP):
    def __init__(self, x: torch.Tensor, y: torch.Tensor, problem: Problem) -> None:
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        likelihood.noise = problem.noise_std**2
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        se = problem.kernel == "se"
        self.covar_module = gpytorch.kernels.RBFKernel() if se else gpytorch.kernels.MaternKernel(nu=2.5)
        self.covar_module.lengthscale = problem.lengthscale

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class GPyTorch:
    """``fantasy`` appends to the caches (``get_fantasy_model``); otherwise they are made anew from all data."""

    def __init__(self, problem: Problem, *, cholesky: bool, fantasy: bool) -> None:
        self.problem, self.cholesky, self.fantasy = problem, cholesky, fantasy

    def settings(self) -> ExitStack:
        stack = ExitStack()
        stack.enter_context(torch.no_grad())
        # Without it get_fantasy_model cannot work, and the default is three to ten times slower.
        stack.enter_context(gpytorch.settings.fast_pred_var(self.fantasy or not self.cholesky))
        if self.cholesky:
            stack.enter_context(gpytorch.settings.max_cholesky_size(1_000_000))
            stack.enter_context(gpytorch.settings.fast_computations(False, False, False))
        return stack

    def start(self, x: Array, y: Array) -> None:
        self.model = Model(torch.from_numpy(x), torch.from_numpy(y[:, 0].copy()), self.problem)
        self.model.eval()

    def predict(self, candidates: Array) -> tuple[Array, Array]:
        with self.settings():
            belief = self.model(torch.from_numpy(candidates))
            return belief.mean[:, None].numpy(), belief.variance.clamp_min(0.0).sqrt()[:, None].numpy()

    def append(self, x: Array, y: Array) -> None:
        new, values = torch.from_numpy(x), torch.from_numpy(y[:, 0].copy())
        with self.settings():
            if self.fantasy:
                self.model = self.model.get_fantasy_model(new, values)
                return
            inputs = torch.cat([self.model.train_inputs[0], new])
            targets = torch.cat([self.model.train_targets, values])
            self.model.set_train_data(inputs, targets, strict=False)


MAKERS: dict[str, Maker] = {
    "GPyTorch exact": lambda problem: GPyTorch(problem, cholesky=True, fantasy=False),
    "GPyTorch exact, fantasy": lambda problem: GPyTorch(problem, cholesky=True, fantasy=True),
    "GPyTorch default": lambda problem: GPyTorch(problem, cholesky=False, fantasy=False),
}
