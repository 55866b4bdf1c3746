"""Decisions beside those of what one would assemble: the same rounds, reward, broken promises, and time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.assembled import Assembled, LinUCB, Script
from benchmarks.measure import short
from benchmarks.page import Listing
from superarm.arguments import IntArray
from superarm.environments import Federated, RandomProblem, Shops
from superarm.environments.environment import Environment
from superarm.regret import optimum, performance
from superarm.simulation import stream

LATE = 10
HEADING = "Decisions beside those of a script"
NOTES = (
    "`CautiousTCGPUCB` beside what a practitioner would write instead, on the same rounds with the same noise. The "
    "alternatives are Bayesian ridge regression on cubic features (and, for the shops, one column for each shop), with "
    "promises at two standard deviations and HiGHS for the super arm; the same with ridge regression and LinUCB's "
    "widths; and a script, the shortest of these, 16 lines for shops alone. Reward is divided by that of the best "
    "super arms that keep every promise, in all rounds and after round 10: the mean over the runs and, of the latter, "
    "the least. Broken promises and group regret are means of a run. The time of a round is CPU time, fits included. "
    "Only `CautiousTCGPUCB(prior)` is told anything beforehand. superarm's policies tell the shops apart by their "
    "labels alone, in the second table (one-hot) also by columns. The random problems are those whose promises a "
    "linear program can express."
)
Maker = Callable[[Any], Any]

SUPERARM: dict[str, Maker] = {
    "CautiousTCGPUCB()": lambda environment: sa.CautiousTCGPUCB(),
    "CautiousTCGPUCB(prior)": lambda environment: sa.CautiousTCGPUCB(_prior(environment)),
}
ASSEMBLED: dict[str, Maker] = {
    "BayesianRidge + HiGHS": lambda environment: Assembled(labels=12 if isinstance(environment, Shops) else 0),
    "LinUCB + HiGHS": lambda environment: Assembled(LinUCB, labels=12 if isinstance(environment, Shops) else 0),
}
SCRIPT: dict[str, Maker] = {"script, 16 lines": lambda environment: Script()}


def _prior(environment: Environment) -> sa.GaussianProcess:
    if isinstance(environment, Federated):
        return sa.GaussianProcess(sa.SquaredExponential(), environment.noise_std)
    if isinstance(environment, RandomProblem):
        return sa.GaussianProcess(environment.kernel, environment.noise_std)
    assert isinstance(environment, Shops)
    return environment.prior


def _linear_problems(count: int) -> list[RandomProblem]:
    """The first random problems, of the seeds from 1000 on, that a linear program can hold."""
    drawn = map(RandomProblem, itertools.count(1000))
    linear = (problem for problem in drawn if Assembled.takes(next(problem.rounds(np.random.default_rng(0)))))
    return list(itertools.islice(linear, count))


def _work(small: bool) -> dict[str, tuple[list[Environment], int, dict[str, Maker]]]:
    """What is played: environments, one a run, rounds, and by whom."""
    shops, days = (range(1000, 1001), 3) if small else (range(1000, 1010), 40)
    coupons = {"coupons": 60, "most": 8} if small else {}
    clients = Federated(clients=4 if small else 15, requests=10 if small else 60)
    return {
        "shops": ([Shops(seed=seed, **coupons) for seed in shops], days, {**SUPERARM, **SCRIPT, **ASSEMBLED}),
        "shops, one-hot": ([Shops(seed=seed, one_hot=True, **coupons) for seed in shops], days, SUPERARM),
        "random problems": ([*_linear_problems(1 if small else 6)], 3 if small else 40, {**SUPERARM, **ASSEMBLED}),
        "federated, 15 clients": ([clients] * (1 if small else 2), 3 if small else 40, {**SUPERARM, **ASSEMBLED}),
    }


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    rows = []
    for where, (environments, rounds, makers) in _work(small).items():
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in makers}
        for seed, environment in enumerate(environments):
            say(f"{where}, run {seed + 1} of {len(environments)}")
            played = _play(environment, rounds, {name: make(environment) for name, make in makers.items()}, seed)
            for name, measured in played.items():
                runs[name].append(measured)
        rows += [_row(where, name, of_name) for name, of_name in runs.items()]
    return {"rows": rows, "rounds": 3 if small else 40}


def _play(environment: Environment, rounds: int, policies: dict[str, Any], seed: int) -> dict[str, dict[str, float]]:
    """One run of all policies, round by round in turn."""
    arrivals, noise = stream(seed, "arrivals"), stream(seed, "noise")
    best: list[float] = []
    rewards: dict[str, list[float]] = {name: [] for name in policies}
    sums = {name: {"touched": 0.0, "broken": 0.0, "regret": 0.0, "seconds": 0.0} for name in policies}
    for round in itertools.islice(environment.rounds(arrivals), rounds):
        expected, outcomes = environment.expected_outcomes(round), environment.outcomes(round, noise)
        best.append(optimum(round, expected).value)
        for name, policy in policies.items():
            start = time.process_time()
            found = policy.select(round)
            arms: IntArray = getattr(found, "arms", found)
            policy.update(round, arms, outcomes[arms])
            sums[name]["seconds"] += time.process_time() - start
            true = performance(round, arms, expected)
            rewards[name].append(true.reward)
            sums[name]["touched"] += true.groups_touched
            sums[name]["broken"] += true.groups_touched - true.groups_satisfied
            sums[name]["regret"] += true.group_regret
    late = LATE if rounds > LATE else 0
    return {
        name: {
            **sums[name],
            "reward": sum(earned) / sum(best),
            "late": sum(earned[late:]) / sum(best[late:]),
            "ms": 1e3 * sums[name]["seconds"] / rounds,
        }
        for name, earned in rewards.items()
    }


def _row(where: str, name: str, runs: list[dict[str, float]]) -> dict[str, Any]:
    columns = {key: np.array([run[key] for run in runs]) for key in runs[0]}
    touched = float(columns["touched"].sum())
    figures = {
        "reward": columns["reward"].mean(),
        "late": columns["late"].mean(),
        "worst": columns["late"].min(),
        "kept": 1.0 - columns["broken"].sum() / touched if touched else 1.0,
        "broken": columns["broken"].mean(),
        "regret": columns["regret"].mean(),
        "ms": columns["ms"].mean(),
    }
    rounded = {key: float(f"{value:.4g}") for key, value in figures.items()}
    return {"where": where, "policy": name, "runs": len(runs), **rounded}


def listings(section: dict[str, Any]) -> list[Listing]:
    head = [
        "policy",
        "runs",
        "reward",
        "after round 10",
        "the same, least",
        "kept",
        "broken a run",
        "group regret",
        "ms a round",
    ]
    found = []
    for where in dict.fromkeys(row["where"] for row in section["rows"]):
        rows = [
            [
                *(row["policy"], str(row["runs"]), *(f"{row[key]:.3f}" for key in ("reward", "late", "worst"))),
                *(f"{100 * row['kept']:.1f} %", f"{row['broken']:.1f}", short(row["regret"]), short(row["ms"])),
            ]
            for row in section["rows"]
            if row["where"] == where
        ]
        found.append(Listing(title=f"{where}, {section['rounds']} rounds", head=head, rows=rows))
    return found


def verdicts(section: dict[str, Any]) -> list[str]:
    """The shortest program of superarm beside what one would assemble."""
    said = []
    for where in dict.fromkeys(row["where"] for row in section["rows"]):
        mine = next(row for row in section["rows"] if row["where"] == where and row["policy"] in SUPERARM)
        same = where.removesuffix(", one-hot")  # the script makes its own columns
        others = [row for row in section["rows"] if row["where"] == same and row["policy"] not in SUPERARM]
        said += [
            f"{where}: {mine['policy']} earns {mine['reward']:.3f}, {mine['late']:.3f} after round {LATE}, and breaks "
            f"{mine['broken']:.1f} a run; {row['policy']} {row['reward']:.3f}, {row['late']:.3f}, and "
            f"{row['broken']:.1f}"
            for row in others
        ]
    return said
