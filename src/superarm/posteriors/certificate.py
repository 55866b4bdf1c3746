"""How far a low-rank posterior can be from the exact one, from what it knows itself.

f = g + h with independent g, which the features phi span, and h, the residual, Var h(x) = delta(x). The low-rank
posterior is exact for g; it takes h at a candidate as independent of the data. With noise variances N = diag(s2_i),
E = sum_i delta_i / s2_i bounds Var(w.h) by E w^T N w for any weights w of the data.

At a candidate, v is the variance of g given the data, with the weights w that minimise Var(g* - w.g) + w^T N w. Let
a = w^T N w = v - |B^-1 phi|^2 <= v - v^2 / |phi|^2. The exact variance is the minimum over weights of that sum plus
H(w) = Var(h* - w.h), where |sqrt(H(w)) - sqrt(delta)| <= sqrt(E w^T N w). Hence, with eta = sqrt(delta) + sqrt(a E),

    v + max(0, sqrt(delta) - sqrt(a E))^2 / (1 + E)  <=  exact variance  <=  v + eta^2,

and H <= eta^2 at the exact weights, too. The exact mean minus ours is Cov(h* - w.h, alpha.h) at these weights, with
alpha = (Q + N)^-1 y, Q the covariance of g; so it is at most eta sqrt(E) sqrt(y^T (Q + N)^-1 y).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.posteriors.posterior import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Marginals:
    """Mean and variance of a low-rank posterior at m points, and where the variance comes from."""

    mean: Array  # (m, q)
    prior: Array  # (m,) k(x, x)
    residual: Array  # (m,) delta
    represented: Array  # (m,) v

    @property
    def variance(self) -> Array:
        """Their sum, v + delta, within [0, k(x, x)]: ``(m,)``."""
        return np.clip(self.represented + self.residual, 0.0, self.prior)

    def errors(self, unrepresented: float, unexplained: Array) -> tuple[Array, Array]:
        """Bounds of the errors of the mean ``(m, q)`` and of the standard deviation ``(m,)``.

        Parameters
        ----------
        unrepresented
            E.
        unexplained
            sqrt(y^T (Q + N)^-1 y) of each column of values, ``(q,)``.
        """
        v, delta = self.represented, self.residual
        spanned = np.maximum(self.prior - delta, v)
        a = np.maximum(v - np.square(v) / np.where(spanned > 0, spanned, 1.0), 0.0)
        spread = np.sqrt(a * unrepresented)
        eta = np.sqrt(delta) + spread
        least = v + np.square(np.maximum(np.sqrt(delta) - spread, 0.0)) / (1.0 + unrepresented)
        std, above, below = np.sqrt(self.variance), np.sqrt(v + np.square(eta)), np.sqrt(least)
        # The exact standard deviation is within [below, above], and at most that of the prior.
        error = np.maximum(np.minimum(above, np.sqrt(self.prior)) - std, std - below)
        return np.multiply.outer(eta * np.sqrt(unrepresented), unexplained), np.maximum(error, 0.0)


def largest_error(unrepresented: float, unexplained: Array, tolerance: float) -> float:
    """Bound of every error where delta(x) <= tolerance * k(x, x), as a share of the prior standard deviation there.

    From a <= k(x, x) / 4: that of the mean is (sqrt(tolerance) + sqrt(E) / 2) sqrt(E) sqrt(y^T (Q + N)^-1 y), and that
    of the standard deviation is below the same with 2 for the last factor.
    """
    eta = np.sqrt(tolerance) + np.sqrt(unrepresented) / 2
    return float(eta * np.sqrt(unrepresented) * max(2.0, unexplained.max(initial=0.0)))
