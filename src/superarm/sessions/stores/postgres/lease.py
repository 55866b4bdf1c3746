"""Who of several replicas does the work of a session: a row that one of them holds for a while.

A lease saves work and keeps nothing safe: that is done by compare-and-append. Its time is that of the database, so that
clocks of replicas do not matter. Each takeover raises the epoch; what was computed under an earlier one is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from superarm.errors import StoreUnavailable


class LeaseLost(StoreUnavailable):
    """Another replica has taken the session over since; nothing changed."""


@dataclass(frozen=True, kw_only=True)
class Lease:
    """Who works on a session.

    Attributes
    ----------
    holder
        a name that no other replica has
    url
        where others reach it
    epoch
        one more with every takeover
    seconds
        for which it still holds; negative where it is over, and the next who asks gets it
    """

    holder: str
    url: str
    epoch: int
    seconds: float


READ = (
    "SELECT holder, url, epoch, extract(epoch FROM until - clock_timestamp())::float8 FROM superarm.session "
    "WHERE id = %s AND holder IS NOT NULL"
)
# The values: holder, url, seconds, holder, epoch of this store; session, holder, epoch of this store.
TAKE = (
    "UPDATE superarm.session SET holder = %s, url = %s, until = clock_timestamp() + make_interval(secs => %s), "
    "epoch = epoch + CASE WHEN holder = %s AND epoch = %s THEN 0 ELSE 1 END "
    "WHERE id = %s AND (until IS NULL OR until < clock_timestamp() OR (holder = %s AND epoch = %s)) RETURNING epoch"
)
GIVE = "UPDATE superarm.session SET until = clock_timestamp() WHERE id = %s AND epoch = %s"


def lease_of(rows: list[tuple[Any, ...]]) -> Lease | None:
    """The lease in a row of :data:`READ`."""
    names = ("holder", "url", "epoch", "seconds")
    return Lease(**dict(zip(names, rows[0], strict=True))) if rows else None
