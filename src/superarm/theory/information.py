"""What a sequence of noisy observations tells about one output: information gain and lambda* (sections 2.7 and 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from superarm.arguments import positive
from superarm.errors import InvalidArgument
from superarm.posteriors.exact import ExactPosterior
from superarm.posteriors.history import distinct_rows
from superarm.posteriors.kernel import Kernel, checked_kernel
from superarm.posteriors.posterior import Array, checked_contexts

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
    for contexts in rounds_of_contexts:
        z = some_contexts(contexts)
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
    variance (arms that all are one). Theorem 1 defines it by the covariance of each round's own picks; the matrix
    named in Lemma 6 is larger, and its proof does not need it. Arguments as for :func:`gains_of_rounds`.
    """
    return np.maximum.accumulate(gains_of_rounds(kernel, rounds_of_contexts, noise_std).eigenvalue)


def noise_variance(noise_std: float) -> float:
    """sigma^2, refusing a sigma that is not positive or whose square is not."""
    variance = positive("noise_std", noise_std) ** 2
    if variance == 0.0:
        raise InvalidArgument("noise_std", "a number whose square is positive", repr(noise_std))
    return variance


def some_contexts(contexts: npt.ArrayLike) -> Array:
    """Contexts ``(N, D)``; anything without an entry, such as ``[]``, is no contexts."""
    if np.size(contexts) == 0:
        return np.empty((0, 1))
    return checked_contexts(contexts, None)


def _eigenvalues(covariance: Array) -> Array:
    """Ascending eigenvalues of a matrix that is positive semidefinite but for rounding."""
    return np.clip(np.linalg.eigvalsh(covariance), 0.0, None)


def _gain(eigenvalues: Array) -> float:
    return 0.5 * float(np.log1p(eigenvalues).sum())
