"""The picks of a policy in a logged round, and the weights that follow for the logged picks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import NoEstimate
from superarm.logs.entry import LogEntry
from superarm.rewards.promise import promised_groups
from superarm.rewards.simple import Sum
from superarm.round import Round


@dataclass(frozen=True, kw_only=True, eq=False)
class Turn:
    """A round of a log and the picks of a policy in it."""

    entry: LogEntry
    arms: IntArray  # (j,) arms that the policy picks
    chances: Array | None  # (M,) q, its probability of picking each arm; None if it draws at random and does not know
    draws: bool  # whether it draws at random, and states its probabilities


@dataclass(frozen=True, kw_only=True, eq=False)
class Shared:
    """The arms that both the log and the policy picked, (s,) each."""

    places: IntArray  # positions of their groups in a round, or of their rounds in an estimate
    weights: Array  # q / p, after clipping
    outcomes: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupTerms:
    """The part of each group of a round in an estimate, (G,) each."""

    labels: tuple[Hashable, ...]
    values: Array  # the terms to be averaged
    weights: Array  # sums of q / p over the picked arms or part
    used: Array  # the same after clipping
    wanted: Array  # sums of q
    shared: Shared | None = None  # None for promises


@dataclass(frozen=True, kw_only=True, eq=False)
class Terms:
    """The parts of the rounds in an estimate, (n,) each; see :class:`GroupTerms`."""

    values: Array
    weights: Array
    used: Array
    wanted: Array
    shared: Shared


def chances(turn: Turn) -> Array:
    """The probabilities q, or the reason why they are not known."""
    if turn.chances is None:
        raise NoEstimate(
            f"the policy draws at random and does not know its probability of picking an arm in round {_t(turn)}"
        )
    return turn.chances


def arm_weights(turn: Turn) -> Array:
    """(k,) q / p of each picked arm, or the reason why there are none."""
    entry, q = turn.entry, chances(turn)
    p = entry.picked_probabilities
    if p is None:
        raise NoEstimate(f"the log has no probabilities in round {_t(turn)}, so nothing is known about other picks")
    assert entry.probabilities is not None
    if len(entry.probabilities) == len(entry.round):
        never = np.flatnonzero((q > 0.0) & (entry.probabilities == 0.0))
        if len(never):
            raise NoEstimate(f"the policy picks arm {never[0]} in round {_t(turn)}, which the log could never pick")
    weights: Array = q[entry.arms] / p
    return weights


def reward_terms(turn: Turn, model: Array | None, clip: float | None) -> GroupTerms:
    """The terms of a round in the estimate of the reward.

    With weights w = q / p, outcomes y and a model g of them: sum of w y without one, and with one sum over all arms of
    q g + sum over picked arms of w (y - g). Both have the mean sum of q f_1 whatever g is, as E[1(picked) / p] = 1, if
    g was not learnt from this round.
    """
    entry, q = turn.entry, chances(turn)
    if type(entry.round.reward) is not Sum:
        raise NoEstimate(
            f"the reward of round {_t(turn)} is {entry.round.reward}, and only a sum can be estimated arm by arm"
        )
    y, weights = entry.outcomes[:, 0], arm_weights(turn)
    if np.isnan(y[weights > 0.0]).any():
        raise NoEstimate(
            f"outcomes of round {_t(turn)} are missing; leave such rounds out only if they are missing by chance"
        )
    used = weights if clip is None else np.minimum(weights, clip)
    predicted = np.zeros(len(entry.round)) if model is None else model
    errors = np.where(weights > 0.0, used * (np.nan_to_num(y) - predicted[entry.arms]), 0.0)
    return GroupTerms(
        labels=entry.round.labels,
        values=_by_group(entry.round, q * predicted) + _by_group(entry.round, errors, entry.arms),
        weights=_by_group(entry.round, weights, entry.arms),
        used=_by_group(entry.round, used, entry.arms),
        wanted=_by_group(entry.round, q),
        shared=Shared(
            places=entry.round.grouping.codes[entry.arms][weights > 0.0],
            weights=used[weights > 0.0],
            outcomes=y[weights > 0.0],
        ),
    )


def promise_terms(turn: Turn, kept: Mapping[Hashable, bool]) -> GroupTerms:
    """The terms of a round in the estimate of kept promises: one part per group, the arms picked from it.

    Whether a promise is kept depends on all arms of a group together, so a part is weighted by the probability of
    picking exactly this part.
    """
    entry, round = turn.entry, turn.entry.round
    arm_weights(turn)  # or an error
    promised = promised_groups(round.promises, len(round.labels))
    wanted = np.where(promised, _touching(turn), 0.0)
    weights, values = np.zeros(len(promised)), np.zeros(len(promised))
    for code in np.unique(round.grouping.codes[entry.arms]):
        part, label = entry.arms[round.grouping.codes[entry.arms] == code], round.labels[code]
        q = _part_chance(turn, int(code), part) if promised[code] else 0.0
        if q == 0.0:
            continue
        if label not in kept:
            raise NoEstimate(f"outcomes of group {label!r} in round {_t(turn)} are missing")
        weights[code] = q / _part_probability(entry, int(code), part)
        values[code] = weights[code] * kept[label]
    return GroupTerms(labels=round.labels, values=values, weights=weights, used=weights, wanted=wanted)


def _touching(turn: Turn) -> Array:
    """(G,) probability that the policy picks from each group."""
    round, q = turn.entry.round, chances(turn)
    if not turn.draws:
        touched = np.zeros(len(round.labels))
        touched[round.grouping.codes[turn.arms]] = 1.0
        return touched
    if round.feasible.whole:
        whole: Array = _by_group(round, q) / round.grouping.sizes
        return whole
    several = np.flatnonzero((round.caps > 1) & (_by_group(round, q) > 0.0))
    if len(several) and round.feasible.totals(len(round))[1] > 1:
        raise NoEstimate(_joint("the policy", round, int(several[0])))
    return _by_group(round, q)


def _part_chance(turn: Turn, code: int, part: IntArray) -> float:
    """Probability that the policy picks exactly this part of a group."""
    round = turn.entry.round
    if turn.draws:
        return float(chances(turn)[part[0]])  # _touching has checked that it is the part's
    mine = turn.arms[round.grouping.codes[turn.arms] == code]
    return float(np.array_equal(mine, part))


def _part_probability(entry: LogEntry, code: int, part: IntArray) -> float:
    """Probability with which the log picked exactly this part of a group."""
    round = entry.round
    label = round.labels[code]
    if entry.part_probabilities is not None and label in entry.part_probabilities:
        return float(entry.part_probabilities[label])
    if not round.feasible.whole and round.caps[code] > 1 and round.feasible.totals(len(round))[1] > 1:
        raise NoEstimate(_joint("the log", round, code) + "; give it as LogEntry(part_probabilities=...)")
    found = entry.picked_probabilities
    assert found is not None
    return float(found[np.searchsorted(entry.arms, part[0])])


def _joint(who: str, round: Round, code: int) -> str:
    return (
        f"group {round.labels[code]!r} may give several arms in round {round.t}, and the probabilities of single arms "
        f"do not determine the probability with which {who} picks them together"
    )


def _by_group(round: Round, values: Array, arms: IntArray | None = None) -> Array:
    codes = round.grouping.codes if arms is None else round.grouping.codes[arms]
    return np.bincount(codes, weights=values, minlength=len(round.labels)).astype(np.float64)


def in_all(terms: Sequence[GroupTerms]) -> Terms:
    """The terms of the rounds, all groups together."""
    return _gathered(terms, [slice(None)] * len(terms))


def by_label(terms: Sequence[GroupTerms]) -> dict[Hashable, Terms]:
    """The terms of each group, from the rounds that have it."""
    places: dict[Hashable, list[tuple[GroupTerms, int]]] = {}
    for each in terms:
        for code, label in enumerate(each.labels):
            places.setdefault(label, []).append((each, code))
    return {label: _gathered(*zip(*found, strict=True)) for label, found in places.items()}


def _gathered(terms: Sequence[GroupTerms], codes: Sequence[int | slice]) -> Terms:
    """The terms of one group of each round, by its code, or of all (a slice), summed."""
    columns = {
        name: np.array(
            [np.sum(getattr(each, name)[code]) for each, code in zip(terms, codes, strict=True)], dtype=float
        )
        for name in ("values", "weights", "used", "wanted")
    }
    return Terms(**columns, shared=_shared(terms, codes))


def _shared(terms: Sequence[GroupTerms], codes: Sequence[int | slice]) -> Shared:
    found = [(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0))]
    for place, (each, code) in enumerate(zip(terms, codes, strict=True)):
        if each.shared is None:
            continue
        mine = each.shared.places == code if isinstance(code, int) else slice(None)
        weights = each.shared.weights[mine]
        found.append((np.full(len(weights), place, dtype=np.intp), weights, each.shared.outcomes[mine]))
    places, weights, outcomes = (np.concatenate(column) for column in zip(*found, strict=True))
    return Shared(places=places, weights=weights, outcomes=outcomes)


def _t(turn: Turn) -> int:
    return turn.entry.round.t
