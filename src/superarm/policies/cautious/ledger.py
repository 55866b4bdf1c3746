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
from superarm.round import Outcomes, Round
from superarm.storage import storable

REMEMBERED = 64  # rounds of which further parts may be reported
MOST_OPENING = 0.0025  # of the groups expected over the horizon: the default opening, in broken promises
HORIZON = 40  # rounds, where nobody knows


def _upgraded(fields: dict[str, Any]) -> dict[str, Any]:
    """The first versions knew a balance only; their labels count as new."""
    balance = fields.pop("balance", 0.0)
    return {"account": Account(balance=balance), "labels": KnownLabels(), "rounds": 0, "groups": 0, **fields}


@storable(upgrade=_upgraded)
@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Rounds settled in an :class:`~superarm.policies.cautious.account.Account` when they are reported.

    Each is decided and confirmed at once, so that the balance B becomes max(B + e - R, 0), where R is the risk that it
    took and e half of eps for each touched group with a promise (for one where there is none). The bound of the account
    holds where every round is reported before the next one is selected. What comes late is judged by what is believed
    then, and several rounds selected at once may count on the same balance, so the account is an estimate there.
    """

    account: Account = field(default_factory=Account)
    entries: tuple[Entry, ...] = field(default=())  # the latest rounds
    labels: KnownLabels = field(default_factory=KnownLabels)
    rounds: int = 0  # that came
    groups: int = 0  # promised groups of these rounds that there were places for

    def __repr__(self) -> str:
        owed = f", {-self.balance:.4g} advanced" if self.balance < 0.0 else ""
        return f"Ledger(balance={self.balance:.4g}, {len(self.entries)} rounds remembered{owed})"

    @property
    def balance(self) -> float:
        """Of the account; below 0 while an advance is not repaid."""
        return self.account.balance

    def reported(self, round: Round, arms: IntArray) -> Entry:
        """The entry of a round with ``arms`` added to what was reported of it before."""
        new = Entry.of(round, arms)
        return next((entry.with_part(new) for entry in self.entries if entry.same_round(new)), new)

    def may_open(self, round: Round) -> Mask:
        """(G,) the groups that the advance may pay for: hardly tried, though their label came before.

        A label that comes for the first time may be one that never comes back.
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

        What a round has paid already it does not pay again, and it earns once. One whose uncertified groups the account
        cannot pay for is no trial but exploration, credit, somebody else's choice, or not yet whole; it only is
        remembered.
        """
        account, entry = self._settled(entry, judged, eps, self.may_open(round))
        others = tuple(old for old in self.entries if not old.same_round(entry))
        first = len(others) == len(self.entries)
        rounds = self.rounds + first
        groups = self.groups + first * places(round)
        if opening is None:
            opening = MOST_OPENING * groups / rounds * (horizon or max(HORIZON, rounds))
        seen = observed.arms[~np.isnan(observed.values[:, 1])]
        outcomes = np.bincount(round.grouping.codes[seen], minlength=len(round.labels))
        return Ledger(
            account=account.granted(opening),
            entries=(*others, entry)[-REMEMBERED:],
            labels=self.labels.with_labels(round.grouping.hashes, outcomes),
            rounds=rounds,
            groups=groups,
        )

    def _settled(self, entry: Entry, judged: Judged, eps: float, may_open: Mask) -> tuple[Account, Entry]:
        failing = judged.p_broken > eps
        uncertified = float(judged.p_broken[failing].sum())
        # Where nothing is certified a round explores, which no advance is spent on.
        opens = may_open[judged.groups] & bool((judged.promised & ~failing).any())
        due = max(judged.risk - entry.paid, 0.0)
        decided = self.account.decide(
            risk=due,
            uncertified=max(uncertified - entry.paid, 0.0),
            untried=float(judged.p_broken[failing & opens].sum()),
            touched=int(judged.promised.sum()),
            eps=eps,
        )
        if decided is None:
            return self.account, entry
        account, payment = decided
        if not entry.earned:
            account = account.confirmed(payment)
        return account, replace(entry, paid=entry.paid + due, earned=True)


def places(round: Round) -> int:
    """How many promised groups a super arm of the round can touch."""
    promised = sum(len(promise.groups) for promise in round.promises)
    feasible = round.feasible
    most = feasible.most_groups(round.grouping) if feasible.whole else feasible.totals(len(round))[1]
    return min(promised, most)
