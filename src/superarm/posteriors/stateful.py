"""What the posteriors of this library can be asked, whatever computes the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy.typing as npt

from superarm.arguments import Array, Seed, checked_seed, positive
from superarm.kernels.kernel import Kernel
from superarm.posteriors.learning.fitting import learned
from superarm.posteriors.learning.learning import LEARNING, Learning
from superarm.posteriors.outputs import Coregionalised
from superarm.posteriors.posterior import Belief
from superarm.posteriors.two_outputs import TwoOutputs


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StatefulPosterior:
    """A posterior that is its state; its members differ in the engines that they put there."""

    state: TwoOutputs

    def _with(self, state: TwoOutputs) -> Self:
        posterior = object.__new__(type(self))
        object.__setattr__(posterior, "state", state)
        return posterior

    def predict(self, contexts: npt.ArrayLike) -> Belief:
        """Belief about both expected outcomes at contexts ``(M, D)``; of each, the same bits alone and among others."""
        return self.state.predict(contexts)

    def condition(
        self, contexts: npt.ArrayLike, outcomes: npt.ArrayLike, noise_std: npt.ArrayLike | None = None
    ) -> Self:
        """Posterior that has also seen outcomes ``(N, 2)`` at contexts ``(N, D)``; NaN where there is none.

        ``noise_std`` is the noise of these outcomes where it is known to be another than the posterior's: one for all,
        one for each output, or ``(N, 2)`` with NaN where none is known. Where the posterior learns its own noise later,
        the ratio of both stays.
        """
        return self._with(self.state.condition(contexts, outcomes, noise_std))

    def learned(self, learning: Learning = LEARNING, seed: Seed = 0) -> Self:
        """The same data with hyperparameters learnt from them: see :class:`Learning`.

        This very posterior, where there is too little to learn from, nothing better is found, or the outcomes are no
        longer kept.
        """
        state = learned(self.state, learning, checked_seed(seed))
        return self if state is self.state else self._with(state)

    def rougher(self, factor: float) -> Self:
        """The same data under the kernels and noises first given, with every declared lengthscale multiplied."""
        return self._with(self.state.rougher(positive("factor", factor)))

    def covariance(self, contexts: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Array:
        """Posterior covariance of each output by itself between contexts ``(M, D)`` and others ``(N, D)``.

        ``(2, M, N)``; without others it is that of the contexts among themselves, ``(2, M, M)``. Each has the same bits
        whatever else is asked for, but in state-space form and for contexts that a low-rank basis does not represent.
        """
        return self.state.covariance(contexts, others)

    def sample(self, contexts: npt.ArrayLike, n: int, seed: Seed = None) -> Array:
        """Draw both expected outcomes n times, jointly at contexts, ``(n, M, 2)``; nearly, if thousands."""
        return self.state.sample(contexts, n, checked_seed(seed))

    def log_marginal_likelihood(self) -> float:
        """Log density of every outcome seen, repeats included, under prior and noise; a lower bound if sparse."""
        return self.state.log_marginal_likelihood()

    @property
    def kernel(self) -> Kernel | tuple[Kernel, Kernel] | Coregionalised:
        """The kernel, as it was given or learnt since: one that both outputs share, the pair, or their relation."""
        outputs = self.state.outputs
        if isinstance(outputs, Coregionalised):
            return outputs
        shared = outputs.first is outputs.second or self.state.given.tied  # loaded ones are two objects
        return outputs.first if shared else (outputs.first, outputs.second)

    @property
    def noise_std(self) -> tuple[float, float]:
        """Standard deviation of the noise of each output."""
        return self.state.noise_std

    @property
    def observations(self) -> int:
        """Number of rows of outcomes seen, without those of which both are missing."""
        return self.state.history.observations

    @property
    def distinct(self) -> int:
        """Number of distinct contexts observed."""
        return self.state.history.distinct

    @property
    def jitter(self) -> float:
        """Largest variance that was ever added to the noise, lest rounding make a covariance indefinite; mostly 0.0."""
        return max(engine.jitter for engine in self.state.engines)
