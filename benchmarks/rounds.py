"""Whole rounds of the paper's studies: `select`, oracle included, and `update`, at several times t.

The policies of a study play the same rounds in turn. The dense floor is n^2 M operations for the n distinct contexts
observed and the M distinct candidates of the round: what an exact posterior would need that used no structure.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.measure import Product, Spread, short, timed
from benchmarks.page import Listing
from superarm.arguments import Array
from superarm.experiments.experiment import Experiment, Setting
from superarm.experiments.studies import study
from superarm.policies.policy import Policy
from superarm.round import Round
from superarm.simulation import stream

BEFORE = 14  # rounds up to and including t that are summed up as those at t
SEED = 0
HEADING = "Whole rounds"
NOTES = (
    f"The policies of a study play the same rounds in turn. Times are over the {BEFORE} rounds up to t: in every other "
    "one `select` is timed, and in the rest its prediction alone. n is the number of distinct contexts observed. The "
    "dense floor is n^2 M operations at the rate of a matrix product, for the M distinct candidates."
)


def names(experiment: Experiment) -> list[str]:
    """TCGP-UCB first, then the policy that keeps promises; which they are in this study."""
    middle = [name for name in experiment.policies if name in ("tcgp-ucb", "tcgp-ucb zeta=0.5")]
    return middle + [name for name in experiment.policies if name == "cautious"]


@dataclass
class Window:
    """What was measured of one policy in the rounds before one t."""

    select: list[float] = field(default_factory=list)
    predict: list[float] = field(default_factory=list)  # the posterior's part of select
    update: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)
    distinct: int = 0

    def play(self, policy: Policy, round: Round, outcomes: Array, rate: float) -> None:
        """One round. Prediction and selection are timed in turn, so that neither finds what the other has left."""
        posterior: Any = getattr(policy, "posterior", None)
        if posterior is not None and round.t % 2:
            self.predict.append(timed(lambda: posterior.predict(round.contexts)))
            self.floor.append(posterior.distinct**2 * len(np.unique(round.contexts, axis=0)) / rate)
            self.distinct = posterior.distinct
            selection = policy.select(round)
        else:
            start = time.process_time()
            selection = policy.select(round)
            self.select.append(time.process_time() - start)
        self.update.append(timed(lambda: policy.update(round, selection.arms, outcomes[selection.arms])))
        self.arms.append(len(round))


def measure(experiment: Experiment, marks: tuple[int, ...], product: Product) -> list[dict[str, Any]]:
    """One row for every policy and t."""
    environment = experiment.environment(SEED)
    setting = Setting(rounds=experiment.rounds, seed=SEED, environment=environment)
    policies: dict[str, Policy] = {name: experiment.policies[name](setting) for name in names(experiment)}
    windows = {(name, mark): Window() for name in policies for mark in marks}
    arrivals, noise = stream(SEED, "arrivals"), stream(SEED, "noise")
    for round in itertools.islice(environment.rounds(arrivals), max(marks)):
        outcomes = environment.outcomes(round, noise)
        mark = next((t for t in marks if t - BEFORE < round.t <= t), None)
        rate = product.rate() if mark is not None else 0.0
        for name, policy in policies.items():
            if mark is None:
                arms = policy.select(round).arms
                policy.update(round, arms, outcomes[arms])
            else:
                windows[name, mark].play(policy, round, outcomes, rate)
    return [
        {
            "study": experiment.name,
            "data": experiment.data,
            "policy": name,
            "t": mark,
            "arms": int(np.median(window.arms)),
            "distinct": window.distinct,
            **{
                part: Spread.of(values).written()
                for part in ("select", "predict", "update", "floor")
                if (values := getattr(window, part))
            },
        }
        for (name, mark), window in windows.items()
        if window.select
    ]


def studies() -> list[tuple[Experiment, tuple[int, ...]]]:
    """The three studies at paper size, and at which t each is looked at; real ratings where they are at hand."""
    found = [(study("federated"), (10, 50, 100)), (study("tradeoff"), (10, 50, 100))]
    folders = ["synthetic"]
    if os.environ.get("SUPERARM_MOVIELENS"):
        folders.append(os.environ["SUPERARM_MOVIELENS"])
    return found + [(study("movies", data=folder), (10, 50, 100, 200)) for folder in folders]


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    product = Product()
    rows = []
    for experiment, marks in [(study("federated"), (2,))] if small else studies():
        say(experiment.name)
        rows += measure(experiment, marks, product)
    return {"rows": rows}


def listings(section: dict[str, Any]) -> list[Listing]:
    head = ["", "t", "arms", "n", "select, ms", "of it prediction, ms", "update, ms", "dense floor, ms"]
    found = []
    for name, data in dict.fromkeys((row["study"], row["data"]) for row in section["rows"]):
        lines = []
        for row in section["rows"]:
            if (row["study"], row["data"]) == (name, data):
                parts = [Spread.read(row[part]) if part in row else None for part in ("select", "predict", "update")]
                lines.append(
                    [
                        row["policy"],
                        str(row["t"]),
                        str(row["arms"]),
                        str(row["distinct"]),
                        *("" if part is None else part.text(1e3) for part in parts),
                        short(1e3 * row["floor"][0]) if "floor" in row else "",
                    ]
                )
        found.append(Listing(title=name if data is None else f"{name}, {data}", head=head, rows=lines))
    return found


def verdicts(section: dict[str, Any]) -> list[str]:
    lines = []
    for row in section["rows"]:
        same = [one for one in section["rows"] if (one["study"], one["data"]) == (row["study"], row["data"])]
        if row["t"] == max(one["t"] for one in same):
            select, update = row["select"][0], row["update"][0]
            lines.append(
                f"{row['study']}, {row['policy']}, t = {row['t']}: select {short(1e3 * select)} ms, "
                f"update {short(1e3 * update)} ms"
            )
    return lines
