"""A model of both outcomes that takes its shape from the data; :mod:`superarm.posteriors.model.updates` changes it.

It begins with a prior that the user gives as a guess, or without one. As outcomes come it learns hyperparameters, moves
to the mean and the scale of the outcomes where they contradict the guess, and adopts what the evidence supports:
effects of groups, another smoothness, a lengthscale for each feature. Until it adopts something, the posterior is the
one that was given, with its hyperparameters learnt.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from superarm.arguments import Array
from superarm.errors import InvalidArgument
from superarm.posteriors.gaussian_process import ExactPosterior, GaussianProcess
from superarm.posteriors.learning import Learning
from superarm.posteriors.model.breaks import SILENT, Alarm
from superarm.posteriors.model.conditioned import Shapes, posterior_of, shapes_of
from superarm.posteriors.model.decisions import NO_DECISIONS, Decisions
from superarm.posteriors.model.features import Features
from superarm.posteriors.model.log import Log, group_keys, with_columns
from superarm.posteriors.model.noise import LIMITS, Kinds, noises
from superarm.posteriors.model.shape import NORMAL, Shape
from superarm.posteriors.model.standing import LOST, Standing
from superarm.posteriors.model.story import ASIDE, FORGOTTEN, NAMES
from superarm.posteriors.model.words import shape_in_words
from superarm.posteriors.outputs import Independent
from superarm.posteriors.posterior import Belief, Posterior
from superarm.round import Outcomes, Round
from superarm.storage import storable
from superarm.storage.hashes import keys_of

SPREAD = 3.0  # of the prior of hyperparameters if none were given: guesses at the scale of the data are near the truth
LINES = 20  # latest lines of the story that are kept
SOONEST, AGAIN = 8, 4  # rounds without outcomes before a break is questioned: at least, and per round that confirmed it


_NEW = {"kinds": (None, None), "alarm": SILENT, "since": (0, 0)}


def _upgraded(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an earlier version; a model that has learnt goes on without using thresholds."""
    return {**_NEW, "standing": LOST if fields.get("log") is not None else Standing(), **fields}


@storable(upgrade=_upgraded, shapes={"labels": "G"})
@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """The state of a model beside its posterior; replaced, never changed."""

    shapes: Shapes | None = None  # present shapes of both outputs; None while the posterior has the given ones
    given: Shapes | None = None  # the given shapes, around which hyperparameters are learnt; None if no prior was given
    features: Features | None = None
    log: Log | None = None
    seen: Decisions = NO_DECISIONS
    due: int = 0  # rows of the log from which on the same decision may be refitted again
    story: tuple[str, ...] = ()  # what was adopted, in words
    labels: Array = field(default_factory=lambda: np.empty(0))  # (G,) keys of the groups of the latest round
    returned: bool = False  # whether a group of a round was ever in the next one, picked or not
    kinds: Kinds = (None, None)  # of both outcomes, as declared; None: recognised from the outcomes
    alarm: Alarm = SILENT
    since: tuple[int, int] = (0, 0)  # of each output, the round of its latest break: earlier outcomes are forgotten
    standing: Standing = field(default_factory=Standing)  # thresholds, as long as they stay with their groups

    @staticmethod
    def of(posterior: Posterior | None, kinds: Kinds = (None, None)) -> Model | None:
        """A model that begins with this posterior or with none; None if its shapes cannot be read off the posterior."""
        if posterior is None:
            return Model(kinds=kinds)
        if not isinstance(posterior, GaussianProcess | ExactPosterior):
            return None
        if isinstance(posterior, ExactPosterior) and posterior.device != "cpu":
            return None  # the posteriors that a model makes are on the CPU
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
        """In words: the shape of each output, if it is not the given one, and the story."""
        lines = []
        for output, shape in enumerate(self.shapes or ()):
            unseen = ""
            if not self.any_of(output):
                unseen = "no outcomes yet" + (": scale 1 assumed; " if self.given is None else "; ")
            lines.append(f"{NAMES[output]}: {unseen}{shape_in_words(shape)}")
        return [*lines, *self.story]

    def any_of(self, output: int) -> bool:
        """Whether an outcome of this output has come."""
        return self.log is not None and len(self.log.outcomes(output)) > 0

    @property
    def decisions(self) -> int:
        """Number of rounds with outcomes."""
        return self.seen.count

    def questions_break(self, t: int) -> bool:
        """Whether round t should test the break of the second outcome again, because no outcome came for long.

        A few wrong outcomes look like a break after which no promise can be kept. Then nothing is picked, no outcome
        comes, and the mistake would last for ever. The more rounds since the break have outcomes, the rarer the tests.
        Rounds are counted by the shortest step between two, because t may count hours or days.
        """
        if self.log is None:
            return False
        known = np.unique(self.log.rounds)
        step = max(1, int(np.diff(known).min())) if len(known) > 1 else 1
        rounds = np.unique(self.log.rounds[self.log.present[:, 1] & (self.log.rounds >= self.since[1])])
        last = int(rounds[-1]) if len(rounds) else self.since[1]
        return t > last and (t - last) // step % max(SOONEST, AGAIN * len(rounds)) == 0

    @property
    def columns(self) -> int:
        """Number of columns of points beside the features."""
        return 0 if self.shapes is None else max(shape.columns for shape in self.shapes)

    @property
    def passing(self) -> float:
        """Variance of the part of the second outcome that is new in every round, so nothing is learnt about it."""
        return 0.0 if self.shapes is None else self.shapes[1].effects.fresh

    def limits(self, output: int) -> tuple[float, float]:
        """The range in which expected outcomes lie."""
        return LIMITS[self.kinds[output] or (NORMAL if self.shapes is None else self.shapes[output].kind)]

    def points(self, round: Round) -> Array:
        """(M, P) the points of all arms of a round."""
        return self._points(round, self.columns)

    def _points(self, round: Round, columns: int) -> Array:
        if not len(round):  # its contexts need not have the dimension of those before
            dimension = round.contexts.shape[1] if self.features is None else len(self.features.mean)
            return np.empty((0, max(dimension, 1) + columns))
        if columns == 0:
            return round.contexts
        return with_columns(round.contexts, group_keys(round), np.full(len(round), float(round.t)), columns)

    def view(self, posterior: Posterior | None, round: Round) -> tuple[Posterior, Array]:
        """Posterior and points for a round; before any outcome, this round's features set the scale."""
        self.check_dimension(round)
        if posterior is None:
            width = self._points(round, 0).shape[1]
            features = self.features or (Features.of_round(round) if len(round) else Features.of(np.zeros((1, width))))
            shape = Shape.guess(features, 0.0, 1.0)
            posterior = posterior_of((shape, shape), Log.empty(len(features.mean)), shape.columns)
            return posterior, self._points(round, shape.columns)
        return posterior, self.points(round)

    def noises(self, observed: Outcomes, belief: Belief) -> Array | None:
        """(k, 2) the noise of outcomes given the belief before them, NaN where it is the usual one."""
        if self.shapes is None:
            return observed.noise
        given = np.zeros_like(observed.values) if observed.noise is None else np.nan_to_num(observed.noise)
        return noises(self.shapes, given, belief)

    def news(self, before: Model) -> list[str]:
        """Lines of the story that the user should be warned of: breaks and slips found since ``before``."""
        return [line for line in self.story if line.endswith((FORGOTTEN, ASIDE)) and line not in before.story]

    def manner(self, learning: Learning) -> Learning:
        """How shapes are learnt: they stay nearer to the first guess if nothing was given."""
        return learning if self.given is not None else replace(learning, spread=min(learning.spread, SPREAD))

    @property
    def uneven(self) -> bool:
        """Whether noise differs from outcome to outcome."""
        kinds = any(shape.kind != NORMAL for shape in self.shapes or ())
        return kinds or (self.log is not None and bool(self.log.noise.any()))

    def with_lines(self, lines: list[str]) -> Model:
        """The model with these lines added to its story."""
        return replace(self, story=(*self.story, *lines)[-LINES:])

    def learnt_by(self, posterior: Posterior) -> Shapes:
        """The shapes of both outputs; while the posterior has the given ones, with what it has learnt."""
        if self.shapes is not None:
            return self.shapes
        assert isinstance(posterior, GaussianProcess | ExactPosterior)
        assert self.given is not None
        return shapes_of(posterior, self.given)

    @property
    def drifts(self) -> bool:
        """Whether the truth of an output is believed to change from round to round."""
        return self.shapes is not None and any(shape.memory for shape in self.shapes)

    def check_dimension(self, round: Round) -> None:
        """Refuse a round whose number of features differs from earlier rounds."""
        if self.features is not None and len(round):
            before, now = len(self.features.mean), round.contexts.shape[1]
            if before != now:
                raise InvalidArgument("contexts", f"{before} features, as in earlier rounds", now)

    def counted(self, round: Round) -> Model:
        """The model with this round counted as a decision, once however many calls report its outcomes."""
        seen = self.seen.after(round)
        if seen is self.seen:
            return self
        features, labels = Features.of_round(round), np.unique(keys_of(round.grouping.hashes))
        if self.features is not None:
            features = self.features.merged(features)
        returned = self.returned or bool(np.isin(labels, self.labels).any())
        standing = self.standing.after(round)
        return replace(self, seen=seen, due=0, features=features, labels=labels, returned=returned, standing=standing)
