"""Public conformance suites: whether a reward, posterior, oracle or policy keeps its contract.

Each raises :class:`~superarm.errors.NonConforming` with what went wrong and the likeliest reason, and returns None
otherwise. superarm's own tests run them over every member of each family; run them on yours.
"""

from __future__ import annotations

from typing import Any

from superarm import arguments
from superarm.errors import NonConforming, type_of

CLOSE = 1e-8


def require(truth: bool, message: str) -> None:
    """Raise :class:`NonConforming` with the message unless ``truth``."""
    if not truth:
        raise NonConforming(message)


def keeps(member: object, contract: Any, what: str) -> None:
    """Raise :class:`NonConforming` unless an object has the members of a contract; a class is no such object."""
    if isinstance(member, type):
        raise NonConforming(f"pass an object of the class {member.__name__}, not the class itself")
    require(arguments.keeps(member, contract), f"{type_of(member)} {what}")
