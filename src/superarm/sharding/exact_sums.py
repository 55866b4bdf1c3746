"""Sums of any number of floats, exactly: the same however they are listed, cut and merged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from superarm.arguments import Array

DIGITS = 53  # bits of a mantissa
LOW = 27  # of them are summed apart, so that sums of up to 2^26 halves are whole numbers that floats hold


class ExactSums:
    """Sums of columns that come in batches, each (n, D) of finite numbers with n up to 2^26."""

    def __init__(self, columns: int) -> None:
        self.totals = [Fraction(0)] * columns

    def add(self, values: Array) -> None:
        """Add a batch to the sums."""
        # x = m 2^e with |m| < 1, so that m 2^53 is a whole number; those of one exponent are summed as such.
        mantissa, exponents = np.frexp(values)
        whole = (mantissa * 2.0**DIGITS).astype(np.int64)
        for column, (each, exponent) in enumerate(zip(whole.T, exponents.T, strict=True)):
            if not len(each):
                continue
            least = int(exponent.min())
            place = exponent - least
            high = np.bincount(place, weights=each >> LOW)
            low = np.bincount(place, weights=each & (2**LOW - 1))
            for i, (above, below) in enumerate(zip(high.tolist(), low.tolist(), strict=True)):
                total = (int(above) << LOW) + int(below)
                if total:
                    self.totals[column] += Fraction(total) * Fraction(2) ** (least + i - DIGITS)

    def over(self, count: int) -> Array:
        """(D,) each sum divided by a count, rounded once."""
        return np.array([float(total / count) for total in self.totals])
