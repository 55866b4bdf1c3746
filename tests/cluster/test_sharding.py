"""Catalogues and logs on Ray: what is picked and fitted there is what is picked and fitted here, to the last bit."""

import os
import signal

import numpy as np
import polars as pl
import pytest

import superarm as sa

pytestmark = pytest.mark.slow


def test_a_sharded_round_on_ray(ray_workers, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3000, 2))
    frame = pl.DataFrame({"x": x[:, 0], "y": x[:, 1], "shop": rng.integers(40, size=3000), "sku": np.arange(3000)})
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
    posterior = prior.condition(x[:50], np.column_stack([x[:50, 0], np.sin(4 * x[:50, 1])]))
    columns = {"contexts": ["x", "y"], "group": "shop", "id": "sku", "shards": 5}
    for whole in (True, False):
        arms = sa.Catalogue.write(frame, tmp_path / str(whole), **columns, whole=whole)
        told = {"constraint": sa.Sum() <= 1.5, "feasible": sa.AtMost(20, per_group=3)}
        for policy in (sa.TCGPUCB(posterior, beta_scale=0.01), sa.CautiousTCGPUCB(posterior)):
            here, there = (
                sa.select(policy, sa.ShardedRound(t=1, arms=arms, **told), workers=workers)
                for workers in ("here", ray_workers)
            )
            assert here.ids
            assert (there.ids, there.value, there.status) == (here.ids, here.value, here.status)
            assert there.survivors == here.survivors


def test_a_worker_killed_in_a_sharded_round_changes_no_arm(ray_workers, tmp_path):
    driver, mark = os.getpid(), tmp_path / "killed"

    class Killing(sa.Catalogue):
        """One whose third shard ends the first worker that reads it."""

        def shard(self, number):
            if number == 2 and os.getpid() != driver and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().shard(number)

    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.uniform(size=2000), "shop": np.arange(2000) % 30, "sku": np.arange(2000)})
    arms = Killing.write(frame, tmp_path / "arms", contexts=["x"], group="shop", id="sku", shards=4)
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3), noise_std=0.1)
    policy = sa.TCGPUCB(prior.condition([[0.2], [0.8]], [[0.1, 0.2], [0.9, 0.7]]), beta_scale=0.01)
    round = sa.ShardedRound(t=1, arms=arms, constraint=sa.Sum() <= 1.5, feasible=sa.AtMost(10, per_group=2))
    here, before = sa.select(policy, round), ray_workers.repeated
    assert not mark.exists()
    there = sa.select(policy, round, workers=ray_workers)
    assert mark.exists()
    assert ray_workers.repeated > before
    assert (there.ids, there.value, there.upper_bound) == (here.ids, here.value, here.upper_bound)


def test_a_log_on_ray(ray_workers, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=9000)
    frame = pl.DataFrame({"x": x, "sold": np.sin(4 * x) + 0.1 * rng.normal(size=9000), "leak": x})
    frame.write_parquet(tmp_path / "log.parquet")
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
    told = {"contexts": ["x"], "outcomes": ["sold", "leak"], "leaf_rows": 1500}
    reports = [sa.fit_log(prior, tmp_path, **told, workers=workers)[1] for workers in ("here", ray_workers)]
    assert reports[0].leaves == 6
    assert reports[0].digest == reports[1].digest
