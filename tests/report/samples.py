"""Small seeded results, as an experiment would write them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

POLICIES = [
    "tcgp-ucb",
    "stcgp-ucb",
    "acc-ucb",
    "cc-mab",
    "cucb",
    "oclok-ucb",
    "cgp-ucb",
    "uniform",
    "clairvoyant",
]
ZETAS = [f"tcgp-ucb zeta={zeta:g}" for zeta in np.linspace(0.001, 0.999, 5)]


def results(policies: list[str], *, experiment: str = "federated", runs: int = 3, rounds: int = 30) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for place, policy in enumerate(policies):
        perfect = policy == "clairvoyant"
        for run in range(runs):
            for t in range(1, rounds + 1):
                optimal = rng.uniform(20, 40)
                regret = 0.0 if perfect else rng.normal(8 * np.exp(-t / (5 + place)), 2)
                touched = int(rng.integers(0 if t % 10 == 3 else 4, 12))
                satisfied = touched if perfect else int(rng.binomial(touched, 0.6))
                group = 0.0 if perfect else (touched - satisfied) * rng.uniform(0.1, 0.8)
                rows.append(
                    {
                        "experiment": experiment,
                        "policy": policy,
                        "run": run,
                        "t": t,
                        "arms": [0, 2],
                        "reward": optimal - regret,
                        "optimal_reward": optimal,
                        "super_arm_regret": regret,
                        "group_regret": group,
                        "total_regret": regret + group,
                        "groups_touched": touched,
                        "groups_satisfied": satisfied,
                        "status": "NO_GOOD_SUBGROUP" if t == 1 else "OPTIMAL",
                        "alpha": None if policy == "uniform" else float(rng.uniform(0.9, 1)),
                        "select_seconds": float(10 ** rng.normal(-3 + 0.2 * place, 0.2)),
                        "update_seconds": 0.0 if perfect else float(10 ** rng.normal(-4, 0.2)),
                    }
                )
    return pl.DataFrame(rows, infer_schema_length=None)


def manifest(frame: pl.DataFrame, data: str | None = None) -> dict[str, Any]:
    return {
        "experiment": frame["experiment"][0],
        "title": "A study of <promises> & rewards",
        "rounds": frame["t"].max(),
        "runs": frame["run"].n_unique(),
        "seed": 0,
        "policies": frame["policy"].unique(maintain_order=True).to_list(),
        "settings": {"delta": 0.05, "kernel": {"name": "SquaredExponential", "lengthscale": 1.0}, "inducing": None},
        "data": data,
        "versions": {"superarm": "0.1.0"},
        "commit": None,
    }


def claims() -> list[SimpleNamespace]:
    return [
        SimpleNamespace(
            claim=f"Claim {n} <of> it", paper="0.8", measured="0.79 ± 0.01", verdict=verdict, remark=f"note {n}"
        )
        for n, verdict in enumerate(("holds", "does not hold", "holds with a remark", "not measured"))
    ]


def bounds(frame: pl.DataFrame) -> pl.DataFrame:
    some = frame.filter(pl.col("policy").is_in(["tcgp-ucb", "stcgp-ucb"]))
    parts = [
        some.select("policy", "run", "t", quantity=pl.lit(quantity), bound=factor * pl.col("t").cast(pl.Float64).sqrt())
        for quantity, factor in (("super-arm regret", 500.0), ("group regret", 900.0))
    ]
    return pl.concat(parts)
