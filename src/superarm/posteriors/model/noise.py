"""How far outcomes scatter about what is expected of them, row by row.

All outcomes of a shape have the same noise, unless more is known about some:

- the user gave it with the outcome;
- outcomes are 0 or 1: the variance is p (1 - p), where p is the expected outcome;
- outcomes are counts: the variance is the expected outcome times a learnt factor (1 for Poisson).

The expected outcome is not known, so the variance follows from the present belief and is computed again whenever the
model is fitted (a Gaussian that matches two moments, not the likelihood itself). The believed mean counts as at least
its standard deviation away from values at which the variance vanishes: ten clicks in ten do not make the next certain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from superarm.arguments import Array, listed, one_of
from superarm.errors import InvalidArgument, safe_repr
from superarm.posteriors.learning.row_noise import RowNoise
from superarm.posteriors.model.shape import BINARY, COUNT, NORMAL, Shape
from superarm.posteriors.posterior import Belief

KINDS = (NORMAL, BINARY, COUNT)
SURE = 1e-3  # least distance of a probability from 0 and 1, and least expected count
LIMITS = {NORMAL: (-np.inf, np.inf), BINARY: (0.0, 1.0), COUNT: (0.0, np.inf)}  # of the expected outcome
CLOSEST = 0.02  # least share in the belief about a value that is not its own
VALUES = 3  # distinct values that whole numbers must have to be taken for counts

Kinds = tuple[str | None, str | None]


def row_noise(shape: Shape, given: Array, mean: Array, std: Array) -> RowNoise | None:
    """The noise of outcomes with these given noises, (n,), 0 where none, and this belief; None if it is even."""
    known, alike = np.square(given), np.ones_like(given)
    if shape.kind == BINARY:
        return RowNoise(known=np.where(known > 0.0, known, _chance(mean, std)), relative=alike)
    if shape.kind == COUNT:
        return RowNoise(known=known, relative=_expected(mean, std) / shape.usual)
    return RowNoise(known=known, relative=alike) if known.any() else None


def noises(shapes: tuple[Shape, Shape], given: Array, belief: Belief) -> Array | None:
    """(n, 2) standard deviations of the noise of outcomes, NaN where it is that of the shape; None where all are."""
    stds = np.full(given.shape, np.nan)
    for j, shape in enumerate(shapes):
        uneven = row_noise(shape, given[:, j], belief.mean[:, j], belief.std[:, j])
        if uneven is not None:
            stds[:, j] = np.sqrt(uneven.variance(shape.noise**2))
    return None if np.isnan(stds).all() else stds


def of_kind(shape: Shape, kind: str, values: Array, *, guessed: bool = False) -> Shape:
    """The shape for outcomes of this kind, with the noise that these values suggest.

    If its noise is only ``guessed``, counts get Poisson's.
    """
    expected = float(values.mean()) if len(values) else 0.5
    if kind == BINARY:
        return replace(shape, kind=kind, noise=float(np.sqrt(_chance(np.array([expected]), np.array([0.05]))[0])))
    usual = max(expected, SURE) if kind == COUNT else 1.0
    noise = float(np.sqrt(usual)) if guessed and kind == COUNT else shape.noise
    return replace(shape, kind=kind, usual=usual, noise=noise)


def scatter_of_expected(kind: str, values: Array) -> float:
    """A first guess of the standard deviation of the expected outcomes, from observed ones.

    For numbers of any kind it is that of the outcomes. The scatter of clicks and counts is mostly noise. For counts the
    guess is what Poisson's noise leaves of the variance, and at least a third of it; for clicks it is that third, which
    is left if all probabilities of a click are equally frequent.
    """
    if kind == NORMAL:
        return float(values.std())
    variance, mean = float(values.var()), float(values.mean())
    return float(np.sqrt(max(variance / 3.0, variance - mean if kind == COUNT else 0.0)))


def _expected(mean: Array, std: Array) -> Array:
    """The expected count plus its standard deviation: a few zeros do not prove that there is nothing."""
    count: Array = np.maximum(mean, SURE) + std
    return count


def _chance(mean: Array, std: Array) -> Array:
    """p (1 - p), p kept away from 0 and 1 by its own standard deviation."""
    away = np.clip(std, SURE, 0.5)
    p = np.clip(mean, away, 1.0 - away)
    variance: Array = p * (1.0 - p)
    return variance


def recognised(values: Array, least: int) -> str:
    """The kind of outcomes that values, (n,), look like; normal if there are fewer than ``least``.

    >>> recognised(np.array([0.0, 1.0, 1.0, 0.0]), least=4), recognised(np.array([0.0, 3.0, 1.0, 2.0]), least=4)
    ('binary', 'count')
    >>> recognised(np.array([0.5, 1.0, 1.0, 0.0]), least=4)
    'normal'
    """
    if len(values) < least or (values < 0.0).any() or (values != np.floor(values)).any():
        return NORMAL
    distinct = np.unique(values)
    if distinct[-1] <= 1.0:
        return BINARY if len(distinct) == 2 else NORMAL
    return COUNT if len(distinct) >= VALUES else NORMAL


def scatters_as_counts(values: Array, mean: Array, std: Array) -> bool:
    """Whether whole numbers are more probable with a noise that grows with the expected count than with even noise.

    >>> rng, rate = np.random.default_rng(0), np.linspace(2.0, 40.0, 200)
    >>> counts, ratings = rng.poisson(rate), np.round(rate + rng.normal(0.0, 1.0, 200))
    >>> [scatters_as_counts(values, rate, np.full(200, 0.1)) for values in (counts, ratings)]
    [True, False]
    """
    squares, relative = np.square(values - mean), _expected(mean, std)
    alike, growing = squares.mean(), (squares / relative).mean()
    return bool(len(values) * np.log(growing) + np.log(relative).sum() < len(values) * np.log(alike))


def left_out(values: Array, mean: Array, std: Array, noise: Array) -> Array:
    """(n,) the mean that each of these values would have without itself in the data, from the belief given all.

    If f given all data has variance s^2 and the noise n^2, a value draws the mean towards itself by the share
    s^2 / n^2. So a model that follows every value is not mistaken for one that knows better.
    """
    own = np.minimum(np.square(std) / noise, 1.0 - CLOSEST)
    without: Array = values - (values - mean) / (1.0 - own)
    return without


def check_values(kinds: Kinds, values: Array) -> None:
    """Refuse outcomes, (k, 2) with NaN where none came, that are not of the kind declared."""
    for j, kind in enumerate(kinds):
        came = values[~np.isnan(values[:, j]), j]
        most = 1.0 if kind == BINARY else np.inf
        wrong = (came < 0.0) | (came > most) | (came != np.floor(came))
        if kind in (BINARY, COUNT) and wrong.any():
            expected = "0 or 1" if kind == BINARY else "whole numbers >= 0"
            raise InvalidArgument(
                "outcomes", f"{expected}, because outcome {j + 1} was declared {kind!r}", came[wrong][0]
            )


def checked_kinds(outcomes: Any) -> Kinds:
    """One kind for both outcomes, or one for each; None where it is recognised from the data."""
    if outcomes is None or isinstance(outcomes, str):
        outcomes = (outcomes, outcomes)
    expected = "one of normal, binary and count, or one for each of the two outcomes"
    pair = listed("outcomes", outcomes, expected)
    if len(pair) != 2:
        raise InvalidArgument("outcomes", expected, safe_repr(outcomes))
    first, second = (None if kind is None else one_of("outcomes", kind, KINDS) for kind in pair)
    return first, second
