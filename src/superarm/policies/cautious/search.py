"""What every search has: the round as the policy sees it, and super arms with their verdicts."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.arguments import Array, IntArray
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.cautious.certificates.judge import Judge, Judged
from superarm.posteriors.posterior import Belief
from superarm.rewards.reward import reward_of
from superarm.round import Round
from superarm.selection import Selection


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A super arm with its verdicts and its u at the reward index."""

    arms: IntArray
    judged: Judged
    value: float
    selection: Selection | None = None  # of the oracle that found it
    underfilled: bool = False


@dataclass(kw_only=True, eq=False)
class Candidates:
    """Super arms of one round."""

    round: Round
    index: Array  # (M,) reward index
    belief: Belief
    judge: Judge
    oracle: SuperArmOracle
    order: IntArray  # (M,) of ties
    eps: float

    def candidate(self, arms: IntArray, *, selection: Selection | None = None, underfilled: bool = False) -> Candidate:
        """A super arm with its verdicts."""
        value = reward_of(self.round.reward, self.index[arms], arms)
        return Candidate(arms=arms, judged=self.judge(arms), value=value, selection=selection, underfilled=underfilled)
