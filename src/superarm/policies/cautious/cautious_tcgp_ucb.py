"""Cautious TCGP-UCB: optimistic about rewards, but about promises only as far as the posterior certifies them.

Optimism about constraints breaks promises while it learns. Here every touched group is certified by its own posterior
probability of keeping its promise; where nothing can be certified a few informative arms are played (EXPLORE) or the
likeliest groups (ON CREDIT), and what certified rounds leave unused of their allowance of risk pays for trying groups
that may be good (TRIAL), so that the policy is never stuck. See ``docs/promises.md`` for what is proved and what is
only observed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from superarm import storage
from superarm.arguments import Array, Seed, between, non_negative, whole_number
from superarm.errors import InvalidArgument, safe_repr
from superarm.oracles.oracle import SuperArmOracle, additive_scores
from superarm.policies.cautious import start_up
from superarm.policies.cautious.certificates.judge import Judge
from superarm.policies.cautious.certificates.widening import NONE, Widening
from superarm.policies.cautious.explore import explore
from superarm.policies.cautious.grounds import CertifiedGrounds
from superarm.policies.cautious.ledger import Ledger
from superarm.policies.cautious.opening import opening
from superarm.policies.cautious.search import Candidate, Search
from superarm.policies.cautious.searches import GroupSearch, SubsetSearch
from superarm.policies.cautious.trial import on_credit, trial
from superarm.policies.cautious.untried import Reasons, UntriedGroups, Why
from superarm.policies.cautious.watch import Residuals, Watch
from superarm.policies.explanation.explain import MOST, checked_selection, explained
from superarm.policies.explanation.explanation import Explanation
from superarm.policies.explanation.known import Known
from superarm.policies.learner import WIDEST, Learner, LearningPolicy, oracle_or_exact
from superarm.posteriors.learning import Learning
from superarm.posteriors.outputs import checked_noise
from superarm.posteriors.posterior import CovaryingPosterior, Posterior
from superarm.rewards.reward import is_additive
from superarm.round import Outcomes, Round
from superarm.selection import Kind, Selection, Status

LONGEST = 10**9  # rounds of a horizon
RISKY = 0.5  # probability of a broken promise beyond which exploring adds no second arm, where the model is learnt
SUREST = 0.99999  # confidence that the most draws of a certificate can still tell from certainty


@storage.storable(upgrade=lambda fields: {"opening": 0.0, "horizon": None, "watch": None, **fields})
@dataclass(eq=False, init=False)
class CautiousTCGPUCB(LearningPolicy):
    """Keeps promises from the first round: every touched group is certified, or the selection says why not.

    Parameters
    ----------
    posterior
        the prior; it must also offer ``covariance`` and ``noise_std``, as the posteriors of this library do. None:
        nothing is known beforehand
    confidence
        probability with which every certified group keeps its promise, from 0.5 to 0.99999
    reward_width
        how many standard deviations the reward index lies above the mean
    must_teach
        a trial must pick an arm whose variance, of the second outcome, is at least this share of the noise variance;
        with 0 anything may be tried that the ledger can pay for
    opening
        broken promises that may be expected of trials before they are earned, where groups were hardly tried; later
        earnings repay them. By default 0.25 % of the promised groups that come in ``horizon`` rounds, as far as those
        that came so far tell; with 0 nothing is advanced
    horizon
        rounds that are planned for; by default 40, and as many as have been played where these are more
    oracle
        finds super arms; by default :class:`~superarm.Automatic`
    seed
        decides ties, together with t
    learn
        by default the policy learns hyperparameters, scales and effects of groups as outcomes come, where the posterior
        can (``docs/learning.md``); False keeps what was given; True asks for it; a :class:`~superarm.Learning` says how

    >>> import numpy as np, superarm as sa
    >>> policy = CautiousTCGPUCB()
    >>> round = sa.Round(
    ...     t=1,
    ...     contexts=np.linspace(0, 1, 6)[:, None],
    ...     groups=list("aaabbb"),
    ...     constraint=sa.Sum() <= {"a": 0.5, "b": 4.0},
    ...     feasible=sa.AtMost(3),
    ... )
    >>> selection = policy.select(round)
    >>> print(selection.kind.name)  # nothing is known yet
    EXPLORING
    >>> policy.update(round, selection.arms, outcomes=np.full((len(selection.arms), 2), 0.2))
    """

    confidence: float
    reward_width: float
    must_teach: float
    opening: float | None
    horizon: int | None
    oracle: SuperArmOracle
    ledger: Ledger
    watch: Watch | None  # None where the posterior is trusted

    def __init__(
        self,
        posterior: Posterior | None = None,
        *,
        confidence: float = 0.99,
        reward_width: float = 2.0,
        must_teach: float = 0.03,
        opening: float | None = None,
        horizon: int | None = None,
        oracle: SuperArmOracle | None = None,
        seed: Seed = 0,
        learn: bool | Learning | None = None,
    ) -> None:
        if posterior is not None:
            if isinstance(posterior, type) or not isinstance(posterior, CovaryingPosterior):
                expected = "one with covariance and noise_std, such as GaussianProcess(kernel, noise_std=...), or None"
                raise InvalidArgument("posterior", expected, safe_repr(posterior))
            checked_noise(posterior.noise_std)  # or an error, here rather than in the first round
        self.learner = Learner.of(posterior, seed=seed, learn=learn)
        self.confidence = between("confidence", confidence, 0.5, SUREST)
        self.reward_width = between("reward_width", reward_width, 0.0, WIDEST)
        self.must_teach = non_negative("must_teach", must_teach)
        self.opening = None if opening is None else non_negative("opening", opening)
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1, LONGEST)
        self.oracle = oracle_or_exact(oracle)
        self.ledger = Ledger()
        self.watch = None if learn is False else Watch()

    @property
    def _widening(self) -> Widening:
        return NONE if self.watch is None else self.watch.widening

    def select(self, round: Round) -> Selection:
        """Pick a super arm; pure."""
        return self._decide(round)[1]

    def explain(self, round: Round, selection: Selection, *, most: int = MOST) -> Explanation:
        """Explain a selection of this policy, as it is now: see :meth:`superarm.TCGPUCB.explain`."""
        round, selection, most = checked_selection(round, selection, most)
        return explained(self._grounds(round), selection, most)

    def _grounds(self, round: Round) -> CertifiedGrounds:
        search, decided = self._decide(round)
        posterior, _ = self.learner.view(round)
        return CertifiedGrounds(
            policy=type(self).__name__,
            search=search,
            decided=decided,
            account=self.ledger.account,
            seen=start_up.seen(posterior) if self._starting(round, posterior) else None,
            known=Known.to(self),
            ask=self.select,
        )

    def _decide(self, round: Round) -> tuple[Search, Selection]:
        start = time.perf_counter()
        posterior, points = self.learner.view(round)
        found = None
        if self._starting(round, posterior):
            posterior = start_up.shy(posterior)
            search = self._search(round, start_up.wide(posterior, round, points), points)
            found = start_up.start(search, start_up.seen(posterior), blind=self.posterior is None)
        if found is None:
            search = self._search(round, posterior, points)
            kind, chosen, reasons = self._choose(search)
        else:
            kind, chosen = found
            reasons = Reasons(len(round.labels), Why.NOTHING_CERTIFIED, self.ledger.account.savings)
        untried = self.ledger.labels.untried(round.grouping.hashes, 1)
        untried[chosen.judged.groups] = False
        return search, _selection(kind, chosen, search, UntriedGroups.of(round.labels, untried, reasons), start)

    def _starting(self, round: Round, posterior: Posterior) -> bool:
        learner = self.learner
        starting = learner.learning is not None and start_up.is_starting(round, posterior)
        return starting and not start_up.borne_out(posterior, learner.model)

    def _search(self, round: Round, posterior: Posterior, points: Array) -> Search:
        belief, eps = posterior.predict(points), 1.0 - self.confidence
        passing = 0.0 if self.learner.model is None else self.learner.model.passing
        covarying = cast(CovaryingPosterior, posterior)
        judge = Judge(round, covarying, points, belief, eps, widening=self._widening, passing=passing)
        return (GroupSearch if round.feasible.whole else SubsetSearch)(
            round=round,
            index=belief.mean[:, 0] + self.reward_width * belief.std[:, 0],
            belief=self._widening.belief(belief, judge.noise),
            judge=judge,
            oracle=self.oracle,
            order=self.learner.tie_order(round),
            eps=eps,
        )

    def _choose(self, search: Search) -> tuple[Kind, Candidate, Reasons]:
        best = search.best()
        if best is None or best.underfilled or best.judged.by_word_alone:
            known = best or search.candidate(np.empty(0, dtype=np.intp))
            reasons = Reasons(len(search.round.labels), Why.NOTHING_CERTIFIED, self.ledger.account.savings)
            risk = 1.0 if self.learner.learning is None else RISKY  # a prior that is only a guess may be hopeless
            arms = explore(known, search.judge, search.index, search.order, search.hopeful(), risk=risk)
            if len(arms) > len(known.arms):
                return Kind.EXPLORING, replace(search.candidate(arms), underfilled=known.underfilled), reasons
            chosen = (on_credit(search) or known) if best is None else best
            # The empty super arm breaks no promise.
            return Kind.ON_CREDIT if best is None and len(chosen.arms) else Kind.CERTIFIED, chosen, reasons
        variance = np.square(search.judge.belief.std[:, 1]) - search.judge.passing
        teaches = variance >= self.must_teach * search.judge.noise
        opened, reasons = opening(best, search, self.ledger, teaches)
        tried = opened or trial(best, search, balance=self.ledger.account.savings, teaches=teaches)
        chosen = tried or best
        return Kind.TRIAL if len(chosen.judged.failing(search.eps)) else Kind.CERTIFIED, chosen, reasons

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn from the outcomes, (k, 2), of ``arms``, and enter the round in the ledger; NaN where none came.

        A round may be reported in parts. Parts belong to one round where t, contexts, groups, identities, promises, u
        and the feasible set are the same, so give every round a t of its own. Rewards are compared by class and, where
        they are data classes, by their fields (functions by name and code, not by what they enclose).
        """
        observed = Outcomes.of(round, arms, outcomes)
        entry = self.ledger.reported(round, observed.arms)
        posterior, points = self.learner.view(round)
        if self._starting(round, posterior):  # what is explored then is covered by no certificate
            posterior = start_up.wide(start_up.shy(posterior), round, points)
        played, eps = np.array(entry.arms, dtype=np.intp), 1.0 - self.confidence
        belief = posterior.predict(points[played])
        # Before these outcomes are known.
        judge = Judge(round, cast(CovaryingPosterior, posterior), points, belief, eps, played, self._widening)
        judged, watch = judge(played), self.watch
        if watch is not None and self.posterior is not None:
            watch = watch.after(Residuals.of(judge, observed), round.t)
        before = self.learner.model
        self.learner.update(round, observed)
        self.watch = watch and watch.under(before, self.learner.model, round.t)
        self.ledger = self.ledger.after(
            entry, judged, eps, round=round, observed=observed, opening=self.opening, horizon=self.horizon
        )


def _selection(kind: Kind, chosen: Candidate, search: Search, untried: UntriedGroups, start: float) -> Selection:
    """The answer of the policy: what the search proves of the super arm, and what is believed of its groups."""
    round, found = search.round, chosen.selection
    status, bound, solver = Status.NO_GOOD_SUBGROUP, _most(search), "cautious search"
    if chosen.underfilled:
        status = Status.UNDERFILLED
    elif kind in (Kind.CERTIFIED, Kind.TRIAL):
        if found is not None and search.proves:
            status, bound, solver = found.status, found.upper_bound, found.solver
        elif bound <= chosen.value and round.feasible.allows(chosen.arms, round.grouping):
            status = Status.OPTIMAL  # promises or not, nothing is worth more
        elif found is not None or len(chosen.arms):
            status = Status.UNPROVED
    arms = np.sort(chosen.arms)
    arms.setflags(write=False)
    return Selection(
        arms=arms,
        value=chosen.value,
        upper_bound=max(bound, chosen.value),
        status=status,
        solver=solver,
        seconds=time.perf_counter() - start,
        groups=search.touched(arms, chosen.judged),
        kind=kind,
        belief=search.belief[arms],
        untried=untried,
    )


def _most(search: Search) -> float:
    """What no feasible super arm is worth more than, whatever is promised; infinite where u is not a sum inside."""
    round = search.round
    if not is_additive(round.reward):
        return math.inf
    scores = additive_scores(search.index, round, "cautious search")
    return round.reward.transform(round.feasible.largest_sum(scores, round.grouping))
