"""The counts of the sessions that somebody looks at."""

from __future__ import annotations

from superarm.service.asked import Asked, sessions_of
from superarm.service.counters import Counters


def counters_of(request: Asked) -> Counters:
    """Those of the service."""
    return sessions_of(request).counters
