"""Two outputs carried by scalar engines: which values go to which engine, and how answers come back.

- shared: one kernel object and one noise, nothing missing so far. One engine with two columns.
- separate: an engine of one column for each output.
- joint: coregionalised outputs. One engine of one column over points (x, output).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, Mask, Seed, whole_number
from superarm.contexts import Columns
from superarm.errors import InvalidArgument
from superarm.kernels.kernel import Kernel, parameters
from superarm.posteriors.engines.adaptive import AdaptiveEngine
from superarm.posteriors.engines.engine import Data, Engine, Observations
from superarm.posteriors.given_noise import weights_of
from superarm.posteriors.history import Collapsed, History, collapse, distinct_rows, joined
from superarm.posteriors.joint_draws import joint_draws
from superarm.posteriors.outputs import (
    CheckedMean,
    Coregionalised,
    Given,
    Independent,
    Mean,
    Outputs,
    PointKernel,
    both_points,
    checked_mean,
    checked_noise,
    checked_outputs,
    mean_at,
)
from superarm.posteriors.posterior import Belief, checked_contexts, checked_outcomes
from superarm.storage import storable

# Share of the prior variance up to which a difference of covariances may be rounding.
NEGLIGIBLE = 1e-14
# Outcomes up to this have squares that can be summed.
LARGEST_OUTCOME = 1e152


@storable(upgrade=lambda fields: {"columns": None, **fields})
@dataclass(frozen=True, kw_only=True, eq=False)
class TwoOutputs:
    """State of a posterior over both outputs; immutable."""

    outputs: Outputs
    noise_std: tuple[float, float]
    mean: CheckedMean
    engines: tuple[Engine, ...]
    history: History
    given: Given
    columns: Columns | None = None  # of the contexts, if they have names

    def _check_fields(self) -> None:
        """The outputs have the engines that they need, and these answer at contexts of the right dimension."""
        checked_noise(self.noise_std)
        checked_noise(self.given.noise_std)
        if len(self.engines) not in ((1,) if self.joint else (1, 2)):
            raise ValueError(f"{len(self.engines)} engines")
        if _sizes(self.outputs) != _sizes(self.given.outputs):
            raise ValueError("other hyperparameters than it was made with")
        if self.history.forgetful and any(engine.needs_data for engine in self.engines):
            raise ValueError("no history, which the engines need")
        if self.history.dimension is not None:
            self._check_dimension(np.zeros((2, self.history.dimension)))
            self.predict(np.zeros((2, self.history.dimension)))

    @staticmethod
    def prior(
        kernel: Kernel | tuple[Kernel, Kernel] | Outputs,
        noise_std: float | Sequence[float],
        mean: Mean,
        engine: Callable[[Kernel, int], Engine],
    ) -> TwoOutputs:
        """No data yet; ``engine(kernel, q)`` makes an empty engine of q columns."""
        outputs, noise = checked_outputs(kernel), checked_noise(noise_std)
        given = Given.of(outputs, noise)
        engines: tuple[Engine, ...]
        if isinstance(outputs, Coregionalised):
            engines = (engine(PointKernel(outputs), 1),)
        elif given.tied:
            engines = (engine(outputs.first, 2),)
        else:
            engines = (engine(outputs.first, 1), engine(outputs.second, 1))
        return TwoOutputs(
            outputs=outputs,
            noise_std=noise,
            mean=checked_mean(mean),
            engines=engines,
            history=History(),
            given=given,
        )

    def for_contexts(self, contexts: Array, prepare: Callable[[Array, Engine], Engine]) -> TwoOutputs:
        """No data yet, with engines that are prepared for the points of contexts ``(C, D)``."""
        self._check_dimension(contexts)
        points = self.points(contexts.take(distinct_rows(contexts)[0], axis=0))
        engines = tuple(prepare(points, engine) for engine in self.engines)
        return replace(self, engines=engines, history=History(declared=contexts.shape[1]))

    @property
    def joint(self) -> bool:
        """Whether one engine carries both outputs as points (x, output)."""
        return isinstance(self.outputs, Coregionalised)

    @property
    def shared(self) -> bool:
        """Whether one engine carries both outputs as columns."""
        return not self.joint and len(self.engines) == 1

    def condition(
        self, contexts: npt.ArrayLike, outcomes: npt.ArrayLike, noise_std: npt.ArrayLike | None = None
    ) -> TwoOutputs:
        """The state that has also seen outcomes ``(N, 2)``, of noises ``(N, 2)``; the same where there are none."""
        x = checked_contexts(contexts, self.history.dimension)
        y = checked_outcomes(outcomes, len(x))
        weights = weights_of(noise_std, self.noise_std, y)
        self._check_dimension(x)
        present = ~np.isnan(y)
        rows = present.any(axis=1)
        x, y, present = x[rows], y[rows], present[rows]
        weights = None if weights is None else weights[rows]
        if len(x) == 0:
            return self
        with np.errstate(over="ignore"):
            values = np.where(present, y - mean_at(self.mean, x), 0.0)
        if not (np.abs(values) <= LARGEST_OUTCOME).all():
            expected = f"numbers within {LARGEST_OUTCOME:g} of the prior mean, so that their squares are numbers"
            raise InvalidArgument("outcomes", expected, f"{y[np.abs(values) > LARGEST_OUTCOME][0]:g}")
        batch = collapse(x, present.astype(np.float64), values, np.zeros_like(values), weights)
        known = self.history.known(batch.contexts, batch.keys)
        history = self.history.remember(batch, len(x), known)
        state = replace(self, history=history)
        alike = weights is None or bool((weights[:, 0] == weights[:, 1]).all())
        if self.shared and not (present.all() and alike):
            # From here on the outputs have seen different data; so far they share the factor.
            state = replace(state, engines=(self.engines[0].column(0), self.engines[0].column(1)))
        state = state._conditioned(batch, known)
        if any(engine.needs_data for engine in state.engines):
            return state
        return replace(state, history=history.forgotten())

    def observed(self) -> tuple[Observations, ...]:
        """All that each engine has seen, as if at once; something was observed."""
        merged = joined(self.history.runs)
        return self._observations(merged, np.zeros((len(merged), 2), dtype=np.bool_))

    def _with_data(self) -> list[tuple[Engine, Data]]:
        """Every engine with a function that gives all it has seen; the runs are merged at most once, if at all."""
        observed = cache(self.observed)
        return [(engine, partial(_item, observed, i)) for i, engine in enumerate(self.engines)]

    def under(self, outputs: Outputs, noise_std: tuple[float, float]) -> TwoOutputs:
        """The same data, seen at once, under other kernels and noises; tied outputs must stay tied."""
        state = replace(self, outputs=outputs, noise_std=noise_std)
        engines = (engine.fresh(kernel) for engine, kernel in zip(self.engines, state._kernels(), strict=True))
        state = replace(state, engines=tuple(engines))
        if not self.history.runs:
            return state
        merged = joined(self.history.runs)
        return state._conditioned(merged, np.zeros((len(merged), 2), dtype=np.bool_))

    def bounded(self) -> TwoOutputs:
        """The state with its engines in a form whose cost does not grow with the data, if they have one."""
        each = [(engine, data) for engine, data in self._with_data() if isinstance(engine, AdaptiveEngine)]
        if len(each) < len(self.engines):
            return self
        state = replace(self, engines=tuple(engine.bounded(data) for engine, data in each))
        return state if any(e.needs_data for e in state.engines) else replace(state, history=self.history.forgotten())

    def rougher(self, factor: float) -> TwoOutputs:
        """The same data under the kernels and noises given, with every lengthscale multiplied.

        The state itself if it no longer keeps its outcomes.
        """
        return self if self.history.forgetful else self.under(self.given.rougher(factor), self.given.noise_std)

    def predict(self, contexts: npt.ArrayLike) -> Belief:
        """Belief about both outputs at contexts ``(M, D)``."""
        x = checked_contexts(contexts, self.history.dimension)
        # In sorted order: equal contexts are computed once, and the order of the arms changes no bit.
        first, inverse = distinct_rows(x)
        mean, variance = self._marginals(x.take(first, axis=0))
        mean, std = mean.take(inverse, axis=0), np.sqrt(variance).take(inverse, axis=0)
        for array in (mean, std):
            array.setflags(write=False)  # so a belief need not copy it
        return Belief(mean=mean, std=std)

    def _marginals(self, x: Array) -> tuple[Array, Array]:
        points = self.points(x)
        answers = [engine.predict(points, data) for engine, data in self._with_data()]
        mean, variance = self.by_output(answers, len(x))
        return mean + mean_at(self.mean, x), variance

    def covariance(self, contexts: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Array:
        """Posterior covariance of each output by itself, ``(2, M, N)``; without others ``(2, M, M)``."""
        x = checked_contexts(contexts, self.history.dimension)
        first, inverse = distinct_rows(x)
        points = self.points(x[first])
        other_points, other_inverse = points, inverse
        if others is not None:
            y = checked_contexts(others, x.shape[1])
            other_first, other_inverse = distinct_rows(y)
            other_points = self.points(y[other_first])
        each = [engine.covariance(points, other_points, data) for engine, data in self._with_data()]
        if self.joint:
            m, n = len(points) // 2, len(other_points) // 2
            each = [each[0][:m, :n], each[0][m:, n:]]
        each = [matrix.take(inverse, axis=0).take(other_inverse, axis=1) for matrix in each]
        # Outputs that share an engine share the memory too.
        return np.stack(each) if len(each) == 2 else np.broadcast_to(each[0], (2, *each[0].shape))

    def sample(self, contexts: npt.ArrayLike, n: int, seed: Seed) -> Array:
        """Draw both outputs n times, jointly over the contexts, ``(n, M, 2)``; see :func:`joint_draws`."""
        x = checked_contexts(contexts, self.history.dimension)
        whole_number("n", n)
        rng = np.random.default_rng(seed)
        first, inverse = distinct_rows(x)
        mean, _ = self._marginals(x[first])
        points = self.points(x[first])
        # Columns of deviations: one output each, or both stacked when they are drawn jointly.
        deviations: list[Array] = []
        for (engine, data), kernel in zip(self._with_data(), self._kernels(), strict=True):
            floor = NEGLIGIBLE * float(kernel.diagonal(points).max(initial=0.0))
            deviations.extend(joint_draws(engine, data, points, floor, (2 if self.shared else 1, n), rng))
        f = np.concatenate(deviations, axis=1).reshape(n, 2, len(first)).transpose(0, 2, 1)
        return np.ascontiguousarray((f + mean)[:, inverse])

    def least_noises(self) -> list[float]:
        """For each engine a lower bound of the noise variances of its rows, which are means of repeats."""
        each = np.square(self.noise_std) / np.maximum(self.history.most_repeats(), 1.0)
        return [float(each.min())] if len(self.engines) == 1 else each.tolist()

    def log_marginal_likelihood(self) -> float:
        """Log density of all outcomes, both outputs together."""
        return sum((engine.log_marginal_likelihood() for engine in self.engines), 0.0)

    def description(self) -> str:
        """The arguments and the amount of data, for ``repr``."""
        kernel = repr(self.outputs)
        if isinstance(self.outputs, Independent) and repr(self.outputs.first) == repr(self.outputs.second):
            kernel = repr(self.outputs.first)
        noise = self.noise_std[0] if self.noise_std[0] == self.noise_std[1] else self.noise_std
        mean = self.mean[0] if not callable(self.mean) and self.mean[0] == self.mean[1] else self.mean
        data = f"observations={self.history.observations}, distinct={self.history.distinct}"
        return f"{kernel}, noise_std={noise!r}, mean={mean!r}; {data}"

    def _kernels(self) -> tuple[Kernel, ...]:
        if isinstance(self.outputs, Coregionalised):
            return (PointKernel(self.outputs),)
        return (self.outputs.first, self.outputs.second)[: len(self.engines)]

    def _check_dimension(self, x: Array) -> None:
        # A kernel with one lengthscale for each dimension refuses contexts of another dimension here.
        for kernel in self._kernels():
            kernel.diagonal(self.points(x[:1]))

    def points(self, x: Array) -> Array:
        """The points of the engines at contexts ``(M, D)``."""
        return both_points(x) if isinstance(self.outputs, Coregionalised) else x

    def _conditioned(self, batch: Collapsed, known: Mask) -> TwoOutputs:
        """Every engine conditioned on its part of a batch that the history includes already."""
        parts = self._observations(batch, known)
        each = zip(self._with_data(), parts, strict=True)
        return replace(self, engines=tuple(engine.condition(part, data) for (engine, data), part in each))

    def by_output(self, answers: list[tuple[Array, Array]], m: int) -> tuple[Array, Array]:
        """The answers of all engines at the points of m contexts, ``(m, q)`` and ``(m,)``, as two arrays ``(m, 2)``."""
        (first, second), (last, last_second) = answers[0], answers[-1]
        if isinstance(self.outputs, Coregionalised):
            return first.reshape(2, m).T, second.reshape(2, m).T
        return first if len(answers) == 1 else np.column_stack([first, last]), np.column_stack([second, last_second])

    def _observations(self, data: Collapsed, known: Mask) -> tuple[Observations, ...]:
        """The part of each engine; points without a value of its output are included, with count 0."""
        points = self.points(data.contexts)
        noise = np.broadcast_to(np.square(self.noise_std), data.counts.shape)
        if self.shared:
            whole = Observations(
                points=points,
                counts=data.counts[:, 0],
                means=data.means,
                scatters=data.scatters,
                noise=noise[:, 0],
                known=known[:, 0],
                weights=None if data.weights is None else data.weights[:, 0],
                logs=None if data.logs is None else data.logs[:, 0],
            )
            return (whole,)
        # Outputs one below the other, as in `both_points`.
        each = (slice(None),) if self.joint else (slice(0, 1), slice(1, 2))
        return tuple(
            Observations(
                points=points,
                counts=data.counts[:, output].T.reshape(-1),
                means=data.means[:, output].T.reshape(-1, 1),
                scatters=data.scatters[:, output].T.reshape(-1, 1),
                noise=noise[:, output].T.reshape(-1),
                known=known[:, output].T.reshape(-1),
                weights=None if data.weights is None else data.weights[:, output].T.reshape(-1),
                logs=None if data.logs is None else data.logs[:, output].T.reshape(-1),
            )
            for output in each
        )


def _sizes(outputs: Outputs) -> list[int]:
    """Number of hyperparameters of each kernel; learning changes only their values."""
    kernels = [outputs.kernel] if isinstance(outputs, Coregionalised) else [outputs.first, outputs.second]
    return [len(parameters(kernel)) for kernel in kernels]


def _item(observed: Callable[[], tuple[Observations, ...]], i: int) -> Observations:
    return observed()[i]
