"""What the page shows of sessions, from their counts and their latest state; no look reads the whole journal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from superarm.calibration import Verdict
from superarm.selection import Selection
from superarm.service.counters import caught_up
from superarm.sessions.counts import reads
from superarm.sessions.counts.counting import Counts, Mark
from superarm.sessions.counts.reads import Bin, Group, Row
from superarm.sessions.session import Session
from superarm.sessions.views import label_text

DAY = 86400.0
PENDING = 10  # decisions that wait, of which a table shows so many
COUNTING = 0.05  # seconds that one look may count on


@dataclass(frozen=True, kw_only=True)
class Glance:
    """A session in one row."""

    name: str
    state: str  # running, paused, archived
    policy: str
    mark: Mark
    left: int  # events that are still to be counted
    sums: Mapping[str, float]
    verdict: Verdict
    latest: float | None  # when the latest decision was made
    last_day: int  # decisions since yesterday
    oldest: Row | None  # of those that wait
    balance: float | None
    idle: int  # of the latest decisions, those that picked nothing as others wait for outcomes


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A session as its page shows it."""

    glance: Glance
    first: float | None  # when the first decision was made
    bins: Sequence[Bin]
    groups: Sequence[tuple[Group, Sequence[Bin]]]
    searched: str | None
    rows: Sequence[Row]
    only: str
    waiting: Sequence[Row]
    ledger: Mapping[str, float] | None
    untried: Sequence[tuple[str, str]] | None  # labels and reasons; None: the policy does not say
    adopted: Sequence[str]
    notes: Sequence[str]
    now: float


def glance(name: str, session: Session, counts: Counts, state: str, seconds: float = COUNTING) -> Glance:
    """One row of the table of sessions."""
    return _gathered(name, session, counts, state, seconds)[0]


def _gathered(name: str, session: Session, counts: Counts, state: str, seconds: float) -> tuple[Glance, list[Bin]]:
    left = caught_up(counts, seconds)
    mark, tables = counts.mark(), counts.tables
    bins = reads.bins(tables, mark)
    policy = session.policy
    waiting = reads.rows(tables, "waiting", most=1)
    found = Glance(
        name=name,
        state=state,
        policy=type(policy).__name__,
        mark=mark,
        left=left,
        sums=reads.totals(bins),
        verdict=reads.verdict(tables),
        latest=reads.when(tables, mark.n - 1),
        last_day=mark.n - _first_since(counts, mark.n, time.time() - DAY),
        oldest=waiting[0] if waiting else None,
        balance=(_ledger(policy) or {}).get("balance"),
        idle=len(list(takewhile(lambda row: row.kind == "WAITING" and not row.picked, reads.rows(tables)))),
    )
    return found, bins


def whole(
    name: str,
    session: Session,
    counts: Counts,
    state: str,
    *,
    only: str = "",
    start: int | None = None,
    search: str | None = None,
    seconds: float = COUNTING,
) -> Whole:
    """All that the page of a session shows."""
    found, bins = _gathered(name, session, counts, state, seconds)
    tables, mark = counts.tables, found.mark
    groups = reads.worst_groups(tables) if not search else reads.groups_like(tables, search)
    policy = session.policy
    return Whole(
        glance=found,
        first=reads.when(tables, 0),
        bins=bins,
        groups=[(group, reads.group_bins(tables, mark, group)) for group in groups],
        searched=search or None,
        rows=reads.rows(tables, only, start),
        only=only,
        waiting=reads.rows(tables, "waiting", most=PENDING),
        ledger=_ledger(policy),
        untried=_untried(session, tables_latest(counts)),
        adopted=str(policy).splitlines()[1:],
        notes=session.notes,
        now=time.time(),
    )


def tables_latest(counts: Counts) -> Row | None:
    """The latest decision that the policy made, of the last few."""
    return next((row for row in reads.rows(counts.tables, most=20) if row.kind != "RECORD"), None)


def _untried(session: Session, latest: Row | None) -> Sequence[tuple[str, str]] | None:
    """Groups of the latest decision of which no outcome was ever seen, as the policy said then."""
    standing = None if latest is None else session._running.store.standing(latest.decision)
    if standing is None or not standing.selection:
        return None
    selection: Selection = session._running.parts.selection(standing.selection)
    if selection.kind is None:
        return None
    return [(label_text(group.label), group.reason) for group in selection.untried]


def _ledger(policy: Any) -> dict[str, float] | None:
    """The account of risk, where the policy keeps one."""
    ledger = getattr(policy, "ledger", None)
    account = getattr(ledger, "account", None)
    if ledger is None or account is None:
        return None
    payments = [out.payment for out in ledger.out if out.payment is not None and not out.confirmed]
    return {
        "balance": account.balance,
        "savings": account.savings,
        "earned": account.earned,
        "opening": account.opening,
        "advance": account.advance,
        "held": sum(payment.paid for payment in payments),
        "claims": sum(payment.claim for payment in payments),
    }


def _first_since(counts: Counts, n: int, since: float) -> int:
    """The number of the first decision since a time, by halving: decisions are in the order of their times."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        at = reads.when(counts.tables, middle)
        if at is None or at >= since:
            high = middle
        else:
            low = middle + 1
    return low
