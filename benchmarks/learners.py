"""Many small learners: decisions a core-second, select and update together, in memory and with a log on the disk."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.measure import Product, Spread, timed
from benchmarks.page import Listing

HEADING = "Many small learners"
NOTES = (
    "Decisions of `sa.Learners` per second of CPU time. Each key of a batch has its own arms out of 2,000 in 400 "
    "groups, with promises on the sum of every group, and at most three are picked. One call selects and one teaches "
    "all outcomes, the look-up of keys and the checks of arguments included. 'with a log': the same in a folder, where "
    "every batch is on disk before it is learnt. 'the same, wall': per second of wall time, which includes waiting for "
    "the disk. 'one policy a key': a `TCGPUCB` for each key, on a linear kernel."
)
CELLS = ((8, 20), (16, 20), (32, 20), (16, 100))  # features, arms of a key


def run(*, small: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """The section for the results."""
    keys, repetitions = (200, 2) if small else (20_000, 7)
    product, rows = Product(), []
    for d, n in CELLS[1:2] if small else CELLS:
        say(f"{d} features, {n} arms")
        world = _World(d, n, keys)
        learners = world.learners()
        rates, per_product = [], []
        for repetition in range(repetitions + 1):
            seconds = world.round(learners, timed)
            if repetition:  # the first meets all keys, and loads the loops
                rates.append(keys / seconds)
                per_product.append(seconds / keys * product.rate())
        rows.append({
            "features": d, "arms": n, "rate": Spread.of(rates).written(), "operations": Spread.of(per_product).written()
        })  # fmt: skip
        if (d, n) == (16, 20):
            say("with a log")
            rows[-1] |= _logged(world, repetitions)
            say("one policy a key")
            rows[-1]["policy"] = Spread.of([_policy(world, seed) for seed in range(3)]).written()
    return {"rows": rows, "keys": keys}


class _World:
    """Keys with arms of their own, and a truth for all."""

    def __init__(self, d: int, n: int, keys: int) -> None:
        rng = np.random.default_rng(0)
        self.features, self.groups = rng.standard_normal((2000, d)) / d**0.5, rng.integers(400, size=2000)
        self.keys = [f"user {key}" for key in range(keys)]
        self.arms = rng.random((keys, 2000), dtype=np.float32).argpartition(n, axis=1)[:, :n].astype(np.int64)
        self.truth = rng.standard_normal((d, 2))
        self.rng = rng

    def settings(self) -> dict[str, Any]:
        return {"features": self.features, "groups": self.groups, "noise_std": 0.1, "beta_scale": 0.05}

    def learners(self) -> sa.Learners:
        return sa.Learners(**self.settings())

    def round(self, learners: sa.Learners, clock: Callable[[Callable[[], object]], float]) -> float:
        """Seconds of a decision for every key, and of its outcomes."""
        made: list[Any] = []
        seconds = clock(
            lambda: made.append(
                learners.select(self.keys, self.arms, feasible=sa.AtMost(3), constraint=sa.Sum() <= 0.3)
            )
        )
        picked = made[0].arms
        outcomes = np.abs(self.features[picked] @ self.truth) + 0.1 * self.rng.standard_normal((*picked.shape, 2))
        return seconds + clock(lambda: learners.update(made[0], outcomes))


def _logged(world: _World, repetitions: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, sa.Learners.open(folder, **world.settings()) as learners:
        world.round(learners, timed)
        cpu = [len(world.keys) / world.round(learners, timed) for _ in range(repetitions)]
        wall = [len(world.keys) / world.round(learners, _wall) for _ in range(repetitions)]
    return {"logged": Spread.of(cpu).written(), "wall": Spread.of(wall).written()}


def _wall(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _policy(world: _World, seed: int) -> float:
    """Decisions a second of CPU of a policy object, after ten rounds."""
    arms = world.arms[seed]
    policy = sa.TCGPUCB(sa.GaussianProcess(sa.Linear(lengthscale=1.0), 0.1), beta_scale=0.05, learn=False)

    def play(t: int) -> None:
        round = sa.Round(
            t=t, contexts=world.features[arms], groups=world.groups[arms], constraint=sa.Sum() <= 0.3,
            feasible=sa.AtMost(3),
        )  # fmt: skip
        picked = policy.select(round).arms
        policy.update(round, picked, np.abs(world.features[arms[picked]] @ world.truth))

    for t in range(1, 11):
        play(t)
    return 20 / timed(lambda: [play(t) for t in range(11, 31)])


def listings(section: dict[str, Any]) -> list[Listing]:
    head = ["features", "arms", "decisions a core-second", "with a log", "the same, wall", "one policy a key"]
    rows = [
        [str(row["features"]), str(row["arms"]), *(_text(row, name) for name in ("rate", "logged", "wall", "policy"))]
        for row in section["rows"]
    ]
    return [Listing(title=f"select and update, {section['keys']:,} keys a batch", head=head, rows=rows)]


def _text(row: dict[str, Any], name: str) -> str:
    if name not in row:
        return ""
    median, low, high = row[name]
    return f"{median:,.0f} [{low:,.0f}-{high:,.0f}]"


def verdicts(section: dict[str, Any]) -> list[str]:
    """A sentence on the ratio to single policies."""
    row = next(row for row in section["rows"] if (row["features"], row["arms"]) == (16, 20))
    times = row["rate"][0] / row["policy"][0]
    return [f"at 16 features and 20 arms a batch decides {times:,.0f} times as fast as one policy object a key"]
