"""The arms that were not picked though their index is large, and why."""

from __future__ import annotations

import enum
from collections.abc import Hashable
from dataclasses import dataclass

from superarm.policies.explanation.groups import Price, Prices
from superarm.policies.explanation.moves import Moves, Unit
from superarm.policies.explanation.words import label_text, pair
from superarm.rewards.reward import is_additive
from superarm.selection import EXACT
from superarm.words import chance, number

LOOKED_AT = 64  # moves of one runner-up, those of most worth
LIKELY = 0.5  # probability of a broken promise from which on it is the promise, and not the certificate, that forbids


class Reason(enum.Enum):
    """Why an arm was not picked, by what stands against single moves that pick it."""

    INDEX = "No move that picks it is worth more, whatever was promised and whatever the caps."
    CAP = "It would be worth more, but its group has given as many arms as it may."
    PROMISE = "It would be worth more, but a group would break its promise."
    NOT_CERTIFIED = "It would be worth more, but it is not sure enough that a group would keep its promise."
    WAITING = "It would be worth more, but outcomes of earlier decisions must come first."
    NOT_SOUGHT = "It would be worth more and break no promise, but the policy did not look for it."


@dataclass(frozen=True, kw_only=True)
class RunnerUp:
    """An arm that was not picked, or a whole group where groups are picked whole.

    Attributes
    ----------
    arms, ids, label
        its arms, their identities where the round has ``arm_ids``, and its group
    mean, std
        mean and standard deviation of both expected outcomes, if it is a single arm
    index
        index of the first outcome; for a whole group, u at the index
    reason, sentence
        why it was not picked
    group
        the group whose promise or cap prevents it; None if its index does
    price
        price of that promise; None if no promise prevents it, or the price was not computed
    """

    arms: tuple[int, ...]
    ids: tuple[Hashable, ...] | None
    label: Hashable
    mean: tuple[float, float] | None
    std: tuple[float, float] | None
    index: float
    reason: Reason
    sentence: str
    group: Hashable = None
    price: Price | None = None


def runners_up(moves: Moves, most: int, prices: Prices, unsought: str, *, waits: bool) -> tuple[RunnerUp, ...]:
    """The first ``most`` units that were not picked, best first; ``waits`` whether the round waits for outcomes."""
    return tuple(_runner_up(moves, unit, prices, unsought, waits) for unit in moves.others[:most])


def _runner_up(moves: Moves, unit: Unit, prices: Prices, unsought: str, waits: bool) -> RunnerUp:
    """A unit that was not picked, why not, and the price of the promise that stands against it."""
    round, belief = moves.round, moves.grounds.belief
    reason, sentence, group = _why_not(moves, unit, unsought, waits)
    price = None
    if group is not None and reason in (Reason.PROMISE, Reason.NOT_CERTIFIED):
        price, _ = prices.of(group)
    single = len(unit) == 1
    return RunnerUp(
        arms=tuple(unit.tolist()),
        ids=None if round.arm_ids is None else tuple(round.arm_ids[arm] for arm in unit.tolist()),
        label=round.labels[moves.codes[unit[0]]],
        mean=pair(belief.mean[unit[0]]) if single else None,
        std=pair(belief.std[unit[0]]) if single else None,
        index=float(moves.grounds.index[unit[0]]) if single else moves.worth(unit),
        reason=reason,
        sentence=sentence,
        group=None if group is None else round.labels[group],
        price=price,
    )


def _why_not(moves: Moves, unit: Unit, unsought: str, waits: bool) -> tuple[Reason, str, int | None]:
    """The reason, in words, and the position of the group that stands against the unit, if one does."""
    outs: list[Unit | None] = [*moves.picked[::-1]]  # the least first
    if moves.has_room:
        outs.insert(0, None)
    better = [(out, unit) for out in outs if _is_better(moves, out, unit)]
    if not is_additive(moves.round.reward):
        better.sort(key=lambda move: -moves.gain(*move))
    allowed = [move for move in better if moves.within_cap(*move)][:LOOKED_AT]
    mine = int(moves.codes[unit[0]])
    if allowed and waits:
        return Reason.WAITING, unsought, None
    if allowed:
        broken = moves.broken(allowed)
        if not all(broken):
            return Reason.NOT_SOUGHT, unsought, None
        group = mine if mine in broken[0] else next(iter(broken[0]))
        return *_forbidden(moves, group, broken[0][group], mine), group
    if better:
        label, cap = label_text(moves.round.labels[mine]), int(moves.round.caps[mine])
        return Reason.CAP, f"group {label} may give {cap} {'arm' if cap == 1 else 'arms'}", mine
    return Reason.INDEX, _too_small(moves), None


def _is_better(moves: Moves, out: Unit | None, into: Unit) -> bool:
    """Whether a move would be made if nothing forbade it."""
    if out is None and moves.is_short:
        return True
    scale = max(abs(moves.score(into)), 0.0 if out is None else abs(moves.score(out)))
    return moves.gain(out, into) > EXACT * scale


def _forbidden(moves: Moves, group: int, risk: float, mine: int) -> tuple[Reason, str]:
    label = label_text(moves.round.labels[group])
    whose = f"its group {label}" if group == mine else f"group {label}, from which it would take a place,"
    if not moves.grounds.certifies:
        return Reason.PROMISE, f"{whose} would break its promise"
    sentence = f"{whose} would break its promise with probability {chance(risk)}"
    if risk >= LIKELY:
        return Reason.PROMISE, sentence
    return Reason.NOT_CERTIFIED, f"{sentence}, more than the {number(moves.grounds.eps)} that is allowed"


def _too_small(moves: Moves) -> str:
    if not is_additive(moves.round.reward):
        return "nothing is gained by adding it, or by putting it in the place of another"
    if moves.has_room:
        return "there is room, but its index would add nothing"
    places = len(moves.picked)
    what = "group" if moves.whole else "arm"
    if places == 0:
        return f"no {what} may be picked"
    return f"the feasible set is full: no picked {what} has a smaller index"
