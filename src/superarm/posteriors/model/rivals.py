"""Rivals of a shape, each with the nats of evidence by which it must be better.

These nats are the presumptions about groups, smoothness and drifts; :mod:`superarm.posteriors.model.evidence` computes
the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypedDict

import numpy as np

from superarm.arguments import IntArray
from superarm.kernels.columns import OfColumns
from superarm.kernels.interactions import interactions_of, with_interactions, without_interactions
from superarm.kernels.stationary import Laplacian, Matern32, Matern52, SquaredExponential, Stationary
from superarm.posteriors.model.features import Features
from superarm.posteriors.model.guess import guessed_interactions
from superarm.posteriors.model.log import Log
from superarm.posteriors.model.shape import (
    MEMORY,
    SEASON,
    Effects,
    Shape,
    of_columns,
    stationary_kind,
    with_every_lengthscale,
    with_stationary,
    without_columns,
)
from superarm.posteriors.model.standing import Promised

ADOPTED = 3.0  # nats by which a shape with one more part must be better
TELLING = 100  # rows from which on group effects need that in full: a few outcomes cannot show that groups agree
SMOOTHER = 1.0  # nats for another smoothness, which adds no hyperparameter; ADOPTED for a smoother one than was given
JUMPS = 2.0  # nats for a kernel whose paths jump, as few noisy outcomes seem to
PRODUCTS = 1.0  # nats needed against products of features, which only make beliefs wider
MOVES = 4.0  # nats for a drift, which is tested more often than the rest
MOVES_TOO = 2.0  # the same if the other output drifts
SHORTEST = 4.0  # rounds that outcomes must span before a drift is tested
BENEFIT_OF_DOUBT = 2.0  # nats that anything else needs against groups with functions of their own
LESS = 6.0  # the same for groups that differ less, or come back and differ anew: certificates rely on these differences
TOO = 2.0  # nats needed against groups that differ, if they differ in the other output
NOTHING, OFFSET, DEVIATION = (False, False, False), (True, False, False), (True, True, False)
FRESH = (False, False, True)
STAYING = (OFFSET, DEVIATION)
# Which group effects there may be (offset, deviation, fresh), and how many parts each counts as.
EFFECTS = {NOTHING: 0, DEVIATION: 1, OFFSET: 1, FRESH: 1, (True, False, True): 2}
KINDS: tuple[type[Stationary], ...] = (SquaredExponential, Matern52, Matern32, Laplacian)  # the smoothest first

Rival = tuple[Shape, Shape, float]  # a shape, the given one that goes with it, and the nats by which it must be better
Change = Callable[[Shape, Shape, float], Iterator[Rival]]


class Known(TypedDict, total=False):
    """Facts that the rows of an output do not show."""

    returned: bool  # whether groups come back, picked or not
    drifts: bool  # whether the other output drifts
    differ: bool  # whether groups are presumed to differ, as they do in the other output
    promised: Promised | None  # what thresholds may tell about their groups
    features: Features | None  # statistics of all arms so far
    beside: tuple[int, ...] | None  # the features beside those that only encode the group, if there are such


@dataclass(frozen=True, kw_only=True, eq=False)
class Rivals:
    """Rival shapes for the outcomes of some rows, given the facts of :class:`Known`."""

    log: Log
    rows: IntArray
    periods: tuple[float, ...] = ()  # of the seasons that are possible
    returned: bool = False
    drifts: bool = False
    differ: bool = False
    promised: Promised | None = None
    features: Features | None = None
    beside: tuple[int, ...] | None = None

    def all(self, *, guessed: bool) -> tuple[Change, ...]:
        """Changes to try in turn; if the kernel was ``guessed``, features of 0 and 1 may be smooth or not."""
        smoothness = partial(self.smoothness, SMOOTHER if guessed else ADOPTED)
        # A drift looks like groups that differ, and the other way round: they compete, and both may be right.
        groups = (self.thresholds, self.spelled, self.effects_or_moves)
        columns = (self.columns,) if guessed else ()
        return (*groups, self.moves, smoothness, self.lengthscales, self.interactions, *columns)

    def thresholds(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Outcomes modelled around the thresholds of their groups, or no longer."""
        if self.promised is None:
            return
        promised, sign = (self.promised, 1.0) if now.promised is None else (None, -1.0)
        about = given.mean
        if given.constant:  # it was taken from the outcomes
            about -= sign * float(self.promised.at(self.log.keys[self.rows]).mean())
        changed = partial(replace, mean=about, promised=promised)
        yield changed(now), changed(given), -sign * TOO

    def spelled(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """A smooth function without the features that only encode the group; group effects replace them.

        Distances along one-hot columns are not comparable to those along other features, so one lengthscale fits
        neither. Once such columns tell more than the group, they return.
        """
        if self.beside is None:
            whole = [without_columns(shape.base) for shape in (now, given)]
            if whole[0] is not None and whole[1] is not None:
                yield replace(now, base=whole[0]), replace(given, base=whole[1]), -np.inf
        elif self.differ:
            some = [of_columns(shape.base, self.beside) for shape in (now, given)]
            if some[0] is not None and some[1] is not None:
                effects = now.effects if now.effects.present in STAYING else Effects.guess(DEVIATION, variance)
                its = Effects.guess(effects.present, variance)
                yield replace(now, base=some[0], effects=effects), replace(given, base=some[1], effects=its), -TOO

    def effects_or_moves(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        yield from self.effects(now, given, variance)
        yield from self.moves(now, given, variance)

    def effects_or_seasons(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        yield from self.effects(now, given, variance)
        yield from self.seasons(now, given, variance)

    def moves(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        yield from self.seasons(now, given, variance)
        yield from self.drift(now, given, variance)

    def drift(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """A truth that drifts from round to round, drifts in another way, or no longer."""
        if self.log.span < SHORTEST:
            return
        for fades, even in ((False, False), (True, False), (True, True)):
            if (fades, even) == (now.memory > 0.0, now.even):
                continue
            guess = MEMORY * self.log.span if fades else 0.0
            needed = (MOVES_TOO if self.drifts else MOVES) if fades and not now.memory else 0.0
            memory = (now.memory if now.even == even else 0.0) or guess if fades else 0.0
            yield replace(now, memory=memory, even=even), replace(given, memory=guess, even=even), needed

    def seasons(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """One more season, of a period that was asked for and is over once, also in place of a drift; or one less."""
        for period in self.periods:
            if period in now.periods:
                seasons = tuple(each for each in now.seasons if each[0] != period)
            elif self.log.span > period:
                seasons = tuple(sorted((*now.seasons, (period, SEASON))))
            else:
                continue
            guess = tuple((each, SEASON) for each, _ in seasons)
            needed = ADOPTED if len(seasons) > len(now.seasons) else 0.0
            yield replace(now, seasons=seasons), replace(given, seasons=guess), needed
            if now.memory and needed:  # what returns looks like a drift until it has come round
                still = partial(replace, memory=0.0, even=False)
                yield still(now, seasons=seasons), still(given, seasons=guess), needed

    def effects(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Other group effects than the present ones."""
        possible, picked_again = list(EFFECTS), self.log.recurs
        if not picked_again:  # only their return distinguishes effects that stay from those drawn anew
            possible = [NOTHING, DEVIATION, OFFSET] if self.returned else [NOTHING, FRESH]
        for parts in possible:
            if parts == now.effects.present:
                continue
            guess = Effects.guess(parts, variance)
            effects = Effects(
                **{name: size and (getattr(now.effects, name) or size) for name, size in vars(guess).items()}
            )
            more = EFFECTS[parts] - EFFECTS[now.effects.present]
            needed = max(0.0, ADOPTED * more) * min(1.0, len(self.rows) / TELLING)
            if now.effects.present == DEVIATION:
                # A group that comes back is presumed to be the same, against all but strong evidence.
                anew = parts == FRESH and not (self.returned and picked_again)
                needed = max(needed, BENEFIT_OF_DOUBT if anew else LESS)
            elif now.effects.present == OFFSET and parts == DEVIATION:
                needed = -BENEFIT_OF_DOUBT
            if self.differ and parts == NOTHING:
                needed = max(needed, TOO)
            elif self.differ and now.effects.present == NOTHING and parts in STAYING:
                needed = -TOO
            if parts == FRESH and not picked_again and now.effects.offset:  # both say the same about such outcomes
                needed = -BENEFIT_OF_DOUBT
            yield replace(now, effects=effects), replace(given, effects=guess), needed

    def smoothness(self, smoother: float, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Other stationary kernels with the same lengthscales; smoother ones need ``smoother`` nats."""
        needed = smoother
        for kind in KINDS:
            if stationary_kind(now.base) is kind:
                needed = SMOOTHER  # the kernels that follow are rougher, and err on the side of caution
                continue
            base, its_base = with_stationary(now.base, kind), with_stationary(given.base, kind)
            if base is not None and its_base is not None:
                jumps = JUMPS if kind is Laplacian else 0.0
                yield replace(now, base=base), replace(given, base=its_base), max(needed, jumps)

    def lengthscales(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """One lengthscale for each feature."""
        dimension = self.log.contexts.shape[1]
        if dimension > 1:
            base, its_base = (with_every_lengthscale(shape.base, dimension) for shape in (now, given))
            if base is not None and its_base is not None:
                yield replace(now, base=base), replace(given, base=its_base), ADOPTED

    def interactions(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Products of features added to the smooth function, or removed."""
        part = None if self.features is None else guessed_interactions(self.features, variance)
        if interactions_of(now.base) is not None:
            bases = [without_interactions(shape.base) for shape in (now, given)]
            yield replace(now, base=bases[0]), replace(given, base=bases[1]), PRODUCTS
        elif part is not None and not isinstance(now.base, OfColumns):
            bases = [with_interactions(shape.base, part) for shape in (now, given)]
            yield replace(now, base=bases[0]), replace(given, base=bases[1]), -PRODUCTS

    def columns(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Features that are 0 or 1 as part of the smooth function, or not."""
        features = self.features
        if features is None or len(features.graded) == len(features.numbers):
            return
        every = not now.every_column
        rival = Shape.guess(features, given.mean, given.constant**0.5, every_column=every).in_kind_of(now)
        yield replace(now, base=rival.base), replace(given, base=rival.base), ADOPTED if every else SMOOTHER
