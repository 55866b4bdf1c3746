"""Why groups of a round remain untried, group by group, and in words on demand."""

from __future__ import annotations

import enum
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.selection import UntriedGroup


class Why(enum.Enum):
    """Why a group is not tried; the words before the colon give the reason without numbers."""

    UNCERTIFIED = "not certified: without an opening (opening=0), risk must be saved first"
    WORTH_LESS = "worth less than others"
    NOTHING_CERTIFIED = "waiting until something is certified: others teach more now, or risk less"
    OUT = "waiting for outcomes: the policy must first learn from earlier decisions"
    NOTHING_TO_LEARN = "nothing to learn: its outcomes would teach too little"
    HOPELESS = "hopeless: it cannot keep its promise at this threshold"
    NEW = "new: its label must appear in a second round before risk is borrowed for it"
    TOLD = "known from others: arms of other groups say enough about it"
    TOO_RISKY = "too risky: breaks its promise with probability {needs:.2f}"
    UNPAID = "cannot be paid for: needs a risk of {needs:.2f}, the balance is {funds:.2f}"
    LATER = "later: others are tried first"
    NO_PLACE = "no place left: the super arm has fewer places than groups"


WHYS = tuple(Why)


class Reasons:
    """For every group of a round, the reason why it is not tried, and the risk of trying it."""

    def __init__(self, groups: int, why: Why, funds: float) -> None:
        self.why = np.full(groups, WHYS.index(why), dtype=np.int8)  # (G,)
        self.needs = np.zeros(groups)  # (G,)
        self.funds = funds

    def set(self, groups: IntArray | Mask | np.intp, why: Why, needs: Array | float = 0.0) -> None:
        """Give these groups a reason."""
        self.why[groups], self.needs[groups] = WHYS.index(why), needs


@dataclass(frozen=True, kw_only=True, eq=False)
class UntriedGroups:
    """The groups that remain untried, column by column."""

    labels: tuple[Hashable, ...]  # (G,) of the round
    groups: IntArray  # (u,) positions
    why: IntArray  # (u,) which of WHYS
    needs: Array  # (u,) probability of a broken promise
    funds: float  # that can be spent

    @classmethod
    def of(cls, labels: tuple[Hashable, ...], untried: Mask, reasons: Reasons) -> UntriedGroups:
        """The groups that ``untried``, (G,), marks."""
        groups = np.flatnonzero(untried)
        why, needs = reasons.why[groups].astype(np.intp), reasons.needs[groups]
        return cls(labels=labels, groups=groups, why=why, needs=needs, funds=reasons.funds)

    def rows(self) -> tuple[UntriedGroup, ...]:
        """One object for each group, with its reason in words."""
        each = zip(self.groups.tolist(), self.why.tolist(), self.needs.tolist(), strict=True)
        return tuple(
            UntriedGroup(label=self.labels[group], reason=WHYS[why].value.format(needs=needs, funds=self.funds))
            for group, why, needs in each
        )
