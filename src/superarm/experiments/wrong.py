"""Two studies in which the prior is wrong or missing: worlds with a wrong prior, and shops that differ."""

from __future__ import annotations

from typing import Any

from superarm.environments import wrong as worlds
from superarm.environments.environment import Environment
from superarm.environments.shops import Shops
from superarm.environments.wrong import KINDS, PROMISES, WrongWorld
from superarm.experiments.experiment import Experiment, Maker, Setting
from superarm.experiments.paper import BENCHMARKS, ZETA, known, learners
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.posteriors.posterior import Posterior

PLAYED = ("cautious", "cautious-no-prior", "cautious-fixed", "tcgp-ucb", "tcgp-ts")


def wrong() -> Experiment:
    """Every kind of wrong world in turn, with each of three promises: T = 60, 75 runs.

    The kind follows the number of the run, so that any 25 runs in a row have each kind once, and any 75 each kind with
    every promise. The world is drawn by the run's own seed, a number of 63 random bits; settings are tried out
    and judged by hand on ``WrongWorld`` with the seeds 0 to 999, which no run draws.
    """
    return Experiment(
        **known("wrong"),
        environment=lambda seed: WrongWorld("right", "mean", seed),
        by_run=world_of,
        **_systems(),
        settings={
            "generator": "superarm.environments.WrongWorld, drawn by the seed of the run; kinds and promises in turn",
            "contexts": f"a pool of {worlds.POOL}",
            "thresholds": f"quantiles {worlds.QUANTILES[0]} to {worlds.QUANTILES[1]} of random subsets",
            "kinds": {kind: flaw.about for kind, flaw in KINDS.items()},
            "told": "what prior says of the kind, right or wrong; cautious-no-prior is told nothing",
        },
        describe=lambda world: f"{world.kind}, {world.promise}",
    )


def world_of(run: int, seed: int) -> WrongWorld:
    """The world of a run, whose kind and promise take turns."""
    kinds = list(KINDS)
    return WrongWorld(kinds[run % len(kinds)], PROMISES[run // len(kinds) % len(PROMISES)], seed)


def shops() -> Experiment:
    """Twelve shops that differ, drawn by the run's own seed: T = 40, 10 runs."""
    one = Shops()
    return Experiment(
        **known("shops"),
        environment=lambda seed: Shops(seed=seed),
        **_systems(),
        settings={
            "coupons": one.coupons,
            "size": f"at most {one.most}",
            "promise": "mean margin of a shop >= its floor",
            "told": "three features and the label of the shop; no columns say which shop it is",
        },
    )


def _systems() -> dict[str, Any]:
    """The policies of both studies, with the prior that the environment gives."""
    every: dict[str, Maker] = {
        **learners(_given_prior),
        "cautious-no-prior": lambda s, confidence=0.99: CautiousTCGPUCB(confidence=confidence, seed=s.seed),
        **BENCHMARKS,
    }
    systems = {name: every[name] for name in (*PLAYED, *BENCHMARKS)}
    return {"policies": systems, "systems": systems, "zeta": ZETA}


def _given_prior(setting: Setting) -> Posterior:
    environment: Environment = setting.environment
    assert isinstance(environment, WrongWorld | Shops)
    return environment.prior
