"""What the kernels that measure contexts in lengthscales have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np

from superarm.arguments import Array, as_floats, between, positive
from superarm.errors import InvalidArgument, safe_repr
from superarm.kernels.combinations import Combinable
from superarm.kernels.kernel import LARGEST, SMALLEST

Lengthscale: TypeAlias = float | Sequence[float] | Array


@dataclass(frozen=True, kw_only=True)
class ScaledKernel(Combinable):
    """A kernel of contexts measured in lengthscales, one or one for each dimension, with a variance in front.

    The fields are its hyperparameters. A subclass has the ``gradients`` of its own formula: one without is not learnt.
    """

    formula_of_its_own: ClassVar[bool] = True
    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _checked_lengthscale(self.lengthscale))
        for field in fields(self)[1:]:
            value = positive(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, between(field.name, value, SMALLEST, LARGEST))

    def reciprocals(self, x: Array, y: Array) -> Array:
        """1 / l_d for each dimension of x ``(n, D)`` and y ``(m, D)``, ``(D,)``."""
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
            raise InvalidArgument("x, y", "arrays of shapes (n, D) and (m, D)", f"shapes {x.shape} and {y.shape}")
        scales = np.asarray(self.lengthscale, dtype=np.float64)
        if scales.ndim == 1 and len(scales) != x.shape[1]:
            raise InvalidArgument("lengthscale", f"one for each of {x.shape[1]} dimensions", f"{len(scales)}")
        reciprocals = np.empty(x.shape[1])
        reciprocals[:] = 1.0 / scales
        return reciprocals

    def by_lengthscale(self, by_dimension: list[Array]) -> list[Array]:
        """Derivatives for each dimension, as one for each lengthscale that the kernel has."""
        return by_dimension if np.ndim(self.lengthscale) else [sum(by_dimension[1:], by_dimension[0])]

    def slopes_of(self, by_dimension: Array, by_variance: float, *others: float) -> Array:
        """Sums of derivatives by all hyperparameters, from those for each dimension ``(D,)``."""
        by_scale = by_dimension if np.ndim(self.lengthscale) else by_dimension.sum(keepdims=True)
        return np.concatenate([by_scale, [by_variance, *others]])

    def parameters(self) -> Array:
        return np.concatenate([np.atleast_1d(getattr(self, field.name)) for field in fields(self)])

    def with_parameters(self, values: Array) -> Self:
        scales = np.size(self.lengthscale)
        lengthscale = values[:scales] if np.ndim(self.lengthscale) else values[0]
        others = {field.name: value for field, value in zip(fields(self)[1:], values[scales:], strict=True)}
        return replace(self, lengthscale=lengthscale, **others)

    def _names(self) -> tuple[str, ...]:
        scales = [f"lengthscale[{d}]" for d in range(np.size(self.lengthscale))]
        return (*(scales if np.ndim(self.lengthscale) else ["lengthscale"]), *(f.name for f in fields(self)[1:]))


def _checked_lengthscale(value: Lengthscale) -> float | tuple[float, ...]:
    """One positive finite lengthscale, or a tuple of one for each dimension."""
    expected = "a positive finite number, or one for each dimension"
    scales = as_floats("lengthscale", value, expected)
    if scales.ndim > 1 or scales.size == 0 or not (np.isfinite(scales) & (scales > 0)).all():
        raise InvalidArgument("lengthscale", expected, safe_repr(value))
    if not ((scales >= SMALLEST) & (scales <= LARGEST)).all():
        raise InvalidArgument("lengthscale", f"numbers from {SMALLEST:g} to {LARGEST:g}", safe_repr(value))
    return float(scales) if scales.ndim == 0 else tuple(scales.tolist())
