"""The Gaussian-process posterior that needs no thought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy.typing as npt

from superarm.posteriors.adaptive import AdaptiveEngine
from superarm.posteriors.fitting import learned
from superarm.posteriors.kernel import Kernel
from superarm.posteriors.learning import LEARNING, Learning
from superarm.posteriors.outputs import Mean, Outputs
from superarm.posteriors.posterior import Array, Belief
from superarm.posteriors.two_outputs import Seed, TwoOutputs
from superarm.storage import storable


@storable
@dataclass(frozen=True, init=False, eq=False, repr=False)
class GaussianProcess:
    """Gaussian-process posterior of both outputs, in the form that suits its data; immutable.

    It is exact: with a growing Cholesky factor of the distinct contexts, or, for :class:`Matern12`, :class:`Matern32`
    and :class:`Matern52` on contexts of one dimension, in state-space form, whose cost is proportional to the number of
    contexts. When the prior at n contexts has a numerical rank r of at most n / 3, as smooth kernels in one or two
    dimensions have, it moves to a low-rank form whose cost does not grow with n, provided that its mean and standard
    deviation are certified to be within 1e-6 prior standard deviations of the exact ones; it moves back when they no
    longer are (beyond 10,000 distinct contexts it stays, and ``error_bound`` tells). The choice depends on the data
    alone, and ``form`` says what it is.

    Parameters
    ----------
    kernel
        One kernel for both outputs (independent, the computation is shared), a pair of kernels,
        :class:`Independent` or :class:`Coregionalised`.
    noise_std
        Standard deviation of the noise: one number, or one for each output.
    mean
        Prior mean: a number, one for each output, or a function of contexts ``(M, D)`` to ``(M, 2)``
        (a posterior with a function cannot be saved).

    Examples
    --------
    >>> import numpy as np, superarm as sa
    >>> x = np.random.default_rng(0).random((500, 1))
    >>> posterior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
    >>> posterior.form
    'exact'
    >>> posterior.condition(x, np.hstack([np.sin(5 * x), x])).form
    'low rank (r = ..., error at most ...)'
    >>> sa.GaussianProcess(sa.Matern52(), noise_std=0.1).condition(x, np.hstack([np.sin(5 * x), x])).form
    'state space'
    """

    state: TwoOutputs

    def __init__(
        self,
        kernel: Kernel | tuple[Kernel, Kernel] | Outputs,
        noise_std: float | Sequence[float],
        *,
        mean: Mean = 0.0,
    ) -> None:
        object.__setattr__(self, "state", TwoOutputs.prior(kernel, noise_std, mean, AdaptiveEngine.empty))

    def predict(self, contexts: npt.ArrayLike) -> Belief:
        """Belief about both expected outcomes at contexts ``(M, D)``."""
        return self.state.predict(contexts)

    def condition(self, contexts: npt.ArrayLike, outcomes: npt.ArrayLike) -> GaussianProcess:
        """Posterior that has also seen outcomes ``(N, 2)`` at contexts ``(N, D)``; NaN where none came."""
        posterior = object.__new__(GaussianProcess)
        object.__setattr__(posterior, "state", self.state.condition(contexts, outcomes))
        return posterior

    def learned(self, learning: Learning = LEARNING, seed: Seed = 0) -> GaussianProcess:
        """The same data with hyperparameters learnt from them: see :class:`Learning`.

        This very posterior, where there is too little to learn from or nothing better is found.
        """
        state = learned(self.state, learning, seed)
        if state is self.state:
            return self
        posterior = object.__new__(GaussianProcess)
        object.__setattr__(posterior, "state", state)
        return posterior

    def covariance(self, contexts: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Array:
        """Posterior covariance of each output by itself between contexts ``(M, D)`` and others ``(N, D)``.

        ``(2, M, N)``; without others it is that of the contexts among themselves, ``(2, M, M)``.
        """
        return self.state.covariance(contexts, others)

    def sample(self, contexts: npt.ArrayLike, n: int, seed: Seed = None) -> Array:
        """Draw both expected outcomes n times, jointly over contexts ``(M, D)``: ``(n, M, 2)``."""
        return self.state.sample(contexts, n, seed)

    def log_marginal_likelihood(self) -> float:
        """Log density of every outcome seen, repeats included, under prior and noise."""
        return self.state.log_marginal_likelihood()

    @property
    def noise_std(self) -> tuple[float, float]:
        """Standard deviation of the noise of each output."""
        return self.state.noise_std

    @property
    def observations(self) -> int:
        """Number of rows of outcomes seen, without those in which no outcome came."""
        return self.state.history.observations

    @property
    def distinct(self) -> int:
        """Number of distinct contexts observed."""
        return self.state.history.distinct

    @property
    def jitter(self) -> float:
        """Largest variance that rounding ever forced onto a covariance; 0.0 normally."""
        return max(engine.jitter for engine in self.state.engines)

    @property
    def form(self) -> str:
        """What it computes with now: exact, state space or low rank; of both outputs where they differ."""
        return "; ".join(dict.fromkeys(engine.form for engine in self._engines))

    @property
    def error_bound(self) -> float:
        """Largest error of mean and std against the exact ones, in prior standard deviations; 0.0 where exact."""
        return max(engine.error_bound for engine in self._engines)

    @property
    def _engines(self) -> tuple[AdaptiveEngine, ...]:
        return cast(tuple[AdaptiveEngine, ...], self.state.engines)

    def __repr__(self) -> str:
        return f"GaussianProcess({self.state.description()}, form={self.form!r})"
