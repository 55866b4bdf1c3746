"""What a model costs that moves and has effects of groups: `python -m benchmarks.endless [outcomes]`, some minutes.

A truth turns slowly and groups differ for good, so that the policy adopts a drift and effects: every outcome is a point
of its own, and nothing collapses. For each tenth of the outcomes: the CPU time of an update (mean, and of one in a
hundred), of a selection, and how many bytes the saved policy has at most.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import superarm as sa
from superarm.arguments import Array
from superarm.round import Round

OUTCOMES, PARTS = 100_000, 10
ARMS, LABELS, PICKED = 50, 12, 40
TURN = 400  # rounds in which the truth turns once
NOISE, EFFECT = 0.1, 0.5
WEIGHED = 5  # every so many-th round the policy is saved, as it grows and is cut back in turn
FLAT = 1.5  # times the mean cost of the parts after the first that the last ones may have
TOGETHER = 3  # parts whose costs are averaged: each rises and falls, as rows are cut off and come again


@dataclass(frozen=True, kw_only=True)
class Part:
    """Costs of some of the outcomes."""

    seen: int
    update_ms: float
    slow_ms: float
    select_ms: float
    size: int

    @property
    def line(self) -> str:
        """For a reader."""
        return (
            f"{self.seen:>7} outcomes: update {self.update_ms:6.1f} ms (99 of 100 below {self.slow_ms:6.1f}), "
            f"select {self.select_ms:5.1f} ms, at most {self.size / 1e6:.1f} MB saved"
        )


def rounds(seed: int = 0) -> Iterator[tuple[Round, Array]]:
    """Rounds with the outcomes, (M, 2), of all arms."""
    rng = np.random.default_rng(seed)
    effects, t = rng.normal(0.0, EFFECT, (LABELS, 2)), 0
    while True:
        t += 1
        x, labels = rng.uniform(size=(ARMS, 2)), np.sort(rng.integers(LABELS, size=ARMS))
        angle = 2.0 * np.pi * t / TURN
        truth = np.column_stack([np.sin(3.0 * x[:, 0] + angle), np.cos(3.0 * x[:, 1] - angle)]) + effects[labels]
        promise = sa.Mean() >= 0.0
        yield (
            Round(t=t, contexts=x, groups=labels, constraint=promise, feasible=sa.AtMost(PICKED)),
            truth + rng.normal(0.0, NOISE, (ARMS, 2)),
        )


def run(
    outcomes: int = OUTCOMES, parts: int = PARTS, say: Callable[[str], None] = lambda words: None
) -> tuple[sa.TCGPUCB, list[Part]]:
    """The policy in the end, and what each part of the outcomes cost, told when it is known."""
    policy, played, found, seen = sa.TCGPUCB(seed=0), rounds(), list[Part](), 0
    for part in range(1, parts + 1):
        updates, selects, sizes = list[float](), list[float](), list[int]()
        while seen < outcomes * part // parts:
            round, values = next(played)
            start = time.process_time()
            arms = policy.select(round).arms
            chosen = time.process_time()
            policy.update(round, arms, values[arms])
            seen += len(arms)
            updates.append(1e3 * (time.process_time() - chosen))
            selects.append(1e3 * (chosen - start))
            if len(updates) % WEIGHED == 1:
                sizes.append(saved(policy))
        found.append(
            Part(
                seen=seen,
                update_ms=float(np.mean(updates)),
                slow_ms=float(np.quantile(updates, 0.99)),
                select_ms=float(np.mean(selects)),
                size=max(sizes),
            )
        )
        say(found[-1].line)
    return policy, found


def saved(policy: sa.TCGPUCB) -> int:
    """Bytes of the policy in a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy"
        policy.save(file)
        return file.stat().st_size


def grown(found: list[Part]) -> list[str]:
    """What grew, though it must not: the last parts beside those after the first, in which the posterior fills."""
    faults = []
    for name in ("update_ms", "select_ms", "size"):
        early, late = (
            float(np.mean([getattr(part, name) for part in parts]))
            for parts in (found[1 : 1 + TOGETHER], found[-TOGETHER:])
        )
        if late > FLAT * early:
            faults.append(f"{name} {late:.4g} in the end, {FLAT * early:.4g} allowed")
    return faults


def main() -> int:
    """All parts, what the model is, and whether anything grew."""
    warnings.simplefilter("ignore")
    policy, found = run(int(sys.argv[1]) if len(sys.argv) > 1 else OUTCOMES, say=partial(print, flush=True))
    print(policy)
    faults = grown(found)
    print("; ".join(faults) or "endless: time and memory are flat")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
