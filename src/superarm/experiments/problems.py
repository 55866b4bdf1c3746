"""The study of random problems: every run is another problem, and the learner knows its prior."""

from __future__ import annotations

from superarm.environments import random_problem
from superarm.environments.random_problem import RandomProblem
from superarm.experiments.experiment import Experiment, Setting
from superarm.experiments.paper import BENCHMARKS, DELTA, ZETA, learners
from superarm.posteriors.gaussian_process import GaussianProcess


def problems() -> Experiment:
    """50 random problems, T = 100; a run's problem is drawn by the run's own seed, so no two studies share one.

    Whoever tries settings by hand does so on ``RandomProblem(0)`` to ``RandomProblem(99)``, which no run draws: its
    seeds are numbers of 63 random bits.
    """
    systems = {**learners(_told), **BENCHMARKS}
    return Experiment(
        name="problems",
        title="Random problems: one for each run, with every group reward in both senses",
        environment=RandomProblem,
        policies=systems,
        systems=systems,
        rounds=100,
        runs=50,
        zeta=ZETA,
        settings={
            "generator": "superarm.environments.RandomProblem, drawn by the seed of the run",
            "contexts": f"a pool of {random_problem.POOL}",
            "thresholds": f"quantiles {random_problem.QUANTILES[0]} to {random_problem.QUANTILES[1]} of random subsets",
            "posterior": "exact; the learner knows kernel and noise",
            "zeta": ZETA,
            "delta": DELTA,
        },
        describe=lambda problem: problem.description,
    )


def _told(setting: Setting) -> GaussianProcess:
    problem = setting.environment
    assert isinstance(problem, RandomProblem)
    return GaussianProcess(problem.kernel, problem.noise_std)
