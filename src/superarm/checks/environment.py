"""The contract of an environment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from superarm.arguments import Array, whole_number
from superarm.checks import keeps, require
from superarm.environments.environment import Environment
from superarm.errors import type_of
from superarm.round import Round

_SIGMAS = 6.0  # a right environment is further off once in 500 million times


def check_environment(environment: Environment, *, rounds: int = 4, repetitions: int = 200, seed: int = 0) -> None:
    """Check that an environment generates equal rounds for equal generators, and unbiased outcomes.

    Parameters
    ----------
    environment
        the object to check; it is not changed if it keeps its contract
    rounds
        how many rounds to check
    repetitions
        how often to draw the outcomes of each round, to compare their means with the expected ones; rare outcomes, such
        as clicks, need more
    seed
        seed of arrivals and noise
    """
    keeps(environment, Environment, "is not an environment: it needs rounds, expected_outcomes and outcomes")
    rounds, seed = whole_number("rounds", rounds, 1), whole_number("seed", seed)
    repetitions = whole_number("repetitions", repetitions, 2)
    first = _rounds(environment, rounds, seed)
    _same_rounds(first, _rounds(environment, rounds, seed), "equal generators give different rounds")
    truths = [_expected(environment, round).copy() for round in first]
    _same_rounds(
        first,
        _rounds(environment, rounds, seed, asking=True),
        "the rounds depend on whether outcomes were asked for; arrivals and noise have a generator each",
    )
    _same_rounds(first, _rounds_of_two(environment, rounds, seed), "two runs of one environment disturb each other")
    for round, truth in zip(reversed(first), reversed(truths), strict=True):
        again = _expected(environment, round)
        require(
            np.array_equal(truth, again),
            f"expected_outcomes gives other values for round {round.t} when asked again; it must be pure",
        )
        if again.flags.writeable:
            again += 1.0
        require(
            np.array_equal(truth, _expected(environment, round)),
            "expected_outcomes returns its internal array: a caller that writes to it changes the truth",
        )
    noisy = [_outcomes(environment, round, np.random.default_rng(seed)) for round in first]
    for round, outcomes in zip(reversed(first), reversed(noisy), strict=True):
        require(
            np.array_equal(outcomes, _outcomes(environment, round, np.random.default_rng(seed)), equal_nan=True),
            f"equal generators give different outcomes in round {round.t}; all noise must come from the generator",
        )
    for round, truth in zip(first, truths, strict=True):
        _check_unbiased(environment, round, truth, repetitions, np.random.default_rng(seed + 1))


def _rounds(environment: Environment, count: int, seed: int, *, asking: bool = False) -> list[Round]:
    noise = np.random.default_rng(seed + 2)
    found: list[Round] = []
    for t, round in enumerate(islice(environment.rounds(np.random.default_rng(seed)), count), start=1):
        require(isinstance(round, Round), f"rounds gave {type_of(round)}, not a superarm.Round")
        require(round.t == t, f"round {t} says t = {round.t}; t counts from 1")
        found.append(round)
        if asking:
            _outcomes(environment, round, noise)
            _expected(environment, round)
    require(len(found) == count, f"rounds ended after {len(found)}; it must not end by itself")
    return found


def _rounds_of_two(environment: Environment, count: int, seed: int) -> Iterator[Round]:
    ours = environment.rounds(np.random.default_rng(seed))
    theirs = environment.rounds(np.random.default_rng(seed + 3))
    for round, _ in islice(zip(ours, theirs, strict=False), count):
        yield round


def _same_rounds(ones: list[Round], others: Any, message: str) -> None:
    for one, other in zip(ones, others, strict=True):
        require(_difference(one, other) is None, f"{message}: round {one.t} differs in its {_difference(one, other)}")


def _difference(one: Round, other: Round) -> str | None:
    """The first part in which two rounds differ, bit for bit."""
    if not np.array_equal(one.contexts, other.contexts):
        return "contexts"
    if one.labels != other.labels or not np.array_equal(one.grouping.codes, other.grouping.codes):
        return "groups"
    if (one.arm_ids is None) != (other.arm_ids is None) or not np.array_equal(one.arm_ids, other.arm_ids):
        return "arm_ids"
    if (one.safe is None) != (other.safe is None) or not np.array_equal(one.safe, other.safe):
        return "safe"
    if _allowed(one) != _allowed(other):
        return "feasible"
    # Rewards may be any objects: they are compared by what they say about some outcomes.
    outcomes = np.random.default_rng(0).uniform(0.1, 1.0, len(one))
    arms = np.arange(len(one))
    if one.reward.value(outcomes, arms) != other.reward.value(outcomes, arms):
        return "reward"
    if len(one.promises) != len(other.promises):
        return "constraint"
    for ours, theirs in zip(one.promises, other.promises, strict=True):
        if (
            ours.sense != theirs.sense
            or not np.array_equal(ours.groups, theirs.groups)
            or not np.array_equal(ours.thresholds, theirs.thresholds)
        ):
            return "thresholds"
        for group in ours.groups.tolist():
            members = one.grouping.members(group)
            if ours.reward.value(outcomes[members], members) != theirs.reward.value(outcomes[members], members):
                return "group reward"
    return None


def _allowed(round: Round) -> tuple[Any, ...]:
    feasible = round.feasible
    caps = tuple(feasible.caps(round.grouping).tolist())
    return type(feasible), feasible.most_groups(round.grouping), feasible.totals(len(round)), caps


def _expected(environment: Environment, round: Round) -> Array:
    truth = _pairs(environment.expected_outcomes(round), round, "expected_outcomes")
    require(bool(np.isfinite(truth).all()), f"expected_outcomes of round {round.t} are not all finite")
    return truth


def _outcomes(environment: Environment, round: Round, rng: np.random.Generator) -> Array:
    outcomes = _pairs(environment.outcomes(round, rng), round, "outcomes")
    require(not np.isinf(outcomes).any(), f"an outcome of round {round.t} is infinite; one that never came is NaN")
    return outcomes


def _pairs(values: Any, round: Round, method: str) -> Array:
    require(isinstance(values, np.ndarray), f"{method} returned {type_of(values)}, not an array")
    require(
        values.shape == (len(round), 2) and values.dtype == np.float64,
        f"{method} of round {round.t} gave {values.dtype} of shape {values.shape} for {len(round)} arms; expected "
        f"float64 of shape ({len(round)}, 2)",
    )
    array: Array = values
    return array


def _check_unbiased(
    environment: Environment, round: Round, truth: Array, repetitions: int, rng: np.random.Generator
) -> None:
    if not len(round):
        return
    # Weighted sums over the arms, because a sum over few arms or of rare events is far from normal. Weights of one
    # find a common bias, the centred truth finds outcomes of other arms, random signs find the rest.
    signs = rng.choice([-1.0, 1.0], (3, len(round)))
    deviations = np.empty((repetitions, len(round), 2))
    for repetition in range(repetitions):
        deviations[repetition] = np.nan_to_num(_outcomes(environment, round, rng) - truth)  # missing: no deviation
    for output in range(2):
        centred = truth[:, output] - truth[:, output].mean()
        weights = np.vstack([np.ones(len(round)), centred, signs])
        sums = deviations[:, :, output] @ weights.T
        off, error = np.abs(sums.mean(axis=0)), sums.std(axis=0, ddof=1) / np.sqrt(repetitions)
        rounding = 1e-9 * (1.0 + np.abs(weights) @ np.abs(truth[:, output]))
        require(
            bool((off <= _SIGMAS * error + rounding).all()),
            f"outcome {output} is biased in round {round.t}: its mean over {repetitions} draws is not the expected one",
        )
