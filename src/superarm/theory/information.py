"""The information of noisy observations about one output: gain, lambda* and gamma_n (sections 2.7 and 4).

gamma_n, the most that n outcomes at a finite set of contexts can tell, is NP-hard to find. The greedy choice bounds it
from below and certificates from above. Write F(A) = 1/2 log det(I + sigma^-2 K_A) for a multiset A. F is monotone and
submodular, and as a function of real counts it is concave; each property gives an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from superarm.arguments import Array, IntArray, as_floats, listed, positive, whole_number
from superarm.errors import InvalidArgument, safe_repr
from superarm.kernels.kernel import Kernel, checked_kernel
from superarm.posteriors.gaussian_process import ExactPosterior
from superarm.posteriors.history import distinct_rows
from superarm.posteriors.picked import Picked
from superarm.posteriors.posterior import checked_contexts

RoundsOfContexts = Iterable[npt.ArrayLike]


def information_gain(kernel: Kernel, contexts: npt.ArrayLike, noise_std: float) -> float:
    """I(r; f) = 1/2 log det(I + sigma^-2 K), what outcomes at the contexts tell about one output, in nats (2.7).

    Parameters
    ----------
    kernel
        k_jj of the output
    contexts
        ``(N, D)``; a repeated context is one more outcome there
    noise_std
        sigma

    >>> import numpy as np, superarm as sa
    >>> once = information_gain(sa.SquaredExponential(), np.array([[0.0]]), noise_std=0.5)
    >>> round(once, 4)  # log(1 + 1 / 0.25) / 2
    0.8047
    """
    checked_kernel("kernel", kernel)
    variance = noise_variance(noise_std)
    x = some_contexts(contexts)
    if len(x) == 0:
        return 0.0
    first, inverse = distinct_rows(x)
    # c outcomes at one context tell as much as one with noise sigma^2 / c: det(I + U U^T) = det(I + U^T U) with one
    # column of U for each distinct context, scaled by the root of its count.
    root = np.sqrt(np.bincount(inverse) / variance)
    total = kernel(x[first], x[first])
    total *= root[:, None]
    total *= root
    identity = total.copy()
    identity.flat[:: len(total) + 1] += 1.0
    factor, failed = lapack.dpotrf(identity.T, lower=1, overwrite_a=1)
    if not failed and np.isfinite(diagonal := np.diagonal(factor)).all():
        return max(0.0, float(np.log(diagonal).sum()))
    # No eigenvalue is below 1 but by rounding, which a noise far below the kernel's own rounding lets through.
    return float(_gain(_eigenvalues(total)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundGains:
    """What each round of a run told about one output; one entry per round.

    Attributes
    ----------
    gain
        ``(T,)`` 1/2 log det(I + sigma^-2 Sigma_{t-1}(z_t)), told by round t given the rounds before
    eigenvalue
        ``(T,)`` largest eigenvalue of Sigma_{t-1}(z_t), the posterior covariance of the picked contexts; 0 if none
    variance
        ``(T,)`` sum over the picked arms of sigma_{t-1}(x)^2
    width
        ``(T,)`` sum over the picked arms of sigma_{t-1}(x)
    size
        ``(T,)`` number of picked arms
    """

    gain: Array
    eigenvalue: Array
    variance: Array
    width: Array
    size: npt.NDArray[np.intp]


def gains_of_rounds(kernel: Kernel, rounds_of_contexts: RoundsOfContexts, noise_std: float) -> RoundGains:
    """Walk through a run once, round by round, by the chain rule of information.

    ::

        I(r(z_[T]); f(z_[T])) = sum_t 1/2 log det(I + sigma^-2 Sigma_{t-1}(z_t))

    The posterior variance does not depend on the outcomes, so the contexts of the picked arms are enough. The cost is
    that of an :class:`~superarm.ExactPosterior` of the distinct contexts.

    Parameters
    ----------
    kernel
        k_jj of the output
    rounds_of_contexts
        for every round the contexts ``(|S_t|, D)`` of the picked arms, repeats allowed; empty where none was picked
    noise_std
        sigma
    """
    checked_kernel("kernel", kernel)
    sigma2 = noise_variance(noise_std)
    posterior = ExactPosterior(kernel, noise_std)
    rows = []
    for z in rounds_listed(rounds_of_contexts):
        if len(z) == 0:
            rows.append((0.0, 0.0, 0.0, 0.0, 0))
            continue
        first, inverse = distinct_rows(z)
        counts = np.bincount(inverse).astype(np.float64)
        covariance = posterior.covariance(z[first])[0]
        variance = np.clip(np.diagonal(covariance), 0.0, None)
        # With its repeated rows and columns Sigma has the same eigenvalues as C^1/2 Sigma C^1/2, and zeros.
        root = np.sqrt(counts)
        eigenvalues = _eigenvalues(root[:, None] * covariance * root)
        gain = _gain(eigenvalues / sigma2)
        rows.append((gain, eigenvalues[-1], counts @ variance, counts @ np.sqrt(variance), len(z)))
        posterior = posterior.condition(z, np.zeros((len(z), 2)))
    table = np.array(rows, dtype=np.float64).reshape(-1, 5)
    return RoundGains(
        gain=table[:, 0],
        eigenvalue=table[:, 1],
        variance=table[:, 2],
        width=table[:, 3],
        size=table[:, 4].astype(np.intp),
    )


def information_gains(kernel: Kernel, rounds_of_contexts: RoundsOfContexts, noise_std: float) -> Array:
    """Information gain I(r(z_[t]); f(z_[t])) of one output after every round of a run, ``(T,)``.

    Arguments as for :func:`gains_of_rounds`.

    >>> import numpy as np, superarm as sa
    >>> rounds = [np.array([[0.0], [0.1]]), np.array([[0.0]]), np.array([[2.0]])]
    >>> information_gains(sa.Matern52(), rounds, noise_std=0.5).round(3)
    array([1.113, 1.302, 2.098])
    """
    return np.cumsum(gains_of_rounds(kernel, rounds_of_contexts, noise_std).gain)


def lambda_star(kernel: Kernel, rounds_of_contexts: RoundsOfContexts, noise_std: float) -> Array:
    """lambda*(K) of one output, ``(T,)``: the largest eigenvalue of Sigma_{s-1}(z_s) over the rounds s <= t.

    It is between the largest posterior variance of a picked arm (independent arms) and K times the largest prior
    variance (identical arms). Theorem 1 defines it by the covariance of each round's own picks; the matrix named in
    Lemma 6 is larger, and its proof does not need it. Arguments as for :func:`gains_of_rounds`.
    """
    return np.maximum.accumulate(gains_of_rounds(kernel, rounds_of_contexts, noise_std).eigenvalue)


class Variances:
    """Posterior variances of one output at d fixed points, while outcomes there are picked one by one.

    Either the covariance P of the points is kept, d^2 products a pick, or one vector a pick: see
    :mod:`superarm.posteriors.picked`.
    """

    def __init__(
        self, kernel: Kernel, points: Array, noise: float, picks: int, *, seen: Array | None = None, whole: bool = False
    ) -> None:
        """Prepare for ``picks`` outcomes of noise variance ``noise``; ``seen`` is V = L^-1 k(X, points) of old ones."""
        self.kernel, self.points, self.noise = kernel, points, noise
        self.seen = np.empty((0, len(points))) if seen is None else seen
        prior = kernel.diagonal(points)
        variance = np.clip(prior - np.einsum("ij,ij->j", self.seen, self.seen), 0.0, prior)[None]
        covariance = None
        if whole or 2 * len(points) <= picks:  # d^2 products a pick against d (picks / 2) on average
            covariance, picks = (kernel(points, points) - self.seen.T @ self.seen)[None], 0
        self.picked = Picked(variance, np.array([noise]), np.empty((1, picks, len(points))), covariance)

    @property
    def variance(self) -> Array:
        """After the picks so far, ``(d,)``."""
        variance: Array = self.picked.variance[0]
        return variance

    def pick(self, i: int) -> float:
        """Take one more outcome at point i; returns what it tells, 1/2 log(1 + sigma^-2 P_ii)."""
        column = None
        if self.picked.covariance is None:
            column = (self.kernel(self.points, self.points[i : i + 1])[:, 0] - self.seen.T @ self.seen[:, i])[None]
        return 0.5 * float(np.log1p(self.picked.pick(i, column)[0] / self.noise))


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


def noise_variance(noise_std: float) -> float:
    """sigma^2, refusing a sigma that is not positive or whose square is not."""
    sigma = positive("noise_std", noise_std)
    if not 0.0 < sigma * sigma < np.inf:
        raise InvalidArgument("noise_std", "a number whose square is positive and finite", safe_repr(noise_std))
    return sigma**2


def some_contexts(contexts: npt.ArrayLike) -> Array:
    """Contexts ``(N, D)``; anything without an entry, such as ``[]``, is no contexts."""
    array = as_floats("contexts", contexts, "a finite array of shape (N, D)")
    return checked_contexts(array, None) if array.size else np.empty((0, 1))


def rounds_listed(rounds_of_contexts: RoundsOfContexts) -> list[Array]:
    """The contexts of every round."""
    rounds = listed("rounds_of_contexts", rounds_of_contexts, "the contexts (n, D) of every round")
    return [some_contexts(contexts) for contexts in rounds]


def _eigenvalues(covariance: Array) -> Array:
    """Ascending eigenvalues of a matrix that is positive semidefinite but for rounding."""
    return np.clip(np.linalg.eigvalsh(covariance), 0.0, None)


def _gain(eigenvalues: Array) -> float:
    return 0.5 * float(np.log1p(eigenvalues).sum())
