"""The bounds of Theorem 1 along a run of the federated study, for the report to draw beside the regret."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from superarm import theory
from superarm.experiments import paper
from superarm.experiments.experiment import run_entropy, seed_of
from superarm.experiments.results import Results
from superarm.simulation import stream

POLICY = "tcgp-ucb"


def bounds_of(results: Results) -> pl.DataFrame | None:
    """Bounds on the cumulative regrets of TCGP-UCB in the first run; None for studies that they do not cover.

    The rounds are generated again from the seed. The trade-off study's Variance is not Lipschitz, and the walk through
    a movies run takes longer than the run. The federated truths are fixed curves and not drawn from the prior, so the
    bounds are shown for their size, not as a guarantee.
    """
    manifest = results.manifest
    played = results.frame.filter((pl.col("policy") == POLICY) & (pl.col("run") == 0)).sort("t")
    if manifest["experiment"] != "federated" or played.is_empty():
        return None
    experiment = paper.federated()
    entropy = run_entropy(manifest["seed"], 0)
    environment = experiment.environment(seed_of(entropy, "environment"))
    rounds = list(itertools.islice(environment.rounds(stream(entropy, "arrivals")), len(played)))
    picked = [round.contexts[arms] for round, arms in zip(rounds, played["arms"].to_list(), strict=True)]
    bounds = theory.bound_of_run(
        paper.FEDERATED_KERNEL,
        picked,
        noise_std=paper.NOISE_STD,
        zeta=paper.ZETA,
        delta=paper.DELTA,
        max_arms=np.maximum.accumulate([len(round) for round in rounds]),
    ).run
    return pl.concat(
        pl.DataFrame({"policy": POLICY, "run": 0, "t": played["t"], "quantity": quantity, "bound": values})
        for quantity, values in (("super-arm regret", bounds.super_arm), ("group regret", bounds.group))
    )
