"""A decision that is out: picked, and perhaps played, but its outcomes have not come yet."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.contexts import Columns, in_order
from superarm.errors import InvalidArgument
from superarm.policies.cautious.account import Payment
from superarm.posteriors.model.log import with_columns
from superarm.round import Outcomes, Round
from superarm.selection import Kind, Selection
from superarm.storage import storable
from superarm.storage.hashes import Words, keys_of

COVERED = (Kind.CERTIFIED, Kind.TRIAL)  # kinds that the account answers for
EXPLORING = (Kind.EXPLORING, Kind.ON_CREDIT)
ROUNDING = 1e-9  # of eps, that a probability and 1 less it may differ by


@dataclass(frozen=True, kw_only=True)
class Stake:
    """What a decision puts at risk, as its selection states it."""

    risk: float  # expected broken promises
    uncertified: float  # the part of them that is not certified
    untried: float  # the part of that which an advance may pay for
    touched: int  # groups with a promise that the posterior answers for

    @staticmethod
    def of(selection: Selection, round: Round, may_open: Mask, eps: float) -> Stake | None:
        """Of a selection of a round; None where the account does not answer for it.

        ``may_open``, (G,), marks the groups that were hardly tried. Where nothing is certified a round explores, which
        no advance is spent on.
        """
        if selection.kind not in COVERED:
            return None
        rows = [each for each in selection.groups if each.threshold is not None and not each.vouched]
        picked = set(selection.arms.tolist())
        if any(each.probability is None or not picked.issuperset(each.arms[:1]) for each in rows):
            return None
        p_broken = np.array([1.0 - (each.probability or 0.0) for each in rows])
        failing = p_broken > eps * (1.0 + ROUNDING)
        groups = round.grouping.codes[np.array([each.arms[0] for each in rows], dtype=np.intp)]
        opens = may_open[groups] & (not failing.all())
        return Stake(
            risk=float(p_broken.sum()),
            uncertified=float(p_broken[failing].sum()),
            untried=float(p_broken[failing & opens].sum()),
            touched=len(rows),
        )


@storable(
    shapes={"arms": "k", "contexts": "k D", "labels": "k", "waits": "k"},
    upgrade=lambda fields: {"columns": None, **fields},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Out:
    """A decision, the arms that it picked, and what it paid and claims."""

    decision: str  # its id
    t: int
    arms: IntArray  # (k,)
    contexts: Array  # (k, D)
    labels: Words  # (k,) fingerprints of the labels of their groups
    waits: Mask  # (k,) whether the second outcome has not come
    explores: bool  # whether nothing was certified
    payment: Payment | None = None  # None: it is outside the account
    confirmed: bool = False  # whether it is known to have been played
    heard: bool = False  # whether any outcome has come
    columns: Columns | None = None  # of the contexts, where they have names

    @staticmethod
    def of(decision: str, round: Round, selection: Selection, payment: Payment | None) -> Out:
        """A decision that was just made."""
        arms = selection.arms
        return Out(
            decision=decision,
            t=round.t,
            arms=arms,
            contexts=round.contexts[arms],
            labels=round.grouping.hashes[round.grouping.codes[arms]],
            waits=np.ones(len(arms), dtype=np.bool_),
            explores=selection.kind in EXPLORING,
            payment=payment,
            columns=None if round.columns is None else round.columns.kinds,
        )

    def among(self, round: Round) -> Out | None:
        """With contexts as those of a round, whose columns may be in another order; None where they are others."""
        if self.contexts.shape[1] != round.contexts.shape[1]:
            return None
        if self.columns is None or round.columns is None or self.columns == round.columns.kinds:
            return self
        try:
            return replace(self, contexts=in_order(self.contexts, self.columns, round.columns.kinds))
        except InvalidArgument:
            return None

    @property
    def is_waited_for(self) -> bool:
        """Whether a second outcome is to come."""
        return bool(self.waits.any())

    @property
    def is_over(self) -> bool:
        """Whether nothing can come of it any more."""
        return not self.is_waited_for and (self.confirmed or self.payment is None)

    def points(self, columns: int) -> Array:
        """(w, D + columns) where second outcomes are to come."""
        contexts, keys = self.contexts[self.waits], keys_of(self.labels[self.waits])
        return with_columns(contexts, keys, np.full(len(contexts), float(self.t)), columns)

    def after(self, observed: Outcomes) -> Out:
        """With outcomes of some of its arms."""
        came = observed.arms[~np.isnan(observed.values[:, 1])]
        return replace(self, waits=self.waits & ~np.isin(self.arms, came), heard=True)
