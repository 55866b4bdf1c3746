"""The risk ledger: rounds entered in an account of risk, which pays for trials."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from superarm.arguments import IntArray, Mask
from superarm.policies.cautious.account import Account
from superarm.policies.cautious.certificates.judge import Judged
from superarm.policies.cautious.entry import Entry
from superarm.policies.cautious.known_labels import KnownLabels
from superarm.policies.cautious.out import Out, Stake
from superarm.round import Outcomes, Round
from superarm.selection import Selection
from superarm.storage import storable

REMEMBERED = 64  # latest rounds whose further parts may be reported, and latest decisions that picked nothing
MOST_OPENING = 0.0025  # default opening, in broken promises per group expected over the horizon
HORIZON = 40  # rounds, if no horizon is given


def _upgraded(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of the first versions, which kept only a balance; their labels count as new."""
    balance = fields.pop("balance", 0.0)
    new = {"labels": KnownLabels(), "rounds": 0, "groups": 0, "out": ()}
    return {"account": Account(balance=balance), **new, **fields}


@storable(upgrade=_upgraded)
@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Rounds and decisions entered in an :class:`~superarm.policies.cautious.account.Account`.

    A round that is only reported (:meth:`after`) is decided and confirmed at once, so that the balance B becomes
    max(B + e - R, 0), where R is the risk that it took and e is half of eps for each touched group with a promise (for
    one group if there is none). The bound of the account holds if every round is reported before the next one is
    selected. A round that is reported later is judged by the belief at that time, and several rounds selected at once
    may count on the same balance, so the account is then an estimate.

    A decision with an id pays when it is made (:meth:`decided`) and earns when it is known to have been played, and the
    bound holds however late that is.
    """

    account: Account = field(default_factory=Account)
    entries: tuple[Entry, ...] = field(default=())  # the latest rounds
    labels: KnownLabels = field(default_factory=KnownLabels)
    rounds: int = 0  # number of rounds that came
    groups: int = 0  # number of promised groups that super arms of these rounds could touch, summed
    out: tuple[Out, ...] = ()  # decisions whose outcomes are out, the oldest first

    def __repr__(self) -> str:
        owed = f", {-self.balance:.4g} advanced" if self.balance < 0.0 else ""
        out = f", {len(self.waited_for)} decisions waiting" if self.waited_for else ""
        return f"Ledger(balance={self.balance:.4g}, {len(self.entries)} rounds remembered{owed}{out})"

    @property
    def balance(self) -> float:
        """The balance of the account; below 0 while an advance is not repaid."""
        return self.account.balance

    def reported(self, round: Round, arms: IntArray) -> Entry:
        """The entry of a round with ``arms`` added to what was reported of it before."""
        new = Entry.of(round, arms)
        return next((entry.with_part(new) for entry in self.entries if entry.same_round(new)), new)

    def may_open(self, round: Round) -> Mask:
        """(G,) the groups that the advance may pay for: hardly tried, though their label came before.

        A label that comes for the first time may never come back.
        """
        return self.labels.untried(round.grouping.hashes) & self.labels.came(round.grouping.hashes)

    def after(
        self,
        entry: Entry,
        judged: Judged,
        eps: float,
        *,
        round: Round,
        observed: Outcomes,
        opening: float | None = 0.0,
        horizon: int | None = None,
    ) -> Ledger:
        """The ledger after the judged groups, all that was reported of a round so far, were played.

        A round that is reported in parts is settled anew, as one, with each part: what it paid and earned for fewer
        arms is undone first. If the account cannot pay for its uncertified groups, the round was no trial but
        exploration, credit, another policy's choice, or is not complete yet; it is only remembered.
        """
        account, entry = self._settled(entry, judged, eps, self.may_open(round))
        others = tuple(old for old in self.entries if not old.same_round(entry))
        first = len(others) == len(self.entries)
        ledger = replace(self, account=account, entries=(*others, entry)[-REMEMBERED:])
        return ledger._counted(round, observed, first, opening, horizon)

    def _counted(
        self, round: Round, observed: Outcomes, first: bool, opening: float | None, horizon: int | None
    ) -> Ledger:
        """The ledger with the labels and outcomes of a round, and the opening that follows from the rounds so far."""
        rounds = self.rounds + first
        groups = self.groups + first * places(round)
        if opening is None:
            opening = MOST_OPENING * groups / max(rounds, 1) * (horizon or max(HORIZON, rounds))
        seen = observed.arms[~np.isnan(observed.values[:, 1])]
        outcomes = np.bincount(round.grouping.codes[seen], minlength=len(round.labels))
        return replace(
            self,
            account=self.account.granted(opening),
            labels=self.labels.with_labels(round.grouping.hashes, outcomes),
            rounds=rounds,
            groups=groups,
        )

    @property
    def waited_for(self) -> tuple[Out, ...]:
        """The decisions whose second outcomes are out."""
        return tuple(out for out in self.out if out.is_waited_for)

    def expectant(self) -> Ledger:
        """The ledger as if the outcomes that are out had come: whether a group is tried does not depend on values."""
        labels = self.labels
        for out in self.waited_for:
            keys, outcomes = np.unique(out.labels[out.waits], return_counts=True)
            labels = labels.with_labels(keys, outcomes)
        return self if labels is self.labels else replace(self, labels=labels)

    def decided(self, decision: str, round: Round, selection: Selection, eps: float) -> Ledger:
        """The ledger after a decision was made, which pays if its kind is covered by the account."""
        stake = Stake.of(selection, round, self.expectant().may_open(round), eps)
        paid = None if stake is None else self.account.decide(**vars(stake), eps=eps)
        account, payment = (self.account, None) if paid is None else paid
        new = Out.of(decision, round, selection, payment)
        others = tuple(out for out in self.out if out.decision != decision)
        nothing = [out.decision for out in (*others, new) if not len(out.arms)][:-REMEMBERED]
        kept = tuple(out for out in (*others, new) if not out.is_over and out.decision not in nothing)
        return replace(self, account=account, out=kept)

    def heard(
        self,
        decision: str,
        round: Round,
        observed: Outcomes,
        *,
        opening: float | None = 0.0,
        horizon: int | None = None,
    ) -> Ledger:
        """The ledger after outcomes of a decision came; if it is not out, they pay and earn nothing."""
        out = self._find(decision)
        ledger = self._counted(round, observed, out is None or not out.heard, opening, horizon)
        return ledger if out is None else ledger._with(out.after(observed)).played(decision)

    def played(self, decision: str) -> Ledger:
        """The ledger after a decision is known to have been played: it earns its claim, once."""
        out = self._find(decision)
        if out is None or out.confirmed:
            return self
        account = self.account if out.payment is None else self.account.confirmed(out.payment)
        return replace(self, account=account)._with(replace(out, confirmed=True))

    def withdrawn(self, decision: str) -> Ledger:
        """The ledger after a decision is known never to be played: its payment comes back."""
        out = self._find(decision)
        if out is None:
            return self
        paid = None if out.confirmed else out.payment
        account = self.account if paid is None else self.account.withdrawn(paid)
        return replace(self, account=account)._without(decision)

    def expired(self, decision: str) -> Ledger:
        """The ledger after the wait for a decision was given up: what it paid stays paid, and its claim is void."""
        out = self._find(decision)
        if out is None:
            return self
        open_claim = None if out.confirmed else out.payment
        account = self.account if open_claim is None else self.account.expired(open_claim)
        return replace(self, account=account)._without(decision)

    def _find(self, decision: str) -> Out | None:
        return next((out for out in self.out if out.decision == decision), None)

    def _with(self, changed: Out) -> Ledger:
        each = (changed if out.decision == changed.decision else out for out in self.out)
        return replace(self, out=tuple(out for out in each if not out.is_over))

    def _without(self, decision: str) -> Ledger:
        return replace(self, out=tuple(out for out in self.out if out.decision != decision))

    def _settled(self, entry: Entry, judged: Judged, eps: float, may_open: Mask) -> tuple[Account, Entry]:
        """Account and entry after paying for all reported arms of a round; unchanged if the account cannot pay."""
        failing = judged.p_broken > eps
        uncertified = float(judged.p_broken[failing].sum())
        # A round without certified groups explores; no advance is spent on that.
        opens = may_open[judged.groups] & bool((judged.promised & ~failing).any())
        before = self.account if entry.payment is None else self.account.undone(entry.payment)
        decided = before.decide(
            risk=judged.risk,
            uncertified=uncertified,
            untried=float(judged.p_broken[failing & opens].sum()),
            touched=int(judged.promised.sum()),
            eps=eps,
        )
        if decided is None:
            return self.account, entry
        account, payment = decided
        return account.confirmed(payment), replace(entry, payment=payment)


def places(round: Round) -> int:
    """How many promised groups a super arm of the round can touch."""
    promised = sum(len(promise.groups) for promise in round.promises)
    feasible = round.feasible
    most = feasible.most_groups(round.grouping) if feasible.whole else feasible.totals(len(round))[1]
    return min(promised, most)
