"""What users ask of a session, checked before anything happens: rounds, keys, arms, outcomes."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from superarm.arguments import Array, between, listed, one_of, positive
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.groups import identities
from superarm.policies.policy import Policy
from superarm.round import Outcomes, Round, checked_noises, checked_round, with_number
from superarm.selection import Selection
from superarm.sessions.events import Pairs
from superarm.storage.labels import plain
from superarm.wire.labels import check_text, is_writable

LONGEST = 200  # letters of a key or sample
LARGEST_T = 2**62  # that a user may give: journals hold numbers below 2**63, and the session counts on from it
WAYS = ("position", "id")
PARTS = tuple(each.name for each in fields(Round) if each.init)


def checked_text(argument: str, value: Any, *, empty: bool = False) -> str:
    """Some text, not too long."""
    if not isinstance(value, str) or len(value) > LONGEST or not (value or empty) or "\0" in value:
        least = 0 if empty else 1
        raise InvalidArgument(argument, f"text of {least} to {LONGEST} characters", safe_repr(value))
    check_text([value], argument)
    return str(value)


def is_id(value: Any) -> TypeGuard[str]:
    """Whether a value may be the id of a decision, and can be looked for: ids are of ASCII letters."""
    return isinstance(value, str) and value.isascii() and "\0" not in value


def is_key(value: Any) -> TypeGuard[str]:
    """Whether a value may be a key, and can be looked for."""
    return isinstance(value, str) and len(value) <= LONGEST and "\0" not in value and is_writable(value)


def checked_key(value: Any) -> str | None:
    """A key, or None."""
    return None if value is None else checked_text("key", value)


def request_digest(*said: Any) -> str:
    """64 hexadecimal digits that tell a request from every other."""
    return hashlib.sha256(json.dumps(said, separators=(",", ":")).encode("utf-8")).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A round that somebody asks about; ``counted``: its number is the next one of the session."""

    round: Round
    counted: bool

    @classmethod
    def of(cls, round: Any, parts: Mapping[str, Any], *, counted: bool = False) -> Asked:
        """From a round, or from the arguments of one; without t, or where ``counted``, the session is to count."""
        if round is not None:
            if parts:
                raise InvalidArgument("round", f"a round, or its parts ({', '.join(parts)}), not both", type_of(round))
            return cls(round=checked_round(round), counted=counted)
        unknown = [name for name in parts if name not in PARTS]
        if unknown:
            raise InvalidArgument("round", f"parts of a round: {', '.join(PARTS)}", f"{unknown[0]}=")
        missing = [name for name in ("contexts", "feasible") if name not in parts]
        if missing:
            raise InvalidArgument("round", "a superarm.Round, or at least contexts= and feasible=", "none")
        return cls(round=Round(**{"t": 1, **parts}), counted=counted or "t" not in parts)

    def digest(self) -> str:
        """Of the round that is asked about, before it is counted."""
        return f"{self.round.digest()}{'+' if self.counted else ''}"

    def numbered(self, last: int) -> Round:
        """The round with its number, which must be larger than the last of the session."""
        if not self.counted:
            check_number(self.round.t, last)
            return self.round
        return with_number(self.round, last + 1)

    def picked(self, last: int, policy: Policy) -> tuple[Round, Selection]:
        """The round with its number, and what the policy picks of it."""
        round = self.numbered(last)
        return round, policy.select(round)


def check_number(t: int, last: int) -> None:
    """Refuse a number of a round that is not larger than the last of the session, or after which few are left."""
    if t <= last:
        raise InvalidArgument("t", f"more than every t of the session so far (> {last})", t)
    if t > LARGEST_T:
        raise InvalidArgument("t", "at most 2**62, so that the session can number later rounds", t)


def checked_outcomes(
    round: Round, picked: tuple[int, ...], arms: Any, outcomes: Any, by: Any
) -> tuple[tuple[int, ...], Array]:
    """Positions of arms that were picked, and their outcomes, (k, 2)."""
    positions = arm_positions(round, picked, arms, by)
    observed = Outcomes.of(round, positions, outcomes)
    return tuple(observed.arms.tolist()), observed.values


def arm_positions(round: Round, picked: tuple[int, ...], arms: Any, by: Any = None) -> Any:
    """Positions of arms that are named by position or by id.

    Whole numbers are positions and all else are ids, unless the ids are whole numbers too: then ``by`` must say.
    """
    if by is not None:
        one_of("by", by, WAYS)
    if by == "id" and round.arm_ids is None:
        raise InvalidArgument("by", "'position': the round has no arm_ids", by)
    named = listed("arms", getattr(arms, "to_numpy", lambda: arms)(), "arm numbers or arm_ids")
    if not named:
        return np.empty(0, dtype=np.intp)
    ids = [] if round.arm_ids is None else round.arm_ids.tolist()
    numbers = all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in named)
    if by is None and all(map(_is_whole, named)) and any(map(_is_whole, ids)):  # 1 and 1.0 are one label
        raise InvalidArgument("by", "'position' or 'id', as arm_ids are whole numbers too", by)
    if by == "position" or (by is None and (numbers or not ids)):
        positions = round.check_arms(named)
        strangers = [arm for arm in positions.tolist() if arm not in picked]
        if strangers:
            raise InvalidArgument("arms", f"arms that were picked ({_few(picked)})", strangers[0])
        return positions
    names = identities(named, "arms").tolist()
    places: dict[Any, list[int]] = {}
    for arm in picked:
        places.setdefault(plain(ids[arm]), []).append(arm)
    for name in names:
        if name not in places:
            raise InvalidArgument("arms", f"arm_ids that were picked ({_few(tuple(places))})", safe_repr(name))
        if len(places[name]) > 1:
            raise InvalidArgument("arms", "positions, as several picked arms have this id", safe_repr(name))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument("arms", "every arm at most once", f"{safe_repr(twice)} more than once")
    return round.check_arms([places[name][0] for name in names])


def picked_ids(round: Round, arms: Iterable[int]) -> tuple[Hashable, ...] | None:
    """The ids of some arms, where the round has any."""
    return None if round.arm_ids is None else tuple(plain(round.arm_ids[arm]) for arm in arms)


def _is_whole(name: Any) -> bool:
    return isinstance(name, Integral) or (isinstance(name, Real) and float(name).is_integer())  # ints may be huge


def _few(values: tuple[Any, ...], most: int = 8) -> str:
    said = ", ".join(map(safe_repr, values[:most])) if values else "none"
    return f"{said}, ..." if len(values) > most else said


def checked_noise_std(policy: Policy, value: Any) -> tuple[float, float] | None:
    """Noise of both outcomes, where the policy can use it."""
    if value is None:
        return None
    if "noise_std" not in inspect.signature(policy.update).parameters:
        expected = f"None, because {type(policy).__name__} has the same noise for all outcomes"
        raise InvalidArgument("noise_std", expected, safe_repr(value))
    pair = listed("noise_std", value, "a pair of numbers") if np.ndim(value) else [value, value]
    if len(pair) != 2:
        raise InvalidArgument("noise_std", "a number, or one for each outcome", safe_repr(value))
    first, second = checked_noises([positive("noise_std", each) for each in pair], 1)[0].tolist()
    return first, second


def checked_range(values: Array, limits: tuple[float, float] | None) -> None:
    """Outcomes within the range that the session was told."""
    if limits is not None:
        outside = values[(values < limits[0]) | (values > limits[1])]
        if outside.size:
            expected = f"numbers from {limits[0]:g} to {limits[1]:g}, the outcome_range of the session"
            raise InvalidArgument("outcomes", expected, float(outside[0]))


def pairs_of(values: Array) -> Pairs:
    """Outcomes as an event holds them."""
    rows = [[None if np.isnan(value) else value for value in row] for row in values.tolist()]
    return tuple((row[0], row[1]) for row in rows)


def checked_probabilities(values: Any, arms: int) -> tuple[float, ...] | None:
    """With which probability each of some arms was picked, or None where nobody drew lots."""
    if values is None:
        return None
    given = listed("probabilities", values, "one probability per arm, or None")
    if len(given) != arms:
        raise InvalidArgument("probabilities", f"one per arm ({arms})", f"{len(given)}")
    found = tuple(between("probabilities", value, 0.0, 1.0) for value in given)
    if 0.0 in found:
        raise InvalidArgument("probabilities", "numbers above 0, as these arms were picked", 0.0)
    return found
