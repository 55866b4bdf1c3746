"""Whether groups that are split over shards have a good subgroup at all, from what each shard says of its part.

The sums that decide are kept exactly, as a few floats whose sum each is, so that it does not matter how a group is
split; all else adds up anyway. A part never has a good subgroup that the whole group has not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.rewards.normal_forms import Filter, WeightedSum, Witness


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a shard knows of its part of a group."""

    positive: tuple[float, ...]  # the sum of the positive weights, exactly, as a sum of floats
    largest: float  # weight
    number: int  # of arms that are allowed, or bear witness


def parts_of(good: GoodSubgroups, split: IntArray) -> list[Part]:
    """Of some groups, positions in the round, what is known here."""
    found = {group: Part(positive=(), largest=-math.inf, number=0) for group in split.tolist()}
    for promised in good.promised:
        form, mine = promised.form, promised.promise.groups
        for place in np.flatnonzero(np.isin(mine, split)).tolist():
            arms = promised.groups == place
            match form:
                case Filter():
                    part = Part(positive=(), largest=-math.inf, number=int(np.count_nonzero(form.allowed[arms])))
                case Witness():
                    part = Part(positive=(), largest=-math.inf, number=int(np.count_nonzero(form.witness[arms])))
                case WeightedSum():
                    weights = form.weights[arms]
                    largest = float(weights.max(initial=-math.inf))
                    part = Part(positive=_exactly(weights[weights > 0.0]), largest=largest, number=len(weights))
                case _:
                    continue
            found[int(mine[place])] = part
    return list(found.values())


def merged(parts: Iterable[Part]) -> Part:
    """What is known of all parts of a group together."""
    together = list(parts)
    return Part(
        positive=tuple(value for part in together for value in part.positive),
        largest=max(part.largest for part in together),
        number=sum(part.number for part in together),
    )


def attainable(good: GoodSubgroups, judged: Mask, parts: dict[int, Part]) -> Mask:
    """(G,) which groups have a good subgroup: as ``judged``, (G,), and for those that were split by their parts.

    Groups of which all arms are at hand, as their promise has no other form, are judged on these.
    """
    found = judged.copy()
    own = GoodSubgroups(good.round, good.satisfying, good.order).attainable
    for group in parts:
        found[group] = own[group]
    for promised in good.promised:
        form = promised.form
        for place, group in enumerate(promised.promise.groups.tolist()):
            if group not in parts:
                continue
            part = parts[group]
            match form:
                case Filter():
                    found[group] = max(form.least[place], 1) <= min(form.most[place], part.number)
                case Witness():
                    found[group] = part.number > 0
                case WeightedSum():
                    best = math.fsum(part.positive) if part.largest > 0.0 else part.largest
                    found[group] = best >= form.least[place]
    return found


def _exactly(values: Array) -> tuple[float, ...]:
    """Floats whose exact sum is that of many."""
    found: list[float] = []
    listed = values.tolist()
    while True:
        rest = math.fsum([*listed, *(-value for value in found)])
        if rest == 0.0:
            return tuple(found)
        found.append(rest)
