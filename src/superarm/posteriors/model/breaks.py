"""Breaks: when outcomes lie far from what was believed, and from which round on the past says nothing of them.

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
from superarm.posteriors.learning.row_noise import RowNoise
from superarm.posteriors.model.log import Log
from superarm.posteriors.model.noise import row_noise
from superarm.posteriors.model.shape import Shape
from superarm.posteriors.posterior import Belief
from superarm.storage import storable

T = TypeVar("T")
Pair = tuple[T, T]  # of both outputs

WIDER = 2.0  # times the variance believed that the alarm compares with
MOST_SAID = 3.0  # nats that one outcome says, at most
RINGS = 3.0  # nats from which on the alarm rings
LOUDEST = 48.0  # nats that it may need, after it rang in vain
BROKEN = 10.0  # nats by which outcomes must be more probable without the past
BROKE_TOO = 2.0  # the same where the other output broke
LATEST = (1, 2, 3, 5, 9, 17)  # of the last so many rounds a break may be the first
RECENT = 80  # rows, the latest, that are looked at in any case
MATURE = 6  # rounds that must lie before a break: first it takes some to see how groups differ
ENOUGH = 40  # rows that must lie before a break: of fewer, noise is hardly known, and its guess may be far too small
OLDER = 200  # rows of all that are looked at beside them, at most
TAILS = 3.669  # as in the watch: innovations count by the density of t with 5 degrees of freedom
FARTHEST = 1e3  # standard deviations; a value farther off is beyond the model with any past


@dataclass(frozen=True, kw_only=True)
class Break:
    """The round from which on the past says nothing, and by how much outcomes are more probable without it."""

    t: int
    nats: float  # by tails that are heavy
    normal: float  # by normal densities, as other structure is judged


@storable
@dataclass(frozen=True, kw_only=True)
class Alarm:
    """For each output the nats by which wider variances are more probable, no less than 0, and what makes it ring."""

    nats: tuple[float, float] = (0.0, 0.0)
    needed: float = RINGS

    def after(self, belief: Belief, noise: Pair[float], values: Array, told: Array | None = None) -> Alarm:
        """When outcomes (k, 2), NaN where none came, were seen that a belief (k, 2) did not know.

        Their noise is the usual one, ``noise``, or what is ``told``, (k, 2), where that is a number.
        """
        usual = np.broadcast_to(noise, values.shape)
        each = usual if told is None else np.where(np.isnan(told), usual, told)
        now = []
        for output in (0, 1):
            came = ~np.isnan(values[:, output])
            variance = np.square(belief.std[came, output]) + np.square(each[came, output])
            with np.errstate(over="ignore"):
                squares = np.square(values[came, output] - belief.mean[came, output]) / variance
            said = 0.5 * (1.0 - 1.0 / WIDER) * squares - 0.5 * math.log(WIDER)
            now.append(min(max(0.0, self.nats[output] + float(np.minimum(said, MOST_SAID).sum())), LOUDEST))
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
    """Of the outputs that the alarm rings for, or one of them does and the other broke, those that broke.

    Noise is taken to be at least what was given, ``noise``. Where outcomes happened to be all alike, as clicks may be,
    the learnt noise is very small, and the first outcome that differs would look like a break. ``belief`` at all rows
    of the log decides it where it is uneven.
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
    """Of all rows of the log, where it is uneven; a belief there is needed then."""
    if belief is None:
        return None
    return row_noise(shape, log.noise[:, output], belief.mean[:, output], belief.std[:, output])


def break_in(log: Log, output: int, shape: Shape, belief: Belief | None = None) -> Break | None:
    """Where the past says least of an output, if it does; None where too little was seen before."""
    rows = np.union1d(log.sample(output, OLDER), np.flatnonzero(log.present[:, output])[-RECENT:])
    rows = rows[np.argsort(log.rounds[rows], kind="stable")]
    uneven = noise_at(log, output, shape, belief)
    noise = np.full(len(rows), shape.noise**2) if uneven is None else uneven.at(rows).variance(shape.noise**2)
    kernel = shape.kernel(log.contexts.shape[1], shape.columns)
    values = log.values[rows, output] - shape.mean_at(log.keys[rows])
    with suited_to(0):
        return _break(kernel, noise, log.points(shape.columns)[rows], values, log.rounds[rows])


def _break(kernel: Kernel, noise: Array, points: Array, values: Array, rounds: Array) -> Break | None:
    """The same of values, (n,), around the prior mean at points, (n, P), seen in rounds, (n,), ascending.

    ``noise``, (n,), are variances. With z_i the innovation of a row given those before it, the density of all rows is
    the product of those of the z_i; of a break the rows from there on have innovations among themselves alone.
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
    """Of every value given those before it, but for a constant each, by heavy tails and by normal ones, ``(2, n)``.

    None where the covariance has no factor.
    """
    try:
        lower = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return None
    squares = np.square(np.clip(solve_triangular(lower, values, lower=True), -FARTHEST, FARTHEST))
    densities: Array = np.array([-3.0 * np.log1p(squares / TAILS), -0.5 * squares]) - np.log(np.diagonal(lower))
    return densities
