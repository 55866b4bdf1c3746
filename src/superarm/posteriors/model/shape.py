"""The prior of one output: kernel, noise, mean, and which effects groups have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array
from superarm.contexts import Columns
from superarm.kernels.columns import OfColumns, placed
from superarm.kernels.combinations import PairOfKernels, ProductKernel, SumKernel
from superarm.kernels.effects import Constant, GroupEffects, Trend
from superarm.kernels.fading import Fading
from superarm.kernels.interactions import interactions_of, with_interactions
from superarm.kernels.kernel import Kernel, parameters
from superarm.kernels.scaled import ScaledKernel
from superarm.kernels.seasons import Seasons
from superarm.kernels.standardised import Standardised
from superarm.kernels.stationary import Laplacian, Stationary
from superarm.posteriors.model.features import Features
from superarm.posteriors.model.guess import guessed_kernel
from superarm.posteriors.model.standing import Promised, Slope
from superarm.round import LARGEST
from superarm.storage import storable

NORMAL, BINARY, COUNT = "normal", "binary", "count"
SMALLEST = 1.0 / LARGEST  # scale of outcomes
# First guesses:
QUIET = 0.3  # of the noise, as a share of the standard deviation of all outcomes
EFFECT = 0.3  # of the variance of a group's constant, as a share of that of the shared function
DEVIATION = 0.1  # the same for a function of the group's own
MEMORY = 3.0  # of the memory, as a multiple of the rounds that outcomes span
SEASON = 0.3  # of the variance of what returns with a season, as a share of that of what stays
LONGER = 3.0  # of the lengthscales of a Laplacian kernel, as multiples of those of others


@storable
@dataclass(frozen=True, kw_only=True)
class Effects:
    """Variances of what a group adds to the shared function, 0 where it adds nothing."""

    offset: float = 0.0  # a constant
    deviation: float = 0.0  # a function of its own, as a share of the variance of the shared one
    fresh: float = 0.0  # a constant that is drawn again in every round

    @staticmethod
    def guess(parts: tuple[bool, bool, bool], variance: float) -> Effects:
        """First guesses of the effects in ``parts``; ``variance`` is that of the shared function."""
        offset, deviation, fresh = parts
        size = EFFECT * variance
        return Effects(offset=size * offset, deviation=DEVIATION * deviation, fresh=size * fresh)

    @property
    def present(self) -> tuple[bool, bool, bool]:
        """Which effects there are: offset, deviation, fresh."""
        return self.offset > 0.0, self.deviation > 0.0, self.fresh > 0.0

    def times(self, size: float) -> Effects:
        """All effects, multiplied by ``size``."""
        return Effects(offset=size * self.offset, deviation=size * self.deviation, fresh=size * self.fresh)

    def at_least(self, deviation: float) -> Effects:
        """The effects with a deviation, if there is one, of at least this share of the variance."""
        return replace(self, deviation=max(self.deviation, deviation)) if self.deviation else self

    @property
    def columns(self) -> int:
        """How many columns points need beside the features: the group, and t."""
        return 2 if self.fresh else 1 if self.offset or self.deviation else 0


_NEW = {"kind": NORMAL, "usual": 1.0, "memory": 0.0, "even": False, "seasons": (), "promised": None}


@storable(upgrade=lambda fields: {**_NEW, **fields})
@dataclass(frozen=True, kw_only=True)
class Shape:
    """Kernel of the features, noise, mean, variance of a constant (0: none), group effects, memory and seasons."""

    base: Kernel
    noise: float  # standard deviation
    mean: float = 0.0
    constant: float = 0.0
    effects: Effects = Effects()
    kind: str = NORMAL  # of its outcomes, which decides what their noise depends on
    usual: float = 1.0  # the expected count at which the noise is ``noise``
    memory: float = 0.0  # rounds after which all but the constant is new; 0: it never changes
    even: bool = False  # whether it changes smoothly, not like a random walk
    seasons: tuple[tuple[float, float], ...] = ()  # periods in rounds, ascending, each with the size of what returns
    promised: Promised | None = None  # shifts of the means of groups, which follow their thresholds

    @staticmethod
    def guess(features: Features, mean: float, std: float, *, every_column: bool = False) -> Shape:
        """The shape to start from if nothing is known: a smooth and a linear part, each of the outcomes' variance.

        Distances grow as the square root of the number of features, and so do the lengthscales. Features of 0 and 1
        have only a linear part, or the smooth part would have to be learnt anew for each value; with ``every_column``
        they are like all others. Every category adds a constant, and has a smooth part of its own that is much like
        those of the others.
        """
        std = min(max(std, SMALLEST), LARGEST)
        variance = std**2
        return Shape(
            base=guessed_kernel(features, variance, every_column=every_column),
            noise=QUIET * std,
            mean=mean,
            constant=variance,
            effects=Effects.guess((True, True, False), variance),
        )

    def kernel(self, dimension: int, columns: int) -> Kernel:
        """The kernel over points with so many features and further columns."""
        kernel = self.base
        if columns:
            kernel = GroupEffects(base=kernel, features=dimension, **vars(self.effects))
        if self.promised is not None:
            kernel = SumKernel(kernel, Slope(promised=self.promised, column=dimension))
        if self.memory:
            kernel = ProductKernel(kernel, Fading(column=dimension + 1, memory=self.memory, even=self.even))
        if self.seasons:
            periods, sizes = zip(*self.seasons, strict=True)
            kernel = ProductKernel(kernel, Seasons(column=dimension + 1, periods=periods, sizes=sizes))
        return SumKernel(kernel, Constant(self.constant)) if self.constant else kernel

    def learnt(self, kernel: Kernel, noise: float) -> Shape:
        """The same shape with the hyperparameters of ``kernel``: that of :meth:`kernel`, which has learnt since."""
        if self.constant:
            assert isinstance(kernel, SumKernel)
            kernel = kernel.first
        memory, seasons = 0.0, self.seasons
        if seasons:
            assert isinstance(kernel, ProductKernel)
            returning, kernel = kernel.second, kernel.first
            assert isinstance(returning, Seasons)
            seasons = tuple(zip(returning.periods, returning.sizes, strict=True))
        if self.memory:
            assert isinstance(kernel, ProductKernel)
            fading, kernel = kernel.second, kernel.first
            assert isinstance(fading, Fading)
            memory = fading.memory
        moving = replace(self, noise=noise, memory=memory, seasons=seasons)
        if self.promised is not None:
            assert isinstance(kernel, SumKernel)
            kernel = kernel.first
        if not isinstance(kernel, GroupEffects):
            return replace(moving, base=kernel)
        effects = Effects(offset=kernel.offset, deviation=kernel.deviation, fresh=kernel.fresh)
        return replace(moving, base=kernel.base, effects=effects)

    @property
    def columns(self) -> int:
        """How many columns points need beside the features: the group, and t."""
        return 2 if self.memory or self.seasons else max(self.effects.columns, int(self.promised is not None))

    def mean_at(self, keys: Array) -> Array | float:
        """Prior mean, (n,), in the groups of these keys."""
        return self.mean if self.promised is None else self.mean + self.promised.at(keys)

    def having(self, like: Shape, variance: float, span: float) -> Shape:
        """The same shape with first guesses of the effects, the memory and the seasons that another shape has.

        ``variance`` is that of the shared function, ``span`` the number of rounds that outcomes span.
        """
        effects, memory = Effects.guess(like.effects.present, variance), MEMORY * span if like.memory else 0.0
        seasons = tuple((period, SEASON) for period in like.periods)
        return replace(self, effects=effects, memory=memory, even=like.even, seasons=seasons, promised=like.promised)

    @property
    def periods(self) -> tuple[float, ...]:
        """The periods of the seasons, in rounds."""
        return tuple(period for period, _ in self.seasons)

    def over(self, columns: Columns) -> Shape:
        """The same shape with its kernel placed at the columns that it names."""
        return replace(self, base=placed(self.base, columns))

    @property
    def every_column(self) -> bool:
        """Whether the smooth part of a guess covers all features that its linear part covers."""
        parts = list(parts_of(self.base))
        smooth = next((part for part in parts if isinstance(part, Stationary)), None)
        trend = next((part for part in parts if isinstance(part, Trend)), None)
        return smooth is None or trend is None or np.size(smooth.lengthscale) == len(trend.scale)

    def alike(self, other: Shape) -> bool:
        """Whether both differ at most in the values of hyperparameters."""
        same = stationary_kind(self.base) is stationary_kind(other.base)
        sizes = len(parameters(self.base)) == len(parameters(other.base))
        fades = (self.memory > 0.0, self.even) == (other.memory > 0.0, other.even)
        moves = fades and self.periods == other.periods
        same &= isinstance(self.base, OfColumns) == isinstance(other.base, OfColumns)
        groups = self.effects.present == other.effects.present and (self.promised is None) == (other.promised is None)
        return same and sizes and moves and groups and self.kind == other.kind

    def in_kind_of(self, other: Shape) -> Shape:
        """The same shape with the kind of stationary kernel that another shape has, and with its interactions."""
        kind = stationary_kind(other.base)
        base = (None if kind is None else with_stationary(self.base, kind)) or self.base
        products = interactions_of(other.base)
        if products is not None:
            base = with_interactions(base, scaled(products, self.constant / float(parameters(products)[0])))
        return replace(self, base=base)

    def rescaled(self, mean: float, factor: float, variance: float) -> Shape:
        """The same shape around another, uncertain mean, with standard deviations multiplied by a factor."""
        base, noise = scaled(self.base, factor**2), self.noise * factor
        return replace(self, base=base, noise=noise, mean=mean, constant=variance * factor**2)

    def variance(self, contexts: Array) -> float:
        """Variance of the shared function, averaged over contexts (n, D)."""
        return float(self.base.diagonal(contexts).mean())

    def size(self, contexts: Array) -> float:
        """The same, but at most that of the outcomes, if these set the scale: each part alone may have all of it."""
        variance = self.variance(contexts)
        return min(variance, self.constant) if self.constant else variance


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with its variance multiplied."""
    if isinstance(kernel, SumKernel):
        return SumKernel(scaled(kernel.first, factor), scaled(kernel.second, factor))
    if isinstance(kernel, ProductKernel):
        return ProductKernel(scaled(kernel.first, factor), kernel.second)
    if isinstance(kernel, ScaledKernel | Standardised):
        return replace(kernel, variance=kernel.variance * factor)
    if isinstance(kernel, OfColumns):
        return replace(kernel, base=scaled(kernel.base, factor))
    return ProductKernel(kernel, Constant(factor))


def stationary_kind(kernel: Kernel) -> type[Stationary] | None:
    """The class of the first stationary part of a kernel."""
    return next((type(part) for part in parts_of(kernel) if isinstance(part, Stationary)), None)


def parts_of(kernel: Kernel) -> Iterator[Kernel]:
    """The innermost parts of a kernel, in order."""
    if isinstance(kernel, OfColumns):
        yield from parts_of(kernel.base)
    elif isinstance(kernel, PairOfKernels):
        yield from parts_of(kernel.first)
        yield from parts_of(kernel.second)
    else:
        yield kernel


def with_stationary(kernel: Kernel, kind: type[Stationary]) -> Kernel | None:
    """The kernel with the first of its stationary parts replaced by one of another kind; None where there is none.

    The correlations of a Laplacian kernel fall steeply from distance 0 on, so its lengthscales are made longer.
    """

    def replaced(part: Stationary, _: int) -> Stationary:
        longer = LONGER ** ((kind is Laplacian) - isinstance(part, Laplacian))
        return kind(lengthscale=np.multiply(part.lengthscale, longer), variance=part.variance)

    return _changed(kernel, replaced, 0)


def of_columns(kernel: Kernel, columns: tuple[int, ...]) -> Kernel | None:
    """A stationary kernel with one lengthscale, restricted to some columns; None for any other kernel."""
    plain = isinstance(kernel, Stationary) and np.ndim(kernel.lengthscale) == 0
    return OfColumns(base=kernel, columns=columns) if plain else None


def without_columns(kernel: Kernel) -> Kernel | None:
    """The kernel that :func:`of_columns` restricted; None for any other kernel."""
    if not isinstance(kernel, OfColumns) or kernel.names or not isinstance(kernel.base, Stationary):
        return None
    lengthscale = float(np.exp(np.log(kernel.base.lengthscale).mean()))
    return replace(kernel.base, lengthscale=lengthscale)


def with_every_lengthscale(kernel: Kernel, dimension: int) -> Kernel | None:
    """The kernel with one lengthscale for each dimension in its first stationary part that has one for all."""

    def separated(part: Stationary, width: int) -> Stationary | None:
        one = np.ndim(part.lengthscale) == 0 and width > 1
        return replace(part, lengthscale=np.full(width, part.lengthscale)) if one else None

    return _changed(kernel, separated, dimension)


def _changed(kernel: Kernel, change: Callable[[Stationary, int], Stationary | None], width: int) -> Kernel | None:
    """The kernel with the first stationary part changed for which ``change`` gives another; None where none can.

    ``width`` is the number of features that it reads.
    """
    if isinstance(kernel, Stationary):
        return change(kernel, width)
    names: tuple[str, ...] = ()
    if isinstance(kernel, OfColumns):
        names, width = ("base",), len(kernel.columns)
    elif isinstance(kernel, PairOfKernels):
        names = ("first", "second")
    for name in names:
        part = _changed(getattr(kernel, name), change, width)
        if part is not None:
            return replace(kernel, **{name: part})  # type: ignore[type-var]  # both are data classes
    return None
