"""A model of both outcomes that takes its shape from the data.

It begins with what the user gives, a guess, or with nothing. As outcomes come it learns hyperparameters, moves to the
mean and the scale of the outcomes where they contradict the guess, and adopts what the evidence asks for: effects of
groups, another smoothness, a lengthscale for each feature. While nothing of the kind is adopted, the posterior is the
very one that was given, with its hyperparameters learnt.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from superarm.arguments import Array
from superarm.errors import InvalidArgument
from superarm.kernels.kernel import parameters
from superarm.posteriors.gaussian_process import ExactPosterior, GaussianProcess
from superarm.posteriors.learning import Learning
from superarm.posteriors.model.breaks import SILENT, Alarm
from superarm.posteriors.model.conditioned import TRUST, Shapes, belief_at, posterior_of, shapes_of, trusted
from superarm.posteriors.model.decisions import NO_DECISIONS, Decisions
from superarm.posteriors.model.evidence import Judgement
from superarm.posteriors.model.features import Features
from superarm.posteriors.model.given import given_of
from superarm.posteriors.model.log import MOST, Log, group_keys, in_order, with_columns
from superarm.posteriors.model.moving import after_breaks, drifting, is_look, of_today
from superarm.posteriors.model.noise import LIMITS, Kinds, check_values, noises, row_noise
from superarm.posteriors.model.shape import BINARY, NORMAL, Shape
from superarm.posteriors.model.story import NAMES, adopted
from superarm.posteriors.model.words import shape_in_words
from superarm.posteriors.outputs import Independent
from superarm.posteriors.posterior import Belief, Posterior
from superarm.round import Outcomes, Round
from superarm.storage import storable
from superarm.storage.hashes import keys_of

SPREAD = 3.0  # of the prior of hyperparameters where none were given: guesses at the scale of the data are near
LINES = 20  # of the story, the latest


_NEW = {"kinds": (None, None), "alarm": SILENT, "since": (0, 0)}


@storable(upgrade=lambda fields: {**_NEW, **fields}, shapes={"labels": "G"})
@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """State of a model beside its posterior; replaced, never changed."""

    shapes: Shapes | None = None  # of both outputs as they are now; None where the posterior is as it was given
    given: Shapes | None = None  # what is given of each; None where nothing was
    features: Features | None = None
    log: Log | None = None
    seen: Decisions = NO_DECISIONS
    due: int = 0  # rows of the log at which a decision that asked for a refit asks for the next
    story: tuple[str, ...] = ()  # what was adopted, in words
    labels: Array = field(default_factory=lambda: np.empty(0))  # (G,) keys of the groups of the latest round
    returned: bool = False  # whether a group of a round ever came in the next one, picked or not
    kinds: Kinds = (None, None)  # of both outcomes, as declared; None: the outcomes tell
    alarm: Alarm = SILENT
    since: tuple[int, int] = (0, 0)  # of each output, the round of its latest break: what came before is forgotten

    @staticmethod
    def of(posterior: Posterior | None, kinds: Kinds = (None, None)) -> Model | None:
        """A model that begins with a guess, or with nothing; None where the posterior cannot be taken apart."""
        if posterior is None:
            return Model(kinds=kinds)
        if not isinstance(posterior, GaussianProcess | ExactPosterior):
            return None
        if isinstance(posterior, ExactPosterior) and posterior.device != "cpu":
            return None  # what a model adopts would not be computed there
        state = posterior.state
        if not isinstance(state.outputs, Independent) or callable(state.mean) or state.history.observations:
            return None
        kernels = (state.outputs.first, state.outputs.second)
        first, second = (
            Shape(base=kernel, noise=noise, mean=mean)
            for kernel, noise, mean in zip(kernels, state.noise_std, state.mean, strict=True)
        )
        return Model(given=(first, second), kinds=kinds)

    def __repr__(self) -> str:
        rows = 0 if self.log is None else self.log.total
        return f"Model(decisions={self.decisions}, rows={rows}{'' if self.shapes is None else ', shapes adopted'})"

    def lines(self) -> list[str]:
        """In words: the shape of each output, and what was adopted; none of a shape that is as it was given."""
        lines = []
        for output, shape in enumerate(self.shapes or ()):
            unseen = ""
            if not self._any(output):
                unseen = "no outcomes yet" + (": scale 1 assumed; " if self.given is None else "; ")
            lines.append(f"{NAMES[output]}: {unseen}{shape_in_words(shape)}")
        return [*lines, *self.story]

    def _any(self, output: int) -> bool:
        """Whether an outcome of this output has come."""
        return self.log is not None and len(self.log.outcomes(output)) > 0

    @property
    def decisions(self) -> int:
        """Rounds of which outcomes have come."""
        return self.seen.count

    @property
    def columns(self) -> int:
        """How many columns points have beside the features."""
        return 0 if self.shapes is None else max(shape.columns for shape in self.shapes)

    @property
    def passing(self) -> float:
        """Variance of the second outcome that is drawn anew in every round, so that nothing is learnt of it."""
        return 0.0 if self.shapes is None else self.shapes[1].effects.fresh

    def limits(self, output: int) -> tuple[float, float]:
        """Between which expected outcomes lie."""
        return LIMITS[self.kinds[output] or (NORMAL if self.shapes is None else self.shapes[output].kind)]

    def points(self, round: Round) -> Array:
        """(M, P) the points of all arms of a round."""
        return self._points(round, self.columns)

    def _points(self, round: Round, columns: int) -> Array:
        if not len(round):  # whatever the shape of no contexts
            known = round.contexts.shape[1] if self.features is None else len(self.features.mean)
            return np.empty((0, max(known, 1) + columns))
        if columns == 0:
            return round.contexts
        return with_columns(round.contexts, group_keys(round), np.full(len(round), float(round.t)), columns)

    def view(self, posterior: Posterior | None, round: Round) -> tuple[Posterior, Array]:
        """What is believed in a round, and at which points; before any outcome this round's features set the scale."""
        self._check_dimension(round)
        if posterior is None:
            width = self._points(round, 0).shape[1]
            features = self.features or (Features.of_round(round) if len(round) else Features.of(np.zeros((1, width))))
            shape = Shape.guess(features, 0.0, 1.0)
            posterior = posterior_of((shape, shape), Log.empty(len(features.mean)), shape.columns)
            return posterior, self._points(round, shape.columns)
        return posterior, self.points(round)

    def after(
        self, posterior: Posterior | None, round: Round, observed: Outcomes, learning: Learning, seed: int
    ) -> tuple[Model, Posterior | None]:
        """The model and its posterior that have also seen outcomes of a round."""
        self._check_dimension(round)
        observed = of_today(self.since, round, observed)
        if np.isnan(observed.values).all():
            return self, posterior
        check_values(self.kinds, observed.values)
        observed = in_order(round, observed)
        model = self._counted(round)
        rng = np.random.default_rng((seed, model.decisions))
        log = (self.log or Log.empty(round.contexts.shape[1])).with_rows(
            round, observed.arms, observed.values, observed.noise
        )
        model = replace(model, log=log)
        if posterior is not None:
            assert isinstance(posterior, GaussianProcess | ExactPosterior)
            points = self.points(round)[observed.arms]
            told = self.noises(posterior, round, observed)
            alarm = self.alarm
            if learning.schedule != ():  # or nothing is to be learnt but outcomes
                alarm = alarm.after(posterior.predict(points), posterior.noise_std, observed.values, told)
            posterior = posterior.condition(points, observed.values, told)
            model, posterior = after_breaks(replace(model, alarm=alarm), posterior, learning, rng)
            assert model.log is not None
            log = model.log
        rings, story, again = model.alarm.rings, model.story, log.total >= model.due
        due = posterior is None or (again and learning.due(model.decisions))
        look = again and learning.schedule is None and is_look(model.decisions)
        if due or (rings and model.drifts):
            model, posterior = model._refitted(posterior, learning, rng)
        if look or rings:
            assert posterior is not None
            model, posterior = drifting(model, posterior, learning, rng)
        if due or look:
            model = replace(model, due=2 * log.total)
        if rings:
            model = replace(model, alarm=model.alarm.answered(found=model.story != story))
        if model.shapes is not None and isinstance(posterior, GaussianProcess) and posterior.distinct > MOST:
            if model.drifts:  # every row is a point of its own, and the oldest say least
                latest = log.latest(MOST // 2)
                belief = belief_at(posterior, latest, model.columns) if model.uneven else None
                posterior = posterior_of(model.shapes, latest, model.columns, belief)
            else:
                posterior = posterior.bounded()
        return model, posterior

    def noises(self, posterior: Posterior, round: Round, observed: Outcomes) -> Array | None:
        """(k, 2) the noise of outcomes, NaN where it is the usual one, by what is believed before they are known."""
        if self.shapes is None:
            return observed.noise
        told = np.zeros_like(observed.values) if observed.noise is None else np.nan_to_num(observed.noise)
        if not told.any() and all(shape.kind == NORMAL for shape in self.shapes):
            return None
        return noises(self.shapes, told, posterior.predict(self.points(round)[observed.arms]))

    def broken(self, before: Model) -> list[str]:
        """What is told of breaks that were not known before."""
        return [] if self.since == before.since else [line for line in self.story if line not in before.story]

    def manner(self, learning: Learning) -> Learning:
        """How shapes are learnt: nearer to what was guessed where nothing was given."""
        return learning if self.given is not None else replace(learning, spread=min(learning.spread, SPREAD))

    @property
    def uneven(self) -> bool:
        """Whether noise differs from outcome to outcome."""
        kinds = any(shape.kind != NORMAL for shape in self.shapes or ())
        return kinds or (self.log is not None and bool(self.log.noise.any()))

    def told(self, lines: list[str]) -> Model:
        """With more to tell."""
        return replace(self, story=(*self.story, *lines)[-LINES:])

    def learnt_by(self, posterior: Posterior) -> Shapes:
        """The shapes of both outputs; where the posterior is as it was given, with what it has learnt."""
        if self.shapes is not None:
            return self.shapes
        assert isinstance(posterior, GaussianProcess | ExactPosterior)
        assert self.given is not None
        return shapes_of(posterior, self.given)

    @property
    def drifts(self) -> bool:
        """Whether a truth is believed to change from round to round."""
        return self.shapes is not None and any(shape.memory for shape in self.shapes)

    def _check_dimension(self, round: Round) -> None:
        if self.features is not None and len(round):
            before, now = len(self.features.mean), round.contexts.shape[1]
            if before != now:
                raise InvalidArgument("contexts", f"{before} features, as in the rounds before", now)

    def _counted(self, round: Round) -> Model:
        """With the features of the round; outcomes of one round count as one decision, however many parts they are."""
        seen = self.seen.after(round)
        if seen is self.seen:
            return self
        features, labels = Features.of_round(round), np.unique(keys_of(round.grouping.hashes))
        if self.features is not None:
            features = self.features.merged(features)
        returned = self.returned or bool(np.isin(labels, self.labels).any())
        return replace(self, seen=seen, due=0, features=features, labels=labels, returned=returned)

    def _refitted(
        self, posterior: Posterior | None, learning: Learning, rng: np.random.Generator
    ) -> tuple[Model, Posterior]:
        assert self.log is not None
        given = [given_of(self, j, posterior) for j in (0, 1)]
        contradicted = any(changed for _, changed in given)
        uneven = bool(self.log.noise.any()) or any(shape.kind != NORMAL for shape, _ in given)
        by_itself = posterior is not None and self.shapes is None and not contradicted and not uneven
        learnt = posterior
        if by_itself:
            assert isinstance(posterior, GaussianProcess | ExactPosterior)
            learnt = posterior.learned(learning, rng)
            posterior = trusted(learnt) if self.log.whole else learnt
        if posterior is not None and not self.log.whole and not self.drifts:
            return self, posterior  # old rows are only there, in its shape
        now: tuple[Shape | None, Shape | None] = (None, None)
        if learnt is not None:  # rivals have learnt their hyperparameters, too
            now = self.learnt_by(learnt)
        search = self.decisions % 3 == 0 or self.decisions == 2
        belief = belief_at(posterior, self.log, self.columns) if uneven else None
        found = [self._shape(j, now[j], *given[j], learning, rng, search, by_itself, belief) for j in (0, 1)]
        if posterior is not None and self.shapes is None and not uneven and not any(new for _, _, new in found):
            return self, posterior
        shapes = (found[0][0], found[1][0])
        model = replace(self, shapes=shapes, given=None if self.given is None else (found[0][1], found[1][1]))
        model = model.told(adopted(now, shapes, self.decisions, (self._any(0), self._any(1))))
        return model, posterior_of(shapes, self.log, model.columns, belief)

    def _shape(
        self,
        output: int,
        now: Shape | None,
        given: Shape,
        changed: bool,
        learning: Learning,
        rng: np.random.Generator,
        search: bool,
        by_itself: bool,
        belief: Belief | None,
    ) -> tuple[Shape, Shape, bool]:
        """The shape of an output, what is given of it, and whether it is another one than before.

        ``given`` and ``changed`` are as :func:`given_of` says; ``by_itself`` that the posterior has learnt its
        hyperparameters; ``belief`` at all rows of the log decides the noise where it is uneven.
        """
        assert self.log is not None
        if now is None:
            now = given
        else:
            noise = now.noise if now.kind == given.kind != BINARY else given.noise
            now = replace(
                now, mean=given.mean, constant=given.constant, kind=given.kind, usual=given.usual, noise=noise
            )
            if len(parameters(now.base)) != len(parameters(given.base)):  # features are of another kind than before
                now = replace(now, base=given.base)
        if len(self.log.outcomes(output)) < learning.least:
            return (given if changed or self.given is None else now), given, changed
        uneven, moves = None, self.shapes is not None and self.shapes[1 - output].memory > 0.0
        if belief is not None:
            uneven = row_noise(now, self.log.noise[:, output], belief.mean[:, output], belief.std[:, output])
        learning, returned = self.manner(learning), self.returned
        judgement = Judgement.of(self.log, output, learning, rng, returned=returned, noise=uneven, moves=moves)
        if not by_itself:
            given = given.having(now, given.size(self.log.contexts), self.log.span)
            now, _ = judgement.fitted(now, given, starts=2 if search else 1)
            if uneven is not None and self.given is not None and now.alike(given):
                now = judgement.trusted(now, given, TRUST)
        if search:
            best, given = judgement.best(now, given, None if self.given is not None else self.features)
            changed |= not best.alike(now)
            now = best
        return now, given, changed
