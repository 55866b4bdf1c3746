"""The marks of logarithmic axes: where they are, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

MOST_DECADES = 6  # that a scale with a zero shows
FEW = 3  # powers of ten; an axis with fewer has marks between them


def written(ticks: Iterable[float]) -> str:
    """The expression that writes the marks of an axis: all in one way, with exponents where some would be too long."""
    sizes = [tick for tick in ticks if tick > 0.0]
    plain = all(1e-5 < size < 1e7 for size in sizes)
    return "format(datum.value, ',~f')" if plain else "datum.value ? format(datum.value, '.0e') : '0'"


def decades(low: Any, high: Any) -> list[float]:
    """The powers of ten around [low, high], at least two.

    >>> decades(0.3, 20.0)
    [0.1, 1.0, 10.0, 100.0]
    """
    first = math.floor(math.log10(low))
    last = max(first + 1, math.ceil(math.log10(high)))
    return [10.0**power for power in range(first, last + 1)]


def zero_and_decades(values: Iterable[float]) -> list[float]:
    """Ticks of a scale that is logarithmic from its first power of ten on, and linear from there down to 0.

    Examples
    --------
    >>> zero_and_decades([0.0, 0.3, 20.0])
    [0.0, 0.1, 1.0, 10.0, 100.0]
    """
    positive = [value for value in values if value > 0.0] or [1.0]
    last = math.floor(math.log10(max(positive))) + 1
    first = min(last - 1, max(math.floor(math.log10(min(positive))), last - MOST_DECADES))
    return [0.0, *(10.0**power for power in range(first, last + 1))]


def up_to(end: float, ticks: list[float]) -> list[float]:
    """The marks up to ``end``, with 2 and 5 times each where these are few.

    >>> up_to(8.0, [0.0, 1.0, 10.0]), up_to(200.0, [0.0, 1.0, 10.0, 100.0, 1000.0])
    ([0.0, 1.0, 2.0, 5.0], [0.0, 1.0, 10.0, 100.0])
    """
    inside = [tick for tick in ticks if tick <= end]
    if sum(tick > 0.0 for tick in inside) >= FEW:
        return inside
    return sorted({*inside, *(part * tick for tick in inside for part in (2.0, 5.0) if part * tick <= end)})
