"""A decision that is out: it was made and perhaps played, but its outcomes have not come yet."""

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

COVERED = (Kind.CERTIFIED, Kind.TRIAL)  # kinds of selections that the account covers
EXPLORING = (Kind.EXPLORING, Kind.ON_CREDIT)
ROUNDING = 1e-9  # relative to eps: more than 1 - p loses, which a selection states in place of p


@dataclass(frozen=True, kw_only=True)
class Stake:
    """The risk of a decision, as its selection states it."""

    risk: float  # expected broken promises
    uncertified: float  # of these, in groups that are not certified
    untried: float  # of these, in groups that an advance may pay for
    touched: int  # number of touched groups with a promise, without those kept by the user's word

    @staticmethod
    def of(selection: Selection, round: Round, may_open: Mask, eps: float) -> Stake | None:
        """The stake of a selection of a round; None if the account does not cover it.

        ``may_open``, (G,), marks the groups that were hardly tried. A round without certified groups explores; no
        advance is spent on that.
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
    """A decision that is out: its arms, and what it paid and claims."""

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
        """The record of a decision that was just made."""
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
        """The decision with its columns in the order of a round; None if the round has other columns."""
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
        """Whether a second outcome may still come."""
        return bool(self.waits.any())

    @property
    def is_over(self) -> bool:
        """Whether all its outcomes have come and it is settled."""
        return not self.is_waited_for and (self.confirmed or self.payment is None)

    def points(self, columns: int) -> Array:
        """(w, D + columns) the points whose second outcomes are out."""
        contexts, keys = self.contexts[self.waits], keys_of(self.labels[self.waits])
        return with_columns(contexts, keys, np.full(len(contexts), float(self.t)), columns)

    def after(self, observed: Outcomes) -> Out:
        """The decision after outcomes of some of its arms."""
        came = observed.arms[~np.isnan(observed.values[:, 1])]
        return replace(self, waits=self.waits & ~np.isin(self.arms, came), heard=True)
