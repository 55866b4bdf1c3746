"""The promises of a round as the decomposition reads them: sums of gains, counts and single arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.errors import UnsolvableRound
from superarm.oracles.good_subgroups import ENUMERATE_AT_MOST, GoodSubgroups, PromisedGroups
from superarm.rewards.normal_forms import Blocks, Filter, WeightedSum, Witness


@dataclass(frozen=True, kw_only=True, eq=False)
class Gains:
    """The promises of a round as the model reads them: what each arm adds, and what each group needs."""

    gain: Array  # (M,)
    size: Array  # (M,) magnitude of the gain, in block form of its root, on the scale of ``theta``
    usable: Mask  # (M,)
    block: IntArray  # (M,) of promises in block form
    theta: Array  # (G,) least sum of gains
    least: IntArray  # (G,)
    most: IntArray  # (G,)
    power: Array  # (G,) of the root, 0 where the promise is not in block form
    listed: IntArray  # groups without a form, whose subgroups are listed


def decomposes(good: GoodSubgroups) -> bool:
    """Whether every group has a normal form that this model supports, or is small enough to be listed."""
    refused = [promised for promised in good.promised if not _is_taken(promised, good)]
    return not refused and not good.round.feasible.whole


def _is_taken(promised: PromisedGroups, good: GoodSubgroups) -> bool:
    if isinstance(promised.form, (Filter, Witness, WeightedSum, Blocks)):
        return True
    large = (good.round.grouping.sizes > ENUMERATE_AT_MOST) & ~good.closed
    return not large[promised.promise.groups].any()


def gains_of(good: GoodSubgroups) -> Gains:
    """The promises as gains, counts and usable arms; refuses those that :func:`decomposes` refuses."""
    grouping = good.round.grouping
    arms, groups = len(grouping.codes), len(grouping.labels)
    gain, size, usable = np.zeros(arms), np.zeros(arms), np.ones(arms, dtype=np.bool_)
    block = np.zeros(arms, dtype=np.intp)
    theta, power = np.zeros(groups), np.zeros(groups)
    least, most = np.ones(groups, dtype=np.intp), grouping.sizes.copy()
    listed = [np.empty(0, dtype=np.intp)]
    for promised in good.promised:
        mine = promised.promise.groups
        its = slice(None) if len(promised.arms) == arms else promised.arms
        match promised.form:
            case Filter() as form:
                usable[its] = form.allowed
                least[mine] = form.least
                most[mine] = np.minimum(most[mine], form.most)
            case Witness() as form:
                gain[its] = form.witness
                theta[mine] = 0.5
            case WeightedSum() as form:
                gain[its] = form.weights
                size[its] = np.abs(form.weights)
                theta[mine] = form.least
            case Blocks() as form:
                gain[its] = form.sign * form.terms
                block[its] = form.blocks
                theta[mine] = form.least
                size[its] = np.abs(form.root(form.terms))
                power[mine] = form.power
            case _ if _is_taken(promised, good):
                listed.append(mine)
            case _:
                raise UnsolvableRound(
                    "this round does not decompose: a group of more than 14 arms has a group reward without a suitable "
                    "normal form; use Automatic, which chooses another oracle"
                )
    return Gains(
        gain=gain, size=size, usable=usable, block=block, theta=theta, least=least, most=most, power=power,
        listed=np.concatenate(listed),
    )  # fmt: skip
