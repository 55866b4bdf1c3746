"""The base of the kernels that measure contexts in lengthscales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from superarm.arguments import Array, as_floats, between, positive
from superarm.contexts import checked_names
from superarm.errors import InvalidArgument, safe_repr
from superarm.kernels.combinations import Combinable
from superarm.kernels.kernel import LARGEST, SMALLEST

Lengthscale: TypeAlias = float | Sequence[float] | Array


@dataclass(frozen=True, kw_only=True)
class ScaledKernel(Combinable):
    """A kernel of contexts measured in lengthscales, one or one for each dimension, with a variance in front.

    ``columns`` names the columns that it uses, if these are not all; contexts must then have names. All other fields
    are its hyperparameters. A subclass has the ``gradients`` of its own formula; without them it is not learnt.
    """

    formula_of_its_own: ClassVar[bool] = True
    takes_categories: ClassVar[bool] = False
    lengthscale: Lengthscale = 1.0
    variance: float = 1.0
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _checked_lengthscale(self.lengthscale))
        for name in self._others:
            value = positive(name, getattr(self, name))
            object.__setattr__(self, name, between(name, value, SMALLEST, LARGEST))
        if self.columns is not None:
            columns = checked_names("columns", self.columns)
            if np.ndim(self.lengthscale) and np.size(self.lengthscale) != len(columns):
                expected = f"one, or one for each of {len(columns)} columns"
                raise InvalidArgument("lengthscale", expected, f"{np.size(self.lengthscale)}")
            object.__setattr__(self, "columns", columns)

    def __repr__(self) -> str:
        names = [each.name for each in fields(self) if each.name != "columns" or self.columns is not None]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def _others(self) -> tuple[str, ...]:
        """The names of the hyperparameters other than the lengthscale."""
        kind: Any = type(self)
        return _others(kind)

    def reciprocals(self, x: Array, y: Array) -> Array:
        """1 / l_d for each dimension of x ``(n, D)`` and y ``(m, D)``, ``(D,)``."""
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
            raise InvalidArgument("x, y", "arrays of shapes (n, D) and (m, D)", f"shapes {x.shape} and {y.shape}")
        if self.columns is not None:
            expected = (
                f"a frame, or contexts with column names, because the kernel uses the columns {list(self.columns)}"
            )
            raise InvalidArgument("contexts", expected, "columns without names")
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
        others = [getattr(self, name) for name in self._others]
        return np.concatenate([np.atleast_1d(self.lengthscale), others])

    def with_parameters(self, values: Array) -> Self:
        scales = np.size(self.lengthscale)
        lengthscale = values[:scales] if np.ndim(self.lengthscale) else values[0]
        others = dict(zip(self._others, values[scales:], strict=True))
        return replace(self, lengthscale=lengthscale, **others)

    def _names(self) -> tuple[str, ...]:
        scales = [f"lengthscale[{d}]" for d in range(np.size(self.lengthscale))]
        return (*(scales if np.ndim(self.lengthscale) else ["lengthscale"]), *self._others)


@cache
def _others(kind: type[ScaledKernel]) -> tuple[str, ...]:
    """The same for all kernels of a class."""
    return tuple(each.name for each in fields(kind) if each.name not in ("lengthscale", "columns"))


def of_all_columns(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of a kernel that an earlier version saved, when none had columns of its own."""
    return {"columns": None, **fields}


def _checked_lengthscale(value: Lengthscale) -> float | tuple[float, ...]:
    """One positive finite lengthscale, or a tuple of one for each dimension."""
    expected = "a positive finite number, or one for each dimension"
    scales = as_floats("lengthscale", value, expected)
    if scales.ndim > 1 or scales.size == 0 or not (np.isfinite(scales) & (scales > 0)).all():
        raise InvalidArgument("lengthscale", expected, safe_repr(value))
    if not ((scales >= SMALLEST) & (scales <= LARGEST)).all():
        raise InvalidArgument("lengthscale", f"numbers from {SMALLEST:g} to {LARGEST:g}", safe_repr(value))
    return float(scales) if scales.ndim == 0 else tuple(scales.tolist())
