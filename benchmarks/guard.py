"""The guard: a few works, as ratios to the floor of the same moment, against the figures that were committed.

The floor of an exact round is n^2 M operations at the rate of a matrix product; that of other work is one such product
itself. What looks slower is measured again before it is called so: its least ratio counts.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.families import FAMILIES, Instance
from benchmarks.growth import data
from benchmarks.measure import Product, Spread, short
from benchmarks.own import default, exact
from benchmarks.page import Listing
from benchmarks.peers.peer import Problem
from benchmarks.rounds import SEED, names
from benchmarks.sizes import GRID, NOISE
from superarm.experiments.experiment import Setting
from superarm.experiments.studies import study
from superarm.oracles.automatic import Automatic
from superarm.posteriors.posterior import Posterior
from superarm.simulation import stream

SLOWER = 1.3
REPETITIONS = 7
AGAIN = 3  # times that a suspicious work is measured again
Calls = Sequence[Callable[[], object]]
HEADING = "The guard"
NOTES = (
    "`make bench-quick` measures these again, and fails if one takes more than "
    f"{SLOWER:g} times as long. Exact rounds are in units of their floor, all else in units of one product of two "
    "1000 x 1000 matrices."
)


@dataclass(frozen=True)
class Work:
    """Calls that are timed together, none twice in a row: a memory of the last one helps nobody."""

    name: str
    prepare: Callable[[], Calls]
    flops: float = Product.FLOPS  # the floor of one call


def posterior_round(make: Any, kernel: str, *, n: int, m: int, dimension: int, grid: bool = False) -> Calls:
    rng = np.random.default_rng([n, m, dimension])
    problem = Problem(kernel=kernel, lengthscale=1.0, noise_std=NOISE)
    x, y = data(rng, n, dimension)
    if grid:
        x = GRID[rng.integers(len(GRID), size=n)]
    posterior: Posterior = make(problem, x).condition(x, y)

    def call(clients: int) -> Callable[[], object]:
        candidates, outcomes = data(rng, m, dimension)
        if grid:
            candidates = np.tile(GRID, (clients, 1))
        picked = rng.choice(len(candidates), 250 if grid else 20, replace=False)

        def once() -> object:
            posterior.predict(candidates)
            return posterior.condition(candidates[picked], outcomes[: len(picked)])

        return once

    return [call(clients) for clients in (49, 51, 53)]


def oracle_round(name: str, variant: str) -> Calls:
    family = next(one for one in FAMILIES if (one.name, one.variant) == (name, variant))
    oracle = Automatic()

    def call(one: Instance) -> Callable[[], object]:
        return lambda: oracle(one.index, one.round, one.good())

    return [call(one) for one in family.instances(4)]


def select(name: str, t: int, data: str | None = None) -> Calls:
    """`select` of TCGP-UCB in the rounds after t."""
    experiment = study(name, data=data)
    environment = experiment.environment(SEED)
    setting = Setting(rounds=experiment.rounds, seed=SEED, environment=environment)
    policy = experiment.policies[names(experiment)[0]](setting)
    arrivals, noise = stream(SEED, "arrivals"), stream(SEED, "noise")
    rounds = environment.rounds(arrivals)
    for round in itertools.islice(rounds, t):
        arms = policy.select(round).arms
        policy.update(round, arms, environment.outcomes(round, noise)[arms])
    return [partial(policy.select, round) for round in itertools.islice(rounds, 4)]


def works() -> list[Work]:
    """What is guarded."""
    return [
        Work(
            f"exact round, SE {dimension}-D, n = {n}, M = {m}",
            partial(posterior_round, exact, "se", n=n, m=m, dimension=dimension),
            n**2 * m,
        )
        for n, m, dimension in ((500, 500, 1), (500, 5000, 1), (2000, 500, 5))
    ] + [
        Work("default round, SE 1-D, n = 4000", lambda: posterior_round(default, "se", n=4000, m=5000, dimension=1)),
        Work(
            "default round, Matern-5/2 1-D, n = 4000",
            lambda: posterior_round(default, "matern52", n=4000, m=5000, dimension=1),
        ),
        Work(
            "default round, federated, n = 25000",
            lambda: posterior_round(default, "se", n=25_000, m=5000, dimension=1, grid=True),
        ),
        Work("oracle, federated", lambda: oracle_round("F1 federated", "noisy")),
        Work("oracle, movies", lambda: oracle_round("F2 movies", "paper")),
        Work("oracle, whole groups", lambda: oracle_round("F3 whole groups", "variance")),
        Work("oracle, 200 groups", lambda: oracle_round("F4 generic", "mean anti")),
        Work("select, federated, t = 30", lambda: select("federated", 30)),
        Work("select, movies, t = 30", lambda: select("movies", 30, "synthetic")),
        Work("select, trade-off, t = 30", lambda: select("tradeoff", 30)),
    ]


def small_works() -> list[Work]:
    return [
        Work("exact round", lambda: posterior_round(exact, "se", n=50, m=60, dimension=1), 50**2 * 60),
        Work("oracle, whole groups", lambda: oracle_round("F3 whole groups", "variance")),
    ]


def measure(prepared: dict[str, tuple[Calls, float]], product: Product, repetitions: int) -> dict[str, list[float]]:
    """Ratios to the floor, work by work in turn."""
    ratios: dict[str, list[float]] = {name: [] for name in prepared}
    for repetition in range(repetitions + 1):
        for name, (calls, flops) in prepared.items():
            rate = product.rate()
            start = time.process_time()
            for call in calls:
                call()
            seconds = (time.process_time() - start) / len(calls)
            if repetition:  # the first one warms up
                ratios[name].append(seconds * rate / flops)
    return ratios


def prepared(works: list[Work], say: Callable[[str], None]) -> dict[str, tuple[Calls, float]]:
    found = {}
    for work in works:
        say(work.name)
        found[work.name] = (work.prepare(), work.flops)
    return found


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    ready = prepared(small_works() if small else works(), say)
    ratios = measure(ready, Product(), 2 if small else 3 * REPETITIONS)
    return {"rows": [{"work": name, "ratio": Spread.of(values).written()} for name, values in ratios.items()]}


def check(committed: dict[str, Any], *, small: bool, say: Callable[[str], None]) -> tuple[list[Listing], list[str]]:
    """Measure now and compare; returns what to show and what got slower."""
    before = {row["work"]: row["ratio"][0] for row in committed["rows"]}
    ready = prepared(small_works() if small else works(), say)
    product = Product()
    now = {name: statistics.median(values) for name, values in measure(ready, product, REPETITIONS).items()}
    for _ in range(AGAIN):
        suspicious = {name: ready[name] for name in slower(before, now)}
        if not suspicious:
            break
        say(f"again: {', '.join(suspicious)}")
        for name, values in measure(suspicious, product, REPETITIONS).items():
            now[name] = min(now[name], statistics.median(values))
    found = slower(before, now)
    lines = []
    for name, ratio in now.items():
        change = f"{ratio / before[name] - 1.0:+.0%}" if name in before else "no committed figure"
        was = short(before[name]) if name in before else ""
        lines.append([name, was, short(ratio), f"{change}, SLOWER" if name in found else change])
    head = ["work", "committed, x floor", "now, x floor", "change"]
    gone = [f"{name}: committed, but no longer measured" for name in before if name not in now]
    words = [f"{name}: {now[name] / before[name]:.2f} times the committed figure" for name in found]
    return [Listing(title="Against the committed figures", head=head, rows=lines)], words + gone


def slower(before: dict[str, float], now: dict[str, float]) -> list[str]:
    return [name for name, ratio in now.items() if name in before and ratio > SLOWER * before[name]]


def listings(section: dict[str, Any]) -> list[Listing]:
    rows = [[row["work"], Spread.read(row["ratio"]).text()] for row in section["rows"]]
    return [Listing(title="What `make bench-quick` compares with", head=["work", "x floor"], rows=rows)]


def verdicts(section: dict[str, Any]) -> list[str]:
    return []
