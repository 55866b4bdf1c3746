"""How the cautious policy treats decisions whose outcomes are out: it registers them, and it waits.

Outcomes that are out teach nothing yet. If the policy ignored them, every decision would explore the same arms until
the first outcome comes. So a few decisions explore, and then the policy waits. Certificates rest only on known
outcomes, so certified arms are played meanwhile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, instance
from superarm.errors import InvalidArgument
from superarm.policies.cautious.certificates.judge import Judge
from superarm.policies.cautious.ledger import Ledger
from superarm.policies.learner import Learner
from superarm.round import Outcomes, Round
from superarm.selection import Selection

COMING = 500  # most points with outcomes out that count as known where teaching is judged: time grows as o^2


class MindsDecisions(ABC):
    """The part of the cautious policy that keeps track of decisions.

    :class:`~superarm.policies.policy.DelayedPolicy` is the contract.
    """

    confidence: float
    opening: float | None
    horizon: int | None
    exploring_out: int
    most_out: int
    learner: Learner
    ledger: Ledger

    def decided(self, decision: str, round: Round, selection: Selection) -> None:
        """Register a decision: a selection of this policy that may be played from now on. It pays for its risk."""
        _id(decision)
        round = self.learner.arranged(round)
        round.check_arms(instance("selection", selection, Selection, "a superarm.Selection").arms)
        if any(out.decision == decision for out in self.ledger.out):
            raise InvalidArgument("decision", "the id of a new decision", decision)
        self.ledger = self.ledger.decided(decision, round, selection, 1.0 - self.confidence)

    def observed(self, decision: str, round: Round, arms: Any, outcomes: Any, noise_std: Any = None) -> None:
        """Learn outcomes, (k, 2), of ``arms`` of a decision; NaN where none has come. The decision counts as played.

        ``noise_std`` is as in ``update``.

        The policy also learns outcomes of a decision that it does not wait for, because it expired or was somebody
        else's, but these neither pay nor earn risk.
        """
        _id(decision)
        round = self.learner.arranged(round)
        observed = Outcomes.of(round, arms, outcomes, noise_std)
        self._learn(round, observed, self._judge(round, np.sort(observed.arms)))
        self.ledger = self.ledger.heard(decision, round, observed, opening=self.opening, horizon=self.horizon)

    def played(self, decision: str) -> None:
        """Report that a decision was played, even if no outcome comes: it earns its claim."""
        self.ledger = self.ledger.played(_id(decision))

    def withdrawn(self, decision: str) -> None:
        """Report that a decision was not played, and never will be: the risk that it paid comes back."""
        self.ledger = self.ledger.withdrawn(_id(decision))

    def expired(self, decision: str) -> None:
        """Stop waiting for a decision: the risk that it paid is not returned, and it earns nothing."""
        self.ledger = self.ledger.expired(_id(decision))

    @abstractmethod
    def _judge(self, round: Round, arms: IntArray) -> Judge:
        """The judge of played arms, before their outcomes are known."""

    @abstractmethod
    def _learn(self, round: Round, observed: Outcomes, judge: Judge) -> None:
        """Learn outcomes that came, which ``judge`` has not seen."""

    def _coming(self, round: Round, points: Array) -> Array | None:
        """(o, P) the latest points with outcomes out, if they have the features of the round; None: no outcomes are."""
        columns = points.shape[1] - round.contexts.shape[1]
        each = [out.among(round) for out in self.ledger.waited_for]
        alike = [out for out in each if out is not None]
        return np.concatenate([out.points(columns) for out in alike[-COMING:]])[-COMING:] if alike else None

    def _out(self, round: Round, many: int, *, explorers: bool = False) -> tuple[str, ...]:
        """The decisions that are out (with ``explorers``, those that explore or play on credit), if at least ``many``.

        Else none; nor if the round cannot wait, because it must be filled, or has no promises.
        """
        must = not round.promises or round.feasible.totals(len(round))[0] > 0
        out = [each.decision for each in self.ledger.waited_for if each.explores or not explorers]
        return () if must or len(out) < many else tuple(out)


def _id(decision: Any) -> str:
    instance("decision", decision, str, "the id of a decision, text")
    return str(decision)
