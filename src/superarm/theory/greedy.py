"""gamma_n of a finite set of contexts, from below by the greedy choice and from above by certificates (section 2.7).

The maximum itself is NP-hard. Write F(A) = 1/2 log det(I + sigma^-2 K_A) for a multiset A. F is monotone and
submodular, and as a function of real counts it is concave; each property gives an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from superarm.arguments import whole_number
from superarm.errors import InvalidArgument
from superarm.groups import IntArray
from superarm.posteriors.history import distinct_rows
from superarm.posteriors.kernel import Kernel, checked_kernel
from superarm.posteriors.posterior import Array
from superarm.theory.information import noise_variance, some_contexts


class Variances:
    """Posterior variances of one output at d fixed points, while outcomes there are picked one by one.

    An outcome at point i makes the covariance P less by v v^T with v = P_i / sqrt(P_ii + sigma^2). Either all of P
    is kept, d^2 products a pick, or the vectors v are, from which the one column that a pick needs is made.
    """

    def __init__(
        self, kernel: Kernel, points: Array, noise: float, picks: int, *, seen: Array | None = None, whole: bool = False
    ) -> None:
        """Prepare for ``picks`` outcomes of noise variance ``noise``; ``seen`` is V = L^-1 k(X, points) of old ones."""
        self.kernel, self.points, self.noise = kernel, points, noise
        self.seen = np.empty((0, len(points))) if seen is None else seen
        self.prior = kernel.diagonal(points)
        self.variance = np.clip(self.prior - np.einsum("ij,ij->j", self.seen, self.seen), 0.0, self.prior)
        self.covariance: Array | None = None
        self.rows = np.empty((0, len(points)))
        if whole or 2 * len(points) <= picks:  # d^2 products a pick against d (picks / 2) on average
            self.covariance = kernel(points, points) - self.seen.T @ self.seen
        else:
            self.rows = np.empty((picks, len(points)))
        self.picked = 0

    def pick(self, i: int) -> float:
        """Take one more outcome at point i; returns what it tells, 1/2 log(1 + sigma^-2 P_ii)."""
        variance = float(self.variance[i])
        if self.covariance is not None:
            v = self.covariance[:, i].copy()
        else:
            v = self.kernel(self.points, self.points[i : i + 1])[:, 0]
            v -= self.seen.T @ self.seen[:, i]
            v -= self.rows[: self.picked].T @ self.rows[: self.picked, i]
        v /= np.sqrt(variance + self.noise)
        if self.covariance is not None:
            self.covariance -= np.multiply.outer(v, v)
        else:
            self.rows[self.picked] = v
        self.picked += 1
        self.variance -= np.square(v)
        np.maximum(self.variance, 0.0, out=self.variance)
        return 0.5 * float(np.log1p(variance / self.noise))


@dataclass(frozen=True, kw_only=True, eq=False)
class GreedyGain:
    """gamma_1, ..., gamma_n of a finite set of contexts, between two bounds.

    Attributes
    ----------
    picks
        ``(n,)`` rows of ``contexts`` in the order of the greedy choice
    lower
        ``(n,)`` information gain of the first m picks, at most gamma_m and at least (1 - 1/e) gamma_m
    upper
        ``(n,)`` a bound on gamma_m, at most lower / (1 - 1/e)
    """

    picks: IntArray
    lower: Array
    upper: Array


def greedy_information_gain(kernel: Kernel, contexts: npt.ArrayLike, n: int, noise_std: float) -> GreedyGain:
    """Greedy maximum of the information gain over multisets of ``contexts``, and upper bounds on the true maximum.

    The next pick is where the posterior variance is largest. F is monotone and submodular and a repeated pick is a
    copy of its context, so the m first picks have at least 1 - (1 - 1/m)^m >= 1 - 1/e of gamma_m (Nemhauser, Wolsey
    and Fisher, 1978). With v(x) the posterior variance after them, gamma_m is at most the least of ::

        F / (1 - (1 - 1/m)^m)                                       the guarantee
        F + m/2 log(1 + sigma^-2 max v)                             submodularity: m more outcomes, each at its best
        F + sigma^-2/2 (m max v - sum of v over the picks)          concavity in the counts: the tangent at the picks

    The third is close where contexts repeat, n well above the number that the kernel can tell apart. All three bound
    gamma over the given contexts only: a grid inside a continuum gives no upper bound for the continuum.

    Parameters
    ----------
    kernel
        k_jj of the output
    contexts
        ``(N, D)``, the set to choose from; repetition is allowed without listing a context twice
    n
        number of picks
    noise_std
        sigma
    """
    checked_kernel("kernel", kernel)
    noise = noise_variance(noise_std)
    whole_number("n", n)
    x = some_contexts(contexts)
    if len(x) == 0 and n > 0:
        raise InvalidArgument("contexts", "at least one context to pick", "none")
    first, _ = distinct_rows(x)
    state = Variances(kernel, x[first], noise, n)
    counts = np.zeros(len(first))
    picks, gains = np.empty(n, dtype=np.intp), np.empty(n)
    largest, left = np.empty(n), np.empty(n)
    for m in range(n):
        i = int(np.argmax(state.variance))
        gains[m] = state.pick(i)
        counts[i] += 1.0
        picks[m], largest[m], left[m] = i, state.variance.max(), counts @ state.variance
    lower = np.cumsum(gains)
    count = np.arange(1, n + 1)
    guarantee = lower / (1.0 - (1.0 - 1.0 / count) ** count)
    submodular = lower + 0.5 * count * np.log1p(largest / noise)
    concave = lower + np.maximum(0.5 * (count * largest - left) / noise, 0.0)
    upper = np.minimum(guarantee, np.minimum(submodular, concave))
    return GreedyGain(picks=first[picks], lower=lower, upper=upper)
