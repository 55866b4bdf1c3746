"""Cautious TCGP-UCB: optimistic about rewards, but about promises only as far as the posterior certifies them.

Optimism about constraints breaks promises while it learns. Here every touched group is certified by its own posterior
probability of keeping its promise. Where nothing can be certified, the policy plays informative arms (EXPLORE) or the
likeliest groups (ON CREDIT). The allowance of risk that certified rounds leave unused pays for trying groups that may
be good (TRIAL), so the policy is never stuck. See ``docs/promises.md`` for what is proved and what is only observed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from superarm import storage
from superarm.arguments import Array, IntArray, Seed, between, non_negative, whole_number
from superarm.errors import InvalidArgument, safe_repr
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.cautious import start_up
from superarm.policies.cautious.answer import answer
from superarm.policies.cautious.certificates.judge import Judge
from superarm.policies.cautious.certificates.limits import NO_LIMITS, Limits
from superarm.policies.cautious.certificates.widening import NONE, Widening
from superarm.policies.cautious.delayed import MindsDecisions
from superarm.policies.cautious.elsewhere import Beyond, Elsewhere
from superarm.policies.cautious.explore import teaching
from superarm.policies.cautious.grounds import CertifiedGrounds
from superarm.policies.cautious.ledger import Ledger
from superarm.policies.cautious.opening import opening
from superarm.policies.cautious.search import Candidate, Search
from superarm.policies.cautious.searches import GroupSearch, SubsetSearch
from superarm.policies.cautious.trial import trial
from superarm.policies.cautious.uncertified import uncertified
from superarm.policies.cautious.untried import Reasons, UntriedGroups, Why
from superarm.policies.cautious.watch import Residuals, Watch
from superarm.policies.explanation.explain import MOST, checked_selection, explained
from superarm.policies.explanation.explanation import Explanation
from superarm.policies.explanation.known import Known
from superarm.policies.learner import WIDEST, Learner, LearningPolicy, oracle_or_exact
from superarm.posteriors.learning import Learning
from superarm.posteriors.outputs import checked_noise
from superarm.posteriors.posterior import CovaryingPosterior, Posterior
from superarm.round import Outcomes, Round
from superarm.selection import Kind, Selection

LONGEST = 10**9  # largest horizon, in rounds
SUREST = 0.99999  # largest confidence: more could not be told from certainty by draws
EXPLORING_OUT = 2  # default number of exploring decisions that may be out; docs/promises.md compares others
MOST_OUT = 1000  # default number of decisions that may be out

_NEW = {"opening": 0.0, "horizon": None, "watch": None, "exploring_out": EXPLORING_OUT, "most_out": MOST_OUT}


@storage.storable(upgrade=lambda fields: {**_NEW, **fields})
@dataclass(eq=False, init=False, repr=False)
class CautiousTCGPUCB(MindsDecisions, LearningPolicy):
    """Keeps promises: certifies every touched group, or says why it could not.

    Parameters
    ----------
    posterior
        the prior; it must also offer ``covariance`` and ``noise_std``, as the posteriors of this library do. None: the
        policy starts without prior knowledge
    confidence
        probability with which every certified group keeps its promise, from 0.5 to 0.99999
    reward_width
        number of standard deviations between the mean and the reward index
    must_teach
        a trial must pick an arm whose variance, of the second outcome, is at least this share of the noise variance;
        with 0 the policy may try anything that the ledger can pay for
    opening
        expected broken promises that trials of hardly tried groups may risk before the risk is earned; later earnings
        repay it. By default 0.25 % of the promised groups expected over ``horizon`` rounds, estimated from the rounds
        so far; 0 for none
    horizon
        planned number of rounds; by default 40, or the number played so far if that is larger
    exploring_out
        used in a session, or wherever :meth:`decided` is called: how many decisions that explore or play on credit may
        wait for outcomes at a time (by default 2), and how many of any kind while no second outcome is known. Beyond
        that, the policy plays what is certified, or else only safe arms, until outcomes come; a round that must be
        filled cannot wait
    most_out
        the same for decisions of any kind (by default 1000); beyond that, only safe arms are played
    oracle
        the oracle that finds super arms; by default :class:`~superarm.Automatic`
    seed
        breaks ties, together with t
    learn
        by default the policy learns hyperparameters, scales and group effects, if the posterior can
        (``docs/learning.md``). False keeps what you gave, True requires learning, and a :class:`~superarm.Learning`
        says how
    outcomes
        kind of the outcomes: "binary" (0 or 1), "count" (0, 1, 2, ...) or "normal" (any numbers), one for both or a
        pair such as ``("binary", "normal")``; None, the default, recognises it from the outcomes

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
    exploring_out: int
    most_out: int
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
        exploring_out: int = EXPLORING_OUT,
        most_out: int = MOST_OUT,
        oracle: SuperArmOracle | None = None,
        seed: Seed = 0,
        learn: bool | Learning | None = None,
        outcomes: str | Sequence[str | None] | None = None,
    ) -> None:
        if posterior is not None:
            if isinstance(posterior, type) or not isinstance(posterior, CovaryingPosterior):
                expected = "one with covariance and noise_std, such as GaussianProcess(kernel, noise_std=...), or None"
                raise InvalidArgument("posterior", expected, safe_repr(posterior))
            checked_noise(posterior.noise_std)  # or an error, here rather than in the first round
        self.learner = Learner.of(posterior, seed=seed, learn=learn, outcomes=outcomes)
        self.confidence = between("confidence", confidence, 0.5, SUREST)
        self.reward_width = between("reward_width", reward_width, 0.0, WIDEST)
        self.must_teach = non_negative("must_teach", must_teach)
        self.opening = None if opening is None else non_negative("opening", opening)
        self.horizon = None if horizon is None else whole_number("horizon", horizon, 1, LONGEST)
        self.exploring_out = whole_number("exploring_out", exploring_out, 1, LONGEST)
        self.most_out = whole_number("most_out", most_out, 1, LONGEST)
        self.oracle = oracle_or_exact(oracle)
        self.ledger = Ledger()
        self.watch = None if learn is False else Watch()

    @property
    def _widening(self) -> Widening:
        return NONE if self.watch is None else self.watch.widening

    @property
    def _limits(self) -> Limits:
        model = self.learner.model
        return NO_LIMITS if model is None else Limits(*model.limits(1))

    def select(self, round: Round) -> Selection:
        """Pick a super arm; changes nothing in the policy."""
        return self._decide(self.learner.arranged(round))[1]

    def explain(self, round: Round, selection: Selection, *, most: int = MOST) -> Explanation:
        """Explain a selection: see :meth:`superarm.TCGPUCB.explain`."""
        round, selection, most = checked_selection(round, selection, most)
        return explained(self._grounds(self.learner.arranged(round)), selection, most)

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

    def _decide(self, round: Round, elsewhere: Elsewhere | None = None) -> tuple[Search, Selection]:
        """The search for this round, and the selection: by start-up if that finds something, else by :meth:`_choose`.

        Decisions that are out limit it: too many that explore, and nothing uncertified is played outside the account;
        too many of any kind, and only safe arms are.
        """
        start = time.perf_counter()
        posterior, points = self.learner.view(round)
        coming = self._coming(round, points)
        # By the prior alone all certificates may be wrong together, in every decision until the first outcomes come.
        blind = start_up.is_starting(round, posterior) and not start_up.seen(posterior)
        waits = self._out(round, min(self.exploring_out, self.most_out) if blind else self.most_out)
        full = bool(waits)
        found = known = None
        if self._starting(round, posterior):
            if elsewhere is not None:
                raise Beyond
            known = start_up.seen(posterior)
            seen = known + (0 if coming is None else len(coming))
            enough = seen >= start_up.LEAST
            waits = waits or (self._out(round, 1) if enough else self._out(round, self.exploring_out, explorers=True))
            posterior = start_up.shy(posterior)
            search = self._search(round, start_up.wide(posterior, round, points), points, coming)
            if not waits:
                found = start_up.start(search, seen, blind=self.posterior is None)
            full = bool(waits)  # nothing is certified yet
        if found is None:
            waits = waits or self._out(round, self.exploring_out, explorers=True)
            search = self._search(round, posterior, points, coming, elsewhere)
            kind, chosen, reasons = self._choose(search, full, bool(waits))
        else:
            kind, chosen = found
            reasons = Reasons(len(round.labels), Why.NOTHING_CERTIFIED, self.ledger.account.savings)
        untried = self.ledger.labels.untried(round.grouping.hashes, 1)
        untried[chosen.judged.groups] = False
        groups = UntriedGroups.of(round.labels, untried, reasons)
        return search, answer(kind, chosen, search, groups, waits, known, start)

    def _starting(self, round: Round, posterior: Posterior) -> bool:
        learner = self.learner
        starting = learner.learning is not None and start_up.is_starting(round, posterior, self.ledger.rounds)
        starting &= not self._broke  # scales were learnt before
        return starting and not start_up.borne_out(posterior, learner.model)

    @property
    def _broke(self) -> bool:
        """Whether the second outcome once broke."""
        return self.learner.model is not None and self.learner.model.since[1] > 0

    def _search(
        self,
        round: Round,
        posterior: Posterior,
        points: Array,
        coming: Array | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> Search:
        belief, eps = posterior.predict(points), 1.0 - self.confidence
        passing = 0.0 if self.learner.model is None else self.learner.model.passing
        covarying = cast(CovaryingPosterior, posterior)
        judge = Judge(
            round, covarying, points, belief, eps, widening=self._widening, passing=passing, limits=self._limits
        )
        belief = judge.belief
        return (GroupSearch if round.feasible.whole else SubsetSearch)(
            round=round,
            index=belief.mean[:, 0] + self.reward_width * belief.std[:, 0],
            belief=self._widening.belief(belief, judge.noise),
            judge=judge,
            oracle=self.oracle,
            order=self.learner.tie_order(round),
            eps=eps,
            coming=coming,
            elsewhere=elsewhere,
        )

    def _choose(self, search: Search, full: bool, waits: bool) -> tuple[Kind, Candidate, Reasons]:
        """The kind of the selection, its super arm, and why groups remain untried.

        If ``full``, only safe arms may be played; if it ``waits``, nothing uncertified outside the account.
        """
        if full:
            reasons = Reasons(len(search.round.labels), Why.OUT, self.ledger.account.savings)
            return Kind.WAITING, start_up.safe_alone(search), reasons
        best = search.best()
        if best is None or best.underfilled or best.judged.by_word_alone:
            known = best or search.candidate(np.empty(0, dtype=np.intp))
            why = Why.OUT if waits else Why.NOTHING_CERTIFIED
            reasons = Reasons(len(search.round.labels), why, self.ledger.account.savings)
            if waits:
                return Kind.WAITING, known, reasons
            learns = self.learner.learning is not None
            model = self.learner.model
            probes = self._broke and model is not None and model.questions_break(search.round.t)
            kind, chosen = uncertified(
                search, best, known, self.must_teach, learns=learns, broke=self._broke, probes=probes
            )
            return kind, chosen, reasons
        teaches = teaching(search.judge, self.must_teach, search.coming)
        opened, reasons = opening(best, search, self.ledger.expectant(), teaches)
        tried = opened or trial(best, search, balance=self.ledger.account.savings, teaches=teaches)
        chosen = tried or best
        return Kind.TRIAL if len(chosen.judged.failing(search.eps)) else Kind.CERTIFIED, chosen, reasons

    def update(self, round: Round, arms: Any, outcomes: Any, noise_std: Any = None) -> None:
        """Learn from the outcomes, (k, 2), of ``arms``, and enter the round in the ledger; NaN where one is missing.

        ``noise_std`` is the standard deviation of the noise of these outcomes, if you know it: one for all, one for
        each column, or (k, 2) with NaN where it is unknown.

        You may report a round in parts. Parts belong to one round if t, contexts, groups, identities, promises, u and
        the feasible set are equal, so give every round its own t. Rewards are compared by class and, for data classes,
        by their fields (functions by name and code, not by the values they capture).
        """
        round = self.learner.arranged(round)
        observed = Outcomes.of(round, arms, outcomes, noise_std)
        entry = self.ledger.reported(round, observed.arms)
        played = np.array(entry.arms, dtype=np.intp)
        judge = self._judge(round, played)
        judged = judge(played)
        self._learn(round, observed, judge)
        self.ledger = self.ledger.after(
            entry, judged, judge.eps, round=round, observed=observed, opening=self.opening, horizon=self.horizon
        )

    def _judge(self, round: Round, arms: IntArray) -> Judge:
        """The judge of played arms, before their outcomes are known."""
        posterior, points = self.learner.view(round)
        if self._starting(round, posterior):  # no certificate covers what a start-up explores
            posterior = start_up.wide(start_up.shy(posterior), round, points)
        belief, eps = posterior.predict(points[arms]), 1.0 - self.confidence
        covarying = cast(CovaryingPosterior, posterior)
        return Judge(round, covarying, points, belief, eps, arms, self._widening, limits=self._limits)

    def _learn(self, round: Round, observed: Outcomes, judge: Judge) -> None:
        watch = self.watch
        if watch is not None and self.posterior is not None:
            watch = watch.after(Residuals.of(judge, *self.learner.likely(round, observed)), round.t)
        before = self.learner.model
        self.learner.update(round, observed)
        now = self.learner.model
        if before is not None and now is not None and now.since[1] > before.since[1]:
            watch = self.watch  # the break explains these outcomes
        self.watch = watch and watch.under(before, now, round.t)
