"""The Gaussian-process posterior that needs no thought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from superarm.posteriors.adaptive import AdaptiveEngine
from superarm.posteriors.kernel import Kernel
from superarm.posteriors.outputs import Mean, Outputs
from superarm.posteriors.stateful import StatefulPosterior
from superarm.posteriors.two_outputs import TwoOutputs
from superarm.storage import storable


@storable
@dataclass(frozen=True, init=False, eq=False, repr=False)
class GaussianProcess(StatefulPosterior):
    """Gaussian-process posterior of both outputs, in the form that suits its data; immutable.

    It is exact: with a growing Cholesky factor of the distinct contexts, or, for :class:`Matern12`, :class:`Matern32`
    and :class:`Matern52` on contexts of one dimension, in state-space form, whose cost is proportional to the number of
    contexts. When the prior at n contexts has a numerical rank r of at most n / 3, as smooth kernels in one or two
    dimensions have, it moves to a low-rank form whose cost does not grow with n, provided that its mean and standard
    deviation are certified to be within 1e-6 prior standard deviations of the exact ones; it moves back when they no
    longer are (beyond 10,000 distinct contexts it stays, and ``error_bound`` tells). The choice depends on the data
    alone, and ``form`` says what it is. Beyond 100,000 distinct contexts in low-rank form the outcomes themselves are
    let go: memory stays as it is, ``distinct`` counts a context whenever it comes, and ``learned`` changes nothing.

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

    def __init__(
        self,
        kernel: Kernel | tuple[Kernel, Kernel] | Outputs,
        noise_std: float | Sequence[float],
        *,
        mean: Mean = 0.0,
    ) -> None:
        object.__setattr__(self, "state", TwoOutputs.prior(kernel, noise_std, mean, AdaptiveEngine.empty))

    @property
    def form(self) -> str:
        """What it computes with now: exact, state space or low rank; of both outputs where they differ."""
        return "; ".join(dict.fromkeys(engine.form for engine in self._engines))

    @property
    def error_bound(self) -> float:
        """Largest error of mean and std against the exact ones, in prior standard deviations; 0.0 where exact.

        For contexts among and around the data; any other is held to 1e-6 by a bound of its own while the data are kept.
        """
        return max(engine.error_bound for engine in self._engines)

    @property
    def _engines(self) -> tuple[AdaptiveEngine, ...]:
        return cast(tuple[AdaptiveEngine, ...], self.state.engines)

    def __repr__(self) -> str:
        return f"GaussianProcess({self.state.description()}, form={self.form!r})"
