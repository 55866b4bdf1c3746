"""Stated against kept: `python -m benchmarks.stated [problems] [rounds]`.

The cautious policy states for every touched group with what probability it keeps its promise. Here these probabilities
are put in ten bins, and beside what was stated in each stands what was kept, where the prior is right: truths are drawn
from the very prior that the policy is told, and thresholds from other draws of it. Those of the study ``problems`` are
quantiles of the truth itself, so a threshold that looks out of reach there is not; here it tells nothing of the truth.
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import superarm as sa
from superarm.arguments import Array, IntArray
from superarm.environments import random_problem
from superarm.environments.gp_sample import gp_draw
from superarm.environments.random_problem import RandomProblem

BINS = 10
PROBLEMS, ROUNDS = 50, 25
FIRST = 5000  # seed of the first problem; nothing was tuned on these
OTHERS = 20  # draws of the prior that thresholds are taken from
MOST = 3.0  # standard errors that a bin may be off by
POLICIES = {"cautious": {}, "cautious-fixed": {"learn": False, "opening": 0.0}}


@dataclass(frozen=True, eq=False)
class BlindProblem(RandomProblem):
    """A random problem whose thresholds are quantiles under other draws of the prior, not under its own truth."""

    @cached_property
    def _thresholds(self) -> Array:
        rng = np.random.default_rng((self.seed, 3))
        others = [
            gp_draw(self.kernel, self.contexts, np.random.default_rng((self.seed, 4, i)))[:, 1] for i in range(OTHERS)
        ]
        whole = self.reward == random_problem.WHOLE
        low, high = random_problem.SIZES if whole else (1, random_problem.SIZES[0])
        values = []
        for size in rng.integers(low, high + 1, random_problem.SUBSETS):
            reward = self._reward(rng.integers(random_problem.ITEMS, size=size))
            drawn = others[rng.integers(OTHERS)][rng.integers(random_problem.POOL, size=size)]
            values.append(reward.value(drawn, np.arange(size)))
        return np.sort(values)


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Touched groups whose stated probability of keeping their promise lies between two numbers."""

    low: float
    high: float
    groups: int
    runs: int
    stated: float  # mean
    kept: float  # share
    error: float  # standard error of the difference: clustered by run, but at least that of independent groups

    @property
    def off(self) -> float:
        """By how many standard errors more were kept than stated; 0 where one run cannot tell."""
        return (self.kept - self.stated) / self.error if self.error else 0.0


def by_bins(stated: Array, kept: Array, runs: IntArray, bins: int = BINS) -> list[Bin]:
    """Groups in bins of equal width of what was stated, (n,), with whether each kept its promise and its run."""
    found = []
    places = np.minimum((stated * bins).astype(np.intp), bins - 1)
    for place in range(bins):
        mine = np.flatnonzero(places == place)
        if not len(mine):
            continue
        said, came = float(stated[mine].mean()), float(kept[mine].mean())
        _, run, sizes = np.unique(runs[mine], return_inverse=True, return_counts=True)
        apart = np.bincount(run, kept[mine] - stated[mine]) - (came - said) * sizes
        several = len(sizes) > 1
        clustered = math.sqrt(np.square(apart).sum() * len(sizes) / (len(sizes) - 1)) / len(mine) if several else 0.0
        independent = math.sqrt(float((stated[mine] * (1.0 - stated[mine])).sum())) / len(mine)
        found.append(
            Bin(
                low=place / bins,
                high=(place + 1) / bins,
                groups=len(mine),
                runs=len(sizes),
                stated=said,
                kept=came,
                error=max(clustered, independent) if several else 0.0,
            )
        )
    return found


def played(settings: dict[str, float | bool], seed: int, rounds: int) -> tuple[list[float], list[bool]]:
    """What was stated of each touched group in a run, and what it kept by its expected outcomes."""
    problem = BlindProblem(seed)
    prior = sa.GaussianProcess(problem.kernel, problem.noise_std)
    policy = sa.CautiousTCGPUCB(prior, seed=seed, **settings)
    arrivals, noise = (np.random.default_rng((seed, purpose)) for purpose in (101, 102))
    stated, came = [], []
    for round in itertools.islice(problem.rounds(arrivals), rounds):
        selection = policy.select(round)
        kept = sa.calibration.kept(round, selection.arms, problem.expected_outcomes(round)[selection.arms])
        for group in selection.groups:
            if group.probability is not None and group.label in kept:
                stated.append(group.probability)
                came.append(kept[group.label])
        policy.update(round, selection.arms, problem.outcomes(round, noise)[selection.arms])
    return stated, came


def table(found: Sequence[Bin]) -> str:
    """In Markdown, the surest first."""
    lines = ["| stated | groups | runs | stated, mean | kept | standard errors apart |", "|" + " --- |" * 6]
    for one in reversed(found):
        counts = f"| {one.low:.1f} to {one.high:.1f} | {one.groups:,} | {one.runs}"
        lines.append(f"{counts} | {one.stated:.4f} | {one.kept:.4f} | {one.off:+.1f} |")
    return "\n".join(lines)


def main(problems: int = PROBLEMS, rounds: int = ROUNDS) -> None:
    """Play and print a table for each policy."""
    warnings.simplefilter("ignore")
    for name, settings in POLICIES.items():
        each = [played(settings, FIRST + number, rounds) for number in range(problems)]
        runs = np.repeat(np.arange(problems), [len(stated) for stated, _ in each])
        stated, kept = (np.array([value for run in each for value in run[i]], dtype=np.float64) for i in (0, 1))
        found = by_bins(stated, kept, runs)
        furthest = max(abs(one.off) for one in found)
        verdict = "none" if furthest <= MOST else "some"
        print(f"\n{name}: {len(stated):,} groups; {verdict} of the bins is off by more than {MOST:g} standard errors\n")
        print(table(found), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
