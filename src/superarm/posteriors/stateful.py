"""The methods that the posteriors of this library share, whichever engine computes the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy.typing as npt

from superarm.arguments import Array, Seed, checked_seed, instance, positive
from superarm.contexts import Columns, as_table, contexts_of, in_order
from superarm.kernels.kernel import Kernel
from superarm.posteriors.columns import as_given, over
from superarm.posteriors.learning.fitting import learned
from superarm.posteriors.learning.learning import LEARNING, Learning
from superarm.posteriors.outputs import Coregionalised
from superarm.posteriors.posterior import Belief
from superarm.posteriors.two_outputs import TwoOutputs


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StatefulPosterior:
    """A posterior that holds only its state; subclasses differ in the engines of that state."""

    state: TwoOutputs

    def _with(self, state: TwoOutputs) -> Self:
        posterior = object.__new__(type(self))
        object.__setattr__(posterior, "state", state)
        return posterior

    def over(self, columns: Columns) -> Self:
        """The same posterior for contexts with these columns, whose names tell each kernel which columns are its own.

        The first frame that it is conditioned on fixes the columns, and their order in arrays. Later frames may have
        the columns in any order; a missing or an additional column is an error.
        """
        instance("columns", columns, Columns, "the columns of a round: round.columns")
        return self if self.state.columns is not None else self._with(over(self.state, columns))

    def _at(self, contexts: npt.ArrayLike) -> tuple[Self, npt.ArrayLike]:
        """The posterior for contexts, and these as an array if they have names."""
        if as_table(contexts) is None:
            return self, contexts
        x, columns = contexts_of(contexts)
        assert columns is not None
        posterior = self.over(columns)
        assert posterior.state.columns is not None
        return posterior, in_order(x, columns, posterior.state.columns)

    def predict(self, contexts: npt.ArrayLike) -> Belief:
        """Belief about both expected outcomes at contexts ``(M, D)``.

        The belief about a context has the same bits whichever other contexts are asked for. Contexts are numbers of
        that shape or, in all methods, a frame: see :meth:`over`.
        """
        posterior, x = self._at(contexts)
        return posterior.state.predict(x)

    def condition(
        self, contexts: npt.ArrayLike, outcomes: npt.ArrayLike, noise_std: npt.ArrayLike | None = None
    ) -> Self:
        """Posterior that has also seen outcomes ``(N, 2)`` at contexts ``(N, D)``; NaN where there is none.

        ``noise_std`` is the noise of these outcomes, if it is known to differ from the posterior's: one for all, one
        for each output, or ``(N, 2)`` with NaN where it is unknown. If the posterior learns its own noise later, the
        ratio of the two stays.
        """
        posterior, x = self._at(contexts)
        return posterior._with(posterior.state.condition(x, outcomes, noise_std))

    def learned(self, learning: Learning = LEARNING, seed: Seed = 0) -> Self:
        """The same data with hyperparameters learnt from them: see :class:`Learning`.

        Returns the posterior itself if there is too little data, if nothing better is found, or if the outcomes are no
        longer kept.
        """
        state = learned(self.state, learning, checked_seed(seed))
        return self if state is self.state else self._with(state)

    def rougher(self, factor: float) -> Self:
        """The same data under the kernels and noises first given, with every lengthscale multiplied by ``factor``."""
        return self._with(self.state.rougher(positive("factor", factor)))

    def covariance(self, contexts: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Array:
        """Posterior covariance of each output between contexts ``(M, D)`` and others ``(N, D)``: ``(2, M, N)``.

        Without others it is the covariance of the contexts among themselves, ``(2, M, M)``. Each entry has the same
        bits whatever else is asked for, except in state-space form and for contexts that a low-rank basis does not
        represent.
        """
        posterior, x = self._at(contexts)
        return posterior.state.covariance(x, None if others is None else posterior._at(others)[1])

    def sample(self, contexts: npt.ArrayLike, n: int, seed: Seed = None) -> Array:
        """Draw both expected outcomes n times, jointly at M contexts, ``(n, M, 2)``; approximately for large M."""
        posterior, x = self._at(contexts)
        return posterior.state.sample(x, n, checked_seed(seed))

    def log_marginal_likelihood(self) -> float:
        """Log density of all outcomes seen, repeats included, under prior and noise; a lower bound if sparse."""
        return self.state.log_marginal_likelihood()

    @property
    def kernel(self) -> Kernel | tuple[Kernel, Kernel] | Coregionalised:
        """The kernel, as given or as learnt since: one that both outputs share, a pair, or a ``Coregionalised``."""
        outputs = as_given(self.state.outputs)
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
        """Number of rows of outcomes seen, without rows in which both are missing."""
        return self.state.history.observations

    @property
    def distinct(self) -> int:
        """Number of distinct contexts observed."""
        return self.state.history.distinct

    @property
    def jitter(self) -> float:
        """Largest variance ever added to the noise to keep covariances positive despite rounding; mostly 0.0."""
        return max(engine.jitter for engine in self.state.engines)
