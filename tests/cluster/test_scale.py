"""Sizes past what one call would like: millions of arms and of rows on Ray, where a worker dies, and here."""

import pytest

import superarm as sa
from benchmarks import fit_log, sharded
from benchmarks.watch import Watch

pytestmark = pytest.mark.slow


def test_two_million_arms_on_ray_where_a_worker_is_killed(ray_workers, tmp_path):
    arms = sharded.catalogue(tmp_path, 2_000_000, split=False)
    policy, round = sharded.policy(), sharded.a_round(arms)
    before = ray_workers.repeated
    with Watch(kill=1.5) as watch:
        there = sa.select(policy, round, workers=ray_workers)
    assert watch.killed
    assert ray_workers.repeated > before
    assert there.status is sa.Status.OPTIMAL
    assert there.sent < 10e6
    assert watch.peak < 700.0
    here = sa.select(policy, round)
    assert (there.ids, there.value) == (here.ids, here.value)


def test_two_million_rows_on_ray_where_a_worker_is_killed(ray_workers, tmp_path):
    fit_log.write(tmp_path, 2_000_000)  # a few seconds of work, of which the first half second is seen
    prior = fit_log.prior()
    with Watch(kill=0.3) as watch:
        _, there = sa.fit_log(prior, tmp_path, **fit_log.COLUMNS, workers=ray_workers)
    assert watch.killed
    assert there.repeated >= 1
    _, here = sa.fit_log(prior, tmp_path, **fit_log.COLUMNS)
    assert (here.rows, here.digest) == (2_000_000, there.digest)
    assert here.worst_error < 1e-6
