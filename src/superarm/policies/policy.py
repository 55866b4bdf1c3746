"""The contract of a policy, how one is kept, and the order in which all of them break ties."""

from __future__ import annotations

import inspect
import itertools
import os
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from superarm import storage
from superarm.arguments import IntArray, Mask
from superarm.errors import UnreadableFile, type_of
from superarm.groups import Groups
from superarm.rewards.reward import is_per_arm
from superarm.round import Round
from superarm.selection import Selection


@runtime_checkable
class Policy(Protocol):
    """Picks super arms and learns; the loop, the environment and the regret are somebody else's.

    Any object with these two methods is a policy; there is nothing to inherit.
    """

    def select(self, round: Round) -> Selection:
        """Pick a super arm; pure: calling it twice gives the same answer and changes nothing."""
        ...

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn from the outcomes, (k, 2), of ``arms``, (k,), of ``round``; NaN where one never came."""
        ...


class StorablePolicy:
    """A storable dataclass whose fields are the whole state of a policy."""

    def _check_fields(self) -> None:
        """The settings, which are fields named like parameters, are such as the policy takes when it is made."""
        state = dict(vars(self))
        if learner := state.get("learner"):
            state = {**vars(learner), "learn": learner.learning or False, **state}
        signature = inspect.signature(type(self))
        settings = {name: state[name] for name in signature.parameters if name in state}
        try:
            signature.bind(**settings)
        except TypeError:  # a parameter that no field keeps, and that has no default
            return
        type(self)(**settings)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the whole state at ``path``; :func:`superarm.load` continues from there, bit for bit."""
        storage.write(self, path)


def load(path: str | os.PathLike[str]) -> Policy:
    """Load a policy saved by its ``save``; it continues as if it had never stopped, bit for bit."""
    policy = storage.read(path)
    if not isinstance(policy, Policy):
        raise UnreadableFile(f"{os.fspath(path)}: holds {type_of(policy)}, not a policy")
    return policy


def tie_order(round: Round, seed: int) -> IntArray:
    """(M,) the arms in the order in which ties are broken: a permutation drawn from the seed and t.

    Arms are sorted by group, context, identity and what rewards know of them first, so the order in which they are
    listed does not matter; only arms alike in all keep it. Without the draw the first round, where all arms tie, would
    always favour the same.
    """
    drawn = np.random.default_rng((seed, round.t)).permutation(len(round))
    if _above(round.grouping.codes, *round.contexts.T[:1]).all():  # as many environments list them
        return drawn
    return _canonical(round)[drawn]


def _canonical(round: Round) -> IntArray:
    """The arms by group and context, and those alike in both by identity and what rewards know of them."""
    codes, contexts = round.grouping.codes, round.contexts
    order = np.lexsort((*contexts.T[::-1], codes))
    alike = ~_above(codes[order], *contexts[order].T)
    if alike.any():
        tied = np.append(alike, False) | np.append(False, alike)
        arms = order[tied]
        rewards = (round.reward, *(promise.reward for promise in round.promises))
        keys = [reward.entries(len(round))[arms] for reward in rewards if is_per_arm(reward)]
        if round.arm_ids is not None:
            keys.append(Groups.of(round.arm_ids[arms], "arm_ids").codes)
        keys.append(np.cumsum(np.append(True, ~alike))[tied])
        order[tied] = arms[np.lexsort(keys)]
    return order


def _above(*keys: npt.NDArray[Any]) -> Mask:
    """(n - 1,) whether each entry but the first is above the one before it, by the first key in which they differ."""
    above: Mask = keys[0][1:] > keys[0][:-1]
    equal = np.True_
    for before, key in itertools.pairwise(keys):
        equal = equal & (before[1:] == before[:-1])
        above |= equal & (key[1:] > key[:-1])
    return above
