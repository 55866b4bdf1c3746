"""Two real logs of one shop, uniform and by Thompson sampling, each of which must tell the value of the other.

They are the men's campaign of the Open Bandit Dataset (Saito et al. 2021, CC BY 4.0) as the wheel of obp 0.4.1 carries
it: 10,000 impressions each, with item, place on the page, click and probability. The wheel is the file that
SUPERARM_OBP names, or pip fetches it into the cache, without its dependencies. Nothing of it is in this repository.
``python -m tests.logs.shop_logs`` shows all campaigns.
"""

from __future__ import annotations

import io
import math
import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import superarm as sa
from superarm.datasets.download import cache_folder

WHEEL = "obp-0.4.1-py3-none-any.whl"
NEEDED = ["timestamp", "item_id", "position", "click", "propensity_score"]
PLACES = 3
# An item by itself, a little alike at its three places: contexts are (number of the item, place).
MODEL = sa.GaussianProcess(sa.SquaredExponential(lengthscale=[0.1, 2.0], variance=0.01**2), noise_std=0.08, mean=0.005)


def wheel() -> Path | None:
    """The wheel; None if it is not here and cannot be fetched."""
    named = os.environ.get("SUPERARM_OBP")
    if named:
        return Path(named)
    folder = cache_folder() / "obp"
    if not (folder / WHEEL).exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(folder), "obp==0.4.1"]
        subprocess.run(command, check=False)
    return folder / WHEEL if (folder / WHEEL).exists() else None


def shown(path: Path, policy: str, campaign: str) -> pl.DataFrame:
    """The impressions of one log, in the order of time."""
    with zipfile.ZipFile(path) as held:
        content = held.read(f"obp/dataset/obd/{policy}/{campaign}/{campaign}.csv")
    frame = pl.read_csv(io.BytesIO(content), columns=NEEDED)
    time = pl.col("timestamp").str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", time_zone="UTC").dt.epoch("us")
    return frame.with_columns(timestamp=time).sort("timestamp")


@dataclass(frozen=True)
class Sampler:
    """Who fills a place of the page by lot, with probabilities (3, items) that may change in time."""

    tables: dict[int, np.ndarray]  # by round, (items,)

    def select(self, round):
        return np.array([int(np.argmax(self.tables[round.t]))])

    def update(self, round, arms, outcomes):
        pass

    def probabilities(self, round, arms):
        return self.tables[round.t][arms]


def uniform(frame: pl.DataFrame, items: int) -> Sampler:
    return Sampler({t: np.full(items, 1.0 / items) for t in range(1, len(frame) + 1)})


def as_recorded(frame: pl.DataFrame, recorded: pl.DataFrame, items: int) -> Sampler:
    """Thompson sampling as it stood at the times of ``frame``: what was recorded of each item nearest in time.

    What is seldom shown was shown when it was likelier than usual, so that these sum to more than 1: they are scaled.
    """
    times, places = frame["timestamp"].to_numpy(), frame["position"].to_numpy()
    tables = np.zeros((len(frame), items))
    for place in range(1, PLACES + 1):
        rows = np.flatnonzero(places == place)
        for item in range(items):
            mine = recorded.filter((pl.col("position") == place) & (pl.col("item_id") == item))
            if len(mine):
                then, known = mine["timestamp"].to_numpy(), mine["propensity_score"].to_numpy()
                after = np.searchsorted(then, times[rows]).clip(0, len(then) - 1)
                before = (after - 1).clip(0)
                nearer = np.abs(then[after] - times[rows]) <= np.abs(then[before] - times[rows])
                tables[rows, item] = known[np.where(nearer, after, before)]
    return Sampler(dict(enumerate(tables / tables.sum(axis=1, keepdims=True), start=1)))


def log_of(frame: pl.DataFrame, items: int) -> sa.Log:
    """One round an impression: one of all items is picked, its click is the first outcome."""
    rounds = {
        place: np.column_stack([np.arange(items), np.full(items, place)]).astype(float)
        for place in range(1, PLACES + 1)
    }
    rows = frame.select("item_id", "position", "click", "propensity_score").iter_rows()
    return sa.Log(
        [
            sa.LogEntry(
                round=sa.Round(t=t, contexts=rounds[place], feasible=sa.Exactly(1)),
                arms=np.array([item]),
                outcomes=np.array([[click, 0.0]]),
                probabilities=np.array([chance]),
            )
            for t, (item, place, click, chance) in enumerate(rows, start=1)
        ]
    )


@dataclass(frozen=True)
class Agreement:
    """The value of a policy from the other's log, and from its own."""

    estimate: object  # superarm.logs.estimate.Estimate
    own: float
    own_error: float

    @property
    def agree(self) -> bool:
        """Whether their difference lies within its own interval, as both have an error."""
        return abs(self.estimate.mean - self.own) <= 1.96 * math.hypot(self.estimate.std_error, self.own_error)


def agreements(path: Path, campaign: str, method: str, rows: int | None = None) -> dict[str, Agreement | str]:
    """Both directions; where a log does not tell, why."""
    logs = {policy: shown(path, policy, campaign) for policy in ("random", "bts")}
    items = int(logs["random"]["item_id"].max()) + 1
    targets = {"bts": as_recorded(logs["random"], logs["bts"], items), "random": uniform(logs["bts"], items)}
    found = {}
    for policy, frame in (("bts", logs["random"]), ("random", logs["bts"])):
        replayed = sa.replay(targets[policy], log_of(frame.head(rows or len(frame)), items), learn=False)
        clicks = logs[policy]["click"].to_numpy()
        own, error = clicks.mean(), clicks.std(ddof=1) / math.sqrt(len(clicks))
        try:
            estimate = replayed.value(method=method, model=MODEL)
        except sa.errors.NoEstimate as reason:
            found[policy] = str(reason)
        else:
            found[policy] = Agreement(estimate=estimate, own=float(own), own_error=float(error))
    return found


def main() -> int:
    wrong, path = 0, wheel()
    if path is None:
        print("the wheel of obp 0.4.1 cannot be fetched here: SUPERARM_OBP may name it")
        return 1
    for campaign in ("men", "all", "women"):
        for method in ("inverse propensity", "doubly robust"):
            for policy, found in agreements(path, campaign, method).items():
                if isinstance(found, str):
                    print(f"{campaign}, {policy} from the other's log: refused, {found}")
                    continue
                wrong += not found.agree
                said = "agree" if found.agree else "DISAGREE"
                inside = "inside" if found.estimate.low <= found.own <= found.estimate.high else "outside"
                print(f"{campaign}, {policy} from the other's log: {found.estimate}")
                print(f"    its own log: {found.own:.5f} ± {1.96 * found.own_error:.5f}, {inside} it; they {said}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
