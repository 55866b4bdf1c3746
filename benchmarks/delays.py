"""Promises while outcomes are out: `python -m benchmarks.delays [problems] [rounds]`, half an hour.

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

PROBLEMS, ROUNDS = 12, 90
FIRST = 100  # seed of the first problem
OTHERS = (1, 4, 1000)  # decisions that explore at a time, beside the default
SLACK = 1e-9
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


def summed(tallies: Iterable[Tally], what: str) -> float:
    """A figure of all runs together."""
    total: float = sum(getattr(each, what) for each in tallies)
    return total


def line(name: str, found: list[Tally], prompt: list[Tally]) -> str:
    """What came of the runs of one delay, beside those without any."""
    fewer, before = ([each for each in runs if each.may_pick_fewer] for runs in (found, prompt))
    filled, of = ([each for each in runs if not each.may_pick_fewer] for runs in (found, prompt))
    kinds = sum((each.kinds for each in found), Counter[str]())
    over = sum(each.inside > each.bound + SLACK for each in found)
    return (
        f"{name:>8}: inside {summed(found, 'inside_broken')} broken, {summed(found, 'inside'):.1f} predicted, "
        f"{summed(found, 'bound'):.1f} allowed, {over} runs over; outside {summed(fewer, 'outside_broken')} (serial "
        f"{summed(before, 'outside_broken')}), where rounds must be filled {summed(filled, 'outside_broken')} "
        f"({summed(of, 'outside_broken')}); reward {summed(fewer, 'reward') / summed(before, 'reward'):.2f} of serial; "
        f"{kinds[Kind.WAITING.name]} waits, {sum(kinds[kind.name] for kind in EXPLORING)} explore, at most "
        f"{max(each.idle for each in found)} idle"
    )


def missed(late: str, found: list[Tally], prompt: list[Tally]) -> list[str]:
    """What was asked for and is not so."""
    faults = [f"{late}: problem {each.problem} over its bound" for each in found if each.inside > each.bound + SLACK]
    if late == "30":
        fewer, before = ([each for each in runs if each.may_pick_fewer] for runs in (found, prompt))
        if summed(fewer, "outside_broken") > 1.5 * summed(before, "outside_broken"):
            faults.append("30: more than 1.5 times the broken promises of serial outside the account")
        if summed(fewer, "reward") < 0.5 * summed(before, "reward"):
            faults.append("30: less than half of the reward of serial")
        if max(each.idle for each in fewer) > 60:
            faults.append("30: more than 60 decisions in a row without a pick")
    return faults


def main() -> int:
    """Every delay at the default of ``exploring_out``, and others of it with outcomes 30 decisions late."""
    given = [int(word) for word in sys.argv[1:3]]
    problems, rounds = (*given, *(PROBLEMS, ROUNDS)[len(given) :])
    warnings.simplefilter("ignore")
    seeds, faults = range(FIRST, FIRST + problems), []

    def runs(delay: Delay, settings: dict[str, Any]) -> list[Tally]:
        return [run(BlindProblem(seed), delay, rounds, **settings) for seed in seeds]

    for name, settings in POLICIES.items():
        print(name)
        serial = runs(DELAYS["0"], settings)
        for late, delay in DELAYS.items():
            found = serial if late == "0" else runs(delay, settings)
            faults += [f"{name}, {fault}" for fault in missed(late, found, serial)]
            print(line(late, found, serial), flush=True)
        for out in OTHERS:
            found = runs(DELAYS["30"], {**settings, "exploring_out": out})
            print(line(f"30, {out}", found, serial), flush=True)
    print("; ".join(faults) or "delays: promises are kept as is said, at all delays")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
