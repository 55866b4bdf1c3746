"""Which shape suits the data: hyperparameters by the greatest posterior probability, structure by evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.kernels.kernel import parameters
from superarm.kernels.stationary import Matern32, Matern52, SquaredExponential, Stationary
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.history import collapse
from superarm.posteriors.learning import Learning
from superarm.posteriors.learning.problem import Part, Problem, fit, theta_of
from superarm.posteriors.learning.row_noise import RowNoise
from superarm.posteriors.model.features import Features
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

ADOPTED = 3.0  # nats by which a shape with more in it must be better
TELLING = 100  # rows from which on that is asked of group effects in full: a few outcomes cannot tell that groups agree
SMOOTHER = 1.0  # the same of another smoothness, which adds no hyperparameter; ADOPTED of more than was given
PROMISING = 0.5  # nats by which a first guess may fall behind what is needed and still be worth a fit
MOST_ROWS = 200  # that shapes are judged on; their third power is the cost
MOVES = 6.0  # nats by which a drift must be better: it is looked for more often than the rest
MOVES_TOO = 2.0  # the same where the other output drifts
BRIEF = 3.0  # rounds: what is remembered for less is noise
SHORTEST = 4.0  # rounds that outcomes must be of before a drift is looked for
SIZES = (0.1, 1.0)  # of effects, as multiples of the first guess, that a first look compares
BENEFIT_OF_DOUBT = 2.0  # nats by which anything else must be better than groups with functions of their own
LESS = 6.0  # the same of groups that differ less, or come back and differ anew: certificates rest on what they are
TOO = 2.0  # nats by which outcomes must speak against groups that differ, where they differ in the other output
NOTHING, OFFSET, DEVIATION = (False, False, False), (True, False, False), (True, True, False)
FRESH = (False, False, True)
STAYING = (OFFSET, DEVIATION)
# Which group effects there may be (offset, deviation, fresh), and how many parts each counts as.
EFFECTS = {NOTHING: 0, DEVIATION: 1, OFFSET: 1, FRESH: 1, (True, False, True): 2}
KINDS: tuple[type[Stationary], ...] = (SquaredExponential, Matern52, Matern32)  # the smoothest first

Rival = tuple[Shape, Shape, float]  # a shape, what is given of it, and the nats by which it must be better
Change = Callable[[Shape, Shape, float], Iterator[Rival]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Judgement:
    """Shapes of one output judged on the same rows of a log."""

    log: Log
    output: int
    rows: IntArray
    learning: Learning
    rng: np.random.Generator
    returned: bool  # whether groups come back, picked or not
    noise: RowNoise | None = None  # of these rows, where it differs
    moves: bool = False  # whether the other output drifts
    differ: bool = False  # whether groups are presumed to differ, as they do in the other output
    promised: Promised | None = None  # what the thresholds of groups may tell of them
    beside: tuple[int, ...] | None = None  # all features but those that only spell the group, where there are such

    @staticmethod
    def of(
        log: Log,
        output: int,
        learning: Learning,
        rng: np.random.Generator,
        *,
        returned: bool = False,
        noise: RowNoise | None = None,
        moves: bool = False,
        differ: bool = False,
        promised: Promised | None = None,
        beside: tuple[int, ...] | None = None,
    ) -> Judgement:
        """On a sample of the rows; ``returned`` says that groups come back, whether or not they were picked again.

        ``noise`` is of all rows, ``moves`` says that the other output drifts, ``differ`` that groups are presumed to
        differ, ``promised`` what their thresholds may tell, ``beside`` which features do more than spell the group.
        """
        rows = log.sample(output, min(learning.at_most, MOST_ROWS))
        return Judgement(
            log=log,
            output=output,
            rows=rows,
            learning=learning,
            rng=rng,
            returned=returned,
            noise=None if noise is None else noise.at(rows),
            moves=moves,
            differ=differ,
            promised=promised,
            beside=beside,
        )

    def fitted(self, now: Shape, given: Shape, starts: int = 1) -> tuple[Shape, float]:
        """The shape with the best hyperparameters found around the given ones, and its evidence.

        From the better of two starts alone: of 168 climbs from the other none ended more than 0.12 nats higher.
        """
        learning = replace(self.learning, starts=min(starts, self.learning.starts))
        result = fit(self._problem(now, given), learning, self.rng, climbs=1)
        if result.evidence == -np.inf:
            return now, result.evidence
        return now.learnt(result.kernel, result.noise[0]), result.evidence

    def trusted(self, learnt: Shape, given: Shape, nats: float) -> Shape:
        """What was given, unless outcomes are more probable by so many nats with what was learnt."""
        ours, theirs = (self._problem(shape, shape) for shape in (learnt, given))
        found, before = (problem.evidence(problem.given) for problem in (ours, theirs))
        better = before is None or (found is not None and found[0] > before[0] + nats)
        return learnt if better else given

    def best(self, now: Shape, given: Shape, features: Features | None = None) -> tuple[Shape, Shape]:
        """The best of the present shape, which was fitted before, and its rivals, and what is given of it.

        With ``features``, nothing was given, and whether 0-or-1 features are smooth ones is in question, too.
        """
        columns = partial(self._columns, features)
        smoothness = partial(self._smoothness, SMOOTHER if features is not None else ADOPTED)
        # What drifts looks like groups that differ, and the other way round: they compete, and may both be right.
        groups = (self._thresholds, self._spelled, self._effects_or_moves)
        changes = (*groups, self._moves, smoothness, self._lengthscales, columns)
        return self._best(now, given, changes)[:2]

    def drifting(self, now: Shape, given: Shape) -> tuple[Shape, Shape]:
        """The present shape with a drift, and what is given of it; without, where other things explain more."""
        if len(parameters(now.base)) != len(parameters(given.base)):
            return now, given  # features are of another kind than before: that comes first
        now_here = replace(now, mean=given.mean, constant=given.constant)
        found, its_given, gained = self._best(now_here, given, (self._moves,))
        if not (found.memory or found.seasons) or self._best(now_here, given, (self._effects,))[2] > gained:
            return now, given
        return found, its_given

    def without_break(self, now: Shape, given: Shape) -> float:
        """The nats by which outcomes are more probable with other group effects or seasons than the present ones."""
        given = given.having(now, given.size(self.log.contexts[self.rows]), self.log.span)
        refitted, _ = self.fitted(now, given)  # what this gains, with more noise, is no effect
        return self._best(refitted, given, (self._effects_or_seasons,))[2]

    def _best(self, now: Shape, given: Shape, changes: Iterable[Change]) -> tuple[Shape, Shape, float]:
        """The best shape by changes made one after the other, what is given of it, and the nats that they gain."""
        variance = given.size(self.log.contexts[self.rows])
        given = given.having(now, variance, self.log.span)
        _, evidence = self._first_look(now, given, sizes=(1.0,))
        before = evidence
        for change in changes:
            best, most = (now, given, evidence), 0.0
            for rival, its_given, needed in change(now, given, variance):
                sizes = SIZES if sum(rival.effects.present) > sum(now.effects.present) else (1.0,)
                start, look = self._first_look(rival, its_given, sizes)
                if look < evidence + needed - PROMISING:
                    continue
                found, its = self.fitted(start, its_given)
                if its - evidence - needed > most and not 0.0 < found.memory < BRIEF:
                    best, most = (found, its_given, its), its - evidence - needed
            now, given, evidence = best
        return now, given, evidence - before

    def _thresholds(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Groups whose outcomes lie around their thresholds, or no longer."""
        if self.promised is None:
            return
        promised, sign = (self.promised, 1.0) if now.promised is None else (None, -1.0)
        about = given.mean
        if given.constant:  # it was taken from the outcomes
            about -= sign * float(self.promised.at(self.log.keys[self.rows]).mean())
        changed = partial(replace, mean=about, promised=promised)
        yield changed(now), changed(given), -sign * TOO

    def _spelled(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """A smooth function of the features beside those that only spell the group, which has effects instead.

        Distances along one-hot columns are not those between other features, so one lengthscale fits neither. Once such
        columns tell more than the group, they are back.
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

    def _effects_or_moves(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        yield from self._effects(now, given, variance)
        yield from self._moves(now, given, variance)

    def _effects_or_seasons(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        yield from self._effects(now, given, variance)
        yield from self._seasons(now, given, variance)

    def _moves(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        yield from self._seasons(now, given, variance)
        yield from self._drift(now, given, variance)

    def _drift(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """A truth that changes from round to round, in another way or no longer."""
        if self.log.span < SHORTEST:
            return
        for fades, even in ((False, False), (True, False), (True, True)):
            if (fades, even) == (now.memory > 0.0, now.even):
                continue
            guess = MEMORY * self.log.span if fades else 0.0
            needed = (MOVES_TOO if self.moves else MOVES) if fades and not now.memory else 0.0
            memory = (now.memory if now.even == even else 0.0) or guess if fades else 0.0
            yield replace(now, memory=memory, even=even), replace(given, memory=guess, even=even), needed

    def _seasons(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """One season more, of those that were asked for and have come round, or one less."""
        for period in self.learning.seasons:
            if period in now.periods:
                seasons = tuple(each for each in now.seasons if each[0] != period)
            elif self.log.span > period:
                seasons = tuple(sorted((*now.seasons, (period, SEASON))))
            else:
                continue
            guess = tuple((each, SEASON) for each, _ in seasons)
            needed = ADOPTED if len(seasons) > len(now.seasons) else 0.0
            yield replace(now, seasons=seasons), replace(given, seasons=guess), needed

    def _effects(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Other group effects than the present ones."""
        possible, picked_again = list(EFFECTS), self.log.recurs
        if not picked_again:  # nothing tells effects that stay from those drawn anew, but whether groups come back
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
                # A group that comes back is the same one, until much speaks against it.
                anew = parts == FRESH and not (self.returned and picked_again)
                needed = max(needed, BENEFIT_OF_DOUBT if anew else LESS)
            elif now.effects.present == OFFSET and parts == DEVIATION:
                needed = -BENEFIT_OF_DOUBT
            if self.differ and parts == NOTHING:
                needed = max(needed, TOO)
            elif self.differ and now.effects.present == NOTHING and parts in STAYING:
                needed = -TOO
            if parts == FRESH and not picked_again and now.effects.offset:  # it is all the same then
                needed = -BENEFIT_OF_DOUBT
            yield replace(now, effects=effects), replace(given, effects=guess), needed

    def _smoothness(self, smoother: float, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Other stationary kernels with the same lengthscales; ``smoother`` is what those need that are smoother."""
        needed = smoother
        for kind in KINDS:
            if stationary_kind(now.base) is kind:
                needed = SMOOTHER  # all that follow are rougher, and err on the side of caution
                continue
            base, its_base = with_stationary(now.base, kind), with_stationary(given.base, kind)
            if base is not None and its_base is not None:
                yield replace(now, base=base), replace(given, base=its_base), needed

    def _lengthscales(self, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """One lengthscale for each feature."""
        dimension = self.log.contexts.shape[1]
        if dimension > 1:
            base, its_base = (with_every_lengthscale(shape.base, dimension) for shape in (now, given))
            if base is not None and its_base is not None:
                yield replace(now, base=base), replace(given, base=its_base), ADOPTED

    def _columns(self, features: Features | None, now: Shape, given: Shape, variance: float) -> Iterator[Rival]:
        """Features that are 0 or 1 as part of the smooth function, or not."""
        if features is None or len(features.graded) == len(features.numbers):
            return
        every = not now.every_column
        rival = Shape.guess(features, given.mean, given.constant**0.5, every_column=every).in_kind_of(now)
        yield replace(now, base=rival.base), replace(given, base=rival.base), ADOPTED if every else SMOOTHER

    def _first_look(self, rival: Shape, given: Shape, sizes: tuple[float, ...]) -> tuple[Shape, float]:
        """The rival with effects of the best of some sizes, and its evidence before any fit."""
        best, greatest = rival, -np.inf
        for size in sizes:
            effects = rival.effects.times(size)
            shape = replace(rival, effects=effects)
            problem = self._problem(shape, given)
            theta = theta_of(problem.kernel, problem.noise)
            found = problem.evidence(theta, climbs=False)
            if found is not None:
                distance = (theta - problem.given) / problem.prior(self.learning)[0]
                evidence = found[0] - 0.5 * float(distance @ distance)
                if evidence > greatest:
                    best, greatest = shape, evidence
        return best, greatest

    def _problem(self, now: Shape, given: Shape) -> Problem:
        dimension, columns = self.log.contexts.shape[1], now.columns
        data = self._observations(now, columns)
        return Problem(
            parts=(Part(used=data, seen=data, noise=self.noise),),
            kernel=now.kernel(dimension, columns),
            noise=(now.noise,),
            given=theta_of(given.kernel(dimension, columns), (given.noise,)),
        )

    def _observations(self, shape: Shape, columns: int) -> Observations:
        """Outcomes at equal points as one, which changes no density; how many are equal depends on the shape.

        Those of uneven noise stay as they are.
        """
        points = self.log.points(columns)[self.rows]
        values: Array = self.log.values[self.rows, self.output] - shape.mean_at(self.log.keys[self.rows])
        each = values[:, None]
        if self.noise is not None:
            n = len(points)
            return Observations(
                points=points,
                counts=np.ones(n),
                means=each,
                scatters=np.zeros((n, 1)),
                noise=np.ones(n),
                known=np.zeros(n, dtype=np.bool_),
            )
        data = collapse(points, np.ones_like(each), each, np.zeros_like(each))
        return Observations(
            points=data.contexts,
            counts=data.counts[:, 0],
            means=data.means,
            scatters=data.scatters,
            noise=np.ones(len(data)),
            known=np.zeros(len(data), dtype=np.bool_),
        )
