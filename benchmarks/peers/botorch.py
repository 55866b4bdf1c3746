"""BoTorch's SingleTaskGP and condition_on_observations, with Cholesky factors; of one output, half of its work."""

from __future__ import annotations

import gpytorch
import torch
from botorch.models import SingleTaskGP

from benchmarks.peers.gpytorch import GPyTorch
from benchmarks.peers.peer import Array, Maker, Problem

PACKAGES = ("botorch", "gpytorch", "linear_operator", "torch")


class BoTorch(GPyTorch):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, cholesky=True, fantasy=True)

    def start(self, x: Array, y: Array) -> None:
        problem = self.problem
        se = problem.kernel == "se"
        kernel = gpytorch.kernels.RBFKernel() if se else gpytorch.kernels.MaternKernel(nu=2.5)
        kernel.lengthscale = problem.lengthscale
        self.model = SingleTaskGP(
            torch.from_numpy(x),
            torch.from_numpy(y[:, :1].copy()),
            train_Yvar=torch.full((len(x), 1), problem.noise_std**2),
            covar_module=kernel,
            mean_module=gpytorch.means.ZeroMean(),
            outcome_transform=None,
            input_transform=None,
        )
        self.model.eval()

    def predict(self, candidates: Array) -> tuple[Array, Array]:
        with self.settings():
            belief = self.model.posterior(torch.from_numpy(candidates))
            return belief.mean.numpy(), belief.variance.clamp_min(0.0).sqrt().numpy()

    def append(self, x: Array, y: Array) -> None:
        noise = torch.full((len(x), 1), self.problem.noise_std**2)
        with self.settings():
            self.model = self.model.condition_on_observations(
                torch.from_numpy(x), torch.from_numpy(y[:, :1].copy()), noise=noise
            )


MAKERS: dict[str, Maker] = {"BoTorch": BoTorch}
