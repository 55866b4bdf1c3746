"""The picture of an explanation says what the text says, and can be rendered."""

import subprocess
import sys

import numpy as np
import pytest

import superarm as sa
from tests.policies.explanation.told import Told, numbered
from tests.policies.rounds import PRIOR, federated


def values(chart):
    """The rows of every panel, by its title."""
    found = {}
    whole = chart.to_dict()
    for panel in whole["vconcat"]:
        data = panel.get("data") or panel["layer"][0].get("data") or whole["data"]
        found[panel["title"]] = data["values"] if "values" in data else whole["datasets"][data["name"]]
    return found


def test_every_figure_is_drawn():
    mean = np.array([[0.9, 0.0], [0.8, 0.0], [0.7, 0.9], [0.1, 0.0], [0.6, 0.0]])
    round = numbered(
        5,
        groups=list("aabbc"),
        constraint={"a": sa.Sum() <= 0.5, "b": sa.Sum() <= 0.5},
        feasible=sa.AtMost(2, per_group={"a": 1, "b": 2, "c": 1}),
        arm_ids=list("vwxyz"),
    )
    policy = sa.TCGPUCB(Told(mean, 0.01), zeta=0.5)
    told = policy.explain(round, policy.select(round))
    assert told.plot().title == "TCGPUCB, round 1"
    arms, margins, prices = values(told.plot()).values()
    assert [row["name"] for row in arms] == ["0 v · a", "4 z · c", "1 w · a", "2 x · b", "3 y · b"]
    assert [row["state"] for row in arms[2:]] == ["not picked: cap", "not picked: promise", "not picked: index"]
    assert [row["index"] for row in arms[:2]] == [arm.index[0] for arm in told.arms]
    assert [row["low"] for row in arms[:2]] == [arm.mean[0] - arm.std[0] for arm in told.arms]
    assert [(row["row"][6:], row["margin"]) for row in margins] == [("a", told.group("a").margin)]
    assert [row["row"][6:] for row in prices] == ["a", "b (not touched)"]
    assert [row["gain"] for row in prices] == [told.group("a").price.gain, told.runners_up[1].price.gain]


@pytest.mark.parametrize("make", [sa.TCGPUCB, sa.CautiousTCGPUCB])
def test_it_renders(make, tmp_path):
    rng = np.random.default_rng(0)
    policy, round = make(PRIOR), federated(1, rng)
    told = policy.explain(round, policy.select(round), most=4)
    told.plot().save(tmp_path / "told.svg")
    drawn = (tmp_path / "told.svg").read_text("utf-8")
    for group in [group for group in told.groups if group.promise is not None][:4]:
        assert f">{group.label}</text>" in drawn
    assert "NaN" not in drawn


def test_nothing_can_be_drawn_too():
    for round in (
        sa.Round(t=1, contexts=np.empty((0, 1)), feasible=sa.AtMost(2)),
        sa.Round(t=1, contexts=np.zeros((2, 1)), groups=list("ab"), feasible=sa.WholeGroups(1)),
    ):
        policy = sa.TCGPUCB(PRIOR)
        chart = policy.explain(round, policy.select(round)).plot()
        assert list(values(chart)) == ["Arms: picked, and not picked"]
        assert chart.to_json()


def test_explaining_loads_no_charts_before_they_are_asked_for():
    code = """
import sys, numpy as np, superarm as sa
policy = sa.TCGPUCB()
round = sa.Round(t=1, contexts=np.zeros((2, 1)), feasible=sa.AtMost(1))
str(policy.explain(round, policy.select(round)))
print([name for name in ("altair", "polars", "vl_convert") if name in sys.modules])
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
