"""The Gaussian-process posteriors of this library, which differ in how they compute their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, cast

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, instance, whole_number
from superarm.contexts import as_table, contexts_of
from superarm.errors import InvalidArgument
from superarm.kernels.kernel import Kernel
from superarm.posteriors.columns import over
from superarm.posteriors.engines.adaptive import AdaptiveEngine
from superarm.posteriors.engines.device.devices import checked_device
from superarm.posteriors.engines.engine import Engine
from superarm.posteriors.engines.exact import Catalogue, ExactEngine
from superarm.posteriors.engines.inducing import GreedyVariance, InducingRule, PairedRule
from superarm.posteriors.engines.low_rank import error_bounds
from superarm.posteriors.engines.sparse import SparseEngine
from superarm.posteriors.history import distinct_rows
from superarm.posteriors.outputs import Mean, Outputs, PointKernel
from superarm.posteriors.posterior import checked_contexts
from superarm.posteriors.stateful import StatefulPosterior
from superarm.posteriors.two_outputs import TwoOutputs
from superarm.storage import storable

_GREEDY = GreedyVariance()


@storable
@dataclass(frozen=True, init=False, eq=False, repr=False)
class GaussianProcess(StatefulPosterior):
    """Gaussian-process posterior of both outputs, in the form that suits its data; immutable.

    It is exact: with a growing Cholesky factor of the distinct contexts, or, for :class:`Matern12`, :class:`Matern32`
    and :class:`Matern52` on contexts of one dimension, in state-space form, whose cost is proportional to the number of
    contexts. When the prior at n contexts has a numerical rank r of at most n / 3, as smooth kernels in one or two
    dimensions have, it moves to a low-rank form, whose cost does not grow with n. Its mean and standard deviation must
    be certified to be within 1e-6 prior standard deviations of the exact ones; when they no longer are, it moves back
    (beyond 10,000 distinct contexts it stays, and ``error_bound`` grows). The choice depends only on the data, and
    ``form`` names it. Beyond 100,000 distinct contexts the low-rank form drops the outcomes: memory no longer grows,
    ``distinct`` counts a context each time it is observed, and ``learned`` changes nothing.

    Noise below about 1e-7 prior standard deviations is lost in the rounding of a factor: a jitter is then added to its
    variance, and the mean may be off by several of the tiny standard deviations reported near the data. ``jitter``,
    ``form`` and ``error_bound`` say so.

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

    def bounded(self) -> Self:
        """The same data in a form of bounded cost: at most 400 points; what they cannot represent stays uncertain."""
        return self._with(self.state.bounded())

    @property
    def form(self) -> str:
        """The form it uses now: exact, state space, low rank or bounded; both if the outputs differ.

        If the form has an error, the text includes ``error_bound``: "near the data" says where that bound holds, and
        "jitter" is a variance that was added to the noise. "exact" means up to rounding.
        """
        return "; ".join(dict.fromkeys(engine.form(noise) for engine, noise in self._engines))

    @property
    def error_bound(self) -> float:
        """Largest error of mean and std against the exact ones, in prior standard deviations; 0.0 where exact.

        In low-rank form it holds for contexts among and around the data; any other context is held to 1e-6 by a bound
        of its own while the data are kept. In exact form it holds for all contexts, and is above 0.0 where a jitter was
        added. In bounded form it is infinite.

        It does not count rounding, which data that contradict the prior (white noise under a smooth kernel) amplify
        where the noise is 1e-5 prior standard deviations or less. The same data in another order then gave means 5.6e-5
        prior standard deviations apart at a noise of 1e-5, which is 14 of the reported ones, and 5.4e-3 at 1e-6.
        """
        return max(engine.error_bound(noise) for engine, noise in self._engines)

    @property
    def _engines(self) -> list[tuple[AdaptiveEngine, float]]:
        """Every engine, with the least noise variance of its data."""
        engines = cast(tuple[AdaptiveEngine, ...], self.state.engines)
        return list(zip(engines, self.state.least_noises(), strict=True))

    def __repr__(self) -> str:
        return f"GaussianProcess({self.state.description()}, form={self.form!r})"


@storable
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ExactPosterior(StatefulPosterior):
    """Gaussian-process posterior of both outputs, exact up to rounding and ``jitter``; immutable.

    New contexts extend a Cholesky factor, in O(n^2 K) for K of them after n; repeated contexts collapse
    exactly into count-weighted means, so the cost follows the number of distinct contexts.

    Parameters
    ----------
    kernel
        One kernel for both outputs (independent, one factor serves both), a pair of kernels,
        :class:`Independent` or :class:`Coregionalised`.
    noise_std
        Standard deviation of the noise: one number, or one for each output.
    mean
        Prior mean: a number, one for each output, or a function of contexts ``(M, D)`` to ``(M, 2)``
        (a posterior with a function cannot be saved).
    catalogue
        Contexts that recur in many rounds, ``(C, D)``: what was computed for them is kept and only extended, so a round
        costs O(n K C) instead of O(n^2 C). They are saved with the posterior. You may still use other contexts.
    catalogue_memory
        Most bytes that each output may keep for the catalogue, 8 n C where it has n distinct contexts observed; beyond
        this, every other context is dropped from it.
    device
        Where it computes: ``"cpu"``, or ``"cuda"`` for an NVIDIA card (extra ``gpu``). There n distinct
        contexts take 4 n^2 bytes and a few gigabytes of work space, 45 GB for 100,000. The answers are those
        of the CPU up to rounding; the last bits for a context depend on which others you ask for. There is no catalogue
        on a card. A posterior saved on a card is loaded there, or on the CPU if there is no card; :meth:`on` moves it.

    Examples
    --------
    >>> import numpy as np, superarm as sa
    >>> shelf = np.linspace(0, 1, 1000)[:, None]
    >>> posterior = sa.ExactPosterior(sa.Matern52(lengthscale=0.2), noise_std=0.1, catalogue=shelf)
    >>> posterior.condition(shelf[[3, 500]], [[1.0, 0.0], [0.5, 0.5]]).predict(shelf[[3, 4]]).mean.round(2)
    array([[0.99, 0.  ],
           [0.99, 0.  ]])
    """

    def __init__(
        self,
        kernel: Kernel | tuple[Kernel, Kernel] | Outputs,
        noise_std: float | Sequence[float],
        *,
        mean: Mean = 0.0,
        catalogue: npt.ArrayLike | None = None,
        catalogue_memory: int = 1 << 30,
        device: str = "cpu",
    ) -> None:
        memory = whole_number("catalogue_memory", catalogue_memory)
        place = checked_device(device)
        if catalogue is not None and place != "cpu":
            raise InvalidArgument("catalogue", f"None, because device={place!r} has no catalogue", "contexts")
        state = TwoOutputs.prior(kernel, noise_std, mean, partial(ExactEngine.empty, device=place))
        if catalogue is not None:
            if as_table(catalogue) is not None:
                catalogue, columns = contexts_of(catalogue)
                assert columns is not None
                state = over(state, columns)
            contexts = checked_contexts(catalogue, None, "catalogue")

            def with_catalogue(points: Array, engine: Engine) -> ExactEngine:
                assert isinstance(engine, ExactEngine)
                return replace(engine, catalogue=Catalogue.of(points, len(engine.within), memory))

            state = state.for_contexts(contexts, with_catalogue)
        object.__setattr__(self, "state", state)

    @property
    def device(self) -> str:
        """The device that computes: "cpu" or "cuda"."""
        return self._exact[0].device

    def on(self, device: str) -> Self:
        """The same posterior on another device; results are moved there, not computed again."""
        place = checked_device(device)
        if place != "cpu" and self._kept():
            raise InvalidArgument("device", '"cpu", because other devices have no catalogue', repr(place))
        engines = tuple(engine.on(place) for engine in self._exact)
        return self._with(replace(self.state, engines=engines))

    @property
    def _exact(self) -> tuple[ExactEngine, ...]:
        return cast(tuple[ExactEngine, ...], self.state.engines)

    def __repr__(self) -> str:
        where = "" if self.device == "cpu" else f", device={self.device!r}"
        return f"ExactPosterior({self.state.description()}, jitter={self.jitter:g}{self._kept()}{where})"

    def _kept(self) -> str:
        sizes = [len(engine.catalogue) for engine in self._exact if engine.catalogue is not None]
        return f", catalogue={min(sizes)}" if sizes else ""


@storable
@dataclass(frozen=True, init=False, eq=False, repr=False)
class SparsePosterior(StatefulPosterior):
    """Sparse Gaussian-process posterior of both outputs (Titsias 2009, the collapsed form); immutable.

    Conditioning on K outcomes costs O(r^2 K) while the r inducing points stay, however many outcomes
    were seen; when they change, the statistics are recomputed from the distinct contexts kept.

    Parameters
    ----------
    kernel
        One kernel for both outputs (independent, one basis serves both), a pair of kernels,
        :class:`Independent` or :class:`Coregionalised`.
    noise_std
        Standard deviation of the noise: one number, or one for each output.
    inducing
        :class:`GreedyVariance`, :class:`RandomSubset`, or a rule with a method ``choose``.
    mean
        Prior mean: a number, one for each output, or a function of contexts ``(M, D)`` to ``(M, 2)``
        (a posterior with a function cannot be saved).
    """

    def __init__(
        self,
        kernel: Kernel | tuple[Kernel, Kernel] | Outputs,
        noise_std: float | Sequence[float],
        *,
        inducing: InducingRule = _GREEDY,
        mean: Mean = 0.0,
    ) -> None:
        instance("inducing", inducing, InducingRule, "GreedyVariance, RandomSubset, or an object with choose")

        def engine(kernel: Kernel, columns: int) -> SparseEngine:
            own: InducingRule = PairedRule(inducing) if isinstance(kernel, PointKernel) else inducing
            return SparseEngine.empty(kernel, own, np.empty((0, 0)), columns)

        object.__setattr__(self, "state", TwoOutputs.prior(kernel, noise_std, mean, engine))

    def error_bounds(self, contexts: npt.ArrayLike) -> tuple[Array, Array]:
        """Upper bounds of the errors of mean and std at contexts ``(M, D)`` against the exact ones, each ``(M, 2)``.

        They hold for any inducing points, up to rounding (about 1e-9), and are small only where these represent the
        prior at nearly every context, observed or asked for.
        """
        posterior, contexts = self._at(contexts)
        state = posterior.state
        x = checked_contexts(contexts, state.history.dimension)
        points = state.points(x)
        bounds = [error_bounds(engine, points) for engine in cast(tuple[SparseEngine, ...], state.engines)]
        return state.by_output(bounds, len(x))

    @property
    def inducing_points(self) -> Array:
        """The contexts kept as inducing points, ``(s, D)``; the union when the outputs keep different ones."""
        if self.state.history.dimension is None:
            return np.empty((0, 0))
        contexts = np.concatenate(
            [e.kept[:, : self.state.history.dimension] for e in self.state.engines if isinstance(e, SparseEngine)]
        )
        first, _ = distinct_rows(contexts)
        points = contexts[np.sort(first)]
        points.setflags(write=False)
        return points

    def __repr__(self) -> str:
        return f"SparsePosterior({self.state.description()}, inducing_points={len(self.inducing_points)})"
