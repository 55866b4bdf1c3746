"""A model of both outcomes that takes its shape from the data; :mod:`superarm.posteriors.model.updates` changes it.

It begins with what the user gives, a guess, or with nothing. As outcomes come it learns hyperparameters, moves to the
mean and the scale of the outcomes where they contradict the guess, and adopts what the evidence asks for: effects of
groups, another smoothness, a lengthscale for each feature. While nothing of the kind is adopted, the posterior is the
very one that was given, with its hyperparameters learnt.
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

SPREAD = 3.0  # of the prior of hyperparameters where none were given: guesses at the scale of the data are near
LINES = 20  # of the story, the latest
SOONEST, AGAIN = 8, 4  # rounds without an outcome after which a break is questioned, and for each round that told of it


_NEW = {"kinds": (None, None), "alarm": SILENT, "since": (0, 0)}


def _upgraded(fields: dict[str, Any]) -> dict[str, Any]:
    """What an earlier version saved; one that has learnt goes on without presuming anything of thresholds."""
    return {**_NEW, "standing": LOST if fields.get("log") is not None else Standing(), **fields}


@storable(upgrade=_upgraded, shapes={"labels": "G"})
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
    standing: Standing = field(default_factory=Standing)  # thresholds, as long as they stay with their groups

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
            if not self.any_of(output):
                unseen = "no outcomes yet" + (": scale 1 assumed; " if self.given is None else "; ")
            lines.append(f"{NAMES[output]}: {unseen}{shape_in_words(shape)}")
        return [*lines, *self.story]

    def any_of(self, output: int) -> bool:
        """Whether an outcome of this output has come."""
        return self.log is not None and len(self.log.outcomes(output)) > 0

    @property
    def decisions(self) -> int:
        """Rounds of which outcomes have come."""
        return self.seen.count

    def questions_break(self, t: int) -> bool:
        """Whether it is time, in round t, to ask if the second outcome broke at all, as no outcome has come for long.

        A few wrong outcomes look like a break after which no promise can be kept. Without new outcomes that would last
        for ever. The more rounds have told the same, the longer it takes.
        """
        if self.log is None:
            return False
        told = np.unique(self.log.rounds[self.log.present[:, 1] & (self.log.rounds >= self.since[1])])
        last = int(told[-1]) if len(told) else self.since[1]
        return t > last and (t - last) % max(SOONEST, AGAIN * len(told)) == 0

    @property
    def columns(self) -> int:
        """How many columns points have beside the features."""
        return 0 if self.shapes is None else max(shape.columns for shape in self.shapes)

    @property
    def passing(self) -> float:
        """Variance of the second outcome that is drawn again in every round, so that nothing is learnt of it."""
        return 0.0 if self.shapes is None else self.shapes[1].effects.fresh

    def limits(self, output: int) -> tuple[float, float]:
        """The range in which expected outcomes lie."""
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
        self.check_dimension(round)
        if posterior is None:
            width = self._points(round, 0).shape[1]
            features = self.features or (Features.of_round(round) if len(round) else Features.of(np.zeros((1, width))))
            shape = Shape.guess(features, 0.0, 1.0)
            posterior = posterior_of((shape, shape), Log.empty(len(features.mean)), shape.columns)
            return posterior, self._points(round, shape.columns)
        return posterior, self.points(round)

    def noises(self, observed: Outcomes, belief: Belief) -> Array | None:
        """(k, 2) the noise of outcomes, NaN where it is the usual one, by what was believed of them before."""
        if self.shapes is None:
            return observed.noise
        told = np.zeros_like(observed.values) if observed.noise is None else np.nan_to_num(observed.noise)
        return noises(self.shapes, told, belief)

    def news(self, before: Model) -> list[str]:
        """What the user should be warned of at once: breaks and slips found since."""
        return [line for line in self.story if line.endswith((FORGOTTEN, ASIDE)) and line not in before.story]

    def manner(self, learning: Learning) -> Learning:
        """How shapes are learnt: they stay nearer to the first guess if nothing was given."""
        return learning if self.given is not None else replace(learning, spread=min(learning.spread, SPREAD))

    @property
    def uneven(self) -> bool:
        """Whether noise differs from outcome to outcome."""
        kinds = any(shape.kind != NORMAL for shape in self.shapes or ())
        return kinds or (self.log is not None and bool(self.log.noise.any()))

    def told(self, lines: list[str]) -> Model:
        """With more lines of the story."""
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

    def check_dimension(self, round: Round) -> None:
        """Refuse a round of another number of features than those before."""
        if self.features is not None and len(round):
            before, now = len(self.features.mean), round.contexts.shape[1]
            if before != now:
                raise InvalidArgument("contexts", f"{before} features, as in earlier rounds", now)

    def counted(self, round: Round) -> Model:
        """With the features of the round; outcomes of one round count as one decision, however many parts they are."""
        seen = self.seen.after(round)
        if seen is self.seen:
            return self
        features, labels = Features.of_round(round), np.unique(keys_of(round.grouping.hashes))
        if self.features is not None:
            features = self.features.merged(features)
        returned = self.returned or bool(np.isin(labels, self.labels).any())
        standing = self.standing.after(round)
        return replace(self, seen=seen, due=0, features=features, labels=labels, returned=returned, standing=standing)
