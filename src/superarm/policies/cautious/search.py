"""The contract of a search for certified super arms, and what it finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from superarm.arguments import Array, IntArray, Mask
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import SuperArmOracle
from superarm.policies.cautious.certificates.judge import Judge, Judged
from superarm.policies.cautious.elsewhere import Beyond, Elsewhere
from superarm.posteriors.posterior import Belief
from superarm.rewards.reward import reward_of
from superarm.round import Round
from superarm.selection import Selection, TouchedGroups


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A super arm with its verdicts and its u at the reward index."""

    arms: IntArray
    judged: Judged
    value: float
    selection: Selection | None = None  # of the oracle that found it
    underfilled: bool = False


@dataclass(kw_only=True, eq=False)
class Search(ABC):
    """Super arms of one round that are certified, or nearly so; one object serves one round."""

    round: Round
    index: Array  # (M,) reward index
    belief: Belief
    judge: Judge
    oracle: SuperArmOracle
    order: IntArray  # (M,) the arms in the order in which ties are broken
    eps: float
    coming: Array | None = None  # (o, P) points whose outcomes are out: they will teach, but certify nothing
    elsewhere: Elsewhere | None = None  # arms of the round that were left out; None: none were

    def needs_all_arms(self) -> None:
        """Raise :class:`Beyond` if some were left out."""
        if self.elsewhere is not None:
            raise Beyond

    def candidate(self, arms: IntArray, *, selection: Selection | None = None, underfilled: bool = False) -> Candidate:
        """A super arm with its verdicts."""
        value = reward_of(self.round.reward, self.index[arms], arms)
        return Candidate(arms=arms, judged=self.judge(arms), value=value, selection=selection, underfilled=underfilled)

    def touched(self, arms: IntArray, judged: Judged) -> TouchedGroups:
        """The groups that a super arm, ascending, touches: values at the mean, and verdicts."""
        good = GoodSubgroups(self.round, self.belief.mean[:, 1], self.order)
        described = good.described(good.valued(arms))
        return replace(described, p_broken=judged.p_broken, regret=judged.regret, vouched=judged.vouched)

    @property
    @abstractmethod
    def proves(self) -> bool:
        """Whether an oracle's proof that a super arm is best covers all certified ones."""

    @abstractmethod
    def best(self) -> Candidate | None:
        """The best certified super arm; None if nothing at all is certified."""

    @abstractmethod
    def hopeful(self) -> Mask:
        """(G,) the groups that may keep their promise."""

    @abstractmethod
    def may_try(self, groups: Mask, level: float) -> bool:
        """Whether :meth:`optimistic` may touch an uncertified group among ``groups``, (G,)."""

    @abstractmethod
    def optimistic(self, level: float) -> IntArray | None:
        """The arms of the best super arm where promises may be broken with a probability of about ``level``."""

    @abstractmethod
    def admitting(self, group: int, level: float) -> Candidate | None:
        """The best super arm where ``group`` may break its promise as in :meth:`optimistic`; others are certified."""
