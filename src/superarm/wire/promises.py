"""Promises as plain data: a list, in which each names its groups by their positions in the labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from superarm.arguments import Array, as_floats
from superarm.errors import InvalidArgument, safe_repr
from superarm.groups import Groups
from superarm.rewards.group_reward import Constraint
from superarm.rewards.promise import Promise
from superarm.wire.rewards import reward_from_data, reward_to_data

NEEDED = {"reward", "sense", "thresholds"}


def promise_to_data(promise: Promise, groups: int) -> dict[str, Any]:
    """One promise to some or all of ``groups`` groups, as plain data with arrays."""
    thresholds: Any = promise.thresholds
    bits = promise.thresholds.view(np.int64)
    if len(bits) and (bits == bits[0]).all():
        thresholds = float(thresholds[0])
    return {
        "reward": reward_to_data(promise.reward, "constraint"),
        "sense": promise.sense.value,
        "groups": None if len(promise.groups) == groups else promise.groups.astype(np.int64),
        "thresholds": thresholds,
    }


def constraint_from_data(
    data: Any, sent: Sequence[Hashable], there: Groups
) -> Constraint | Mapping[Hashable, Constraint] | None:
    """The constraint of a round from its promises: one for all groups, or one for each label, in the same order.

    Positions in the data refer to the labels as ``sent``; ``there`` are the groups that arms have.
    """
    if not isinstance(data, (list, type(None))):
        raise InvalidArgument("promises", "a list of promises", safe_repr(data)[:100])
    present = set(there.labels)
    by_label: dict[Hashable, Constraint] = {}
    promises: list[Any] = data or []
    for one in promises:
        if not isinstance(one, dict) or not NEEDED <= set(one) <= NEEDED | {"groups"}:
            raise InvalidArgument("promises", "each with reward, sense, groups, thresholds", safe_repr(one)[:100])
        reward, sense = reward_from_data(one["reward"], "promises"), one["sense"]
        if one.get("groups") is None and len(promises) == 1:
            thresholds = one["thresholds"]
            if isinstance(thresholds, dict):
                thresholds = _by_label(thresholds, sent, there.labels)
            elif isinstance(thresholds, (list, np.ndarray)):
                thresholds = in_order(thresholds, sent, there, "thresholds")
            return Constraint(reward=reward, sense=sense, threshold=thresholds)
        named = _named(one.get("groups"), sent)
        values = one["thresholds"]
        if isinstance(values, dict):
            values = _by_label(values, named, named)
        if not isinstance(values, (list, np.ndarray)):
            values = [values] * len(named)
        for label, threshold in zip(named, _numbers(values, len(named), "thresholds").tolist(), strict=True):
            if label in by_label:
                raise InvalidArgument("promises", "one promise to a group", f"several to {safe_repr(label)[:100]}")
            if label in present:
                by_label[label] = Constraint(reward=reward, sense=sense, threshold=threshold)
    return by_label or None


def _by_label(values: dict[Hashable, Any], sent: Sequence[Hashable], wanted: Sequence[Hashable]) -> list[Any]:
    """The numbers given by label for some of the labels sent, each of which needs one."""
    known = set(sent)
    strange = next((label for label in values if label not in known), None)
    missing = next((label for label in wanted if label not in values), None)
    if strange is not None:
        raise InvalidArgument("thresholds", "labels of groups of the round", safe_repr(strange)[:100])
    if missing is not None:
        raise InvalidArgument("thresholds", "a threshold for each group", f"none for {safe_repr(missing)[:100]}")
    return [values[label] for label in wanted]


def in_order(values: Any, sent: Sequence[Hashable], there: Groups, argument: str) -> Array:
    """(G,) numbers given for each label as sent, in the order of the groups that are there."""
    array = _numbers(values, len(sent), argument)
    if tuple(sent) == there.labels:
        return array
    place = {label: position for position, label in enumerate(sent)}
    return array[[place[label] for label in there.labels]]


def _numbers(values: Any, size: int, argument: str) -> Array:
    array = as_floats(argument, values, "numbers")
    if array.shape != (size,):
        raise InvalidArgument(argument, f"one number, or one for each of {size} groups", f"shape {array.shape}")
    return array


def _named(groups: Any, sent: Sequence[Hashable]) -> list[Hashable]:
    """The labels at some positions, all of them without."""
    if groups is None:
        return list(sent)
    positions = groups.tolist() if isinstance(groups, np.ndarray) else groups
    expected = f"positions of groups, from 0 to {len(sent) - 1}"
    if not isinstance(positions, list):
        raise InvalidArgument("promises", expected, safe_repr(groups)[:100])
    strange = [each for each in positions if type(each) is not int or not 0 <= each < len(sent)]
    if strange:
        raise InvalidArgument("promises", expected, safe_repr(strange[0])[:100])
    return [sent[position] for position in positions]
