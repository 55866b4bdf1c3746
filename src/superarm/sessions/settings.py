"""What a session was told when it began, beside its policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Self

from superarm.arguments import between, interval, non_negative, positive
from superarm.errors import InvalidArgument, safe_repr
from superarm.round import LARGEST
from superarm.words import span

LONGEST = 365_000 * 86400.0  # seconds of a deadline: calendars end
SPANS = ("deadline", "rebase_after", "keep_rounds")  # in seconds


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a session; they are part of its first event.

    Attributes
    ----------
    outcome_range
        outcomes outside of it are refused; None: no limit
    deadline
        seconds to wait for the outcomes of a decision; None: no limit
    silence
        the pair of outcomes that is assumed for those that did not come in time, with None for one from which nothing
        is learnt; None: learn nothing from silence
    rebase_after
        seconds after which the next decision teaches the policy a correction; None: only ``rebase`` does
    keep_rounds
        seconds after which a compaction keeps only the picked arms of a round; None: 30 days
    """

    outcome_range: tuple[float, float] | None = None
    deadline: float | None = None
    silence: tuple[float | None, float | None] | None = None
    rebase_after: float | None = None
    keep_rounds: float | None = None

    @classmethod
    def of(
        cls,
        *,
        outcome_range: Any = None,
        deadline: Any = None,
        silence: Any = None,
        rebase_after: Any = None,
        keep_rounds: Any = None,
    ) -> Self:
        """Check what a user gives."""
        return cls(
            outcome_range=None if outcome_range is None else interval("outcome_range", outcome_range),
            deadline=None if deadline is None else _deadline(deadline),
            silence=None if silence is None else _silence(silence),
            rebase_after=None if rebase_after is None else seconds("rebase_after", rebase_after),
            keep_rounds=None if keep_rounds is None else seconds("keep_rounds", keep_rounds),
        )

    def check_whole(self) -> None:
        """Refuse outcomes for silence without a deadline, or outside of the range of outcomes."""
        if self.silence is None:
            return
        if self.deadline is None:
            raise InvalidArgument("deadline", "a time limit, because silence is given", None)
        low, high = self.outcome_range or (-LARGEST, LARGEST)
        for value in self.silence:
            if value is not None and not low <= value <= high:
                raise InvalidArgument("silence", f"outcomes within outcome_range, from {low:g} to {high:g}", value)

    def agree(self, given: Settings) -> None:
        """Refuse what a user gives if it is neither None nor what the session began with."""
        for each in fields(self):
            came, stored = getattr(given, each.name), getattr(self, each.name)
            if came is not None and came != stored:
                said = [span(one) if each.name in SPANS and one is not None else one for one in (stored, came)]
                raise InvalidArgument(each.name, f"None, or the setting of the session: {said[0]}", said[1])

    def to_data(self) -> dict[str, Any]:
        """As an event holds them; an infinite end is text, as JSON has no word for it."""
        limits = None if self.outcome_range is None else [repr(end) for end in self.outcome_range]
        said = {"outcome_range": limits, "deadline": self.deadline, "silence": self.silence}
        later = {"rebase_after": self.rebase_after, "keep_rounds": self.keep_rounds}
        return said | {name: value for name, value in later.items() if value is not None}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """As an event holds them."""
        limits, silence = data.get("outcome_range"), data.get("silence")
        return cls(
            outcome_range=None if limits is None else (float(limits[0]), float(limits[1])),
            deadline=data.get("deadline"),
            silence=None if silence is None else (silence[0], silence[1]),
            rebase_after=data.get("rebase_after"),
            keep_rounds=data.get("keep_rounds"),
        )


def seconds(argument: str, value: Any, check: Callable[[str, Any], float] = non_negative) -> float:
    """A span of time, in seconds."""
    try:
        return check(argument, value.total_seconds() if isinstance(value, timedelta) else value)
    except InvalidArgument as error:
        number = "a positive number" if check is positive else "a number"
        expected = f"{number} of seconds, or a datetime.timedelta, such as timedelta(days=7)"
        raise InvalidArgument(argument, expected, error.came) from None


def _deadline(value: Any) -> float:
    found = seconds("deadline", value, positive)
    if found > LONGEST:
        raise InvalidArgument("deadline", "at most 1000 years, or None for no limit", span(found))
    return found


def _silence(value: Any) -> tuple[float | None, float | None]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidArgument(
            "silence", "a pair of outcomes, with None for one from which nothing is learnt", safe_repr(value)
        )
    one, two = (None if each is None else between("silence", each, -LARGEST, LARGEST) for each in value)
    return one, two
