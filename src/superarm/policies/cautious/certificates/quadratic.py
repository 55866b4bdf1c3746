"""Variance: a quadratic form of Gaussians, drawn in its own axes.

With C the centring matrix, n V_A = f' C f. In the eigenvectors of C S C, with eigenvalues l_i,

    n V_A = sum_i l_i (z_i + d_i)^2 + remainder,   z_i independent and standard normal,

and the remainder is what the mean has in directions that are certain. All groups share the draws of (z_i^2, z_i), so
their values are one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.policies.cautious.certificates.certificate import Certificate, Growth, Sets, Surrogate, Verdicts
from superarm.policies.cautious.certificates.draws import mirrored_normals, shares
from superarm.rewards.group_reward import Sense, tolerance
from superarm.rewards.promise import Promise

IN_THE_TAIL = 20  # draws that break a promise just certified: they are cheap here
AT_ONCE = 500  # candidates whose draws are made together
CERTAIN = 1e-12  # an axis with less than this share of the largest variance is certain
SLACK = 0.01  # share of a threshold that exceeds the errors of variances by rounding or a nearly exact basis


@dataclass(frozen=True)
class Quadratic(Certificate):
    """The population variance of a set: p by the share of fixed draws, EV by their mean."""

    draws: int
    draws_by_size = True

    def judge(self, promise: Promise, thresholds: Array, sets: Sets) -> Verdicts:
        """All sets at once."""
        return shares(promise, thresholds, _values(_padded(sets), self.draws))

    def at_least(self, promise: Promise, thresholds: Array, sizes: IntArray, mean: Array, std: Array) -> Array:
        """By Markov's inequality the share of draws with V_A >= gamma is at most their mean over gamma.

        With m_i the mean of z_i^2, that mean is (|C mu|^2 + sum_i l_i m_i) / n, where the sum of l_i is at most that of
        the variances.
        """
        if promise.sense is Sense.AT_MOST:
            return np.zeros(len(sizes))
        first = np.cumsum(sizes) - sizes
        k = int(sizes.max())
        centre = np.repeat(np.add.reduceat(mean, first) / sizes, sizes)
        moments = np.square(mean - centre) + _draws(self.draws, k)[:, :k].mean(axis=0).max() * np.square(std)
        expected = np.add.reduceat(moments, first) / sizes
        least = thresholds - tolerance(thresholds)
        kept = np.where(least > 0.0, expected / np.where(least > 0.0, least, 1.0) + SLACK, 1.0)
        return np.maximum(1.0 - kept, 0.0) * self.draws / (self.draws + 1.0)

    def surrogate(self, promise: Promise, sets: Sets, eps: float) -> Surrogate:
        """The shift from the variance of the means to the eps-quantile of V_A; no index of the arms bounds it."""
        sign = promise.sense.sign
        certain = np.quantile(_values(_padded(sets), self.draws), eps if sign > 0 else 1.0 - eps, axis=1)
        at_mean = np.array([np.var(sets.mean[sets.part(i)]) for i in range(len(sets))])
        return Surrogate(factor=np.ones(len(sets)), shift=np.maximum(sign * (at_mean - certain), 0.0))

    def regret_with(self, promise: Promise, threshold: float, growth: Growth) -> Array:
        """Many candidates at once, as many as their draws allow."""
        k, c = len(growth.arms), len(growth.others)
        regret = np.empty(c)
        for start in range(0, c, AT_ONCE):
            part = slice(start, min(start + AT_ONCE, c))
            mean, covariance = np.empty((part.stop - start, k + 1)), np.empty((part.stop - start, k + 1, k + 1))
            mean[:, :k], mean[:, k] = growth.mean, growth.other_mean[part]
            covariance[:, :k, :k], covariance[:, k, k] = growth.covariance, np.square(growth.other_std[part])
            covariance[:, :k, k] = covariance[:, k, :k] = growth.across[:, part].T
            forms = _Forms(sizes=np.full(len(mean), k + 1), mean=mean, covariance=covariance)
            regret[part] = shares(promise, np.full(len(mean), threshold), _values(forms, self.draws)).regret
        return regret


@dataclass(frozen=True, kw_only=True, eq=False)
class _Forms:
    """Sets padded with zeros to one size."""

    sizes: IntArray  # (g,)
    mean: Array  # (g, k)
    covariance: Array  # (g, k, k)


def _padded(sets: Sets) -> _Forms:
    sizes = sets.sizes
    columns = np.arange(sizes.max(initial=sets.largest))
    inside = columns < sizes[:, None]
    at = np.where(inside, sets.starts[:-1, None] + columns, 0)
    both = inside[:, :, None] & inside[:, None, :]
    return _Forms(
        sizes=sizes,
        mean=np.where(inside, sets.mean[at], 0.0),
        covariance=np.where(both, sets.covariance[at[:, :, None], at[:, None, :]], 0.0),
    )


def _values(forms: _Forms, n: int) -> Array:
    """(g, n) draws of the variance of each set."""
    k = forms.mean.shape[1]
    inside = np.arange(k) < forms.sizes[:, None]
    share = np.where(inside, 1.0 / forms.sizes[:, None], 0.0)
    mean = np.where(inside, forms.mean - (forms.mean * share).sum(axis=1, keepdims=True), 0.0)
    rows = np.einsum("gij,gj->gi", forms.covariance, share)  # S 1 / n
    total = np.einsum("gi,gi->g", rows, share)
    centred = forms.covariance - rows[:, :, None] - rows[:, None, :] + total[:, None, None]
    centred = np.where(inside[:, :, None] & inside[:, None, :], centred, 0.0)
    scales, axes = np.linalg.eigh(centred)
    uncertain = scales > CERTAIN * np.maximum(scales[:, -1:], 0.0)
    scales = np.where(uncertain, scales, 0.0)
    along = np.abs(np.einsum("gij,gi->gj", axes, mean))  # the signs of eigenvectors are arbitrary
    linear = 2.0 * np.sqrt(scales) * along
    constant = np.square(along).sum(axis=1)
    values: Array = np.concatenate([scales, linear], axis=1) @ _draws(n, k).T
    values += constant[:, None]
    values /= forms.sizes[:, None]
    return np.maximum(values, 0.0, out=values)


@lru_cache(maxsize=64)
def _draws(n: int, k: int) -> Array:
    """(n, 2 k) squares of standard normal draws, and the draws, each with its mirror image."""
    z = mirrored_normals(n, k)
    draws = np.concatenate([np.square(z), z], axis=1)
    draws.setflags(write=False)
    return draws
