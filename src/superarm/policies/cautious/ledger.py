"""The risk ledger: what certified promises leave unused of their allowance pays for trials."""

from __future__ import annotations

from dataclasses import dataclass, replace

from superarm.certificates.judge import Judged
from superarm.storage import storable

SHARE = 0.5  # of the allowance eps that is saved: with all of it the kept promises would be 1 - eps, and no margin


@storable
@dataclass(frozen=True, kw_only=True)
class Ledger:
    """An account in units of one expected broken promise.

    Every round earns half of eps for each touched group with a promise (for one where there is none), and pays the
    probability that each touched group breaks its promise, down to a balance of 0. A trial is allowed only if the
    balance can pay for it, so over all rounds that the account covers the expected number of broken promises is at most
    eps times that of touched groups (rounds that touch none counted as one): each round adds at most the larger of its
    certified risk and what it earned. That is so where every round is reported whole, once, and before the next one is
    selected. Of a round in parts each part is judged by itself, and what comes late is judged by what is believed then,
    so the account is an estimate there.
    """

    balance: float = 0.0
    last: int = 0  # the latest round that has earned

    def after(self, t: int, judged: Judged, eps: float) -> Ledger:
        """The account after a round in which the judged groups were played.

        A round whose uncertified groups the account cannot pay for was no trial but exploration, credit or somebody
        else's choice; it changes nothing. A round reported in several parts earns once.
        """
        uncertified = float(judged.broken[judged.broken > eps].sum())
        if uncertified > self.balance:
            return self
        earned = SHARE * eps * max(1, int(judged.promised.sum())) if t > self.last else 0.0
        return replace(self, balance=max(self.balance + earned - judged.risk, 0.0), last=max(self.last, t))
