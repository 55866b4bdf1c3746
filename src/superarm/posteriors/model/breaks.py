"""Breaks: rounds from which on the past says nothing about the outcomes, because the truth has changed.

There are two steps, because the second is expensive. An :class:`Alarm` adds up, round by round, how much more probable
the outcomes are if all variances were twice those believed. Where it rings, :func:`break_in` asks from which of the
latest rounds on outcomes are more probable by the prior alone than given all that came before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from superarm.arguments import Array
from superarm.compiled import suited_to
from superarm.kernels.kernel import Kernel
from superarm.posteriors.given_noise import with_usual
from superarm.posteriors.learning.row_noise import RowNoise
from superarm.posteriors.model.log import Log
from superarm.posteriors.model.noise import row_noise
from superarm.posteriors.model.shape import Shape
from superarm.posteriors.posterior import Belief
from superarm.storage import storable

T = TypeVar("T")
Pair = tuple[T, T]  # one for each output

WIDER = 2.0  # factor on the believed variances under which the alarm judges outcomes again
MOST_SAID = 3.0  # most nats that one outcome adds to the alarm
RINGS = 3.0  # nats from which on the alarm rings
LOUDEST = 48.0  # most nats that it may need to ring, after it rang in vain
BROKEN = 10.0  # nats by which outcomes must be more probable without the past
BROKE_TOO = 2.0  # the same if the other output broke
LATEST = (1, 2, 3, 5, 9, 17)  # a break may begin with the first of the last so many rounds
RECENT = 80  # latest rows, all of which are judged
OLDER = 200  # most rows judged beside these, sampled from all
MATURE = 6  # rounds that must lie before a break: it takes some to see how groups differ
ENOUGH = 40  # rows that must lie before a break: with fewer the noise is hardly known, and its guess may be too small
TAILS = 3.669  # as in the watch: innovations count by the density of t with 5 degrees of freedom
FARTHEST = 1e3  # standard deviations; a value farther off is beyond the model with or without the past


@dataclass(frozen=True, kw_only=True)
class Break:
    """The round from which on the past says nothing, and by how much outcomes are more probable without it."""

    t: int
    nats: float  # with heavy tails
    normal: float  # with normal densities, by which other structure is judged


@storable
@dataclass(frozen=True, kw_only=True)
class Alarm:
    """Adds up, for each output, how much more probable outcomes are under wider variances than under the belief."""

    nats: tuple[float, float] = (0.0, 0.0)  # at least 0
    needed: float = RINGS  # nats above which it rings

    def after(self, belief: Belief, usual: Pair[float], values: Array, noise: Array | None = None) -> Alarm:
        """The alarm after outcomes (k, 2), NaN where none came, judged by the belief (k, 2) before them.

        Their noise is the ``usual`` one, except where ``noise``, (k, 2), is a number.
        """
        noises = with_usual(noise, usual, values.shape)
        now = []
        for output in (0, 1):
            came = ~np.isnan(values[:, output])
            variance = np.square(belief.std[came, output]) + np.square(noises[came, output])
            with np.errstate(over="ignore"):
                squares = np.square(values[came, output] - belief.mean[came, output]) / variance
            nats = 0.5 * (1.0 - 1.0 / WIDER) * squares - 0.5 * math.log(WIDER)
            now.append(min(max(0.0, self.nats[output] + float(np.minimum(nats, MOST_SAID).sum())), LOUDEST))
        return replace(self, nats=(now[0], now[1]))

    @property
    def rings(self) -> bool:
        """Whether to search for a break."""
        return max(self.nats) > self.needed

    def rings_for(self, output: int) -> bool:
        """Whether to search for a break in this output."""
        return self.nats[output] > self.needed

    def answered(self, *, found: bool) -> Alarm:
        """The alarm after a search: if nothing was found, it needs twice as much to ring again."""
        return Alarm(needed=RINGS if found else min(2.0 * self.needed, LOUDEST))


SILENT = Alarm()


def breaks(log: Log, shapes: Pair[Shape], noise: Pair[float], belief: Belief | None, alarm: Alarm) -> dict[int, Break]:
    """The outputs that broke, among those for which the alarm rings; if one broke, the other is judged too.

    Noise is taken to be at least what was given, ``noise``. Where outcomes happened to be all alike, as clicks may be,
    the learnt noise is very small, and the first outcome that differs would look like a break. ``belief`` at all rows
    of the log decides the noise where it is uneven.
    """
    found: dict[int, Break] = {}
    for output in (0, 1, 0):
        if output not in found and (alarm.rings_for(output) or found):
            shape = replace(shapes[output], noise=max(shapes[output].noise, noise[output]))
            broken = break_in(log, output, shape, belief)
            if broken is not None and broken.nats > (BROKE_TOO if found else BROKEN):
                found[output] = broken
    return found


def noise_at(log: Log, output: int, shape: Shape, belief: Belief | None) -> RowNoise | None:
    """The noise at all rows of the log, given the belief there; None, for even noise, without a belief."""
    if belief is None:
        return None
    return row_noise(shape, log.noise[:, output], belief.mean[:, output], belief.std[:, output])


def break_in(log: Log, output: int, shape: Shape, belief: Belief | None = None) -> Break | None:
    """The likeliest break of an output, however unlikely; None if too little was seen before any."""
    rows = np.union1d(log.sample(output, OLDER), np.flatnonzero(log.present[:, output])[-RECENT:])
    rows = rows[np.argsort(log.rounds[rows], kind="stable")]
    uneven = noise_at(log, output, shape, belief)
    noise = np.full(len(rows), shape.noise**2) if uneven is None else uneven.at(rows).variance(shape.noise**2)
    kernel = shape.kernel(log.contexts.shape[1], shape.columns)
    values = log.values[rows, output] - shape.mean_at(log.keys[rows])
    with suited_to(0):
        return _break(kernel, noise, log.points(shape.columns)[rows], values, log.rounds[rows])


def _break(kernel: Kernel, noise: Array, points: Array, values: Array, rounds: Array) -> Break | None:
    """The same for values, (n,), less their prior mean, at points, (n, P), seen in rounds, (n,), ascending.

    ``noise``, (n,), are variances. With z_i the innovation of a row given those before it, the density of all rows is
    the product of those of the z_i. After a break, a row's innovation is given only the rows since the break.
    """
    covariance = kernel(points, points)
    covariance.flat[:: len(values) + 1] += noise
    together = _log_densities(covariance, values)
    distinct = np.unique(rounds)
    best: Break | None = None
    for back in LATEST:
        if together is None or back > len(distinct) - MATURE:
            break
        first = int(np.searchsorted(rounds, distinct[-back]))
        if first < ENOUGH:
            break
        alone = _log_densities(covariance[first:, first:], values[first:])
        if alone is not None:
            nats, normal = (alone - together[:, first:]).sum(axis=1).tolist()
            if best is None or nats > best.nats:
                best = Break(t=int(distinct[-back]), nats=nats, normal=normal)
    return best


def _log_densities(covariance: Array, values: Array) -> Array | None:
    """Of every value given those before it, up to a constant: with heavy tails and with normal ones, ``(2, n)``.

    None where the covariance has no factor.
    """
    try:
        lower = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return None
    squares = np.square(np.clip(solve_triangular(lower, values, lower=True), -FARTHEST, FARTHEST))
    densities: Array = np.array([-3.0 * np.log1p(squares / TAILS), -0.5 * squares]) - np.log(np.diagonal(lower))
    return densities
