"""The watch compares beliefs with outcomes: the safety net below the certificates.

A certificate is as good as the posterior it rests on. Before the outcomes of a round are learnt, the watch compares
them with the belief. It never reads off noisy outcomes whether a promise was kept. Instead the residuals e = mu - y of
the k arms of a touched group are split: their scatter within the group measures the noise, and only what exceeds this
noise in their mean counts as an error of the model. With S the covariance of the arms, the residuals have

    variance of the mean      kappa2 q_f + tau2 + nu2 / k,    q_f = 1' S 1 / k^2
    variance of the scatter   kappa2 q_w + nu2,               q_w = (tr S - k q_f) / (k - 1)

where kappa2 is the factor by which variances are understated, tau2 the variance that the arms of a group share and the
model does not know, and nu2 the noise, all in units of the noise variance that the posterior states. The watch keeps
the evidence for a grid of the three, forgets old evidence, and widens certificates only if that is likelier than not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.errors import warn
from superarm.policies.cautious.certificates.judge import Judge
from superarm.policies.cautious.certificates.widening import Widening
from superarm.posteriors.model import Model
from superarm.round import Outcomes
from superarm.storage import storable

KAPPA2 = np.array([0.7, 1.0, 1.5, 2.25, 4.0, 9.0])
TAU = np.append(0.0, 0.25 * 1.75 ** np.arange(11))  # up to 67 standard deviations of the noise
NU = np.array([0.3, 0.5, 0.65, 0.8, 0.9, 1.0, 1.15, 1.35, 1.8])
SHAPE = (len(KAPPA2), len(TAU), len(NU))
SPREAD_NU = 0.5  # standard deviation of log nu before anything is seen
AGAINST_KAPPA2 = 4.0  # nats against each value of kappa2 above 1
AGAINST_TAU = 5.0  # nats against each value of tau above 0
DEEPEST = 30.0  # most nats that a value may fall behind the best: what is ruled out now may be right later
MEMORY = 200.0  # number of residuals of groups that evidence remembers
# Means of residuals count by the density of t with 5 degrees of freedom, v^-1/2 (1 + r^2 / (3 c v))^-3, so that single
# outcomes from heavy tails say little; with this c the best v for normal residuals is their variance.
TAILS = 1.223
MOST_SCATTER = 12.0  # scatter is cut at this many times its variance
FURTHEST = 1e6  # residuals are cut at this many standard deviations of the noise
MOST_GROUPS = 32  # groups of a round that are compared
MOST_ARMS = 8  # arms of a group that are compared
LEAST = 16  # first outcomes, which are only counted: they shape the model and cannot yet test it
LASTING = 5  # updates in a row with wider certificates after which a warning is due
CHANGED = 0.3  # share of the evidence that is kept when the model takes another shape
WHAT_TO_DO = (
    "To do: add features that show how groups differ, and check lengthscales and noise_std on your own log "
    "(superarm.calibration.replay); learn=False trusts the posterior as it is"
)

_LOG_PRIOR = (
    -AGAINST_KAPPA2 * (KAPPA2 > 1)[:, None, None]
    - AGAINST_TAU * (TAU > 0)[:, None]
    - 0.5 * np.square(np.log(NU) / SPREAD_NU)
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Residuals:
    """Errors of the belief before the outcomes of a round, in units of the noise.

    The errors of the g group means m of a round are correlated. So from each is subtracted what the means before it
    predict under the model: b' m with weights b. Its variance is b' Q b (with Q the covariance of the means in the
    model), plus b' b times tau2, plus b' N b times nu2. Under the model the results are independent.
    """

    deviation: Array  # (g,) b' m
    model: Array  # (g,) b' Q b
    common: Array  # (g,) b' b
    noise: Array  # (g,) b' N b
    free: Array  # (g,) k - 1
    scatter: Array  # (g,) mean square around the mean of the group, with k - 1 degrees of freedom; 0 for single arms
    within: Array  # (g,) q_w
    rough: Array  # (g,) noise variance of an outcome, in the mean over the group: 1 where all are alike

    @staticmethod
    def of(judge: Judge, observed: Outcomes, noise: Array | None = None) -> Residuals:
        """Errors about the second outcomes of a round, by the posterior of its judge, which has not seen them.

        ``noise``, (k,), holds standard deviations of noise that is not the usual one, NaN where it is.
        """
        came = ~np.isnan(observed.values[:, 1])
        arms, values = observed.arms[came], observed.values[came, 1]
        codes, points = judge.round.grouping.codes[arms], judge.points[arms]
        some = _looked_at(codes, points)
        errors = judge.mean(arms[some]) - values[some]
        own = None if noise is None else np.square(noise[came][some])
        covariance = judge.posterior.covariance(points[some])[1]
        return Residuals.from_errors(codes[some], errors, covariance, judge.noise, own)

    @staticmethod
    def from_errors(
        codes: IntArray, errors: Array, covariance: Array, noise: float, own: Array | None = None
    ) -> Residuals:
        """From the errors mu - y, (k,), at arms of groups ``codes``, (k,), with the covariance (k, k) of f_2 there.

        ``noise`` is the usual noise variance; ``own``, (k,), is that of outcomes which have another, else NaN.
        """
        _, codes, sizes = np.unique(codes, return_inverse=True, return_counts=True)
        errors = np.clip(errors / np.sqrt(noise), -FURTHEST, FURTHEST)
        covariance = np.clip(covariance / noise, -(FURTHEST**2), FURTHEST**2)
        average = np.zeros((len(sizes), len(codes)))
        average[codes, np.arange(len(codes))] = 1.0 / sizes[codes]
        means, between = average @ errors, average @ covariance @ average.T
        free = sizes.astype(np.float64) - 1.0
        several = np.maximum(free, 1.0)
        scatter = np.bincount(codes, np.square(errors - means[codes])) / several
        traces = np.bincount(codes, np.diagonal(covariance))
        within = np.clip(traces - sizes * np.diagonal(between), 0.0, None) / several
        of_means, rough = 1.0 / sizes, np.ones(len(sizes))
        if own is not None:
            relative = np.clip(np.where(np.isnan(own), 1.0, own / noise), FURTHEST**-2, FURTHEST**2)
            rough = np.bincount(codes, relative) / sizes
            of_means = rough / sizes
        weights = _whitening(between, of_means)
        return Residuals(
            deviation=weights @ means,
            model=np.clip((weights @ between * weights).sum(axis=1), 0.0, None),
            common=np.square(weights).sum(axis=1),
            noise=np.square(weights) @ of_means,
            free=free,
            scatter=scatter,
            within=within,
            rough=rough,
        )


def _whitening(between: Array, noise: Array) -> Array:
    """(g, g) unit lower triangular: subtracts from each mean its expectation given those before."""
    total = between + np.diag(noise)
    try:
        lower = np.linalg.cholesky(total)
    except np.linalg.LinAlgError:  # a covariance that is none, by rounding or by a posterior of one's own
        return np.eye(len(noise))
    return np.asarray(np.linalg.solve(lower / np.diagonal(lower), np.eye(len(noise))), dtype=np.float64)


def _looked_at(codes: IntArray, points: Array) -> Mask:
    """(k,) which arms of groups ``codes`` at ``points``, (k, P), are compared: a few, however they are listed."""
    rank = np.empty(len(codes), dtype=np.intp)
    order = np.lexsort((*points.T[::-1], codes))
    groups, starts, sizes = np.unique(codes[order], return_index=True, return_counts=True)
    rank[order] = np.arange(len(codes)) - np.repeat(starts, sizes)
    some = groups[np.linspace(0, len(groups) - 1, min(len(groups), MOST_GROUPS)).astype(np.intp)]
    looked: Mask = (rank < MOST_ARMS) & np.isin(codes, some)
    return looked


AS_COMPUTED = "certificates not widened"


@storable(shapes={"evidence": "6 12 9"})
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Watch:
    """The evidence of the outcomes so far about the model's variances; replaced, never changed.

    Attributes
    ----------
    evidence
        log likelihood on the grid kappa2 x tau x nu, ``SHAPE``
    since
        number of the round since which certificates are widened; None if they are not
    lasted
        number of updates in a row after which they were widened
    told
        whether a warning was issued
    outcomes
        number of second outcomes that have come, up to ``LEAST``
    """

    evidence: Array = field(default_factory=lambda: np.zeros(SHAPE))
    since: int | None = None
    lasted: int = 0
    told: bool = False
    outcomes: int = 0

    def __str__(self) -> str:
        if self.since is None:
            return f"{AS_COMPUTED}, as outcomes lie no further from the beliefs than the model allows"
        return f"certificates widened since t = {self.since}: {self.widening}"

    def __repr__(self) -> str:
        return f"Watch({AS_COMPUTED if self.since is None else self})"

    def after(self, seen: Residuals, t: int) -> Watch:
        """The watch after the outcomes of round t; warns once, if the first widening lasts."""
        if self.outcomes < LEAST:
            return replace(self, outcomes=min(self.outcomes + int((seen.free + 1.0).sum()), LEAST))
        kept = (1.0 - 1.0 / MEMORY) ** len(seen.deviation)
        later = self._with(kept * self.evidence + _log_likelihood(seen), t)
        if later.lasted < LASTING or later.told:
            return later
        warn(
            "second outcomes lie further from the beliefs than the model allows, so certificates are widened "
            f"since t = {later.since}, until outcomes fit again: {later.widening}. {WHAT_TO_DO}"
        )
        return replace(later, told=True)

    def under(self, before: Model | None, now: Model | None, t: int) -> Watch:
        """The watch after the model changed in round t; if its shape did, most evidence was about the old one."""
        old, new = (None if model is None or model.shapes is None else model.shapes[1] for model in (before, now))
        if old is new or (old is not None and new is not None and old.alike(new) and old.mean == new.mean):
            return self
        faded = self._with(CHANGED * self.evidence, t)
        return replace(faded, lasted=min(faded.lasted, self.lasted))  # the update is counted once

    def _with(self, evidence: Array, t: int) -> Watch:
        evidence = np.maximum(evidence - evidence.max(), -DEEPEST)
        evidence.setflags(write=False)
        if not _widening(evidence):
            return replace(self, evidence=evidence, since=None, lasted=0)
        since = t if self.since is None else self.since
        return replace(self, evidence=evidence, since=since, lasted=self.lasted + 1)

    @cached_property
    def widening(self) -> Widening:
        """The widening of certificates from now on; none unless that is likelier than not."""
        return _widening(self.evidence)


def _widening(evidence: Array) -> Widening:
    logs = _LOG_PRIOR + evidence
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    by_kappa2, by_tau = weights.sum(axis=(1, 2)), weights.sum(axis=(0, 2))
    kappa2 = float(by_kappa2 @ KAPPA2) if by_kappa2[KAPPA2 > 1.0].sum() > 0.5 else 1.0
    tau2 = float(by_tau @ np.square(TAU)) if by_tau[0] < 0.5 else 0.0
    return Widening(max(kappa2, 1.0), tau2)


def _log_likelihood(seen: Residuals) -> Array:
    """Log likelihood on the grid kappa2 x tau x nu, ``SHAPE``."""
    by_kappa2 = np.multiply.outer(seen.model, KAPPA2)[:, :, None, None]
    by_tau = np.multiply.outer(seen.common, np.square(TAU))[:, None, :, None]
    by_nu = np.multiply.outer(seen.noise, np.square(NU))[:, None, None, :]
    variance = by_kappa2 + by_tau + by_nu
    excess = (np.square(seen.deviation) / (3.0 * TAILS))[:, None, None, None]
    # -1/2 log v - 3 log(1 + x / v)
    of_means: Array = (2.5 * np.log(variance) - 3.0 * np.log(variance + excess)).sum(axis=0)
    variance = (
        np.multiply.outer(seen.within, KAPPA2)[:, :, None] + np.multiply.outer(seen.rough, np.square(NU))[:, None]
    )
    scatter = np.minimum(seen.scatter[:, None, None] / variance, MOST_SCATTER)
    of_scatter = -0.5 * np.einsum("g,gij->ij", seen.free, np.log(variance) + scatter)
    total: Array = of_means + of_scatter[:, None, :]
    return total
