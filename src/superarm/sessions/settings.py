"""What a session was told when it began, beside its policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from superarm.arguments import interval


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a session; they are part of its first event."""

    outcome_range: tuple[float, float] | None = None  # outside of which an outcome is refused

    @classmethod
    def of(cls, *, outcome_range: Any = None) -> Self:
        """Check what a user gives."""
        return cls(outcome_range=None if outcome_range is None else interval("outcome_range", outcome_range))

    def to_data(self) -> dict[str, Any]:
        """As an event holds them; an infinite end is text, as JSON has no word for it."""
        limits = None if self.outcome_range is None else [repr(end) for end in self.outcome_range]
        return {"outcome_range": limits}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """As an event holds them."""
        limits = data.get("outcome_range")
        return cls(outcome_range=None if limits is None else (float(limits[0]), float(limits[1])))
