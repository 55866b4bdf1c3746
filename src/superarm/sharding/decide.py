"""Decisions of a session on sharded rounds: its journal keeps the picked rows and the digest of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from superarm.arguments import instance
from superarm.policies.policy import Policy
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.round import Round
from superarm.selection import Selection
from superarm.sessions.decision import Decision
from superarm.sessions.session import Session
from superarm.sharding.round import ShardedRound
from superarm.sharding.select import select
from superarm.workers.workers import Workers


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A sharded round and who scores it: see :class:`superarm.sessions.elsewhere.Picking`."""

    round: ShardedRound
    workers: int | str | Workers

    @property
    def number(self) -> int:
        return self.round.t

    def request(self) -> str:
        return self.round.digest()

    def numbered(self, t: int) -> _Asked:
        return replace(self, round=replace(self.round, t=t))

    def pick(self, policy: Policy) -> tuple[Round, Selection]:
        picked = select(cast(TCGPUCB, policy), self.round, workers=self.workers)
        return picked.round, picked.selection


def decide(
    session: Session,
    round: ShardedRound,
    *,
    workers: int | str | Workers = "here",
    key: str | None = None,
    counted: bool = False,
    trace: Any = None,
) -> Decision:
    """Let the policy of a session pick a super arm of a sharded round, and keep the decision.

    The journal keeps the picked rows, what is known about all arms together, and the digest of the catalogue, so
    decisions can be replayed without the catalogue. Report outcomes to the session by arm id or by position in the
    decision. If the policy explored or played on credit, it gathered all arms, and the journal keeps them.

    Parameters
    ----------
    session
        a :class:`~superarm.Session` whose policy :func:`superarm.select` takes
    round
        the round; its t is larger than every t of the session so far
    workers
        who scores the arms, as for :func:`superarm.select`
    key, counted, trace
        as for :meth:`superarm.Session.decide`

    >>> import tempfile, polars as pl, superarm as sa
    >>> folder = tempfile.TemporaryDirectory()
    >>> frame = pl.DataFrame({"x": [0.1, 0.5, 0.9], "shop": ["ann", "bob", "ann"], "sku": ["i", "j", "k"]})
    >>> arms = sa.Catalogue.write(frame, f"{folder.name}/arms", contexts=["x"], group="shop", id="sku")
    >>> policy = sa.TCGPUCB(sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05))
    >>> session = sa.Session.open(f"{folder.name}/shop.db", policy=policy)
    >>> round = sa.ShardedRound(t=1, arms=arms, constraint=sa.Sum() <= 0.8, feasible=sa.AtMost(2, per_group=1))
    >>> decision = sa.decide(session, round, key="monday")
    >>> session.observe(decision.id, decision.arm_ids, [[0.4, 0.1], [0.2, 0.3]]).state
    'complete'
    >>> session.close()
    >>> folder.cleanup()
    """
    instance("session", session, Session, "a superarm.Session")
    instance("round", round, ShardedRound, "a superarm.ShardedRound")
    return session.decide(_Asked(round=round, workers=workers), key=key, counted=counted, trace=trace)
