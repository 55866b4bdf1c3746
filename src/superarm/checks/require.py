"""How a conformance suite complains."""

from __future__ import annotations

from superarm.errors import NonConforming

CLOSE = 1e-8


def require(truth: bool, message: str) -> None:
    """Raise :class:`NonConforming` with the message unless ``truth``."""
    if not truth:
        raise NonConforming(message)
