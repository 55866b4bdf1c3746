"""Numbers as tables, captions and tooltips print them."""

# ruff: noqa: RUF001  # true minus signs and dashes

from __future__ import annotations

import math


def number(value: float | None, digits: int | None = None) -> str:
    """A number as tables print it: three significant digits or more, a true minus sign, a dash for nothing.

    Examples
    --------
    >>> number(0.98765), number(-1234.5), number(None), number(0.00001234)
    ('0.988', '−1,234', '–', '1.2e-05')
    """
    if value is None or math.isnan(value):
        return "–"
    if digits is None and value == 0:
        return "0"
    size = abs(value)
    if digits is None and (0 < size < 5e-4 or size >= 1e9):
        text = f"{value:.1e}"
    else:
        text = f"{value:,.{decimals(value) if digits is None else digits}f}"
    if not any(character in text for character in "123456789"):
        text = text.lstrip("-")  # a rounded -0.0001 is no negative number
    return text.replace("-", "−", 1) if value < 0 and text.startswith("-") else text


def decimals(value: float) -> int:
    """How many decimals show about three significant digits."""
    size = abs(value)
    return 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 3


def spread(mean: float | None, std: float | None) -> str:
    """Mean ± std with the same number of decimals; without the second part when there was one run."""
    if mean is None or std is None or mean == std == 0 or math.isnan(mean + std):
        return number(mean)
    digits = decimals(max(abs(mean), abs(std)))
    return f"{number(mean, digits)} ± {number(std, digits)}"


def percent(share: float | None) -> str:
    """A share as tables print it; what is not all is never rounded up to all.

    Examples
    --------
    >>> percent(0.9543), percent(0.99996), percent(1.0), percent(None)
    ('95.4 %', '>99.9 %', '100.0 %', '–')
    """
    if share is None or math.isnan(share):
        return "–"
    return ">99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.1f} %"
