"""Selecting from a catalogue: core-seconds, memory of a worker and bytes sent, from a tenth of the arms to all of them.

``python -m benchmarks.sharded`` writes catalogues into a temporary folder, 1.3 GB for 20,000,000 arms, and prints one
line for each size: arms of 1,000 groups, at most 200 picked and 10 of a group, a posterior of rank 96, and outcomes in
conflict (what earns leaks). The exponent is that of the core-seconds between the first and the last size.
"""

from __future__ import annotations

import argparse
import math
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl

import superarm as sa

DIMENSION, GROUPS, RANK, AT_ONCE = 5, 1000, 96, 1_000_000
NAMES = [f"x{d}" for d in range(DIMENSION)]


def frames(arms: int, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Arms in parts, each with a number of its own."""
    for start in range(0, arms, AT_ONCE):
        rng = np.random.default_rng((seed, start))
        n = min(AT_ONCE, arms - start)
        x = rng.uniform(size=(n, DIMENSION))
        yield pl.DataFrame(dict(zip(NAMES, x.T, strict=True))).with_columns(
            pl.Series("group", rng.integers(GROUPS, size=n)), pl.Series("id", np.arange(start, start + n))
        )


def policy(seed: int = 0) -> sa.TCGPUCB:
    """One that has seen 2,000 outcomes, of which the second follows the first."""
    rng = np.random.default_rng((seed, 1))
    x = rng.uniform(size=(2000, DIMENSION))
    earns = np.sin(3.0 * x).sum(axis=1) / 3.0 + 0.3 * x[:, 0]
    leaks = earns + 0.2 * np.cos(5.0 * x[:, 1])
    kernel = sa.SquaredExponential(lengthscale=0.7)
    sparse = sa.SparsePosterior(kernel, noise_std=0.05, inducing=sa.RandomSubset(RANK, seed=0))
    posterior = sparse.condition(x, np.column_stack([earns, leaks]) + 0.05 * rng.normal(size=(2000, 2)))
    return sa.TCGPUCB(posterior, learn=False, beta_scale=0.05)


def a_round(arms: sa.Catalogue, t: int = 3) -> sa.ShardedRound:
    return sa.ShardedRound(t=t, arms=arms, constraint=sa.Sum() <= 6.0, feasible=sa.AtMost(200, per_group=10))


def cpu() -> float:
    """Seconds of all cores, of this process and of the workers that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def measured(arms: int, workers: str, *, whole: bool = True) -> dict[str, float]:
    """One selection; the workers end with it, so that what they used is known."""
    with tempfile.TemporaryDirectory() as folder:
        start = cpu()
        shards = max(2, arms // 500_000)
        told = {"contexts": NAMES, "group": "group", "id": "id", "shards": shards, "whole": whole}
        catalogue = sa.Catalogue.write(frames(arms), Path(folder) / "arms", **told)
        written = cpu() - start
        mine = policy()
        sa.select(mine, a_round(sa.Catalogue.write(frames(2000), Path(folder) / "few", **told)))  # compiles
        start, wall = cpu(), time.perf_counter()
        with closing(sa.connect(workers)) as those:
            picked = sa.select(mine, a_round(catalogue), workers=those)
        used, wall = cpu() - start, time.perf_counter() - wall
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        assert picked.status is sa.Status.OPTIMAL, picked
        return {
            "arms": arms,
            "core-seconds": used,
            "us an arm": 1e6 * used / arms,
            "wall": wall,
            "worker MB": peak,
            "sent MB": picked.sent / 1e6,
            "survivors": picked.survivors,
            "picked": len(picked.rows),
            "written, core-seconds": written,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, nargs="+", default=[2_000_000, 20_000_000])
    parser.add_argument("--workers", default="processes:2")
    parser.add_argument("--split", action="store_true", help="groups split over all shards")
    given = parser.parse_args()
    found = []
    for arms in given.arms:
        found.append(measured(arms, given.workers, whole=not given.split))
        print(", ".join(f"{name} {value:,.4g}" for name, value in found[-1].items()), flush=True)
    if len(found) > 1:
        first, last = found[0], found[-1]
        grown = math.log(last["core-seconds"] / first["core-seconds"]) / math.log(last["arms"] / first["arms"])
        print(f"core-seconds grow with the arms to the power {grown:.2f}")


if __name__ == "__main__":
    main()
