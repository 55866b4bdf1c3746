"""Batch-aware widths: what is picked in a round leaves less to learn from the arms not yet picked.

The future work of the paper's conclusion: the arms of a super arm count as observed before any outcome came, see
:mod:`superarm.posteriors.picked`.
"""

from __future__ import annotations

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import InvalidArgument
from superarm.posteriors.picked import Picked
from superarm.posteriors.posterior import Belief, CovaryingPosterior, Posterior
from superarm.posteriors.rows import distinct_rows

# Noise of at least this share of the variance: differences of covariances are not known better.
ROUNDING = 1e-14


def covarying(posterior: Posterior) -> CovaryingPosterior:
    """The posterior, or an error that says what ``batch_aware`` needs of it."""
    if not isinstance(posterior, CovaryingPosterior):
        expected = "an object with covariance and noise_std, which batch_aware=True needs"
        raise InvalidArgument("posterior", expected, repr(posterior))
    return posterior


def by_index(arms: IntArray, index: Array, order: IntArray) -> IntArray:
    """The arms, best index first; ties in their order, (M,)."""
    picked = np.zeros(len(order), dtype=np.bool_)
    picked[arms] = True
    in_order = order[picked[order]]
    return in_order[np.argsort(-index[in_order], kind="stable")]


def belief_in_order(posterior: CovaryingPosterior, contexts: Array, belief: Belief, picks: IntArray) -> Belief:
    """The belief about every arm given that the picks before it were observed, their outcomes still unseen.

    A pick comes after the picks before it, every other arm after all picks. Means stay as they are. Each output is
    conditioned on its own outcomes, which is all there is to it where outputs are independent; where they are
    correlated, what one output would tell of the other is left aside, so the widths are then rather too wide.

    Parameters
    ----------
    posterior
        what is believed
    contexts
        (M, D) of all arms
    belief
        (M,) ``posterior.predict(contexts)``
    picks
        (K,) arms in the order in which they are picked
    """
    if not len(picks):
        return belief
    first, place = distinct_rows(contexts)
    variance = np.square(belief.std[first].T)  # (2, m) of the distinct contexts

    # Picks of one context in a row make one update.
    starts = np.flatnonzero(np.diff(place[picks], prepend=-1))
    counts = np.diff(starts, append=len(picks))
    where = place[picks[starts]]  # (r,)
    at, row = np.unique(where, return_inverse=True)
    covariance = posterior.covariance(contexts[first[at]], contexts[first])[:, row]  # (2, r, m), given no pick
    noise = np.maximum(np.square(posterior.noise_std), ROUNDING * variance.max(axis=1))
    picked = Picked(variance, noise, np.empty_like(covariance))
    turns = zip(where.tolist(), counts.tolist(), strict=True)
    before = np.stack([picked.pick(x, covariance[:, i], count) for i, (x, count) in enumerate(turns)], axis=1)

    # After j outcomes of its own a context of variance v has v s2 / (s2 + j v) left.
    j, v, s2 = np.arange(len(picks)) - np.repeat(starts, counts), np.repeat(before, counts, axis=1), noise[:, None]
    std = np.empty((2, len(contexts)))
    std[:, picks] = np.sqrt(v * s2 / (s2 + j * v))
    others = np.ones(len(contexts), dtype=np.bool_)
    others[picks] = False
    std[:, others] = np.sqrt(picked.variance)[:, place[others]]
    return Belief(mean=belief.mean, std=std.T)
