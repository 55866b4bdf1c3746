"""PyTorch and GPyTorch on the card, beside which :mod:`benchmarks.gpu` measures; run with n, GPyTorch there in JSON."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

import superarm as sa

KERNEL = sa.Matern52(lengthscale=0.5)
NOISE = 0.1
D, M, K = 5, 5000, 20  # dimensions, candidates of a round, its outcomes


def data(seed: int, n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, D))
    y = np.column_stack([np.sin(3 * x.sum(axis=1)), np.cos(4 * x[:, 0])]) + NOISE * rng.standard_normal((n, 2))
    return x, y


class TorchArrays:
    """PyTorch in the place of CuPy: for the choice between them, not part of the library.

    With ``fill`` of another library, which gets its own view of the same memory, only the linear algebra is PyTorch's:
    plain tensor operations take many passes for a kernel.
    """

    def __init__(self, other: Any = None) -> None:
        import torch

        self.torch, self.other = torch, other

    def empty(self, rows: int, columns: int) -> Any:
        return self.torch.empty((rows, columns), dtype=self.torch.float64, device="cuda")

    def put(self, values: Any) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).to("cuda")

    def get(self, values: Any) -> Any:
        return values.cpu().numpy()

    def fill(self, form: int, x: Any, y: Any, reciprocals: Any, variance: float, out: Any) -> None:
        assert form == 4
        torch = self.torch
        if self.other is not None:
            import cupy

            # Both libraries work on the legacy default stream, so the order of calls is the order of work.
            self.other.fill(form, x, y, reciprocals, variance, cupy.from_dlpack(out))
            return
        a, b = self.put(x), self.put(y)
        out.zero_()
        for d, reciprocal in enumerate(reciprocals.tolist()):
            out += ((a[:, d, None] - b[None, :, d]) * reciprocal).square_()
        out *= 5.0
        r = torch.sqrt(out)
        out /= 3.0
        out += r
        out += 1.0
        out *= r.neg_().exp_()
        out *= variance

    def subtract_product(self, part: Any, left: Any, right: Any) -> None:
        part.addmm_(left, right.T, beta=1.0, alpha=-1.0)

    def solve(self, part: Any, lower: Any) -> None:
        part[:] = self.torch.linalg.solve_triangular(lower.T, part, upper=True, left=False)

    def root(self, matrix: Any, added: Any) -> Any:
        total = matrix.clone()
        total.diagonal().add_(self.put(added))
        root, failed = self.torch.linalg.cholesky_ex(total)
        return None if failed.item() else (root, self.get(root.diagonal()))


def gpytorch_at(n: int) -> None:
    """One exact GPyTorch model with its Cholesky path in float64, in a process of its own; prints JSON."""
    import gpytorch
    import torch

    x, y = (torch.from_numpy(part).cuda() for part in data(2, n))

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(x, y[:, 0], likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.MaternKernel(nu=2.5)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-8))
    model = Model(likelihood).double().cuda()
    model.covar_module.lengthscale, likelihood.noise = KERNEL.lengthscale, NOISE**2
    model.eval()
    found: dict[str, Any] = {"n": n, "version": gpytorch.__version__}
    settings = gpytorch.settings
    with (
        torch.no_grad(),
        settings.fast_computations(covar_root_decomposition=False, log_prob=False, solves=False),
        settings.skip_posterior_variances(False),
    ):
        for name, seed in (("first call, with the factor, s", 100), ("predict, s", 101)):
            c = torch.from_numpy(data(seed, M)[0]).cuda()
            torch.cuda.synchronize()
            start = time.perf_counter()
            belief = model(c)
            mean, std = belief.mean.cpu().numpy(), belief.variance.sqrt().cpu().numpy()
            torch.cuda.synchronize()
            found[name] = time.perf_counter() - start
    found["memory, GB"] = torch.cuda.max_memory_reserved() / 1e9
    found["mean"], found["std"] = mean.tolist(), std.tolist()
    print(json.dumps(found))


if __name__ == "__main__":
    gpytorch_at(int(sys.argv[1]))
