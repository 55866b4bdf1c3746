"""The targets of the studies wrong, shops and real, each met and then missed by a change of one thing."""

import polars as pl
import pytest

from superarm.environments.wrong import KINDS
from superarm.experiments.claim import TARGETS
from superarm.experiments.claims import evaluate
from superarm.experiments.robustness import ALONE

POLICIES = ("cautious", "cautious-no-prior")


def table(study, runs):
    """Runs of which each touches 100 groups in two rounds, keeps all, states 0.995 and earns all."""
    rows = [
        {
            "experiment": study,
            "policy": policy,
            "run": run,
            "t": t,
            "arms": [0, 1],
            "reward": 1.0,
            "optimal_reward": 1.0,
            "groups_touched": 50,
            "groups_satisfied": 50,
            "predicted_broken": 0.25,
            "certified": 40,
            "certified_broken": 0,
            "select_seconds": 0.001,
            "update_seconds": 0.001,
        }
        for policy in POLICIES
        for run in range(runs)
        for t in (1, 11)
    ]
    return pl.DataFrame(rows)


def verdicts(frame):
    return [claim.verdict for claim in evaluate(frame, TARGETS, any_size=True)]


def changed(frame, where=True, **columns):
    where = pl.lit(True) if where is True else where
    return frame.with_columns(
        pl.when(where).then(pl.lit(value)).otherwise(name).alias(name) for name, value in columns.items()
    )


def kind(name):
    return pl.col("run") % len(KINDS) == list(KINDS).index(name)


WRONG = table("wrong", 75)
CAUTIOUS, TOLD_NOTHING = (pl.col("policy") == policy for policy in POLICIES)


def test_all_are_met():
    assert set(verdicts(WRONG)) == {"met"}
    assert len(verdicts(WRONG)) == 12 + 2 * len(ALONE)
    assert verdicts(table("shops", 10)) == ["met"] * 3


@pytest.mark.parametrize(
    ("frame", "missed"),
    [
        (changed(WRONG, CAUTIOUS & kind("right"), groups_satisfied=20, predicted_broken=30.0), {0}),
        (changed(WRONG, CAUTIOUS, predicted_broken=1.0), {1}),
        (changed(WRONG, CAUTIOUS & kind("step"), certified_broken=12), {2}),
        (changed(WRONG, CAUTIOUS & ~kind("groups kept") & (pl.col("run") % 25 < 10), reward=0.6), {3}),
        (changed(WRONG, TOLD_NOTHING, groups_satisfied=48), {4}),
        (changed(WRONG, TOLD_NOTHING, reward=0.8), {5}),
        (changed(WRONG, TOLD_NOTHING & (pl.col("run") == 3), arms=[]), {6}),
        (changed(WRONG, CAUTIOUS & kind("groups kept"), groups_satisfied=48), {7}),
        (changed(WRONG, CAUTIOUS & kind("groups kept"), reward=0.7), {8}),
        (changed(WRONG, CAUTIOUS & kind("groups new"), predicted_broken=3.0), {9}),
        (changed(WRONG, CAUTIOUS & kind("scale 100"), groups_satisfied=49), {10}),
        (changed(WRONG, CAUTIOUS & kind("offset 5"), reward=0.94), {11}),
        (changed(WRONG, CAUTIOUS & kind("groups redrawn"), groups_satisfied=0, reward=0.0, certified_broken=40), set()),
        *(
            (changed(WRONG, CAUTIOUS & kind(name), **{column: value}), {12 + 2 * place + further})
            for place, name in enumerate(ALONE)
            for further, (column, value) in enumerate([("groups_satisfied", 48), ("reward", 0.7)])
        ),
    ],
    ids=str,
)
def test_each_is_missed_where_what_it_is_about_is(frame, missed):
    assert {place for place, verdict in enumerate(verdicts(frame)) if verdict != "met"} == missed


def test_shops():
    frame = table("shops", 10)
    late = CAUTIOUS & (pl.col("t") == 11)
    assert verdicts(changed(frame, late, reward=0.9)) == ["not met", "met", "met"]
    assert verdicts(changed(frame, late & (pl.col("run") == 2), reward=0.8)) == ["not met", "met", "met"]
    assert verdicts(changed(frame, CAUTIOUS & (pl.col("run") == 2), certified_broken=9)) == ["met", "not met", "met"]
    assert verdicts(changed(frame, CAUTIOUS, groups_satisfied=45)) == ["met", "met", "not met"]
    assert verdicts(frame.filter(pl.col("t") == 1)) == ["not measured", "met", "met"]
    assert verdicts(frame.filter(TOLD_NOTHING)) == ["not measured"] * 3


def test_what_is_not_there_is_not_measured():
    assert set(verdicts(WRONG.filter(pl.col("policy") == "tcgp-ucb").vstack(changed(WRONG, policy="tcgp-ucb")))) == {
        "not measured"
    }
    few = WRONG.filter(pl.col("run") < 3)
    assert verdicts(few)[7] == "not measured"
    assert evaluate(few, TARGETS)[0].remark.startswith("The target is about 75 runs of 60 rounds")


REAL = table("real", 24).with_columns(policy=pl.col("policy").replace("cautious-no-prior", "script"))


def test_targets_of_real_data_are_met_and_missed_one_by_one():
    assert verdicts(REAL) == ["met"] * 3
    mine = pl.col("policy") == "cautious"
    assert verdicts(changed(REAL, mine, certified_broken=1)) == ["not met", "met", "met"]
    assert verdicts(changed(REAL, mine, groups_satisfied=48)) == ["met", "not met", "met"]
    assert verdicts(changed(REAL, mine, reward=0.9)) == ["met", "met", "not met"]
    assert verdicts(changed(REAL, mine, groups_touched=0, groups_satisfied=0, certified=0))[:2] == ["not measured"] * 2
