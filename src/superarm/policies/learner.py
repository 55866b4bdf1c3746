"""The common part of all Gaussian-process policies: a posterior, the width of its bounds, and an order of ties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, Seed, between, fraction, positive, seed_number, whole_number
from superarm.contexts import Columns, check_numbers
from superarm.errors import InvalidArgument, safe_repr, type_of, warn
from superarm.indices import beta
from superarm.oracles.automatic import Automatic
from superarm.oracles.oracle import SuperArmOracle, checked_oracle
from superarm.policies.policy import StorablePolicy, settings_of
from superarm.policies.ties import tie_order
from superarm.posteriors.learning import LEARNING, Learning, Learns
from superarm.posteriors.model import Model, after
from superarm.posteriors.model.decisions import NO_DECISIONS, Decisions
from superarm.posteriors.model.noise import Kinds, checked_kinds
from superarm.posteriors.model.shape import NORMAL
from superarm.posteriors.model.slips import screened
from superarm.posteriors.posterior import Belief, Posterior
from superarm.posteriors.stateful import StatefulPosterior
from superarm.round import Outcomes, Round, checked_round, in_columns
from superarm.selection import Selection
from superarm.slim import arms_of
from superarm.storage import storable

GOES_ON = "The policy continues with the rest; docs/which_model.md says what you can do"
WIDEST = 1e100  # factor on beta_t; with larger ones bounds might overflow


def _upgraded(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that an earlier version saved, and those added since."""
    return {"model": None, "seen": Decisions(count=fields.get("updates", 0)), "columns": None, **fields}


@storable(upgrade=_upgraded)
@dataclass(eq=False)
class Learner:
    """The state that a policy learns: its posterior, the model that shapes it, and the settings of its bounds."""

    posterior: Posterior | None  # the present belief; replaced, never changed; None: no prior, and no outcome yet
    delta: float  # probability with which the bounds of one output may fail
    max_arms: int | None  # M, if known beforehand
    seed: int  # decides the order of ties
    beta_scale: float = 1.0  # beta_t is multiplied by it
    largest_round: int = 0  # most arms of an updated round: M where ``max_arms`` is None
    learning: Learning | None = None  # how and when hyperparameters are learnt, or None: never
    updates: int = 0  # calls of ``update``
    # The model that gives the posterior its shape; None: the shape stays as given, or the posterior learns by itself.
    model: Model | None = None
    seen: Decisions = NO_DECISIONS  # decisions with outcomes where there is no model, which counts by itself
    columns: Columns | None = None  # of the first named contexts learnt; later ones are put in their order

    def _check_fields(self) -> None:
        """Counts are whole numbers."""
        for name in ("seed", "largest_round", "updates"):
            whole_number(name, getattr(self, name))

    @classmethod
    def of(
        cls,
        posterior: Posterior | None,
        *,
        delta: float = 0.05,
        max_arms: int | None = None,
        beta_scale: float = 1.0,
        seed: Seed,
        learn: bool | Learning | None = None,
        outcomes: Any = None,
    ) -> Learner:
        """Check the settings and draw a number from the seed."""
        kinds = checked_kinds(outcomes)
        if posterior is not None and (isinstance(posterior, type) or not isinstance(posterior, Posterior)):
            expected = "an object with predict and condition, such as GaussianProcess(kernel, noise_std=...), or None"
            raise InvalidArgument("posterior", expected, safe_repr(posterior))
        learning = _learning(learn, posterior)
        model = None if learning is None else Model.of(posterior, kinds)
        if model is None and any(kind not in (None, NORMAL) for kind in kinds):
            expected = "normal, because this posterior has the same noise for all outcomes"
            raise InvalidArgument("outcomes", expected, safe_repr(outcomes))
        return cls(
            posterior=posterior,
            delta=fraction("delta", delta),
            max_arms=None if max_arms is None else whole_number("max_arms", max_arms, 1),
            seed=seed_number(seed),
            beta_scale=between("beta_scale", positive("beta_scale", beta_scale), 0.0, WIDEST),
            learning=learning,
            model=model,
            columns=posterior.state.columns if isinstance(posterior, StatefulPosterior) else None,
        )

    @property
    def outcomes(self) -> Kinds:
        """The kinds of the two outcomes, as declared."""
        return (None, None) if self.model is None else self.model.kinds

    def beta(self, round: Round) -> float:
        """beta_t for this round, scaled."""
        arms = arms_of(round)
        if self.max_arms is not None and arms > self.max_arms:
            raise InvalidArgument("max_arms", f"at least the arms of every round ({arms})", self.max_arms)
        return self.beta_scale * beta(round.t, self.max_arms or max(self.largest_round, arms, 1), self.delta)

    def arranged(self, round: Round) -> Round:
        """The round with the columns of its contexts in the order of those that were learnt from."""
        return in_columns(checked_round(round), self.columns)

    def view(self, round: Round) -> tuple[Posterior, Array]:
        """The posterior that holds in this (arranged) round, and the points of its arms, (M, P), to ask it about."""
        checked_round(round)
        posterior, model = self._over(round)
        if model is not None:
            return model.view(posterior, round)
        assert posterior is not None
        return posterior, round.contexts

    def _over(self, round: Round) -> tuple[Posterior | None, Model | None]:
        """Posterior and model for a round; its column names place the columns of kernels if none were known before."""
        columns, posterior, model = round.columns, self.posterior, self.model
        if self.columns is not None or columns is None or not len(round):
            return posterior, model
        if isinstance(posterior, StatefulPosterior):
            posterior = posterior.over(columns)
        elif posterior is not None:
            check_numbers(columns, type(posterior).__name__)
        if model is not None and model.given is not None:
            first, second = model.given
            model = replace(model, given=(first.over(columns), second.over(columns)))
        return posterior, model

    def belief(self, round: Round) -> Belief:
        """The belief about every arm of the round."""
        posterior, points = self.view(round)
        return posterior.predict(points)

    def second_noise(self, round: Round, observed: Outcomes) -> Array | None:
        """(k,) the noise of second outcomes, known before they are learnt; NaN, or None for all, where it is usual."""
        model, noise = self.model, observed.noise
        if model is not None and model.shapes is not None and model.shapes[1].kind != NORMAL:
            posterior, points = self.view(round)
            noise = model.noises(observed, posterior.predict(points[observed.arms]))
        return None if noise is None else noise[:, 1]

    def likely(self, round: Round, observed: Outcomes) -> tuple[Outcomes, Array | None]:
        """Outcomes, NaN in place of those that would be set aside, and the noise of second ones."""
        if self.model is not None and len(observed.arms):
            found = screened(self.model, self.posterior, round, observed)
            observed = found.observed if found.slips.any() else observed
        return observed, self.second_noise(round, observed)

    def tie_order(self, round: Round) -> IntArray:
        """(M,) the arms in the order in which ties are broken: see :func:`~superarm.policies.ties.tie_order`."""
        return tie_order(round, self.seed)

    def update(self, round: Round, observed: Outcomes) -> None:
        """Condition the posterior on the outcomes of a round; if anything is wrong, nothing changes."""
        updates, seen, columns = self.updates + 1, self.seen, self.columns
        posterior, model = self._over(round)
        if columns is None and round.columns is not None and len(round):
            columns = round.columns.kinds
        if model is not None:
            assert self.learning is not None
            model, posterior = after(model, posterior, round, observed, self.learning, self.seed)
            assert self.model is not None
            news = model.news(self.model)
            if news:
                warn(f"{'; '.join(news)}. {GOES_ON}")
        else:
            assert posterior is not None
            posterior = _conditioned(posterior, round, observed)
            if self.learning is not None and isinstance(posterior, Learns) and not np.isnan(observed.values).all():
                seen = seen.after(round)
                if seen is not self.seen and self.learning.due(seen.count):
                    posterior = posterior.learned(self.learning, np.random.default_rng((self.seed, seen.count)))
        self.posterior, self.model, self.updates, self.seen = posterior, model, updates, seen
        self.columns = columns
        self.largest_round = max(self.largest_round, arms_of(round))


@dataclass(eq=False, init=False, repr=False)
class LearningPolicy(StorablePolicy):
    """A policy that learns by conditioning a posterior."""

    learner: Learner

    @property
    def posterior(self) -> Posterior | None:
        """The present posterior; None if none was given and no outcome has come."""
        return self.learner.posterior

    def __repr__(self) -> str:
        """The settings that differ from the defaults, and how much was learnt; ``print`` says what was adopted."""
        try:
            usual = {name: repr(value) for name, value in settings_of(type(self)()).items()}
        except TypeError:  # a user's class that needs arguments: all settings are shown
            usual = {}
        given = {name: repr(value) for name, value in settings_of(self).items()}
        model = self.learner.model
        if model is not None and model.shapes is not None:
            given["posterior"] = repr(None) if model.given is None else "..."
        changed = ", ".join(f"{name}={value}" for name, value in given.items() if value != usual.get(name))
        watch = vars(self).get("watch")
        parts = [changed, f"updates={self.learner.updates}", *([] if watch is None else [f"watch={watch!r}"])]
        return f"{type(self).__name__}({', '.join(part for part in parts if part)})"

    def __str__(self) -> str:
        """What has been learnt and adopted, in words."""
        return "\n  ".join([type(self).__name__, *self._lines()])

    def _lines(self) -> list[str]:
        learner, model = self.learner, self.learner.model
        if model is None or model.decisions == 0:
            known = "no prior, and no outcomes yet" if learner.posterior is None else repr(learner.posterior)
            lines = [
                f"posterior: {known}",
                _learns(learner),
            ]
        else:
            assert model.log is not None
            learnt = f"decisions with outcomes: {model.decisions}; rows of outcomes: {model.log.total}"
            own = (
                [] if model.shapes is not None else [f"posterior as given, with what was learnt: {learner.posterior!r}"]
            )
            lines = [learnt, *own, *model.lines()]
        watch = vars(self).get("watch")
        return lines if watch is None else [*lines, f"watch: {watch}"]

    def update(self, round: Round, arms: Any, outcomes: Any, noise_std: Any = None) -> None:
        """Learn from the outcomes, (k, 2), of ``arms``: first column rewards, second column what groups care about.

        NaN stands for an outcome that never came; it may follow in a later call, with NaN in place of the one that
        came. Every call counts, so the same outcome given twice is two observations. ``noise_std`` is the standard
        deviation of the noise of these outcomes, if you know it: one for all, one for each column, or (k, 2) with NaN
        where it is unknown.
        """
        round = self.learner.arranged(round)
        self.learner.update(round, Outcomes.of(round, arms, outcomes, noise_std))  # Alg. 1, line 11


def _conditioned(posterior: Posterior, round: Round, observed: Outcomes) -> Posterior:
    contexts = round.contexts[observed.arms]
    if observed.noise is None:
        return posterior.condition(contexts, observed.values)
    if not isinstance(posterior, StatefulPosterior):
        expected = f"None, because {type(posterior).__name__} has the same noise for all outcomes"
        raise InvalidArgument("noise_std", expected, safe_repr(observed.noise))
    return posterior.condition(contexts, observed.values, observed.noise)


def _learns(learner: Learner) -> str:
    if learner.learning is None:
        return "learn=False: hyperparameters stay"
    more = "" if learner.model is None else ", scales and effects of groups"
    return f"learns hyperparameters{more} as outcomes come"


def _learning(learn: bool | Learning | None, posterior: Posterior | None) -> Learning | None:
    """How to learn hyperparameters: by default where the posterior can, not at all, or as asked for."""
    if learn is not None and not isinstance(learn, bool | Learning):
        raise InvalidArgument("learn", "True, False, None or a superarm.Learning", safe_repr(learn))
    if posterior is None:
        if learn is False:
            raise InvalidArgument("posterior", "a posterior, because learn=False keeps what you gave", None)
        return learn if isinstance(learn, Learning) else LEARNING
    if learn is None:
        return LEARNING if isinstance(posterior, Learns) else None
    if learn is False:
        return None
    if not isinstance(posterior, Learns):
        expected = "a posterior with a method learned(learning, seed), which learn needs"
        raise InvalidArgument("posterior", expected, type_of(posterior))
    return LEARNING if learn is True else learn


def oracle_or_exact(oracle: SuperArmOracle | None) -> SuperArmOracle:
    """The oracle asked for, by default :class:`~superarm.Automatic`."""
    return Automatic() if oracle is None else checked_oracle(oracle)


def found_by(answer: Selection) -> Selection:
    """The answer of an oracle, refused unless it is a selection: a user's oracle may return anything."""
    if not isinstance(answer, Selection):
        raise InvalidArgument("oracle", "one that returns a Selection (see Selection.of)", type_of(answer))
    return answer
