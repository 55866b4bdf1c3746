"""The grounds of policies that judge promises at an index: TCGP-UCB and TCGP-TS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.indices import Indices
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.cautious.certificates.judge import Judge
from superarm.policies.cautious.start_up import LEAST
from superarm.policies.explanation.known import Known
from superarm.policies.learner import LearningPolicy, found_by
from superarm.posteriors.posterior import Belief, CovaryingPosterior
from superarm.round import Round
from superarm.selection import Kind, Selection, TouchedGroup

EPS = 0.01  # of the judge: the smaller it is, the more draws are made where v must be drawn
ASIDE = "Arms are judged at upper confidence bounds, and promises play no part."


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexGrounds:
    """How a policy with a reward index and a satisfying index judges a round; see ``Grounds`` for the contract."""

    policy: str
    round: Round
    belief: Belief
    index: Array
    satisfying: Array | None
    order: IntArray
    decided: Selection
    known: Known
    oracle: SuperArmOracle
    judge: Judge | None
    how: str  # how the indices came about, in a sentence
    eps: float = 0.0
    certifies: bool = False

    @classmethod
    def of(
        cls,
        policy: LearningPolicy,
        round: Round,
        indices: Indices,
        decided: Selection,
        oracle: SuperArmOracle,
        how: str,
    ) -> IndexGrounds:
        """How a policy that has decided judged the round."""
        posterior, points = policy.learner.view(round)
        belief = posterior.predict(points)
        # Such a policy does not ask which arms are vouched for.
        trusting = round if round.safe is None else replace(round, safe=None)
        return cls(
            policy=type(policy).__name__,
            round=round,
            belief=belief,
            index=indices.reward,
            satisfying=indices.satisfying,
            order=policy.learner.tie_order(round),
            decided=decided,
            known=Known.to(policy),
            oracle=oracle,
            judge=Judge(trusting, posterior, points, belief, EPS)
            if isinstance(posterior, CovaryingPosterior)
            else None,
            how=how,
        )

    @cached_property
    def _good(self) -> GoodSubgroups:
        return GoodSubgroups(self.round, self.satisfying, self.order)

    @cached_property
    def _in_force(self) -> bool:
        """Whether promises were in force: they are ignored if no part of any group keeps its promise."""
        return self._good.allows(self.decided.arms)

    def risks(self, sets: list[IntArray]) -> Array:
        good, codes = self._good if self._in_force else self._good.without_promises(), self.round.grouping.codes
        return np.array([0.0 if good.is_good(int(codes[arms[0]]), arms) else 1.0 for arms in sets])

    def touched(self, arms: IntArray) -> tuple[TouchedGroup, ...]:
        rows = self._good.touched(arms)
        if self.judge is None:
            return rows
        judged = self.judge(arms)
        judgements = zip(
            rows, judged.promised.tolist(), (1.0 - judged.p_broken).tolist(), judged.regret.tolist(), strict=True
        )
        return tuple(
            replace(row, probability=kept if promised else None, expected_regret=regret)
            for row, promised, kept, regret in judgements
        )

    def answer(self, round: Round) -> Selection:
        """The best super arm of ``round`` at the same indices."""
        return found_by(self.oracle(self.index, round, GoodSubgroups(round, self.satisfying, self.order)))

    def why(self, selection: Selection) -> str:
        if selection.kind is Kind.EXPLORING:
            return (
                f"Start-up: fewer than {LEAST} second outcomes are known, so that indices are little more than chance, "
                f"and few arms are played. {self.how}"
            )
        return f"{self.how if self.satisfying is not None else ASIDE} {selection.status.value}"

    def unsought(self, selection: Selection) -> str:
        return "the oracle ended its search before it came to this, or the selection was not made at these indices"
