"""The contract of a posterior: a belief about both expected outcomes at any contexts.

A posterior is any object with the two methods of :class:`Posterior`; nothing is inherited.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, IntArray, as_floats
from superarm.errors import InvalidArgument
from superarm.notebook import by_columns

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True, eq=False)
class Belief:
    """Mean and standard deviation of both expected outcomes at M contexts.

    Parameters
    ----------
    mean
        mu_1, mu_2 in the two columns, ``(M, 2)``.
    std
        sigma_1, sigma_2 in the two columns, ``(M, 2)``, of the expected outcome (noise not included).
    """

    mean: Array
    std: Array

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            value = as_floats(name, getattr(self, name), "a finite array of shape (M, 2)")
            if value.flags.writeable or value.base is not None:  # other code could still change it
                value = value.copy()
            if value.ndim != 2 or value.shape[1] != 2:
                raise InvalidArgument(name, "a finite array of shape (M, 2)", f"shape {value.shape}")
            if not math.isfinite(value.min(initial=0.0)) or not math.isfinite(value.max(initial=0.0)):  # NaN is both
                raise InvalidArgument(name, "a finite array of shape (M, 2)", "NaN or infinite values")
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if self.mean.shape != self.std.shape:
            raise InvalidArgument("std", f"the shape of mean, {self.mean.shape}", f"shape {self.std.shape}")
        if self.std.min(initial=0.0) < 0.0:
            raise InvalidArgument("std", "no negative standard deviation", f"{self.std.min()}")

    def __getitem__(self, rows: IntArray) -> Belief:
        """The belief about some of the contexts."""
        part = object.__new__(Belief)  # which needs no second check
        for name in ("mean", "std"):
            values = getattr(self, name)[rows]
            values.setflags(write=False)
            object.__setattr__(part, name, values)
        return part

    def to_dict(self) -> dict[str, list[float]]:
        """Means and standard deviations of both outcomes, a list each: ``mean_1``, ``std_1``, ``mean_2``, ``std_2``.

        >>> Belief(mean=np.zeros((1, 2)), std=np.ones((1, 2))).to_dict()
        {'mean_1': [0.0], 'std_1': [1.0], 'mean_2': [0.0], 'std_2': [1.0]}
        """
        pairs = ((f"{name}_{output + 1}", getattr(self, name)) for output in range(2) for name in ("mean", "std"))
        return {name: values[:, int(name[-1]) - 1].tolist() for name, values in pairs}

    def to_frame(self) -> pl.DataFrame:
        """One row per context, in the columns of :meth:`to_dict`."""
        import polars as pl

        columns = self.to_dict()
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))

    def _repr_html_(self) -> str:
        return by_columns(self.to_dict())


@runtime_checkable
class Posterior(Protocol):
    """Beliefs about the two expected outcomes f_1 and f_2; immutable."""

    def predict(self, contexts: npt.ArrayLike) -> Belief:
        """Belief about f at contexts ``(M, D)``."""
        ...

    def condition(self, contexts: npt.ArrayLike, outcomes: npt.ArrayLike) -> Posterior:
        """Posterior that has also seen outcomes ``(N, 2)`` at contexts ``(N, D)``; NaN where there is none."""
        ...


@runtime_checkable
class CovaryingPosterior(Posterior, Protocol):
    """A posterior that also knows how the arms of a round depend on each other."""

    @property
    def noise_std(self) -> float | tuple[float, float]:
        """Standard deviation of the noise, one number or one for each output."""
        ...

    def covariance(self, contexts: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Array:
        """Covariance of each output by itself between contexts ``(M, D)`` and others ``(N, D)``, ``(2, M, N)``."""
        ...


def checked_contexts(contexts: npt.ArrayLike, dimension: int | None, argument: str = "contexts") -> Array:
    """Contexts ``(M, D)`` as an array of our own, every -0.0 made 0.0; D must be ``dimension`` if given."""
    size = "D" if dimension is None else str(dimension)
    expected = f"a finite array of shape (M, {size})"
    x = as_floats(argument, contexts, expected)
    if x.ndim != 2 or x.shape[1] == 0 or dimension not in (None, x.shape[1]):
        raise InvalidArgument(argument, expected, f"shape {x.shape}")
    if not np.isfinite(x).all():
        raise InvalidArgument(argument, expected, "NaN or infinite values")
    return np.add(x, 0.0, order="C")


def checked_outcomes(outcomes: npt.ArrayLike, rows: int, argument: str = "outcomes") -> Array:
    """Outcomes ``(N, 2)`` as an array; NaN marks an outcome that is missing."""
    expected = f"an array of shape ({rows}, 2), finite or NaN, one row for each context"
    y = as_floats(argument, outcomes, expected)
    if y.shape != (rows, 2):
        raise InvalidArgument(argument, expected, f"shape {y.shape}")
    if np.isinf(y).any():
        raise InvalidArgument(argument, expected, "infinite values")
    return y
