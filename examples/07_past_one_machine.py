# %% [markdown]
# Past one machine: a study, a log, a catalogue of arms and many learners, each with `workers=`, which says where the
# work is done. By default that is this process. `python 07_past_one_machine.py ray` does the same with Ray on this
# machine, `ray:auto` on the cluster that this machine belongs to, and `processes:2` in two processes. No result depends
# on this choice. `docs/past_one_machine.md` explains more.

# %%
from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl

import superarm as sa


def main(on: str = "here") -> list[str]:
    """Run all four, and print and return a line about each."""
    with closing(sa.connect(on)) as workers, tempfile.TemporaryDirectory() as folder:
        found = [
            a_study(workers),
            a_log(Path(folder), workers),
            a_catalogue(Path(folder), workers),
            many_learners(Path(folder), workers),
        ]
    for line in found:
        print(line)
    return found


# %% [markdown]
# ## A study: the same rows, whichever worker played them


# %%
def a_study(workers: sa.Workers) -> str:
    clients = sa.environments.Federated(clients=3.0, requests=3)
    study = sa.experiments.study({"mine": sa.Uniform, "theirs": "cucb"}, clients, rounds=4, runs=2)
    frame = sa.run(study, seed=1, workers=workers).frame
    return f"study: {frame.height} rows, mean reward {frame['reward'].mean():.12f}"


# %% [markdown]
# ## A log: a posterior from Parquet files, which every worker must be able to read


# %%
def a_log(folder: Path, workers: sa.Workers) -> str:
    rng = np.random.default_rng(0)
    for day in range(3):
        x = rng.random(3000)
        frame = pl.DataFrame({"x": x, "sold": np.sin(3 * x), "leak": x + 0.1 * rng.standard_normal(3000)})
        frame.write_parquet(folder / f"{day}.parquet")
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
    _, report = sa.fit_log(prior, folder, contexts=["x"], outcomes=["sold", "leak"], workers=workers, leaf_rows=1500)
    return f"log: {report.rows} rows, digest {report.digest[:16]}"


# %% [markdown]
# ## A catalogue: workers score the arms where these are stored


# %%
def a_catalogue(folder: Path, workers: sa.Workers) -> str:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.random(20_000), "shop": np.arange(20_000) % 50, "sku": np.arange(20_000)})
    arms = sa.Catalogue.write(frame, folder / "arms", contexts=["x"], group="shop", id="sku", shards=4)
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05)
    policy = sa.TCGPUCB(prior.condition([[0.2], [0.8]], [[0.1, 0.2], [0.9, 0.7]]), beta_scale=0.01)
    round = sa.ShardedRound(t=1, arms=arms, constraint=sa.Sum() <= 1.5, feasible=sa.AtMost(10, per_group=2))
    picked = sa.select(policy, round, workers=workers)
    sa.update(policy, picked, rng.normal(0.5, 0.05, (len(picked.arms), 2)))
    return f"catalogue: {picked.status.name}, {picked.survivors} of {arms.arms} arms sent, picked {picked.ids}"


# %% [markdown]
# ## Many learners: one for each key, in parts that live with the workers


# %%
def many_learners(folder: Path, workers: sa.Workers) -> str:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((200, 4))
    with sa.Learners.open(folder / "users", features, noise_std=0.3, partitions=4, workers=workers) as learners:
        for _ in range(3):
            keys = [f"user {number}" for number in range(100)]
            batch = learners.select(keys, rng.permuted([range(20)] * 100, axis=1), feasible=sa.AtMost(2))
            learners.update(batch, rng.standard_normal((100, 2, 2)))
        return f"learners: {learners.batches} batches, {len(learners)} keys, digest {learners.digest()[:16]}"


# %%
if __name__ == "__main__":
    main(*sys.argv[1:2])
