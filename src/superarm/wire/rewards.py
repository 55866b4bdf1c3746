"""Rewards of super arms and groups as plain data: by name, and those with settings as an object of that name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.reward import TransformedSum
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.wire.labels import partition_from_data, partition_to_data

SIMPLE: dict[str, type] = {"sum": Sum, "mean": Mean, "min": Min, "max": Max, "count": Count, "variance": Variance}
NAMES = {kind: name for name, kind in SIMPLE.items()}

_BOTH = ("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "tanh", "floor", "ceil")
# Non-decreasing functions that every process has, so that a name says which is meant.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    **{f"math.{name}": getattr(math, name) for name in (*_BOTH, "asinh", "atan", "erf")},
    **{f"numpy.{name}": getattr(np, name) for name in (*_BOTH, "arcsinh", "arctan", "sign", "positive")},
}


def reward_to_data(reward: Any, argument: str = "reward") -> Any:
    """A reward of either kind as plain data with arrays; functions of your own stay where they are.

    >>> reward_to_data(Sum()), reward_to_data(TransformedSum(np.sqrt, weights=2.0))
    ('sum', {'transformed_sum': {'function': 'numpy.sqrt', 'weights': 2.0}})
    """
    kind = type(reward)
    if kind in NAMES:
        return NAMES[kind]
    if kind is DixitStiglitz:
        items = partition_to_data(reward.labels, reward.codes, "items")
        return {"dixit_stiglitz": {"items": items, "power": float(reward.power)}}
    if kind is TransformedSum:
        weights = float(reward.per_arm[0]) if len(reward.per_arm) == 1 else reward.per_arm
        return {"transformed_sum": {"function": _name(reward.function), "weights": weights}}
    own = "a function of your own" if kind is Custom else "a class of your own"
    came = f"{safe_repr(reward)[:100]}, {own}, which only this process knows"
    raise InvalidArgument(argument, f"one of {', '.join(SIMPLE)}, dixit_stiglitz and transformed_sum", came)


def reward_from_data(data: Any, argument: str = "reward") -> Any:
    """The reward that :func:`reward_to_data` made plain data of."""
    if isinstance(data, str) and data in SIMPLE:
        return SIMPLE[data]()
    if isinstance(data, dict) and len(data) == 1:
        [(name, settings)] = data.items()
        if name == "dixit_stiglitz" and _has(settings, {"items"}, {"power"}):
            _, items = partition_from_data(settings["items"], "items")
            return DixitStiglitz(items=items.each, power=settings.get("power", 3.0))
        if name == "transformed_sum" and _has(settings, {"function"}, {"weights"}):
            return TransformedSum(_function(settings["function"]), weights=settings.get("weights", 1.0))
    expected = f"one of {', '.join(SIMPLE)}, dixit_stiglitz and transformed_sum, with their settings"
    raise InvalidArgument(argument, expected, safe_repr(data)[:100])


def _name(function: Any) -> str:
    for name, known in FUNCTIONS.items():
        if function is known:
            return name
    came = f"{safe_repr(function)[:100]} of a TransformedSum, which only this process knows"
    raise InvalidArgument("function", f"one of {', '.join(FUNCTIONS)}", came)


def _function(name: Any) -> Callable[[Any], Any]:
    if not isinstance(name, str) or name not in FUNCTIONS:
        came = safe_repr(name)[:100] if isinstance(name, str) else type_of(name)
        raise InvalidArgument("function", f"one of {', '.join(FUNCTIONS)}", came)
    return FUNCTIONS[name]


def _has(settings: Any, needed: set[str], more: set[str]) -> bool:
    return isinstance(settings, dict) and needed <= set(settings) <= needed | more
