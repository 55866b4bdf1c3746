"""The study of wrong worlds, that of the shops, and what is measured of them by kind."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from superarm.environments.wrong import BEYOND, KINDS, PROMISES
from superarm.experiments import runner
from superarm.experiments.experiment import Setting, run_entropy, seed_of
from superarm.experiments.kinds import TOGETHER, by_kind, clustered
from superarm.experiments.wrong import PLAYED, shops, world_of, wrong


def test_kinds_and_promises_take_turns():
    worlds = [world_of(run, 10**9 + run) for run in range(150)]
    assert [world.kind for world in worlds[:25]] == list(KINDS)
    for part in (worlds[:75], worlds[75:]):
        assert {(world.kind, world.promise) for world in part} == {(k, p) for k in KINDS for p in PROMISES}
    assert wrong().runs % len({(world.kind, world.promise) for world in worlds}) == 0


def test_no_run_meets_a_world_used_for_tuning():
    study = wrong()
    worlds = [study.environment_of(0, run) for run in range(75)]
    assert min(world.seed for world in worlds) > 10**6
    assert [world.seed for world in worlds] == [seed_of(run_entropy(0, run), "environment") for run in range(75)]
    assert len({world.seed for world in worlds}) == 75


@pytest.mark.parametrize("study", [wrong, shops])
def test_policies_are_told_the_prior_of_the_world_or_nothing(study):
    experiment = study()
    assert list(experiment.policies) == [*PLAYED, "clairvoyant"]
    environment = experiment.environment_of(0, 7)
    setting = Setting(rounds=5, seed=1, environment=environment)
    for name in ("cautious-fixed", "tcgp-ucb", "tcgp-ts"):
        policy = experiment.policies[name](setting)
        assert policy.posterior.noise_std == environment.prior.noise_std
        assert policy.posterior.kernel == environment.prior.kernel


def test_a_small_study_and_its_manifest(tmp_path):
    study = wrong().with_changes(rounds=2, runs=6, policies=("cautious-fixed", "tcgp-ucb"))
    found = runner.run(study, folder=tmp_path / "out", seed=3)
    described = json.loads((tmp_path / "out" / "manifest.json").read_text())["environments"]
    assert described == [f"{world.kind}, {world.promise}" for world in (study.environment_of(3, r) for r in range(6))]
    measured = by_kind(found.frame, described)
    kinds = list(KINDS)[:6]
    assert measured.filter(policy="tcgp-ucb")["kind"].to_list() == [*kinds, TOGETHER]
    assert measured.filter(policy="tcgp-ucb")["stated"].is_null().all()
    rows = found.frame.filter(policy="cautious-fixed", run=4)
    mine = measured.filter(policy="cautious-fixed", kind=kinds[4]).row(0, named=True)
    assert mine["kept"] == pytest.approx(rows["groups_satisfied"].sum() / rows["groups_touched"].sum())
    assert mine["stated"] == pytest.approx(1 - rows["predicted_broken"].sum() / rows["groups_touched"].sum())
    assert mine["reward"] == pytest.approx(rows["reward"].sum() / rows["optimal_reward"].sum())


def test_shops_are_drawn_by_the_run():
    study = replace(shops(), runs=3)
    floors = [study.environment_of(0, run).floors for run in range(3)]
    assert not np.allclose(floors[0], floors[1])


def rows(policy, run, *, touched, kept, certified=0, broken=0, predicted=None, arms=1, reward=1.0):
    return {
        "experiment": "wrong",
        "policy": policy,
        "run": run,
        "t": 1,
        "arms": list(range(arms)),
        "reward": reward,
        "optimal_reward": 2.0,
        "groups_touched": touched,
        "groups_satisfied": kept,
        "predicted_broken": predicted,
        "certified": certified,
        "certified_broken": broken,
        "select_seconds": 0.001,
        "update_seconds": 0.003,
    }


def test_measures_by_kind():
    beyond = BEYOND[0]
    frame = pl.DataFrame(
        [
            rows("cautious", 0, touched=10, kept=9, certified=8, broken=1, predicted=0.5),
            rows("cautious", 1, touched=10, kept=10, certified=10, broken=0, predicted=0.1, reward=2.0),
            rows("cautious", 2, touched=0, kept=0, predicted=0.0, arms=0, reward=0.0),
            rows("cautious", 3, touched=20, kept=0, certified=20, broken=20, predicted=0.2),
        ]
    )
    found = by_kind(frame, ["right, sum", "right, mean", "step, sum", f"{beyond}, sum"])
    assert found["kind"].to_list() == ["right", "step", beyond, TOGETHER]
    right, step, marked, together = found.to_dicts()
    assert (right["runs"], right["kept"], right["stated"]) == (2, pytest.approx(0.95), pytest.approx(0.97))
    assert right["broken"] == pytest.approx(1 / 18)
    assert (right["reward"], right["reward_error"]) == (pytest.approx(0.75), pytest.approx(0.25))
    assert (right["select_ms"], right["update_ms"]) == (pytest.approx(1.0), pytest.approx(3.0))
    assert (step["idle"], step["kept"], step["stated"], step["broken"]) == (1, None, None, None)
    assert marked["broken"] == 1.0
    assert (together["runs"], together["kept"], together["idle"]) == (3, pytest.approx(0.95), 1)  # without the marked


def test_errors_are_clustered():
    """Ten runs that are each wholly kept or broken are ten observations, however many groups they touch."""
    parts = np.array([50.0] * 5 + [0.0] * 5)
    share, error = clustered(parts, np.full(10, 50.0))
    assert share == 0.5
    assert error == pytest.approx(np.std(parts / 50, ddof=1) / np.sqrt(10))
    assert clustered(parts[:1], np.array([50.0])) == (1.0, None)
    assert clustered(np.zeros(2), np.zeros(2)) == (None, None)
