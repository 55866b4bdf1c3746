"""superarm's posteriors in the shoes of a peer, so that they are timed by the very same lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.peers.peer import Array, Problem
from superarm.kernels.kernel import Kernel
from superarm.posteriors.posterior import Posterior

KERNELS: dict[str, Callable[..., Kernel]] = {"se": sa.SquaredExponential, "matern52": sa.Matern52}


@dataclass(frozen=True)
class Fixed:
    """Inducing points that were chosen beforehand."""

    points: Array

    def choose(self, kernel: Any, kept: Any, fresh: Any, unexplained: Any, observed: Any) -> Array:
        return self.points


class Own:
    """A posterior of superarm; both outputs."""

    def __init__(self, prior: Posterior) -> None:
        self.prior = self.posterior = prior

    def start(self, x: Array, y: Array) -> None:
        self.posterior = self.prior.condition(x, y)

    def predict(self, candidates: Array) -> tuple[Array, Array]:
        belief = self.posterior.predict(candidates)
        return belief.mean, belief.std

    def append(self, x: Array, y: Array) -> None:
        self.posterior = self.posterior.condition(x, y)


def kernel_of(problem: Problem) -> Kernel:
    return KERNELS[problem.kernel](lengthscale=problem.lengthscale)


def exact(problem: Problem, catalogue: Array) -> Posterior:
    return sa.ExactPosterior(kernel_of(problem), problem.noise_std)


def default(problem: Problem, catalogue: Array) -> Posterior:
    """What a user gets who does not choose."""
    return sa.GaussianProcess(kernel_of(problem), problem.noise_std)


def with_catalogue(problem: Problem, catalogue: Array) -> Posterior:
    """The exact posterior, told beforehand which contexts will be asked for."""
    return sa.ExactPosterior(kernel_of(problem), problem.noise_std, catalogue=catalogue)


def same_inducing(problem: Problem, catalogue: Array) -> Posterior:
    """The sparse posterior with the inducing points that the peers have."""
    assert problem.inducing is not None
    return sa.SparsePosterior(kernel_of(problem), problem.noise_std, inducing=Fixed(np.asarray(problem.inducing)))


OWN: dict[str, Callable[[Problem, Array], Posterior]] = {
    "superarm exact": exact,
    "superarm default": default,
    "superarm sparse": same_inducing,
    "superarm catalogue": with_catalogue,
}
