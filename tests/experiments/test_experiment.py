"""Policies by name with settings."""

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from superarm.errors import ForeignResults, InvalidArgument
from superarm.experiments import paper, runner
from superarm.experiments.experiment import Setting, default_settings, named, varied
from superarm.experiments.results import base_and_settings
from superarm.experiments.studies import POLICIES, settings_by_policy, systems_by_study, with_sweep
from tests.experiments import small


def maker(setting, share=0.5, most=3, learn=False):
    return setting, share, most, learn


MAKERS = {"mine": maker, "plain": lambda setting: setting}


def made(text):
    name, make = named(text, MAKERS)
    return name, make("here")


def test_settings_are_the_parameters_with_defaults():
    assert default_settings(maker) == {"share": 0.5, "most": 3, "learn": False}
    assert default_settings(MAKERS["plain"]) == {}


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("mine", "mine", (0.5, 3, False)),
        ("mine share=0.25", "mine share=0.25", (0.25, 3, False)),
        ("  mine   most=7  share=.250 ", "mine share=0.25 most=7", (0.25, 7, False)),
        ("mine learn=TRUE", "mine learn=true", (0.5, 3, True)),
        ("mine share=1e-3", "mine share=0.001", (0.001, 3, False)),
        ("mine share=0.123456789", "mine share=0.123456789", (0.123456789, 3, False)),
    ],
)
def test_names_and_values(text, name, values):
    assert made(text) == (name, ("here", *values))
    assert made(name) == (name, ("here", *values))  # a name names itself
    assert base_and_settings(name)[0] == "mine"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected some of mine, plain, got nothing"),
        ("yours share=1", "expected some of mine, plain, got yours share=1"),
        ("mine size=1", "expected mine with its settings share=0.5 most=3 learn=false, got 'mine size=1'"),
        ("mine share=much", "expected a number for share, as in share=0.5, got 'much'"),
        ("mine most=2.5", "expected a whole number for most, as in most=3, got '2.5'"),
        ("mine learn=perhaps", "expected true or false for learn, as in learn=false, got 'perhaps'"),
        ("mine share", "expected a number for share, as in share=0.5, got ''"),
        ("mine share=1 share=2", "expected share of mine only once, got 'mine share=1 share=2'"),
        ("plain share=1", "expected plain without settings, because it takes none, got 'plain share=1'"),
    ],
)
def test_mistakes_say_what_there_is(text, said):
    with pytest.raises(InvalidArgument) as error:
        named(text, MAKERS)
    assert str(error.value) == f"policies: {said}"


def test_a_sweep_varies_what_is_there_and_skips_defaults():
    grids = {"mine": {"share": (0.25, 0.5), "gone": (1.0,), "most": (3, 4)}, "yours": {"share": (0.1,)}}
    assert varied(MAKERS, grids) == ("mine share=0.25", "mine most=4")


SETTING = Setting(rounds=10, seed=3, environment=small.FEDERATED)


def test_settings_reach_the_policies():
    systems = paper.federated().systems
    zeta = named("tcgp-ucb zeta=0.25 delta=0.1", systems)[1](SETTING)
    assert (zeta.zeta, zeta.learner.delta, zeta.learner.seed) == (0.25, 0.1, 3)
    plain = systems["tcgp-ucb"](SETTING)
    assert (plain.zeta, plain.learner.delta) == (0.5, 0.05)
    sparse = named("stcgp-ucb inducing=7", systems)[1](SETTING)
    seen = sparse.posterior.condition(np.linspace(0.0, 1.0, 20)[:, None], np.zeros((20, 2)))
    assert len(seen.inducing_points) == 7
    acc = named("acc-ucb v1=2 v2=3 rho=0.6", systems)[1](SETTING)
    assert (acc.v1, acc.v2, acc.rho) == (2.0, 3.0, 0.6)


def test_the_studies_stay_what_they_were():
    *others, last = paper.tradeoff().policies.items()
    assert last[0] == "clairvoyant"
    for (name, make), zeta in zip(others[:5], ("0.001", "0.2505", "0.5", "0.7495", "0.999"), strict=True):
        assert name == f"tcgp-ucb zeta={zeta}"
        assert make(SETTING).zeta == float(zeta)
    everywhere = set(paper.federated().policies)
    listed = set(settings_by_policy(systems_by_study()))
    assert everywhere | {"cautious-no-prior", "feasible-random", "script"} == set(POLICIES) == listed


def test_chosen_policies_keep_the_order_of_the_study():
    chosen = paper.federated().with_changes(policies=("uniform", "tcgp-ucb zeta=0.9", "tcgp-ucb zeta=0.1", "tcgp-ucb"))
    names = ["tcgp-ucb", "tcgp-ucb zeta=0.9", "tcgp-ucb zeta=0.1", "uniform", "clairvoyant"]
    assert list(chosen.policies) == names
    assert list(chosen.with_changes(policies=("cucb", "cucb")).policies) == ["cucb", "clairvoyant"]
    fewer = paper.tradeoff().with_changes(policies=("tcgp-ucb zeta=0.3", "tcgp-ucb zeta=0.999", "tcgp-ucb zeta=0.001"))
    assert list(fewer.policies)[:2] == ["tcgp-ucb zeta=0.001", "tcgp-ucb zeta=0.999"]
    assert "tcgp-ucb zeta=0.3" in fewer.policies


def test_a_setting_out_of_range_is_refused_before_anything_runs():
    with pytest.raises(InvalidArgument, match="zeta: expected a number from 0 to 1"):
        paper.federated().with_changes(policies=("tcgp-ucb zeta=7",))


def test_sweep():
    names = list(with_sweep(paper.federated().with_changes(policies=("tcgp-ucb zeta=0.3",))).policies)
    assert names[0] == "tcgp-ucb zeta=0.3"
    assert {"tcgp-ucb zeta=0.001", "tcgp-ucb zeta=0.999", "clairvoyant"} <= set(names)
    assert "tcgp-ucb zeta=0.5" not in names  # the default
    swept = with_sweep(paper.tradeoff())
    assert len(swept.policies) == len(set(swept.policies))
    assert set(paper.tradeoff().policies) <= set(swept.policies)


def test_a_run_with_settings(tmp_path):
    """Recorded in the manifest, another set is another configuration, and the rounds are the same."""
    some = small.tradeoff().with_changes(policies=("tcgp-ucb zeta=0.5", "tcgp-ucb zeta=0.125"))
    found = runner.run(some, folder=tmp_path / "out", seed=3)
    names = ["tcgp-ucb zeta=0.5", "tcgp-ucb zeta=0.125", "clairvoyant"]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["policies"] == names
    other = small.tradeoff().with_changes(policies=("tcgp-ucb zeta=0.5", "tcgp-ucb zeta=0.25"))
    with pytest.raises(
        ForeignResults,
        match=r"policies has tcgp-ucb zeta=0.125 only there; policies has tcgp-ucb zeta=0.25 only here; give",
    ):
        runner.run(other, folder=tmp_path / "out", seed=3)
    whole = runner.run(small.tradeoff(), folder=tmp_path / "whole", seed=3)
    both = pl.col("policy").is_in(["tcgp-ucb zeta=0.5", "clairvoyant"])
    times = ["select_seconds", "update_seconds"]
    assert_frame_equal(found.frame.filter(both).drop(times), whole.frame.filter(both).drop(times), check_exact=True)
