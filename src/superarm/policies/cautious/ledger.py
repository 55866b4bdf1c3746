"""The risk ledger: what certified promises leave unused of their allowance pays for trials."""

from __future__ import annotations

from dataclasses import dataclass, replace

from superarm.certificates.judge import Judged
from superarm.storage import storable


@storable
@dataclass(frozen=True, kw_only=True)
class Ledger:
    """An account in units of one expected broken promise.

    Every round earns eps for each touched group (and for one in a round that touches none), and pays the probability
    that each touched group breaks its promise. A trial is allowed only if the account can pay for it, so the balance
    never falls below 0, and over all rounds that it covers the expected number of broken promises is at most eps times
    that of touched groups.
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
        earned = eps * max(1, len(judged.groups)) if t > self.last else 0.0
        return replace(self, balance=max(self.balance + earned - judged.risk, 0.0), last=max(self.last, t))
