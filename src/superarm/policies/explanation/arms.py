"""The picked arms, and what could stand in the place of each."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from superarm.policies.explanation.moves import Moves, Unit
from superarm.policies.explanation.words import pair
from superarm.rewards.reward import is_additive

LOOKED_AT = 500  # units of largest index that are tried as replacements
AT_ONCE = (8, 16, 32, 64)  # numbers of units judged together, in turn


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """What could replace a picked arm, so that every touched group keeps its promise and caps hold.

    It is another arm or, if groups are picked whole, another group for the group of the arm.
    """

    arms: tuple[int, ...]
    label: Hashable
    loss: float  # of u at the index; below 0 where the selection was not made for u alone


@dataclass(frozen=True, kw_only=True)
class PickedArm:
    """An arm of the selection.

    Attributes
    ----------
    arm, id, label
        its number, its identity where the round has ``arm_ids``, and the label of its group
    mean, std
        mean and standard deviation of both expected outcomes
    index
        index of both outcomes, as the policy used them: an optimistic first outcome, and the second outcome by which
        promises are judged (for a policy that certifies, the bound that the arm alone keeps with the required
        confidence; None without a group stage)
    safe
        whether you vouch for it
    replacement
        the best replacement; None if there is none, or none was looked for
    remark
        why there is no replacement, or that it may not be the best
    """

    arm: int
    id: Hashable
    label: Hashable
    mean: tuple[float, float]
    std: tuple[float, float]
    index: tuple[float, float | None]
    safe: bool
    replacement: Replacement | None
    remark: str | None


def picked_arms(moves: Moves, most: int) -> tuple[PickedArm, ...]:
    """All arms of the super arm, best first, with replacements for the first ``most`` units."""
    grounds, round = moves.grounds, moves.round
    found = []
    for number, unit in enumerate(moves.picked):
        found_for = (None, f"computed only for the first {most}") if number >= most else best_replacement(moves, unit)
        replacement, remark = found_for
        for arm in unit.tolist():
            satisfying = None if grounds.satisfying is None else float(grounds.satisfying[arm])
            found.append(
                PickedArm(
                    arm=arm,
                    id=None if round.arm_ids is None else round.arm_ids[arm],
                    label=round.labels[moves.codes[arm]],
                    mean=pair(grounds.belief.mean[arm]),
                    std=pair(grounds.belief.std[arm]),
                    index=(float(grounds.index[arm]), satisfying),
                    safe=round.safe is not None and bool(round.safe[arm]),
                    replacement=replacement,
                    remark=remark,
                )
            )
    return tuple(found)


def best_replacement(moves: Moves, out: Unit) -> tuple[Replacement | None, str | None]:
    """The unit of most worth that can replace another, with a remark on it, or on why there is none."""
    able = itertools.islice((into for into in moves.others if moves.within_cap(out, into)), LOOKED_AT + 1)
    asked = [*able]
    some_only = len(asked) > LOOKED_AT
    asked = asked[:LOOKED_AT]
    few = f" of the {LOOKED_AT} of largest index" if some_only else ""
    ranked = is_additive(moves.round.reward)
    if not ranked:  # the index of a unit does not give its worth beside the others
        asked.sort(key=lambda into: -moves.gain(out, into))
    for some in _in_turn(asked):
        for into, broken in zip(some, moves.broken([(out, into) for into in some]), strict=True):
            if not broken:
                replacement = Replacement(
                    arms=tuple(into.tolist()),
                    label=moves.round.labels[moves.codes[into[0]]],
                    loss=moves.value - moves.worth(moves.after(out, into)),
                )
                return replacement, f"the best{few}" if few and not ranked else None
    if not asked:
        return None, "nothing else may take its place" if moves.others else "there is nothing else"
    return None, f"none{few} keeps all promises in its place"


def _in_turn(units: list[Unit]) -> Iterator[list[Unit]]:
    sizes = itertools.chain(AT_ONCE, itertools.repeat(AT_ONCE[-1]))
    start = 0
    while start < len(units):
        size = next(sizes)
        yield units[start : start + size]
        start += size
