"""Promises while outcomes are out: `python -m benchmarks.delays [problems] [rounds]`.

The cautious policy decides on random problems whose truths are drawn from the prior that it is told, and outcomes come
late, in parts of what was decided only, or never. Promises inside the account must stay within its bound, whatever
happens; outside it, where nothing is certified yet, late outcomes must not break many more than prompt ones do.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.stated import BlindProblem
from superarm.policies.cautious.account import Account
from superarm.policies.cautious.out import EXPLORING
from superarm.regret import performance
from superarm.selection import Kind

PROBLEMS, ROUNDS = 8, 60
FIRST = 7000  # seed of the first problem
POLICIES: dict[str, dict[str, Any]] = {"cautious": {}, "cautious-fixed": {"learn": False, "opening": 0.0}}

PLAYED, WITHDRAWN, EXPIRED = "played", "withdrawn", "expired"
Fate = tuple[int, str]  # after how many decisions something is heard of one, and what
Delay = Callable[[np.random.Generator], Fate]


def after(decisions: int) -> Delay:
    """Outcomes come after so many decisions."""
    return lambda rng: (decisions, PLAYED)


def scattered(rng: np.random.Generator) -> Fate:
    """Outcomes come after 0 to 30 decisions."""
    return int(rng.integers(31)), PLAYED


def lossy(rng: np.random.Generator) -> Fate:
    """The same, but one in ten decisions is withdrawn, and of one in ten nothing is ever heard."""
    late, lot = int(rng.integers(31)), rng.uniform()
    return (late, WITHDRAWN) if lot < 0.1 else (30, EXPIRED) if lot < 0.2 else (late, PLAYED)


DELAYS: dict[str, Delay] = {
    "0": after(0),
    "1": after(1),
    "10": after(10),
    "30": after(30),
    "0 to 30": scattered,
    "lossy": lossy,
}


@dataclass(kw_only=True)
class Tally:
    """What came of the decisions of one run; those that were withdrawn count nowhere."""

    problem: int
    may_pick_fewer: bool
    reward: float = 0.0
    inside: float = 0.0  # broken promises predicted of decisions in the account
    allowed: float = 0.0  # eps for each group that they touched
    inside_broken: int = 0
    outside_broken: int = 0
    idle: int = 0  # most decisions in a row that picked nothing
    kinds: Counter[str] = field(default_factory=Counter)
    account: Account = field(default_factory=Account)

    @property
    def bound(self) -> float:
        """What ``inside`` is never to exceed."""
        return self.allowed + max(0.0, self.account.opening - self.account.earned)


def run(problem: BlindProblem, delay: Delay, rounds: int, **settings: Any) -> Tally:
    """One run; arrivals, noise and delays are the same for all settings."""
    prior = sa.GaussianProcess(problem.kernel, noise_std=problem.noise_std)
    policy = sa.CautiousTCGPUCB(prior, **settings)
    tally = Tally(problem=problem.seed, may_pick_fewer=not problem.exactly)
    fates, noise = (np.random.default_rng((problem.seed, place)) for place in (9, 10))
    due: dict[int, list[tuple[str, Callable[[], None]]]] = {}
    idle = 0
    for t, round in enumerate(itertools.islice(problem.rounds(np.random.default_rng((problem.seed, 8))), rounds)):
        outcomes, decision = problem.outcomes(round, noise), str(t)
        selection = policy.select(round)
        policy.decided(decision, round, selection)
        paid = next((out.payment for out in policy.ledger.out if out.decision == decision), None)
        late, fate = delay(fates)
        due.setdefault(t + late, []).append((fate, _news(policy, decision, round, selection.arms, outcomes, fate)))
        idle = 0 if len(selection.arms) else idle + 1
        tally.idle = max(tally.idle, idle)
        tally.kinds[str(selection.kind and selection.kind.name)] += 1
        if fate != WITHDRAWN:
            truth = performance(round, selection.arms, problem.expected_outcomes(round))
            broken = truth.groups_touched - truth.groups_satisfied
            tally.reward += truth.reward
            if paid is not None:
                tally.inside += selection.predicted_broken or 0.0
                tally.allowed += (1.0 - policy.confidence) * max(1, truth.groups_touched)
                tally.inside_broken += broken
            else:
                tally.outside_broken += broken
        for _, tell in due.pop(t, ()):
            tell()
    tally.account = policy.ledger.account
    return tally


def _news(policy: Any, decision: str, round: sa.Round, arms: Any, outcomes: Any, fate: str) -> Callable[[], None]:
    if fate == PLAYED and len(arms):
        return lambda: policy.observed(decision, round, arms, outcomes[arms])
    return lambda: getattr(policy, fate)(decision)


def line(name: str, tallies: Iterable[Tally], serial: Iterable[Tally]) -> str:
    """What came of the runs of one delay, beside those without any."""
    found, prompt = list(tallies), list(serial)
    fewer, before = ([each for each in runs if each.may_pick_fewer] for runs in (found, prompt))
    outside, was = (sum(each.outside_broken for each in runs) for runs in (fewer, before))
    full, of = (sum(t.outside_broken for t in runs if not t.may_pick_fewer) for runs in (found, prompt))
    reward, prompt_reward = (sum(each.reward for each in runs) for runs in (fewer, before))
    kinds = sum((each.kinds for each in found), Counter[str]())
    broken, predicted, bound = (sum(getattr(t, what) for t in found) for what in ("inside_broken", "inside", "bound"))
    over = sum(each.inside > each.bound + 1e-9 for each in found)
    return (
        f"{name:>8}: inside {broken} broken, {predicted:.1f} predicted, {bound:.1f} allowed, {over} runs over; outside "
        f"{outside} (serial {was}), where rounds must be filled {full} ({of}); reward {reward / prompt_reward:.2f} of "
        f"serial; {kinds[Kind.WAITING.name]} waits, {sum(kinds[kind.name] for kind in EXPLORING)} explore, at most "
        f"{max(each.idle for each in found)} idle"
    )


def main() -> None:
    """Every delay, with several numbers of decisions that may explore at a time."""
    given = [int(word) for word in sys.argv[1:3]]
    problems, rounds = (*given, *(PROBLEMS, ROUNDS)[len(given) :])
    warnings.simplefilter("ignore")
    seeds = range(FIRST, FIRST + problems)
    for name, settings in POLICIES.items():
        serial = [run(BlindProblem(seed), after(0), rounds, **settings) for seed in seeds]
        for out in (1, 2, 3, 5, 1000):
            print(f"{name}, exploring_out={out}")
            for late, delay in DELAYS.items():
                tallies = [run(BlindProblem(seed), delay, rounds, exploring_out=out, **settings) for seed in seeds]
                print(line(late, tallies, serial), flush=True)


if __name__ == "__main__":
    main()
