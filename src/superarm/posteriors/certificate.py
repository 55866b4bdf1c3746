"""How far a low-rank posterior can be from the exact one, from what it knows itself.

f = g + h with independent g, which the features phi span, and h, the residual, Var h(x) = delta(x). The low-rank
posterior is exact for g; it takes h at a candidate as independent of the data. With noise variances N = diag(s2_i),
E = sum_i delta_i / s2_i bounds Var(w.h) by E w^T N w for any weights w of the data.

At a candidate, v is the variance of g given the data, with the weights w that minimise Var(g* - w.g) + w^T N w. Let
a = w^T N w = v - |B^-1 phi|^2 <= v - v^2 / |phi|^2. The exact variance is the minimum over weights of that sum plus
H(w) = Var(h* - w.h), where |sqrt(H(w)) - sqrt(delta)| <= sqrt(E w^T N w). Hence, with eta = sqrt(delta) + sqrt(a E),

    v + max(0, sqrt(delta) - sqrt(a E))^2 / (1 + E)  <=  exact variance  <=  v + eta^2,

and H <= eta^2 at the exact weights, too. The exact mean minus ours is Cov(h* - w.h, alpha.h) at these weights, with
alpha = (Q + N)^-1 y, Q the covariance of g; so it is at most eta sqrt(E) rho, rho = sqrt(y^T (Q + N)^-1 y).

Features that joined when earlier data were gone are missing from these data's g and are part of their h, so that g and
h are correlated. Then only differences of lengths are left: the exact standard deviation sd is the least length of
(g* - w.g - w.noise) + (h* - w.h) over weights w, ours the least length of the first bracket, the second is at most
sqrt(delta) + sqrt(E w^T N w), and w^T N w is at most the square of either length at its own best weights. Hence

    (sqrt(v) - sqrt(delta)) / (1 + sqrt(E))  <=  sd  <=  sqrt(v) + eta.

At the exact weights f* - w.y is uncorrelated with the data, so the exact mean minus ours is the covariance of the two
brackets' sum with alpha.(g + h + noise) less that of the first with alpha.(g + noise): three terms, at most

    rho (sqrt(E) (sd + eta') + eta' + sqrt(E) eta')   with   eta' = sqrt(delta) + sqrt(E) sd.
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

    def errors(self, unrepresented: float, unexplained: Array, grown: bool = False) -> tuple[Array, Array]:
        """Bounds of the errors of the mean ``(m, q)`` and of the standard deviation ``(m,)``.

        Parameters
        ----------
        unrepresented
            E.
        unexplained
            rho of each column of values, ``(q,)``.
        grown
            Whether features joined when earlier data were gone.
        """
        v, delta = self.represented, self.residual
        spanned = np.maximum(self.prior - delta, v)
        a = np.maximum(v - np.square(v) / np.where(spanned > 0, spanned, 1.0), 0.0)
        spread = np.sqrt(a * unrepresented)
        eta = np.sqrt(delta) + spread
        share = np.sqrt(unrepresented)
        if grown:
            below, above = np.maximum(np.sqrt(v) - np.sqrt(delta), 0.0) / (1.0 + share), np.sqrt(v) + eta
        else:
            least = v + np.square(np.maximum(np.sqrt(delta) - spread, 0.0)) / (1.0 + unrepresented)
            below, above = np.sqrt(least), np.sqrt(v + np.square(eta))
        # The exact standard deviation is within [below, above], and at most that of the prior.
        std, above = np.sqrt(self.variance), np.minimum(above, np.sqrt(self.prior))
        error = np.maximum(np.maximum(above - std, std - below), 0.0)
        mean = _first_order(share, np.sqrt(delta), above) if grown else eta * share
        return np.multiply.outer(mean, unexplained), error


def together(parts: list[Marginals]) -> Marginals:
    """The marginals of several sets of points, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Marginals(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])})


def largest_error(unrepresented: float, unexplained: Array, tolerance: float, grown: bool = False) -> float:
    """Bound of every error where delta(x) <= tolerance * k(x, x), as a share of the prior standard deviation there.

    From a <= k(x, x) / 4: that of the mean is (sqrt(tolerance) + sqrt(E) / 2) sqrt(E) sqrt(y^T (Q + N)^-1 y), and that
    of the standard deviation is below the same with 2 for the last factor. Where features joined without the data, they
    are the bound of each mean at a standard deviation of the prior's, and sqrt(E) + 2 sqrt(tolerance).
    """
    share, outside, values = np.sqrt(unrepresented), np.sqrt(tolerance), unexplained.max(initial=0.0)
    if grown:
        return float(max(_first_order(share, outside, np.ones(1))[0] * values, share + 2 * outside))
    return float((outside + share / 2) * share * max(2.0, values))


def _first_order(share: float, outside: Array | float, std: Array) -> Array:
    """Bound of the error of a mean, without its factor rho, from sqrt(E), sqrt(delta) and a bound of the exact sd."""
    eta = outside + share * std
    bound: Array = share * (std + eta) + eta + share * eta
    return bound
