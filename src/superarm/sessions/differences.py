"""In what two policies differ, field by field."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from superarm.policies.policy import Policy
from superarm.storage.arrays import Members
from superarm.storage.values import encode

MISSING = "nothing"


def differences(one: Policy, other: Policy, close: float = 0.0) -> list[str]:
    """What differs, as "where: this, that"; numbers within ``close``, relative to 1 or to themselves, do not."""
    arrays = Members(), Members()
    first, second = encode(one, arrays[0], "policy"), encode(other, arrays[1], "policy")
    return list(_walk(first, second, (arrays[0].members, arrays[1].members), close, "policy"))


def _walk(one: Any, other: Any, arrays: tuple[list[Any], list[Any]], close: float, where: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        if "class" in one and "class" in other and one["class"] != other["class"]:
            yield f"{where}: {one['class']}, {other['class']}"
        elif "array" in one and "array" in other:
            if not _same(arrays[0][one["array"]], arrays[1][other["array"]], close):
                yield f"{where}: other numbers"
        else:
            for name in [*one, *(name for name in other if name not in one)]:
                inner = where if name in ("fields", "tuple") else f"{where}.{name}"
                yield from _walk(one.get(name, MISSING), other.get(name, MISSING), arrays, close, inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (mine, yours) in enumerate(zip(one, other, strict=True)):
            yield from _walk(mine, yours, arrays, close, f"{where}[{place}]")
    elif one != other and not _near(one, other, close):
        yield f"{where}: {_short(one)}, {_short(other)}"


def _near(one: Any, other: Any, close: float) -> bool:
    both = isinstance(one, float) and isinstance(other, float)
    return both and math.isclose(one, other, rel_tol=close, abs_tol=close)


def _same(one: Any, other: Any, close: float) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind != "f" or not close:
        return bool(one.tobytes() == other.tobytes())
    return bool(np.allclose(one, other, rtol=close, atol=close, equal_nan=True))


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("class") or value.get("member") or next(iter(value), value))
    return str(value)[:60]
