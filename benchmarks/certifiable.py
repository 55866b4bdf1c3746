"""How much can be earned with promises kept at 0.99: `python -m benchmarks.certifiable [problems] [rounds]`.

On random problems four things are set beside the best super arms that keep every promise:

- the policy without a prior, and with the true kernel and noise as a first guess;
- the same told to believe them to the letter (``learn=False, opening=0``), so that nothing about the model is unknown;
- the best super arms that are certified under its posterior, found by one who knows what every arm earns: with these
  outcomes nothing that is certified earns more in that round. A policy that explores, tries, or plays on credit may.

What lies between the last one and 1 is what is not known of the second outcome; between the first two and the third,
what is not known of the model.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import superarm as sa
from superarm.environments import RandomProblem
from superarm.environments.environment import Environment
from superarm.regret import optimum, performance
from superarm.round import Round
from superarm.simulation import stream

PROBLEMS, ROUNDS = 12, 60
FIRST = 300  # seed of the first problem
LATE = 10  # rounds after which little is unknown
NO_PRIOR, GUESS, TOLD, CERTIFIABLE = "no prior", "true prior as a guess", "told the truth", "best certifiable"


@dataclass(kw_only=True)
class Tally:
    """Rewards over those of the optimum, round by round, and what was kept."""

    rewards: list[float] = field(default_factory=list)
    touched: int = 0
    kept: int = 0

    def add(self, round: Round, arms: Any, expected: Any) -> None:
        """With a super arm of a round."""
        true = performance(round, arms, expected)
        self.rewards.append(true.reward)
        self.touched += true.groups_touched
        self.kept += true.groups_satisfied


def certifiable(policy: sa.CautiousTCGPUCB, round: Round, truth: Any) -> Any:
    """The arms of the best super arm that the policy can certify, if the first outcome were known: ``truth``, (M,)."""
    posterior, points = policy.learner.view(round)
    search = policy._search(round, posterior, points)
    found = replace(search, index=truth).best()
    return np.empty(0, dtype=np.intp) if found is None else found.arms


def players(problem: RandomProblem, seed: int) -> dict[str, sa.CautiousTCGPUCB]:
    """The policy told nothing, told the prior as a guess, and told that it is the truth."""
    prior = sa.GaussianProcess(problem.kernel, problem.noise_std)
    return {
        NO_PRIOR: sa.CautiousTCGPUCB(seed=seed),
        GUESS: sa.CautiousTCGPUCB(prior, seed=seed),
        TOLD: sa.CautiousTCGPUCB(prior, learn=False, opening=0.0, seed=seed),
    }


def play(
    environment: Environment, policies: dict[str, sa.CautiousTCGPUCB], rounds: int, seed: int
) -> tuple[dict[str, Tally], list[float]]:
    """All policies on the same rounds with the same noise, and the best certifiable; and the rewards of the optimum."""
    tallies = {name: Tally() for name in (*policies, CERTIFIABLE)}
    arrivals, noise, best = stream(seed, "arrivals"), stream(seed, "noise"), []
    for round in itertools.islice(environment.rounds(arrivals), rounds):
        expected, outcomes = environment.expected_outcomes(round), environment.outcomes(round, noise)
        best.append(optimum(round, expected).value)
        tallies[CERTIFIABLE].add(round, certifiable(policies[TOLD], round, expected[:, 0]), expected)
        for name, policy in policies.items():
            arms = policy.select(round).arms
            tallies[name].add(round, arms, expected)
            policy.update(round, arms, outcomes[arms])
    return tallies, best


def share(tally: Tally, best: list[float], first: int = 0) -> float:
    """Of the optimum's reward, from a round on."""
    return sum(tally.rewards[first:]) / sum(best[first:])


def line(name: str, runs: list[tuple[Tally, list[float]]]) -> str:
    """What came of one of them in all problems."""
    late = LATE if len(runs[0][1]) > LATE else 0
    whole, after = (np.array([share(tally, best, first) for tally, best in runs]) for first in (0, late))
    kept = sum(tally.kept for tally, _ in runs) / max(1, sum(tally.touched for tally, _ in runs))
    error = whole.std(ddof=1) / len(whole) ** 0.5 if len(whole) > 1 else np.nan
    return (
        f"{name:>22}: reward {whole.mean():.3f} +- {error:.3f}, after round {late} {after.mean():.3f}; kept {kept:.4f}"
    )


def main() -> int:
    """All problems, then a line for each."""
    given = [int(word) for word in sys.argv[1:3]]
    problems, rounds = (*given, *(PROBLEMS, ROUNDS)[len(given) :])
    warnings.simplefilter("ignore")
    runs: dict[str, list[tuple[Tally, list[float]]]] = {}
    for seed in range(FIRST, FIRST + problems):
        problem = RandomProblem(seed)
        tallies, best = play(problem, players(problem, seed), rounds, seed)
        for name, tally in tallies.items():
            runs.setdefault(name, []).append((tally, best))
        each = ", ".join(f"{name} {share(tally, best):.3f}" for name, tally in tallies.items())
        print(f"{problem.description}: {each}", flush=True)
    for name, of_name in runs.items():
        print(line(name, of_name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
