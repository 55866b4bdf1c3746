"""Replay a log with another policy, and estimate what the policy would have earned."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from superarm.arguments import Array, as_floats, flag, fraction, instance, one_of, positive
from superarm.calibration.broken_promises import kept as kept_promises
from superarm.errors import InvalidArgument, ModelWarning, NoEstimate, safe_repr
from superarm.logs.estimate import Estimate, effective, share_and_interval
from superarm.logs.log import Log, checked_log
from superarm.logs.overlap import check_overlap
from superarm.logs.rare import rewards_interval
from superarm.logs.turns import GroupTerms, Terms, Turn, by_label, in_all, promise_terms, reward_terms
from superarm.policies.learner import Learner
from superarm.policies.policy import Policy, RandomisingPolicy
from superarm.posteriors.posterior import Posterior
from superarm.round import Outcomes
from superarm.simulation import selection_of
from superarm.words import counted

if TYPE_CHECKING:
    import polars as pl

INVERSE, ROBUST = "inverse propensity", "doubly robust"
METHODS = (ROBUST, INVERSE)


@dataclass(frozen=True, kw_only=True, eq=False)
class Replay:
    """The picks of a policy in the rounds of a log.

    Attributes
    ----------
    log
        the replayed log
    turns
        the picks of the policy in each round
    """

    log: Log
    turns: tuple[Turn, ...]
    # The model used last and its predictions: fitting takes most of the time, and value and by_group need the same.
    _learnt: list[tuple[Posterior | None, tuple[Array, ...]]] = field(default_factory=list, init=False)

    def __repr__(self) -> str:
        shared = sum(len(np.intersect1d(turn.arms, turn.entry.arms)) for turn in self.turns)
        picked = sum(len(turn.arms) for turn in self.turns)
        return (
            f"Replay({counted(len(self.turns), 'round')}, {counted(picked, 'arm')} picked, {shared} of them in the log)"
        )

    def frame(self) -> pl.DataFrame:
        """One row per round: ``t``, the ``arms`` of the policy, those of the log, and how many both picked."""
        import polars as pl

        rows = [
            (
                turn.entry.round.t,
                turn.arms.tolist(),
                turn.entry.arms.tolist(),
                len(np.intersect1d(turn.arms, turn.entry.arms)),
            )
            for turn in self.turns
        ]
        schema: dict[str, Any] = {
            "t": pl.Int64,
            "arms": pl.List(pl.Int64),
            "logged": pl.List(pl.Int64),
            "shared": pl.Int64,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def value(
        self,
        *,
        method: str = ROBUST,
        model: Posterior | None = None,
        clip: float | None = None,
        level: float = 0.95,
    ) -> Estimate:
        """Estimate the mean reward per round of the policy; raise :class:`NoEstimate` if the log cannot say.

        Parameters
        ----------
        method
            "doubly robust", or "inverse propensity", which needs no model and has the wider interval
        model
            prior of the model that predicts outcomes. It predicts each round from the rounds before, so a wrong model
            widens the interval but adds no bias. By default it is one that learns everything from the log, also its
            hyperparameters: that takes seconds for 100 rounds and minutes for 1,000, once for each replay
        clip
            the largest weight of an arm; this narrows the interval and adds a bias (``estimate.cut``)
        level
            probability that the interval contains the truth
        """
        level, terms = fraction("level", level), self._reward_terms(method, model, clip)
        return self._mean(in_all(terms), level, method)

    def kept(self, *, level: float = 0.95) -> Estimate:
        """Estimate the share of kept promises among all groups that the policy touches.

        Promises are judged by the logged outcomes, so noise decides those near their thresholds. Each group is
        weighted by the inverse probability of what was picked from it.
        """
        level, terms = fraction("level", level), self._promise_terms()
        trials = effective(np.concatenate([np.zeros(1), *(each.weights for each in terms)]))
        return _share(in_all(terms), level, trials)

    def by_group(
        self,
        *,
        method: str = ROBUST,
        model: Posterior | None = None,
        clip: float | None = None,
        level: float = 0.95,
    ) -> pl.DataFrame:
        """One row per group: its part of the reward per round, and the share of its promises that would be kept.

        Rounds without the group do not count. What the log cannot say is null, and ``reason`` says why. The arguments
        are those of :meth:`value`.
        """
        import polars as pl

        level, rewards = fraction("level", level), by_label(self._reward_terms(method, model, clip))
        try:
            promises, why = by_label(self._promise_terms()), ""
        except NoEstimate as error:
            promises, why = {}, str(error)
        rows = []
        for label in sorted(rewards, key=_name):
            row: dict[str, Any] = {"group": _name(label), "rounds": len(rewards[label].values)}
            reasons = []
            for what in ("reward", "kept"):
                try:
                    if what == "kept" and label not in promises:
                        raise NoEstimate(why)
                    found = (
                        self._mean(rewards[label], level, method)
                        if what == "reward"
                        else _share(promises[label], level, effective(promises[label].weights))
                    )
                except NoEstimate as error:
                    reasons.append(f"{what}: {error}")
                    row |= dict.fromkeys((what, f"{what}_low", f"{what}_high"))
                    continue
                row |= {what: found.mean, f"{what}_low": found.low, f"{what}_high": found.high}
            rows.append({**row, "reason": "; ".join(reasons) or None})
        columns = [f"{what}{end}" for what in ("reward", "kept") for end in ("", "_low", "_high")]
        schema = {"group": pl.String, "rounds": pl.Int64, **dict.fromkeys(columns, pl.Float64), "reason": pl.String}
        return pl.DataFrame(rows, schema=schema)

    def _reward_terms(self, method: str, model: Posterior | None, clip: float | None) -> list[GroupTerms]:
        robust = one_of("method", method, METHODS) == ROBUST
        most = None if clip is None else positive("clip", clip)
        predictions: Iterable[Array | None] = self._predictions(model) if robust else [None] * len(self.turns)
        return [reward_terms(turn, known, most) for turn, known in zip(self.turns, predictions, strict=True)]

    def _predictions(self, model: Posterior | None) -> tuple[Array, ...]:
        if not self._learnt or self._learnt[0][0] is not model:
            self._learnt[:] = [(model, tuple(_predictions(self.log, model)))]
        return self._learnt[0][1]

    def _mean(self, terms: Terms, level: float, method: str) -> Estimate:
        check_overlap(terms.weights, terms.wanted, terms.used, all_known=_all_known(self.log))
        seen = np.concatenate([entry.outcomes[:, 0] for entry in self.log])
        cut = 1.0 - float(terms.used.sum() / terms.weights.sum())
        return rewards_interval(
            terms.values,
            terms.used,
            terms.shared,
            seen[~np.isnan(seen)],
            level=level,
            method=method,
            cut=cut,
            skewed=method == INVERSE,
        )

    def _promise_terms(self) -> list[GroupTerms]:
        if self.turns and not any(turn.entry.round.promises for turn in self.turns):
            raise NoEstimate("no group of the log has a promise")
        entries = (turn.entry for turn in self.turns)
        kept = (kept_promises(each.round, each.arms, each.outcomes) for each in entries)
        return [promise_terms(turn, flags) for turn, flags in zip(self.turns, kept, strict=True)]


def replay(policy: Policy, log: Any, *, learn: bool = True) -> Replay:
    """Let a policy decide the rounds of a log again, to estimate what it would have earned.

    Parameters
    ----------
    policy
        decides every round, knowing the logged outcomes of the rounds before
    log
        a :class:`~superarm.Log`, a list of :class:`~superarm.LogEntry`, or a session
    learn
        whether the policy learns from the logged picks and outcomes, round by round; afterwards it has learnt from
        the whole log. A policy that has already learnt from this log looks better on it than it is

    >>> import numpy as np, superarm as sa
    >>> chooser, rng, log = sa.Uniform(seed=1), np.random.default_rng(0), []
    >>> for t in range(1, 201):
    ...     round = sa.Round(t=t, contexts=rng.uniform(size=(6, 1)), feasible=sa.AtMost(2))
    ...     arms = chooser.select(round).arms
    ...     outcomes = np.column_stack([round.contexts[arms, 0], np.zeros(2)])
    ...     known = chooser.probabilities(round, arms)
    ...     log.append(sa.LogEntry(round=round, arms=arms, outcomes=outcomes, probabilities=known))
    >>> replayed = sa.replay(sa.CUCB(), log, learn=False)
    >>> prior = sa.GaussianProcess(sa.Matern52(lengthscale=0.5), noise_std=0.1)
    >>> estimate = replayed.value(model=prior)
    >>> estimate.low < 1.0 < estimate.high  # two arms of mean 0.5 each
    True
    """
    if not isinstance(policy, Policy) or isinstance(policy, type):
        raise InvalidArgument("policy", "an object with select and update", safe_repr(policy))
    entries, learns = checked_log(log), flag("learn", learn)
    turns = []
    for entry in entries:
        arms = selection_of(policy.select(entry.round), entry.round).arms
        q, draws = _chances(policy, entry.round, arms)
        turns.append(Turn(entry=entry, arms=arms, chances=q, draws=draws))
        if learns:
            policy.update(entry.round, entry.arms, entry.outcomes)
    return Replay(log=entries, turns=tuple(turns))


def _chances(policy: Policy, round: Any, arms: Any) -> tuple[Array | None, bool]:
    """(M,) probability that the policy picks each arm, and whether it draws at random."""
    if isinstance(policy, RandomisingPolicy):
        given = policy.probabilities(round, np.arange(len(round)))
        if given is None:
            return None, True
        expected = f"a policy whose probabilities are numbers from 0 to 1, one for each of {len(round)} arms"
        q = as_floats("policy", given, expected)
        if q.shape != (len(round),) or not ((q >= 0.0) & (q <= 1.0)).all():
            raise InvalidArgument("policy", expected, safe_repr(given))
        return q, True
    q = np.zeros(len(round))
    q[arms] = 1.0
    return q, False


def _predictions(log: Log, model: Posterior | None) -> Iterable[Array]:
    """(M,) for each round: the expected first outcomes, given the rounds before it."""
    if model is not None:
        instance("model", model, Posterior, "an object with predict and condition, or None")
    learner = Learner.of(model, seed=0, learn=None if model is None else False)
    for entry in log:
        yield learner.belief(entry.round).mean[:, 0] if len(entry.round) else np.zeros(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # a wrong model only widens the interval
            first = np.column_stack([entry.outcomes[:, 0], np.full(len(entry.arms), np.nan)])  # rewards need no second
            learner.update(entry.round, Outcomes.of(entry.round, entry.arms, first))


def _all_known(log: Log) -> bool:
    """Whether the log has the probabilities of all arms; arms that a policy picks and a log cannot are then refused."""
    return all(each.probabilities is not None and len(each.probabilities) == len(each.round) for each in log)


def _share(terms: Terms, level: float, trials: float) -> Estimate:
    check_overlap(terms.weights, terms.wanted)
    return share_and_interval(terms.values, terms.weights, trials=trials, level=level, method=INVERSE)


_name: Callable[[Any], str] = str
