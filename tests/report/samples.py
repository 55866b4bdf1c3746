"""Small seeded results, as an experiment would write them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

POLICIES = [
    "cautious",
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
GAUSSIAN = ("cautious", "tcgp-ucb", "stcgp-ucb", "tcgp-ts", "oclok-ucb", "cgp-ucb")  # and their variants
MANY = [
    *("cautious", *(f"cautious confidence={value:g}" for value in (0.5, 0.8, 0.9, 0.95, 0.999))),
    *("tcgp-ucb", *(f"tcgp-ucb zeta={value:g}" for value in (0.1, 0.25, 0.75))),
    *(f"tcgp-ucb beta_scale={value:g}" for value in (0.05, 0.25)),
    *("stcgp-ucb", "tcgp-ucb-batch", "tcgp-ucb-learned", "tcgp-ts", "acc-ucb", "oclok-ucb", "uniform", "clairvoyant"),
]
ZETAS = [f"tcgp-ucb zeta={zeta:g}" for zeta in np.linspace(0.001, 0.999, 5)]


def results(
    policies: list[str],
    *,
    experiment: str = "federated",
    runs: int = 3,
    rounds: int = 30,
    narrow: str = "",
    hopeful: str = "",
) -> pl.DataFrame:
    """Rows as a study writes them; ``narrow`` and ``hopeful`` name policies that are overconfident about both."""
    rng = np.random.default_rng(7)
    beliefs = np.random.default_rng(8)
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
                arms = list(range(int(beliefs.integers(5, 15))))
                believes, certifies = policy.startswith(GAUSSIAN), policy.startswith("cautious")
                inside = beliefs.binomial(len(arms), 0.5 if policy == narrow else 0.95, 2)
                if certifies:  # nearly every promise is kept, and the few that break were predicted to
                    chance = 0.02 * beliefs.uniform(0.5, 1.5)
                    broken = int(beliefs.binomial(touched, chance * (5 if policy == hopeful else 1)))
                    satisfied, group = touched - broken, broken * 0.1
                rows.append(
                    {
                        "experiment": experiment,
                        "policy": policy,
                        "run": run,
                        "t": t,
                        "arms": arms,
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
                        "kind": None if not certifies else "EXPLORING" if t == 1 else "CERTIFIED",
                        "predicted_broken": touched * chance if certifies else None,
                        "covered_1": int(inside[0]) if believes else None,
                        "covered_2": int(inside[1]) if believes else None,
                    }
                )
    return pl.DataFrame(rows, infer_schema_length=None)


def manifest(frame: pl.DataFrame, data: str | None = None, kind: str | None = None) -> dict[str, Any]:
    return {
        "experiment": frame["experiment"][0],
        "title": "A study of <promises> & rewards",
        "rounds": frame["t"].max(),
        "runs": frame["run"].n_unique(),
        "seed": 0,
        "policies": frame["policy"].unique(maintain_order=True).to_list(),
        "settings": {"delta": 0.05, "kernel": {"name": "SquaredExponential", "lengthscale": 1.0}, "inducing": None},
        "data": data,
        "data_kind": kind,
        "versions": {"superarm": "0.1.0"},
        "commit": None,
    }


def claims() -> list[SimpleNamespace]:
    return [
        SimpleNamespace(
            claim=f"Claim {n} <of> it", expected="0.8", measured="0.79 ± 0.01", verdict=verdict, remark=f"note {n}"
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
