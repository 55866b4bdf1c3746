"""Selecting from a catalogue, here, on processes and on a local Ray: core-seconds, memory of a worker, bytes sent.

Arms of 1,000 groups, at most 200 picked and 10 of a group, a posterior of rank 96, and outcomes in conflict (what earns
leaks). ``python -m benchmarks.sharded 20000000 --on ray --kill`` measures one selection alone; a catalogue of
20,000,000 arms takes 1.3 GB of disk meanwhile.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import superarm as sa
from benchmarks.measure import slope
from benchmarks.page import Listing
from benchmarks.watch import Watch, apart, with_ray

HEADING = "Millions of arms"
NOTES = (
    "`sa.select` of a catalogue: at most 200 arms of 1,000 groups, at most 10 of a group, promises on the sum of every "
    "group, a posterior of rank 96, and arms that leak more the more they earn. 'plain' is `TCGPUCB`, 'cautious' is "
    "`CautiousTCGPUCB(learn=False, opening=0)`. Core-seconds are those of the calling process and of all workers, "
    "including their import of superarm. Those of the engine's own processes are in the column 'engine': they grow "
    "with the wall time, and leave out the start of the engine. MB is the memory of the largest worker. 'left': arms "
    "left to solve. 'killed': one worker was killed by SIGKILL midway. Nothing ran on more than one host."
)
DIMENSION, GROUPS, RANK, AT_ONCE = 5, 1000, 96, 1_000_000
NAMES = [f"x{d}" for d in range(DIMENSION)]
FAR = 1_000_000_000  # arms, of which what is measured is carried on to
# arms, policy, workers, whether groups are split, whether a worker is killed
FULL = (
    *(
        (arms, "plain", on, False, False)
        for arms in (2_000_000, 6_000_000, 20_000_000)
        for on in ("processes:2", "ray")
    ),
    (20_000_000, "plain", "here", False, False),
    (20_000_000, "plain", "ray", False, True),
    (2_000_000, "plain", "ray", True, False),
    *((arms, "cautious", "ray", False, False) for arms in (2_000_000, 20_000_000)),
    (2_000_000, "cautious", "ray", True, False),
)
SMALL = ((3_000, "plain", "here", False, False), (6_000, "plain", "here", False, False))


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    rows: list[dict[str, Any]] = []
    missing = []
    with tempfile.TemporaryDirectory() as folder:
        for arms, who, on, split, kill in SMALL if small else FULL:
            python = with_ray() if on == "ray" else sys.executable
            if python is None:
                missing.append(f"{arms:,} arms on Ray: there is no environment with it")
                continue
            say(f"{arms:,} arms, {who}, {on}")
            if small:
                rows.append(measured(Path(folder), arms, who, on, split=split, kill=kill))
                continue
            words = [str(arms), "--policy", who, "--on", on, "--folder", folder]
            words += ["--split"] * split + ["--kill"] * kill
            rows.append(apart(python, "benchmarks.sharded", words))
    return {"rows": rows, "missing": missing}


def listings(section: dict[str, Any]) -> list[Listing]:
    head = [
        "arms",
        "policy",
        "workers",
        "groups",
        "core-seconds",
        "engine",
        "us an arm",
        "wall, s",
        "MB",
        "MB sent",
        "left",
        "arms picked",
    ]
    rows = [
        [
            f"{row['arms']:,}",
            row["policy"],
            row["on"] + (", one killed" if row["killed"] else ""),
            "split" if row["split"] else "whole",
            f"{row['seconds']:.1f}",
            f"{row['engine']:.1f}",
            f"{1e6 * row['seconds'] / row['arms']:.2f}",
            f"{row['wall']:.0f}",
            f"{row['peak']:.0f}",
            f"{row['sent']:.2f}",
            f"{row['left']:,}",
            row["digest"][:8],
        ]
        for row in section["rows"]
    ]
    return [
        Listing(title="select of a catalogue; equal digits in the last column mean equal arms", head=head, rows=rows)
    ]


def verdicts(section: dict[str, Any]) -> list[str]:
    """How the cost grows, and what that would be for a thousand million arms."""
    said = []
    for on in ("processes:2", "ray", "here"):
        rows = [
            row
            for row in section["rows"]
            if (row["policy"], row["on"], row["split"], row["killed"]) == ("plain", on, False, False)
        ]
        if len(rows) < 2:
            continue
        arms, seconds = [row["arms"] for row in rows], [row["seconds"] for row in rows]
        power = slope(arms, seconds)
        far = seconds[-1] * (FAR / arms[-1]) ** max(power, 1.0)
        said.append(
            f"{on}: core-seconds grow with the arms to the power {power:.2f}; extrapolated from {arms[-1]:,} arms, "
            f"{FAR:,} would take {far:,.0f} core-seconds, which was not measured"
        )
    return said


def frames(arms: int, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Arms in parts, each with a number of its own."""
    for start in range(0, arms, AT_ONCE):
        rng = np.random.default_rng((seed, start))
        n = min(AT_ONCE, arms - start)
        x = rng.uniform(size=(n, DIMENSION))
        yield pl.DataFrame(dict(zip(NAMES, x.T, strict=True))).with_columns(
            pl.Series("group", rng.integers(GROUPS, size=n)), pl.Series("id", np.arange(start, start + n))
        )


def policy(who: str = "plain", seed: int = 0) -> sa.TCGPUCB | sa.CautiousTCGPUCB:
    """One that has seen 2,000 outcomes, of which the second follows the first."""
    rng = np.random.default_rng((seed, 1))
    x = rng.uniform(size=(2000, DIMENSION))
    earns = np.sin(3.0 * x).sum(axis=1) / 3.0 + 0.3 * x[:, 0]
    leaks = earns + 0.2 * np.cos(5.0 * x[:, 1])
    kernel = sa.SquaredExponential(lengthscale=0.7)
    sparse = sa.SparsePosterior(kernel, noise_std=0.05, inducing=sa.RandomSubset(RANK, seed=0))
    posterior = sparse.condition(x, np.column_stack([earns, leaks]) + 0.05 * rng.normal(size=(2000, 2)))
    if who == "cautious":
        return sa.CautiousTCGPUCB(posterior, learn=False, opening=0)
    return sa.TCGPUCB(posterior, learn=False, beta_scale=0.05)


def a_round(arms: sa.Catalogue, t: int = 3) -> sa.ShardedRound:
    return sa.ShardedRound(t=t, arms=arms, constraint=sa.Sum() <= 6.0, feasible=sa.AtMost(200, per_group=10))


def catalogue(folder: Path, arms: int, *, split: bool) -> sa.Catalogue:
    """The one that is there, or a new one."""
    path = folder / f"{arms}-{'split' if split else 'whole'}"
    if path.exists():
        return sa.Catalogue.open(path)
    told: dict[str, Any] = {"contexts": NAMES, "group": "group", "id": "id", "shards": max(2, arms // 250_000)}
    return sa.Catalogue.write(frames(arms), path, **told, whole=not split)


def measured(folder: Path, arms: int, who: str, on: str, *, split: bool, kill: bool) -> dict[str, Any]:
    """One selection, of workers that have done nothing before."""
    mine, few = policy(who), catalogue(folder, 2_000, split=False)
    sa.select(mine, a_round(few))  # compiles
    asked = a_round(catalogue(folder, arms, split=split))
    with closing(sa.connect(on)) as workers:
        start = time.perf_counter()
        with Watch(kill=1.2e-6 * arms if kill else None) as watch:  # after some half of the work
            picked = sa.select(mine, asked, workers=workers)
        wall = time.perf_counter() - start
        if kill and not (watch.killed and workers.repeated):
            raise RuntimeError("no worker was killed")
    return {
        "arms": arms,
        "policy": who,
        "on": on,
        "split": split,
        "killed": kill,
        "seconds": round(watch.seconds(engine=False), 2),
        "engine": round(watch.seconds() - watch.seconds(engine=False), 2),
        "wall": round(wall, 1),
        "peak": round(watch.peak, 1),
        "sent": round(picked.sent / 1e6, 3),
        "left": picked.survivors,
        "status": picked.status.name,
        "picked": len(picked.rows),
        "digest": hashlib.sha256(repr((picked.ids, picked.value)).encode()).hexdigest()[:16],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arms", type=int)
    parser.add_argument("--policy", choices=["plain", "cautious"], default="plain")
    parser.add_argument("--on", default="processes:2", help="workers")
    parser.add_argument("--split", action="store_true", help="groups split over all shards")
    parser.add_argument("--kill", action="store_true", help="SIGKILL a worker midway")
    parser.add_argument(
        "--folder", type=Path, help="where catalogues are, or are written to; by default a temporary one"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        found = measured(folder, given.arms, given.policy, given.on, split=given.split, kill=given.kill)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
