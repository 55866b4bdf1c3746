"""The contract of a policy."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from superarm.arguments import checked_seed, whole_number
from superarm.checks import keeps, require
from superarm.errors import NonConforming, type_of
from superarm.feasible import AtMost
from superarm.policies.policy import Policy, load
from superarm.rewards.simple import Sum
from superarm.round import Round
from superarm.selection import Selection, Status


def check_policy(policy: Policy, *, dimension: int = 1, seed: int = 0) -> None:
    """Check that a fresh policy selects purely, learns safely and, if it can be saved, continues bit for bit.

    Parameters
    ----------
    policy
        a policy without history; the check plays a few rounds with it
    dimension
        D of the contexts that it takes
    seed
        seed of the rounds and outcomes
    """
    keeps(policy, Policy, "lacks select(round) or update(round, arms, outcomes)")
    dimension, rng = whole_number("dimension", dimension, 1), np.random.default_rng(checked_seed(seed))
    for t in range(1, 5):
        round = _policy_round(t, dimension, rng)
        selection = policy.select(round)
        require(isinstance(selection, Selection), f"select returned {type_of(selection)}, not a Selection")
        arms = np.asarray(selection.arms)
        again = policy.select(round)
        require(np.array_equal(arms, again.arms), "select picked another super arm the second time; it must be pure")
        require(
            selection.status in (Status.UNDERFILLED, Status.NO_GOOD_SUBGROUP)
            or round.feasible.allows(round.check_arms(arms), round.grouping),
            f"select picked arms {arms.tolist()}, which {round.feasible} does not allow",
        )
        outcomes = rng.normal(size=(len(arms), 2))
        for wrong in (np.zeros((len(arms) + 1, 2)), np.full((len(arms), 2), math.inf)):
            if wrong.size:
                _refuses(policy, round, arms, wrong)
        _refuses(policy, round, np.append(arms, len(round)), np.zeros((len(arms) + 1, 2)))
        require(np.array_equal(policy.select(round).arms, arms), "a refused update changed what the policy selects")
        if len(arms):
            outcomes[0, 1] = math.nan
        policy.update(round, arms, outcomes)
    empty = Round(t=5, contexts=np.empty((0, dimension)), feasible=AtMost(3))
    require(len(policy.select(empty).arms) == 0, "an empty round must give an empty selection")
    if hasattr(policy, "save"):
        _check_saving(policy, dimension, rng)


def _policy_round(t: int, dimension: int, rng: np.random.Generator) -> Round:
    return Round(
        t=t,
        contexts=rng.uniform(size=(12, dimension)),
        groups=np.arange(12) % 3,
        constraint=Sum() >= 0.2,
        feasible=AtMost(5, per_group=3),
    )


def _refuses(policy: Policy, round: Round, arms: Any, outcomes: Any) -> None:
    try:
        policy.update(round, arms, outcomes)
    except ValueError:
        return
    raise NonConforming(
        f"update took arms {np.asarray(arms).tolist()} with outcomes of shape {np.shape(outcomes)} in a round of "
        f"{len(round)} arms; it must raise ValueError (Outcomes.of checks them)"
    )


def _check_saving(policy: Any, dimension: int, rng: np.random.Generator) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        policy.save(path)
        loaded = load(path)
    for t in range(5, 8):
        round = _policy_round(t, dimension, rng)
        ours, theirs = policy.select(round), loaded.select(round)
        require(
            np.array_equal(ours.arms, theirs.arms) and ours.value == theirs.value,
            f"after save and load the policy makes another selection in round {t}",
        )
        outcomes = rng.normal(size=(len(ours.arms), 2))
        policy.update(round, ours.arms, outcomes)
        loaded.update(round, ours.arms, outcomes)
