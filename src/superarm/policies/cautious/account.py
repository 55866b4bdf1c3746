"""The account of risk, in units of one expected broken promise: pay at decide, earn at confirmation.

Every decision pays for the probability that its groups break their promises, and claims half of what the confidence
allows them; a claim counts once it is known that the decision was played. Written out for decision d, with R_d the sum
of the probabilities, U_d its part of groups above eps (uncertified), n_d the touched groups (at least 1), e_d =
eps n_d / 2 and B+ = max(B, 0)::

    decide      needs U_d <= B+ (plus the advance, for groups that were never tried);
                paid_d = max(min(B+, R_d), U_d),   B -= paid_d;   s_d = R_d - paid_d,   claim c_d = max(e_d - s_d, 0)
    confirmed   B += c_d,   earned += c_d
    withdrawn   B += paid_d; the claim is void
    expired     the claim is void, the payment stays

**Advance.** The opening O is a loan: as long as less than O was earned, trials of groups that were never tried may take
the balance down to -(O - earned). All earnings repay it first, as the balance must be above 0 before anything else can
be paid from it.

**Bound.** Over all decisions that were not withdrawn::

    sum R_d  <=  eps sum n_d + max(0, O - earned)

*Proof.* B = earned - sum paid, where earned is the sum of confirmed claims. So sum R = sum paid + sum s
= earned - B + sum s <= sum (c_d + s_d) + max(0, -B). First, c_d + s_d = max(e_d, s_d) <= eps n_d, as s_d <= R_d - U_d,
the certified part. Second, -B <= max(0, O - earned) at all times: a decision takes B below 0 only as far as that, a
claim c lowers both sides by c, and all else raises B. The order, the delay and the number of decisions outstanding play
no part. If a decision is settled at once and B >= U_d, then B becomes max(B + e_d - R_d, 0).

A super arm depends only on what was observed before. So E[broken] = E[sum R] if the probabilities are right, and if
whether a decision is withdrawn also depends only on what was observed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from superarm.storage import storable

SHARE = 0.5  # share of the allowance eps that is saved; with all of it the share of kept promises would have no margin


@storable
@dataclass(frozen=True, kw_only=True)
class Payment:
    """What a decision paid, and what it earns once it is known to have been played."""

    paid: float
    claim: float


@storable
@dataclass(frozen=True, kw_only=True)
class Account:
    """A balance with an advance; immutable.

    >>> account = Account().granted(1.0)
    >>> account, payment = account.decide(risk=0.3, uncertified=0.3, untried=0.3, touched=4, eps=0.01)
    >>> account.balance, account.advance
    (-0.3, 0.7)
    >>> account = account.confirmed(payment)
    >>> round(account.balance, 3), round(account.earned, 3), round(account.advance, 3)
    (-0.28, 0.02, 0.7)
    >>> account.decide(risk=0.3, uncertified=0.3, touched=4, eps=0.01) is None
    True
    """

    balance: float = 0.0  # all that was earned less all that was paid
    earned: float = 0.0  # confirmed claims
    opening: float = 0.0  # the loan: what may be spent before it is earned

    @property
    def savings(self) -> float:
        """The part of the balance that can pay for any trial."""
        return max(self.balance, 0.0)

    @property
    def advance(self) -> float:
        """What the opening still lends, for trials of groups that were never tried."""
        return max(self.opening - self.earned + min(self.balance, 0.0), 0.0)

    def granted(self, opening: float) -> Account:
        """The account with an opening of at least this: a loan once granted is not taken back."""
        return self if opening <= self.opening else replace(self, opening=opening)

    def decide(
        self, *, risk: float, uncertified: float, touched: int, eps: float, untried: float = 0.0
    ) -> tuple[Account, Payment] | None:
        """Pay for a decision; None if the account cannot, so that the decision stays outside it.

        Parameters
        ----------
        risk
            broken promises expected of the decision
        uncertified
            the part of it that is not certified
        touched
            promised groups touched by it
        eps
            the risk allowed to each
        untried
            the part of ``uncertified`` that the advance may pay for
        """
        if uncertified > self.savings + min(self.advance, untried):
            return None
        paid = max(min(self.savings, risk), uncertified)
        claim = max(SHARE * eps * max(touched, 1) - (risk - paid), 0.0)
        return replace(self, balance=self.balance - paid), Payment(paid=paid, claim=claim)

    def confirmed(self, payment: Payment) -> Account:
        """The decision was played: it earns its claim, once."""
        return replace(self, balance=self.balance + payment.claim, earned=self.earned + payment.claim)

    def undone(self, payment: Payment) -> Account:
        """The account without a confirmed decision, which will be judged again with more of its arms."""
        return replace(self, balance=self.balance + payment.paid - payment.claim, earned=self.earned - payment.claim)

    def withdrawn(self, payment: Payment) -> Account:
        """The decision was not played, and never will be: its payment comes back."""
        return replace(self, balance=self.balance + payment.paid)

    def expired(self, payment: Payment) -> Account:
        """It is unknown whether the decision was played: the payment stays, and it earns nothing."""
        return self
