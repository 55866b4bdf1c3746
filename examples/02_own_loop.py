# %% [markdown]
# A policy inside a loop of your own: a frame of items arrives every day, some outcomes never come, and the process
# stops and continues where it stopped.

# %%
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import superarm as sa

rng = np.random.default_rng(1)


def todays_items() -> pl.DataFrame:
    """Thirty items of three shops: two features each."""
    return pl.DataFrame(
        {
            "shop": rng.choice(["north", "south", "west"], 30),
            "price": rng.uniform(size=30),
            "freshness": rng.uniform(size=30),
        }
    )


def serve(items: pl.DataFrame) -> np.ndarray:
    """Clicks and satisfaction of the shown items; satisfaction is missing for one in five."""
    clicks = 0.8 - 0.5 * items["price"].to_numpy() + rng.normal(0, 0.05, len(items))
    satisfaction = 0.2 + 0.7 * items["freshness"].to_numpy() + rng.normal(0, 0.05, len(items))
    satisfaction[rng.uniform(size=len(items)) < 0.2] = np.nan
    return np.column_stack([clicks, satisfaction])


def as_round(t: int, items: pl.DataFrame) -> sa.Round:
    return sa.Round.from_frame(
        items,
        t=t,
        contexts=["price", "freshness"],
        group="shop",
        constraint=sa.Mean() >= 0.5,  # customers of every shop that is shown are satisfied on average
        feasible=sa.AtMost(8),
    )


# %%
policy = sa.TCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=[0.5, 0.5]), noise_std=0.05, mean=0.5), max_arms=30)
for t in range(1, 6):
    items = todays_items()
    round = as_round(t, items)
    selection = policy.select(round)
    policy.update(round, selection.arms, serve(items[selection.arms]))
    worst = min((group.margin for group in selection.groups), default=float("nan"))
    print(f"day {t}: {len(selection.arms)} items, {selection.status.name}, smallest margin at the index {worst:+.2f}")

# %% [markdown]
# Stop, and continue tomorrow in another process: the policy decides as if it had never stopped, bit for bit.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "policy.superarm"
    policy.save(path)
    resumed = sa.load(path)

tomorrow = as_round(6, todays_items())
assert np.array_equal(resumed.select(tomorrow).arms, policy.select(tomorrow).arms)
print("resumed policy agrees")
