"""START-UP: what is played before the posterior can be believed.

A handful of outcomes shows neither how smooth a function is nor how large: with a lengthscale that was too long, four
explored arms certified 175. So while fewer than 16 outcomes of the second output are known, whatever the prior says,

- lengthscales are 0.3 times those given (shy);
- if thresholds lie beyond one prior standard deviation even for the arm nearest to them, variances are multiplied until
  that distance is a third of a standard deviation (wide), so that no promise is hopeless because of the prior alone;
- before the first outcome no promise is certain to be kept either: if no prior was given, none is said to be kept with
  a probability above 0.9, except on a `Count`;
- safe arms are played, and beside them a few informative ones (EXPLORE), as long as there are any; nothing else is
  certified. If there are none, the policy plays what the shy posterior certifies, so it is never stuck.

It ends earlier if a prior was given and the outcomes bear it out: they are e^3 times as probable as with the shorter
lengthscales, and neither too large nor too small for its scale. It also ends after 24 rounds, once any outcome is
known: otherwise arms whose outcomes never come would seem to teach most for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import numpy.typing as npt
from scipy.special import chdtr

from superarm.arguments import Array, IntArray
from superarm.kernels.kernel import Kernel, rougher
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.policies.cautious.certificates.judge import Judged
from superarm.policies.cautious.demand import demand
from superarm.policies.cautious.explore import MOST_ARMS, NEARLY, explore
from superarm.policies.cautious.more import with_more_of_groups
from superarm.policies.cautious.search import Candidate, Search
from superarm.policies.cautious.vouched import with_safe
from superarm.posteriors.model import Model
from superarm.posteriors.posterior import Belief, CovaryingPosterior, Posterior
from superarm.posteriors.stateful import StatefulPosterior
from superarm.rewards.simple import Count
from superarm.round import Round
from superarm.selection import Kind

LEAST = 16  # outcomes of the second output from which on smoothness and scale are believed
LONGEST = 24  # rounds after which it ends with fewer: outcomes of some groups may never come
SHORTER = 0.3  # factor on lengthscales until then
WITHIN = 3.0  # multiplied standard deviations are at least this many times the distance to what is demanded
RISK = 0.9  # largest probability of a broken promise at which exploring goes on
BORNE_OUT = 3.0  # nats by which outcomes must be more probable with the lengthscales given than with shorter ones
COMMON = (0.02, 0.98)  # quantiles between which the whitened sum of squares lies if scale and noise are right
MOVED = 1.0  # nats by which learnt hyperparameters must beat the given ones to count as other ones
NEARLY_BLIND = 0.3  # share of the largest variance that counts as equally informative when nothing is known
OF_A_GROUP_BLIND = 4  # most arms explored of a group then: one group alone would not show how others differ
LEAST_RISK_BLIND = 0.1  # least probability of a broken promise that is stated before the scale of outcomes is known
FARTHEST = 1e9  # standard deviations; beyond, rounding would swamp the outcomes so far
FARTHEST_UNSEEN = 1e70  # the same without outcomes


def seen(posterior: Posterior) -> int:
    """Number of known outcomes of the second output; a user's own posterior, which cannot tell, knows enough."""
    return posterior.state.history.seen(1) if isinstance(posterior, StatefulPosterior) else LEAST


def is_starting(round: Round, posterior: Posterior, rounds: int = 0) -> bool:
    """Whether too little is known for promises that depend on outcomes, after so many rounds."""
    uncertain = any(not isinstance(promise.reward, Count) for promise in round.promises)
    known = seen(posterior)
    return uncertain and known < LEAST and (rounds < LONGEST or not known)


def borne_out(posterior: Posterior, model: Model | None) -> bool:
    """Whether a prior was given, still holds, and predicted the second outcomes so far."""
    if model is None or model.given is None or model.shapes is not None or model.log is None:
        return False
    assert isinstance(posterior, StatefulPosterior)
    if posterior.log_marginal_likelihood() > posterior.rougher(1.0).log_marginal_likelihood() + MOVED:
        return False
    given, log = model.given[1], model.log
    x, y = log.contexts[log.present[:, 1]], log.outcomes(1) - given.mean
    as_given, squares = _log_density(given.base, given.noise, x, y)
    shorter, _ = _log_density(rougher(given.base, SHORTER), given.noise, x, y)
    return as_given >= shorter + BORNE_OUT and bool(COMMON[0] <= chdtr(len(y), squares) <= COMMON[1])


def _log_density(kernel: Kernel, noise: float, x: Array, y: Array) -> tuple[float, float]:
    """Log density of outcomes y, (n,), at contexts x, (n, D), up to a constant, and their whitened sum of squares."""
    covariance = kernel(x, x) + noise**2 * np.eye(len(y))
    try:
        lower = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return -np.inf, np.inf
    squares = float(np.square(np.linalg.solve(lower, y)).sum())
    return -0.5 * squares - float(np.log(np.diagonal(lower)).sum()), squares


def shy(posterior: Posterior) -> CovaryingPosterior:
    """The same data under shorter lengthscales: less smoothness than was given."""
    assert isinstance(posterior, StatefulPosterior)
    return posterior.rougher(SHORTER)


@dataclass(frozen=True, eq=False)
class Wide:
    """A posterior with the variances of f_2 multiplied by the square of a factor."""

    posterior: CovaryingPosterior
    factor: float

    @property
    def noise_std(self) -> float | tuple[float, float]:
        return self.posterior.noise_std

    def predict(self, contexts: npt.ArrayLike) -> Belief:
        belief = self.posterior.predict(contexts)
        return Belief(mean=belief.mean, std=belief.std * [1.0, self.factor])

    def condition(self, contexts: npt.ArrayLike, outcomes: npt.ArrayLike) -> Wide:
        return replace(self, posterior=cast(CovaryingPosterior, self.posterior.condition(contexts, outcomes)))

    def covariance(self, contexts: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Array:
        covariance: Array = self.posterior.covariance(contexts, others) * np.array([1.0, self.factor**2])[:, None, None]
        return covariance


def wide(posterior: CovaryingPosterior, round: Round, points: Array) -> CovaryingPosterior:
    """A posterior under which what the round demands is within reach; the same where it is already.

    Before the first outcome nothing supports the scale of the prior: a limit far above it is as little certain to be
    kept as one far below it is certain to be broken.
    """
    known = seen(posterior)
    most = FARTHEST if known else FARTHEST_UNSEEN
    farthest = min(demand(round, posterior.predict(points), either_side=not known), most)
    return posterior if farthest <= 1.0 else Wide(posterior, WITHIN * farthest)


def start(search: Search, seen: int, *, blind: bool = False) -> tuple[Kind, Candidate] | None:
    """Safe arms, and beside them informative ones; None if there is room but nothing to explore.

    ``search`` uses a shy and wide posterior that has ``seen`` so many outcomes. ``blind``: neither a prior nor an
    outcome is known. All groups may differ then, so an arm of a group without picks would always teach most, and
    nothing shows which groups keep their promise. So less informative arms count as equal, to touch fewer groups.
    """
    round = search.round
    known = safe_alone(search)
    hopeful = search.hopeful()
    if not hopeful.any():  # by the prior alone, or nearly so
        hopeful = np.ones_like(hopeful)
    left, nearly = LEAST - seen, NEARLY_BLIND if blind else NEARLY
    arms = explore(
        known,
        search.judge,
        search.index,
        search.order,
        hopeful,
        enough=left,
        risk=RISK,
        nearly=nearly,
        of_a_group=OF_A_GROUP_BLIND if blind else MOST_ARMS,
        coming=search.coming,
    )
    if len(arms) > len(known.arms):
        short = len(arms) < round.feasible.totals(len(round))[0]
        explored = with_more_of_groups(search.candidate(arms), search)
        judged = _stated_blind(explored.judged, round) if blind else explored.judged
        return Kind.EXPLORING, replace(explored, judged=judged, underfilled=short)
    return (Kind.CERTIFIED, known) if len(known.arms) and not _has_room(round, known.arms) else None


def _stated_blind(judged: Judged, round: Round) -> Judged:
    """The same before the scale of outcomes is known: only promises on a Count can be sure to be kept."""
    counts = [promise.groups for promise in round.promises if isinstance(promise.reward, Count)]
    sure = np.isin(judged.groups, np.concatenate(counts)) if counts else np.zeros(len(judged.groups), dtype=np.bool_)
    least = np.where(judged.promised & ~sure, LEAST_RISK_BLIND, 0.0)
    return replace(judged, p_broken=np.maximum(judged.p_broken, least))


def safe_alone(search: Search) -> Candidate:
    """The best super arm of safe arms alone; the empty one if there are none."""
    nothing = search.candidate(np.empty(0, dtype=np.intp))
    if search.round.safe is None or not search.round.feasible.whole:
        return with_safe(nothing, search)
    unsafe = np.bincount(search.round.grouping.codes[~search.round.safe], minlength=len(search.round.labels)) > 0
    if unsafe.all():
        return nothing
    good = GoodSubgroups(search.round, None, search.order, closed=unsafe)
    return search.candidate(search.oracle(search.index, search.round, good).arms)


def _has_room(round: Round, arms: IntArray) -> bool:
    """Whether an arm, or a group where they are picked whole, could be added."""
    counts = np.bincount(round.grouping.codes[arms], minlength=len(round.labels))
    if round.feasible.whole:
        return bool(np.count_nonzero(counts) < min(round.feasible.most_groups(round.grouping), len(round.labels)))
    return len(arms) < round.feasible.totals(len(round))[1] and bool((counts < round.caps).any())
