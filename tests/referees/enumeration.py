"""The referee of the oracles: every super arm of a small round, in plain Python, from the definitions.

Nothing of the library's rewards or oracles is used to judge: rewards, goodness, feasibility and the fall-backs are
written out again below, from the paper and the conventions of this library (a threshold binds only where the group is
touched; tolerance 1e-9 max(1, |threshold|); no good subgroup anywhere leaves promises aside; a size that cannot be
reached gives the best of the largest). ``python -m tests.referees.enumeration`` plays 20,000 random rounds.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from superarm.errors import UnsolvableRound
from superarm.feasible import AtMost, Exactly, WholeGroups
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint
from superarm.rewards.reward import TransformedSum
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.round import Round
from superarm.selection import Selection

KINDS = (
    "sum", "mean", "min", "max", "count", "variance",
    "dixit 1", "dixit 2", "dixit 3", "custom range", "custom median",
)  # fmt: skip


# The definitions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Promise:
    kind: str
    sense: str
    threshold: float


@dataclass(frozen=True)
class Problem:
    """One round as plain lists."""

    a: tuple[float, ...]  # reward index
    b: tuple[float, ...]  # satisfying index
    groups: tuple[int, ...]
    promises: dict[int, Promise]  # groups left out are free
    feasible: str  # "at most", "exactly" or "whole groups"
    size: int | None  # K, the number of groups, or None: no limit
    caps: dict[int, int] | None
    items: tuple[int, ...]
    weights: tuple[float, ...] | None  # u is the cube of the weighted sum where given, else the sum
    order: tuple[int, ...]  # of ties

    @property
    def name(self) -> str:
        kinds = {promise.kind for promise in self.promises.values()}
        free = set(self.groups) - set(self.promises)
        if not kinds:
            return "no promise"
        return kinds.pop() if len(kinds) == 1 and not free else "mixed"

    def members(self, group: int) -> list[int]:
        return [arm for arm, other in enumerate(self.groups) if other == group]

    def cap(self, group: int) -> int:
        return len(self.groups) if self.caps is None else self.caps[group]


def group_value(problem: Problem, kind: str, arms: Iterable[int]) -> float:
    """v_G of a non-empty set of arms."""
    arms = list(arms)
    b = [problem.b[arm] for arm in arms]
    match kind:
        case "sum":
            return math.fsum(b)
        case "mean":
            return math.fsum(b) / len(b)
        case "min":
            return min(b)
        case "max":
            return max(b)
        case "count":
            return float(len(b))
        case "variance":
            return statistics.pvariance(b)
        case "custom range":
            return max(b) - min(b)
        case "custom median":
            return float(statistics.median(b))
    power = int(kind.removeprefix("dixit "))
    total = 0.0
    for item in {problem.items[arm] for arm in arms}:
        inside = [problem.b[arm] for arm in arms if problem.items[arm] == item]
        raised = math.fsum(math.copysign(abs(x) ** power, x) for x in inside)
        total += math.copysign(abs(raised) ** (1 / power), raised)
    return total


def tolerance(threshold: float) -> float:
    return 1e-9 * max(1.0, abs(threshold))


def keeps(problem: Problem, group: int, arms: Iterable[int]) -> bool:
    """Whether a non-empty set of arms of one group is good."""
    promise = problem.promises.get(group)
    if promise is None:
        return True
    value = group_value(problem, promise.kind, arms)
    slack = tolerance(promise.threshold)
    return value >= promise.threshold - slack if promise.sense == ">=" else value <= promise.threshold + slack


def is_good(problem: Problem, arms: Iterable[int]) -> bool:
    """Whether every touched group keeps its promise."""
    arms = list(arms)
    return all(
        keeps(problem, group, [arm for arm in arms if problem.groups[arm] == group])
        for group in {problem.groups[arm] for arm in arms}
    )


def is_feasible(problem: Problem, arms: Iterable[int], size: int | None = None) -> bool:
    """Whether the super arm is allowed; ``size`` replaces K where the round cannot be filled."""
    arms = list(arms)
    touched = {group: sum(problem.groups[arm] == group for arm in arms) for group in set(problem.groups)}
    if problem.feasible == "whole groups":
        whole = all(count in (0, len(problem.members(group))) for group, count in touched.items())
        return whole and sum(count > 0 for count in touched.values()) <= problem.size
    wanted = problem.size if size is None else size
    if problem.feasible == "exactly":
        right_size = len(arms) == wanted
    else:
        right_size = wanted is None or len(arms) <= wanted
    return right_size and all(count <= problem.cap(group) for group, count in touched.items())


def super_arm_value(problem: Problem, arms: Iterable[int]) -> float:
    if problem.weights is None:
        return math.fsum(problem.a[arm] for arm in arms)
    return math.fsum(problem.weights[arm] * problem.a[arm] for arm in arms) ** 3


@dataclass(frozen=True)
class Verdict:
    status: str
    value: float
    size: int | None  # that a super arm must have where the round is UNDERFILLED, or its promises are left aside


def judge(problem: Problem) -> Verdict:
    """The optimal value and what happened: tables of all subsets of each group, then every combination of counts."""
    groups = sorted(set(problem.groups))
    hopeless = bool(groups) and not any(
        keeps(problem, group, subset) for group in groups for subset in _subsets(problem.members(group))
    )
    relaxed = replace(problem, promises={}) if hopeless else problem
    scores = problem.a if problem.weights is None else [w * x for w, x in zip(problem.weights, problem.a, strict=True)]
    tables = [_best_by_size(relaxed, group, scores) for group in groups]
    best: dict[int, float] = {}
    for counts in itertools.product(*tables):
        if problem.feasible == "whole groups":
            if sum(count > 0 for count in counts) > problem.size:
                continue
        elif problem.size is not None and sum(counts) > problem.size:
            continue
        value = math.fsum(table[count] for table, count in zip(tables, counts, strict=True))
        best[sum(counts)] = max(best.get(sum(counts), -math.inf), value)
    underfilled = False
    size = None
    if problem.feasible == "exactly":
        size = max(best)
        underfilled = size < problem.size
        best = {size: best[size]}
    total = max(best.values())
    status = "NO_GOOD_SUBGROUP" if hopeless else "UNDERFILLED" if underfilled else "OPTIMAL"
    return Verdict(status, total if problem.weights is None else total**3, size)


def judge_naively(problem: Problem) -> Verdict:
    """The same by walking all 2^M super arms: slow, and too plain to be wrong."""
    everything = [(), *_subsets(range(len(problem.groups)))]
    in_one_group = (arms for arms in everything if len({problem.groups[arm] for arm in arms}) == 1)
    hopeless = bool(problem.groups) and not any(is_good(problem, arms) for arms in in_one_group)
    good = [arms for arms in everything if hopeless or is_good(problem, arms)]
    allowed = [arms for arms in good if is_feasible(problem, arms)]
    size = problem.size if problem.feasible == "exactly" else None
    underfilled = not allowed
    if underfilled:
        size = max(len(arms) for arms in good if len(arms) < size and is_feasible(problem, arms, len(arms)))
        allowed = [arms for arms in good if is_feasible(problem, arms, size)]
    status = "NO_GOOD_SUBGROUP" if hopeless else "UNDERFILLED" if underfilled else "OPTIMAL"
    return Verdict(status, max(super_arm_value(problem, arms) for arms in allowed), size)


def _subsets(arms: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Every non-empty subset."""
    arms = list(arms)
    return itertools.chain.from_iterable(itertools.combinations(arms, k) for k in range(1, len(arms) + 1))


def _best_by_size(problem: Problem, group: int, scores: Iterable[float]) -> dict[int, float]:
    """Largest sum of scores of a good set of the group that may be picked, by its number of arms; 0 arms give 0."""
    scores = list(scores)
    members = problem.members(group)
    table = {0: 0.0}
    for subset in _subsets(members):
        if problem.feasible == "whole groups":
            allowed = len(subset) == len(members)
        else:
            allowed = len(subset) <= problem.cap(group)
        if not allowed:
            continue
        value = math.fsum(scores[arm] for arm in subset)
        if value > table.get(len(subset), -math.inf) and keeps(problem, group, subset):
            table[len(subset)] = value
    return table


# Random rounds --------------------------------------------------------------------------------------------------------


def random_problem(rng: random.Random, most_arms: int = 12) -> Problem:
    arms = rng.choice([0, 1, 2, *range(3, most_arms + 1), most_arms, most_arms])
    number = rng.randint(1, 5)
    groups = tuple(rng.randrange(number) for _ in range(arms))
    a, b = _indices(rng, arms)
    items = tuple(rng.randrange(max(1, rng.choice([1, arms // 3, arms]))) for _ in range(arms))
    feasible = rng.choices(["at most", "exactly", "whole groups"], [5, 4, 2])[0]
    size = rng.randint(0, 5) if feasible == "whole groups" else rng.randint(0, arms + 2)
    caps = None
    if feasible != "whole groups" and rng.random() < 0.5:
        caps = {group: rng.choice([0, 1, 1, 2, 2, 3, 4, 20]) for group in set(groups)}
    if feasible == "at most" and rng.random() < 0.2:
        size = None
    problem = Problem(
        a=a,
        b=b,
        groups=groups,
        promises={},
        feasible=feasible,
        size=size,
        caps=caps,
        items=items,
        weights=tuple(rng.choice([0.0, 0.5, 1.0, rng.random()]) for _ in range(arms)) if rng.random() < 0.1 else None,
        order=tuple(rng.sample(range(arms), arms)),
    )
    return replace(problem, promises=_promises(rng, problem))


def _indices(rng: random.Random, arms: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    def draw() -> list[float]:
        style = rng.choice(["normal", "uniform", "quarters", "tenths", "equal", "negative", "few"])
        match style:
            case "normal":
                return [rng.gauss(0, 1) for _ in range(arms)]
            case "uniform":
                return [rng.random() for _ in range(arms)]
            case "quarters":
                return [rng.randint(-8, 8) / 4 for _ in range(arms)]
            case "tenths":
                return [rng.randint(-9, 20) / 10 for _ in range(arms)]
            case "equal":
                return [rng.choice([-0.7, 0.0, 0.1, 1.0])] * arms
            case "negative":
                return [-rng.random() for _ in range(arms)]
            case _:
                values = [rng.gauss(0, 1), rng.gauss(0, 1)]
                return [rng.choice(values) for _ in range(arms)]

    b = draw()
    match rng.choice(["independent", "independent", "equal", "shifted", "opposed", "near"]):
        case "independent":
            a = draw()
        case "equal":
            a = list(b)
        case "shifted":
            a = [x + 0.1 for x in b]
        case "opposed":
            a = [1 - x for x in b]
        case _:
            a = [x + rng.gauss(0, 0.05) for x in b]
    return tuple(a), tuple(b)


def _promises(rng: random.Random, problem: Problem) -> dict[int, Promise]:
    groups = sorted(set(problem.groups))
    match rng.choices(["one", "mixed", "none"], [8, 3, 1])[0]:
        case "none":
            return {}
        case "one":
            kind, sense = rng.choice(KINDS), rng.choice([">=", "<="])
            shared = _threshold(rng, problem, groups[0], kind, sense) if groups and rng.random() < 0.3 else None
            return {
                group: Promise(kind, sense, _threshold(rng, problem, group, kind, sense) if shared is None else shared)
                for group in groups
            }
        case _:
            promises = {}
            for group in groups:
                if rng.random() < 0.8:
                    kind, sense = rng.choice(KINDS), rng.choice([">=", "<="])
                    promises[group] = Promise(kind, sense, _threshold(rng, problem, group, kind, sense))
            return promises


def _threshold(rng: random.Random, problem: Problem, group: int, kind: str, sense: str) -> float:
    members = problem.members(group)
    harder = 1 if sense == ">=" else -1
    style = rng.choice(["attained", "attained", "attained", "all", "between", "unreachable", "trivial"])
    if style == "unreachable" and rng.random() < 0.5:
        style = "between"
    if style == "unreachable":
        return harder * 1e3
    if style == "trivial":
        return -harder * 1e3
    chosen = members if style == "all" else rng.sample(members, rng.randint(1, len(members)))
    value = group_value(problem, kind, chosen)
    if style == "between":
        return value + rng.gauss(0, 0.5)
    # At the value itself, just inside the tolerance, or just outside it.
    return value + harder * rng.choice([0.0, 0.0, 0.5, 2.0]) * tolerance(value)


# The library's answer, and how it differs -----------------------------------------------------------------------------


def to_round(problem: Problem) -> Round:
    """The problem as the library's users would state it."""
    dixit = {power: DixitStiglitz(items=problem.items, power=power) for power in (1, 2, 3)}
    rewards = {
        "sum": Sum(),
        "mean": Mean(),
        "min": Min(),
        "max": Max(),
        "count": Count(),
        "variance": Variance(),
        "custom range": Custom(np.ptp, monotone="none"),
        "custom median": Custom(np.median, monotone="increasing"),
        **{f"dixit {power}": reward for power, reward in dixit.items()},
    }

    def made(promise: Promise, threshold: object) -> Constraint:
        reward = rewards[promise.kind]
        return reward >= threshold if promise.sense == ">=" else reward <= threshold

    distinct = {(promise.kind, promise.sense) for promise in problem.promises.values()}
    if len(distinct) == 1 and set(problem.promises) == set(problem.groups):
        constraint = made(
            next(iter(problem.promises.values())), {group: p.threshold for group, p in problem.promises.items()}
        )
    else:
        constraint = {group: made(promise, promise.threshold) for group, promise in problem.promises.items()} or None
    match problem.feasible:
        case "at most":
            feasible = AtMost(problem.size, per_group=problem.caps)
        case "exactly":
            feasible = Exactly(problem.size, per_group=problem.caps)
        case _:
            feasible = WholeGroups(problem.size)
    reward = Sum() if problem.weights is None else TransformedSum(_cube, weights=np.array(problem.weights))
    contexts = np.zeros((len(problem.groups), 1))
    return Round(t=1, contexts=contexts, groups=problem.groups, constraint=constraint, feasible=feasible, reward=reward)


def _cube(total: float) -> float:
    return total**3


Oracle = Callable[[np.ndarray, Round, GoodSubgroups], Selection]


def ask(oracle: Oracle, problem: Problem) -> Selection:
    round = to_round(problem)
    good = GoodSubgroups(round, np.array(problem.b), np.array(problem.order, dtype=np.intp))
    return oracle(np.array(problem.a), round, good)


def mismatches(problem: Problem, verdict: Verdict, selection: Selection) -> list[str]:
    """Which of value, bound, feasibility, goodness and status differ from the verdict."""
    arms = selection.arms.tolist()
    near = 1e-9 * max(1.0, abs(verdict.value))
    differ = []
    if abs(selection.value - verdict.value) > near or abs(super_arm_value(problem, arms) - selection.value) > near:
        differ.append("value")
    if not selection.upper_bound >= verdict.value - near:
        differ.append("bound")
    if not is_feasible(problem, arms, verdict.size) or arms != sorted(set(arms)):
        differ.append("feasibility")
    if verdict.status != "NO_GOOD_SUBGROUP" and not is_good(problem, arms):
        differ.append("goodness")
    # HiGHS proves optimality only to tolerances of its own, so its word may be the weaker one.
    weaker = selection.solver == "milp" and selection.status.name == "WITHIN_GAP" and verdict.status == "OPTIMAL"
    if selection.status.name != verdict.status and not weaker:
        differ.append("status")
    return differ


@dataclass(frozen=True)
class Mismatch:
    number: int
    oracle: str
    kind: str
    differs: str
    problem: Problem
    verdict: Verdict
    selection: Selection


def play(seed: int, rounds: int, *, most_arms: int = 12) -> Iterator[tuple[str, list[str], list[Mismatch]]]:
    """Random rounds against the verdict: of each its kind, the oracles that were asked, and what differed."""
    milp = _milp()
    for number in range(rounds):
        rng = random.Random(f"{seed}/{number}")
        problem = random_problem(rng, most_arms)
        verdict = judge(problem)
        oracles: dict[str, Oracle] = {}
        if problem.feasible == "whole groups":
            oracles["whole groups"] = BestWholeGroups()
        else:
            oracles["decomposition"] = Decomposition()
        if len(problem.groups) <= 8 and number % 5 == 0:
            oracles["exhaustive"] = Exhaustive()
        if milp is not None and number % 20 == 0:
            oracles["milp"] = milp
        found, asked = [], []
        for name, oracle in oracles.items():
            try:
                selection = ask(oracle, problem)
            except UnsolvableRound:
                if name != "milp":
                    raise
                continue
            asked.append(name)
            found += [
                Mismatch(number, name, problem.name, what, problem, verdict, selection)
                for what in mismatches(problem, verdict, selection)
            ]
        yield problem.name, asked, found


def _milp() -> Oracle | None:
    """The mixed-integer oracle, where the library has it."""
    try:
        return importlib.import_module("superarm.oracles.milp.milp").MILP()
    except (ImportError, AttributeError):
        return None


def main(arguments: list[str] | None = None) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
    from rich.table import Table

    parser = argparse.ArgumentParser(description="Random small rounds: the oracles against enumeration.")
    parser.add_argument("rounds", nargs="?", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args(arguments)
    console = Console()
    console.print(f"{options.rounds} rounds, seed {options.seed}")
    played: dict[str, int] = {}
    asked: dict[str, int] = {}
    found: list[Mismatch] = []
    with Progress(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as progress:
        for kind, oracles, differences in progress.track(play(options.seed, options.rounds), total=options.rounds):
            played[kind] = played.get(kind, 0) + 1
            for oracle in oracles:
                asked[oracle] = asked.get(oracle, 0) + 1
            found += differences
    aspects = ("value", "bound", "feasibility", "goodness", "status")
    table = Table("promise", "rounds", *aspects, title="Rounds that differ from enumeration")
    for kind in sorted(played):
        counts = (sum(m.kind == kind and m.differs == aspect for m in found) for aspect in aspects)
        table.add_row(kind, str(played[kind]), *map(str, counts))
    console.print(table)
    console.print("asked: " + ", ".join(f"{name} {count}" for name, count in sorted(asked.items())))
    for mismatch in found[:5]:
        console.print(mismatch)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
