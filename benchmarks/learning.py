"""What wrong kernels cost, and what learning them gives back: `python -m benchmarks.learning [problems] [rounds]`.

Truths are drawn from Gaussian processes in one and two dimensions; TCGP-UCB is told a lengthscale or a noise that is
wrong by a factor, and learns it or not. Every figure is a mean over the same problems.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import superarm as sa

BELIEFS = {
    "right": (1.0, 1.0),
    "lengthscale x 10": (10.0, 1.0),
    "lengthscale / 10": (0.1, 1.0),
    "noise x 3": (1.0, 3.0),
    "noise / 3": (1.0, 1 / 3),
}
POOL = 400


class DrawnProblem:
    """Arms from a pool of contexts where two functions were drawn from a Gaussian process, all fixed by the seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng((seed, 0))
        dimension = 1 + seed % 2
        kernel = (sa.SquaredExponential, sa.Matern52)[seed // 2 % 2]
        self.kernel = kernel(lengthscale=rng.uniform(0.15, 0.5) * np.sqrt(dimension))
        self.noise_std = rng.uniform(0.05, 0.2)
        self.limits = bool(seed // 4 % 2)
        self.pool = rng.uniform(size=(POOL, dimension))
        drawn = sa.ExactPosterior(self.kernel, 1.0).sample(self.pool, 1, seed=seed)[0]
        # Where most arms would only cost, the best super arm is often empty and a ratio of rewards means nothing.
        self.truth = drawn * [np.sign(np.median(drawn[:, 0])), 1.0]

    def prior(self, lengthscale: float = 1.0, noise: float = 1.0) -> sa.ExactPosterior:
        """What a learner is told, wrong by these factors."""
        kernel = type(self.kernel)(lengthscale=self.kernel.lengthscale * lengthscale)
        return sa.ExactPosterior(kernel, self.noise_std * noise)

    def rounds(self, rng):
        t = 0
        while True:
            t += 1
            ids = rng.integers(POOL, size=80)
            quantile = np.quantile(self.truth[:, 1], rng.uniform(0.3, 0.7, 10))
            yield sa.Round(
                t=t,
                contexts=self.pool[ids],
                groups=np.arange(80) % 10,
                constraint=sa.Sum() <= quantile if self.limits else sa.Mean() >= quantile,
                feasible=sa.AtMost(10, per_group=3),
                arm_ids=ids,
            )

    def expected_outcomes(self, round):
        return self.truth[round.arm_ids]

    def outcomes(self, round, rng):
        return self.expected_outcomes(round) + rng.normal(0, self.noise_std, (len(round), 2))


def measured(environment, posterior, learn, rounds, seed=0) -> dict[str, float]:
    """One run of TCGP-UCB; "covered": picked arms whose truth was in the 95 % interval, ideally 0.95."""
    policy = sa.TCGPUCB(posterior, learn=learn)
    start = time.process_time()
    trace = sa.simulate(policy, environment, rounds=rounds, seed=seed)
    late = trace.tail(20)
    return {
        "reward": trace["reward"].sum() / trace["optimal_reward"].sum(),
        "reward, last 20": late["reward"].sum() / late["optimal_reward"].sum(),
        "group regret": trace["group_regret"].sum(),
        "satisfied": trace["groups_satisfied"].sum() / trace["groups_touched"].sum(),
        "covered": (trace["covered_1"].sum() + trace["covered_2"].sum()) / (2 * trace["arms"].list.len().sum()),
        "update s": trace["update_seconds"].sum(),
        "run s": time.process_time() - start,
    }


def table(title: str, environments, prior, rounds: int) -> None:
    """Print every belief, fixed and learnt."""
    print(f"\n{title}, {len(environments)} runs of {rounds} rounds\n")
    heading = None
    for name, (lengthscale, noise) in BELIEFS.items():
        for learn in (False, True):
            rows = [
                measured(environment, prior(environment, lengthscale, noise), learn, rounds, seed)
                for seed, environment in enumerate(environments)
            ]
            if heading is None:
                heading = ("belief", "", *rows[0])
                print("| " + " | ".join(heading) + " |\n" + "| --- " * len(heading) + "|")
            means = [f"{np.mean([row[key] for row in rows]):.3f}" for key in rows[0]]
            print("| " + " | ".join([name, "learnt" if learn else "fixed", *means]) + " |", flush=True)


def federated_prior(environment, lengthscale: float, noise: float) -> sa.ExactPosterior:
    return sa.ExactPosterior(sa.SquaredExponential(lengthscale=lengthscale), environment.noise_std * noise)


if __name__ == "__main__":
    problems, rounds = [int(argument) for argument in (*sys.argv[1:], *("16", "100")[len(sys.argv) - 1 :])]
    table("Drawn problems", [DrawnProblem(seed) for seed in range(problems)], DrawnProblem.prior, rounds)
    table("Federated", [sa.environments.Federated()] * (problems // 2), federated_prior, rounds)
