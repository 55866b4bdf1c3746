"""The demonstration: a short federated study with the few policies that tell the story, and the story in a sentence."""

from __future__ import annotations

import polars as pl

from superarm.experiments.experiment import Experiment
from superarm.experiments.measures import of, sums
from superarm.experiments.paper import federated

# What each policy is, in the words of the sentence.
TELLING = {
    "cautious": "certifies before it plays",
    "tcgp-ucb": "hopes for the best",
    "tcgp-ts": "samples",
    "oclok-ucb": "knows no groups",
    "uniform": "picks at random",
}


def demo() -> Experiment:
    """The federated study with five policies and the benchmark: T = 40, 4 runs."""
    return federated().with_changes(rounds=40, runs=4, policies=tuple(TELLING))


def shown(frame: pl.DataFrame) -> str:
    """One sentence on what came of the demonstration: of each policy, promises kept and reward."""
    first, *others = [_came_of(frame, policy) for policy in TELLING]
    return (
        f"What was shown: of its promises, {first} of the reward of the best that keeps all; {'; '.join(others)} "
        "(more than 1 is earned by breaking some)."
    )


def _came_of(frame: pl.DataFrame, policy: str) -> str:
    touched, kept = (sums(frame, policy, column) for column in ("groups_touched", "groups_satisfied"))
    # What is not all is never rounded up to all.
    percent = min(100.0 * kept / touched, 99.9) if kept < touched else 100.0
    reward, best = (of(frame, policy)[column].to_numpy().sum() for column in ("reward", "optimal_reward"))
    return f"{policy}, which {TELLING[policy]}, kept {percent:.1f} % at {reward / best:.3f}"
