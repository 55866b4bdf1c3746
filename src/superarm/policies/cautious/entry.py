"""Which round was reported, and how much of it: a round may be reported in parts."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields, is_dataclass, replace
from types import CodeType
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.errors import InvalidArgument
from superarm.rewards.reward import is_per_arm
from superarm.round import Round
from superarm.storage import storable
from superarm.storage.labels import canonical


@storable(upgrade=lambda fields: {**fields, "rest": None})
@dataclass(frozen=True, kw_only=True)
class Entry:
    """What has been reported of a round, and what it has paid and earned."""

    t: int
    contexts: int  # a checksum: another round may have the same number
    rest: int | None = None  # a checksum of all else that makes a round; the first version kept none
    arms: tuple[int, ...] = ()
    paid: float = 0.0
    earned: bool = False

    def same_round(self, other: Entry) -> bool:
        """Whether both are of one round."""
        known = self.rest is None or other.rest is None or self.rest == other.rest
        return (self.t, self.contexts) == (other.t, other.contexts) and known

    @classmethod
    def of(cls, round: Round, arms: IntArray) -> Entry:
        """What one report says."""
        checksum = zlib.crc32(np.ascontiguousarray(round.contexts).tobytes())
        return cls(t=round.t, contexts=checksum, rest=_rest(round), arms=tuple(sorted(arms.tolist())))

    def with_part(self, other: Entry) -> Entry:
        """With what another report of the same round says."""
        return replace(self, rest=other.rest, arms=tuple(sorted({*self.arms, *other.arms})))


def _rest(round: Round) -> int:
    """A checksum of groups, identities, safe arms, promises, u and the feasible set."""
    feasible, size = round.feasible, len(round)
    ids = None if round.arm_ids is None else [_label(label) for label in round.arm_ids.tolist()]
    facts = [feasible.whole, feasible.totals(size), feasible.most_groups(round.grouping), ids]
    facts.append([_label(label) for label in round.labels])
    arrays: list[Array | IntArray | Mask] = [round.grouping.codes, feasible.caps(round.grouping)]
    if round.safe is not None:
        arrays.append(round.safe)
    for promise in round.promises:
        facts += [promise.sense.name, promise.optimism]
        arrays += [promise.groups, promise.thresholds]
    for reward in (round.reward, *(promise.reward for promise in round.promises)):
        facts.append(_content(reward))
        if is_per_arm(reward):
            arrays.append(reward.entries(size))
    checksum = zlib.crc32(repr(facts).encode())
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).tobytes(), checksum)
    return checksum


def _label(label: Any) -> Any:
    """A label with a repr that is one for equal labels, and another for others."""
    if type(label) is str:
        return label
    if isinstance(label, int):
        return "int", hex(label)  # the digits of a large one have no repr
    if isinstance(label, (tuple, frozenset)):
        parts = [_label(part) for part in label]
        return type(label).__name__, sorted(parts, key=repr) if isinstance(label, frozenset) else parts
    try:
        plain = canonical(label)
    except InvalidArgument:
        return type(label).__qualname__, repr(label)
    return _label(plain) if isinstance(plain, int) else plain


def _content(value: Any) -> Any:
    """Values, arrays, functions and data classes by content, all else by its class: it may change while in use."""
    if value is None or isinstance(value, (str, bytes, int, float, np.generic, frozenset)):
        return _label(value)
    if isinstance(value, (tuple, list)):
        return [_content(item) for item in value]
    if isinstance(value, dict):
        return sorted(([_content(key), _content(item)] for key, item in value.items()), key=repr)
    if isinstance(value, np.ndarray):
        return _content(value.tolist()) if value.dtype == object else [value.dtype.str, value.shape, value.tobytes()]
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, _content(value.co_consts)]
    kind = value if hasattr(value, "__name__") else type(value)  # a function or class, or an object
    name = [getattr(kind, "__module__", None), getattr(kind, "__qualname__", kind.__name__)]
    if kind is value:
        return [*name, _content(getattr(value, "__code__", None))]
    settings = [each.name for each in fields(value) if each.compare] if is_dataclass(value) else []
    return [*name, *(_content(getattr(value, each)) for each in settings)]
