"""The only loop: a policy plays an environment."""

from __future__ import annotations

import itertools
import time
import warnings
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from superarm.arguments import Array, IntArray, Seed, as_floats, seed_number, weight, whole_number
from superarm.calibration import covered
from superarm.environments.environment import Environment
from superarm.errors import InvalidArgument, safe_repr
from superarm.policies.baselines.rule import allowed, claiming_nothing
from superarm.policies.policy import Policy
from superarm.regret import optimum, performance, super_arm_regret, total_regret
from superarm.round import Round
from superarm.selection import Selection

Entropy = int | tuple[int, ...]

# Columns of a round that need no optimum.
PLAYED: dict[str, pl.DataType | type[pl.DataType]] = {
    "t": pl.Int64,
    "arms": pl.List(pl.Int64),
    "reward": pl.Float64,
    "group_regret": pl.Float64,
    "groups_touched": pl.Int64,
    "groups_satisfied": pl.Int64,
    "status": pl.String,
    "alpha": pl.Float64,
    "select_seconds": pl.Float64,
    "update_seconds": pl.Float64,
    "kind": pl.String,
    "predicted_broken": pl.Float64,
    "covered_1": pl.Int64,
    "covered_2": pl.Int64,
    "certified": pl.Int64,
    "certified_broken": pl.Int64,
}
OPTIMUM: dict[str, pl.DataType | type[pl.DataType]] = {"optimal_reward": pl.Float64, "optimal_status": pl.String}


def stream(seed: Entropy, name: str) -> np.random.Generator:
    """A random stream of its own for every purpose, from one seed: "arrivals", "noise", "policy", ..."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()),)))


def play(
    policy: Policy, environment: Environment, *, rounds: int, seed: Entropy, benchmark: bool = False
) -> Iterator[dict[str, Any]]:
    """Play and yield one row per round, in the columns of ``PLAYED``, and of ``OPTIMUM`` if ``benchmark``.

    Noise is drawn for every arm of a round, picked or not, so that all policies meet the same noise, arm by arm. Where
    the environment has a ``delay`` d, the policy gets the outcomes of round t after round t + d was decided.
    """
    arrivals, noise = stream(seed, "arrivals"), stream(seed, "noise")
    delay, waiting = _delay(environment), deque[tuple[Round, IntArray, Array]]()
    ours = type(policy).__module__.partition(".")[0] == __name__.partition(".")[0]
    for round in itertools.islice(_rounds(environment, arrivals), rounds):
        start = time.perf_counter()
        selection = selection_of(policy.select(round), round, checked=ours)
        selected = time.perf_counter()
        waiting.append((round, selection.arms, _outcomes(environment, round, noise)[selection.arms]))
        observed = time.perf_counter()
        if len(waiting) > delay:
            policy.update(*waiting.popleft())
        updated = time.perf_counter()
        expected = environment.expected_outcomes(round)
        true = performance(round, selection.arms, expected)
        inside = None if selection.belief is None else covered(selection.belief, expected[selection.arms])
        best = optimum(round, expected) if benchmark else None
        yield ({} if best is None else {"optimal_reward": best.value, "optimal_status": best.status.name}) | {
            "t": round.t,
            "arms": selection.arms.tolist(),
            "reward": true.reward,
            "group_regret": true.group_regret,
            "groups_touched": true.groups_touched,
            "groups_satisfied": true.groups_satisfied,
            "status": selection.status.name,
            "alpha": selection.alpha,
            "select_seconds": selected - start,
            "update_seconds": updated - observed,
            "kind": None if selection.kind is None else selection.kind.name,
            "predicted_broken": selection.predicted_broken,
            "covered_1": None if inside is None else int(inside[0]),
            "covered_2": None if inside is None else int(inside[1]),
            **certified(policy, selection, true.kept),
        }
    for late in waiting:
        policy.update(*late)


def selection_of(answer: Any, round: Round, *, checked: bool = False) -> Selection:
    """A policy's answer as a selection of arms that the round allows, unless its arms are known to be ``checked``.

    A policy of your own may return only arms, and then nothing else is claimed.
    """
    if isinstance(answer, Selection):
        if not checked:  # it may be that of another round
            allowed("policy", "a policy whose select returns arms of the round", answer.arms, round)
        return answer
    return claiming_nothing(
        allowed("policy", "a policy whose select returns a Selection or arms", answer, round), solver="custom"
    )


def _rounds(environment: Environment, rng: np.random.Generator) -> Iterator[Round]:
    """The rounds of an environment, which may be anybody's."""
    given: Any = environment.rounds(rng)
    if not isinstance(given, Iterable):
        raise InvalidArgument("environment.rounds", "rounds, one after the other", safe_repr(given))
    for round in given:
        if not isinstance(round, Round):
            raise InvalidArgument("environment.rounds", "superarm.Round objects", safe_repr(round))
        yield round


def _outcomes(environment: Environment, round: Round, rng: np.random.Generator) -> Array:
    """(M, 2) of all arms; a policy of anybody's would get those of another shape as they are."""
    expected = f"numbers of shape ({len(round)}, 2), one row per arm of the round, picked or not"
    found = as_floats("environment.outcomes", environment.outcomes(round, rng), expected)
    if found.shape != (len(round), 2):
        raise InvalidArgument("environment.outcomes", expected, f"shape {found.shape}")
    return found


def _delay(environment: Environment) -> int:
    """The number of further rounds after which outcomes come; 0 for an environment without such an attribute."""
    return whole_number("environment.delay", getattr(environment, "delay", 0))


def certified(policy: Policy, selection: Selection, kept: Sequence[bool]) -> dict[str, int | None]:
    """Number of touched groups that a policy was sure of, with the confidence asked for, and how many of these broke.

    ``kept`` says whether each touched group, in the order of the selection, kept its promise.
    """
    confidence = getattr(policy, "confidence", None)
    if selection.kind is None or not isinstance(confidence, float):
        return {"certified": None, "certified_broken": None}
    sure = [group.probability is not None and group.probability >= confidence for group in selection.groups]
    broken = [is_sure and not is_kept for is_sure, is_kept in zip(sure, kept, strict=True)]
    return {"certified": sum(sure), "certified_broken": sum(broken)}


def with_regret(played: pl.DataFrame, zeta: float) -> pl.DataFrame:
    """Add the regrets to rows that know their ``optimal_reward``."""
    # The alpha-regret of an approximate oracle; an exact one has alpha 1, or none where a ratio means nothing.
    exact = pl.col("status").is_in(["LIMIT", "WITHIN_GAP"]).not_() | pl.col("alpha").is_null()
    alpha = pl.when(exact).then(1.0).otherwise(pl.col("alpha"))
    # The definitions are arithmetic, so they serve columns as they serve numbers; hence the two ignores.
    regret = super_arm_regret(pl.col("reward"), pl.col("optimal_reward"), alpha)  # type: ignore[arg-type]
    return played.with_columns(super_arm_regret=regret).with_columns(
        total_regret=total_regret(pl.col("group_regret"), pl.col("super_arm_regret"), zeta)  # type: ignore[arg-type]
    )


def simulate(
    policy: Policy, environment: Environment, *, rounds: int, seed: Seed = 0, zeta: float = 0.5
) -> pl.DataFrame:
    """Let ``policy`` play ``rounds`` rounds of ``environment`` and return one row per round.

    Parameters
    ----------
    policy
        the policy; afterwards it has learnt from every round
    environment
        any object with ``rounds``, ``expected_outcomes`` and ``outcomes``, and perhaps a whole number ``delay``: the
        number of further rounds after which the policy gets the outcomes
    rounds
        T; fewer if the environment ends earlier
    seed
        seed of arrivals and noise: an int, a Generator or None; with the same int, all policies meet the same arrivals
        and noise
    zeta
        weight of the group regret in the total regret

    Returns
    -------
    polars.DataFrame
        ``optimal_reward`` is the largest reward that keeps every promise by the truth, as far as the search found it.
        ``optimal_status`` is the name of the :class:`superarm.Status` of that search. A warning says in how many rounds
        a limit ended the search; the regret of these rounds may be too small.
    """
    rounds, zeta = whole_number("rounds", rounds), weight("zeta", zeta)
    if not isinstance(policy, Policy) or isinstance(policy, type):
        raise InvalidArgument("policy", "an object with select and update", safe_repr(policy))
    if not isinstance(environment, Environment) or isinstance(environment, type):
        raise InvalidArgument(
            "environment", "an object with rounds, expected_outcomes and outcomes", safe_repr(environment)
        )
    rows = list(play(policy, environment, rounds=rounds, seed=seed_number(seed), benchmark=True))
    unproved = sum(row["optimal_status"] in ("LIMIT", "WITHIN_GAP") for row in rows)
    if unproved:
        warnings.warn(
            f"simulate: the optimum of {unproved} of {len(rows)} rounds is not proved, because its search met a limit; "
            "their regret may be too small (see the column optimal_status)",
            stacklevel=2,
        )
    return with_regret(pl.DataFrame(rows, schema={**PLAYED, **OPTIMUM}), zeta)
