"""The study of measured leakage: its rows are what was measured, and its targets are met, missed, or not shown."""

import numpy as np
import polars as pl
import pytest

from superarm.errors import InvalidArgument, MissingData
from superarm.experiments import leakage, runner
from superarm.experiments.claim import TARGETS
from superarm.experiments.claims import evaluate
from superarm.experiments.experiment import DataKind
from superarm.experiments.leakage_records import digits
from superarm.experiments.limits import by_clients
from superarm.experiments.studies import study
from superarm.federated.requests import Request
from superarm.policies.baselines.reference import Uniform
from superarm.report.limits import section


def world(alike=True, seed=1):
    return leakage.World(digits(), alike=alike, seed=seed)


def test_the_three_sets_of_records_are_disjoint():
    found = world()
    parts = [found.judged_by, found.report]
    parts += [part for client in found.clients.values() for part in (client.pool, client.held_out)]
    rows = [set(map(bytes, part.features)) for part in parts]
    double = len(digits()) - len(np.unique(digits().features, axis=0))
    assert sum(map(len, rows)) - len(set().union(*rows)) <= double
    assert (len(found.judged_by), len(found.report)) == (200, 200)


def test_a_row_says_what_was_measured():
    """Beside a second loop by hand: the same requests, re-run by other seeds, give the same verdict far from limits."""
    rows = list(leakage.play(Uniform(seed=3), world(), rounds=3, seed=(5, 0)))
    again = world()
    for row in rows:
        assert row["groups_touched"] == len(row["arms"]) == 5
        assert 0 <= row["groups_satisfied"] <= 5
        assert (row["group_regret"] > 0.0) == (row["groups_satisfied"] < 5)
        assert 0.0 <= row["reward"] <= 1.0
    menu = [request for client in again.clients.values() for request in leakage.MENU(client.profile)]
    over = []
    for arm in rows[0]["arms"]:
        request = sorted(menu, key=lambda each: (each.client_id, each.num_records, each.local_steps))[arm]
        client = again.clients[request.client_id]
        singles = [client.answer(request, again.model, 100 + seed).leakage for seed in range(80)]
        over.append(float(np.mean(singles)) - client.limit)
    assert all(abs(each) > 0.05 for each in over)  # this world was chosen so that the verdicts are clear
    assert rows[0]["groups_satisfied"] == sum(each < 0.0 for each in over)
    assert rows[0]["group_regret"] == pytest.approx(sum(max(each, 0.0) for each in over), abs=0.06)


def test_the_benchmark_keeps_every_limit_and_asks_each_client_once():
    one = world(seed=2)
    rows = list(leakage.play(leakage.FeasibleByTruth(one, 0), one, rounds=2, seed=(5, 0)))
    assert [row["groups_satisfied"] for row in rows] == [row["groups_touched"] for row in rows]
    assert all(0 < row["groups_touched"] == len(row["arms"]) <= 5 for row in rows)


def test_expected_leakage_is_of_the_present_model():
    one = world()
    request = Request(client_id="client 00", num_records=6, local_steps=8)
    cold = one.expected(request, 1)
    assert one.expected(request, 1) == cold
    one.move(
        one.clients["client 01"]
        .answer(Request(client_id="client 01", num_records=50, local_steps=32), one.model, 0)
        .update.model
    )
    assert one.expected(request, 1) != cold


def test_a_small_run(tmp_path, monkeypatch):
    monkeypatch.setattr(leakage, "RERUNS", 4)
    small = study("leakage", data="synthetic").with_changes(rounds=2, runs=2, policies=("cautious", "uniform"))
    found = runner.run(small, folder=tmp_path / "out")
    assert found.manifest["environments"] == list(leakage.ALIKE)
    assert found.manifest["data_kind"] == DataKind.SYNTHETIC
    table = by_clients(found.frame)
    assert table["clients"].to_list() == [*leakage.ALIKE, "all"] * 3
    uniform = found.frame.filter(pl.col("policy") == "uniform")
    row = table.filter((pl.col("policy") == "uniform") & (pl.col("clients") == "all")).row(0, named=True)
    broken = (uniform["groups_touched"] - uniform["groups_satisfied"]).sum()
    assert row["broken"] == pytest.approx(broken / uniform["groups_touched"].sum())
    assert row["accuracy"] == pytest.approx(uniform.filter(pl.col("t") == 2)["reward"].mean())
    page = section(found.frame, found.manifest)
    assert "Clients: all" in page
    assert section(found.frame, {**found.manifest, "experiment": "wrong"}) == ""


def table(broken=0, accuracy=(0.9, 0.9, 0.9)):
    """Ten runs of four rounds; 100 clients a round, of which ``broken`` break in every round of cautious's."""
    rows = []
    for policy, level in zip(("cautious", "uniform", "feasible-random"), accuracy, strict=True):
        for run in range(10):
            for t in (1, 2, 3, 4):
                bad = broken if policy == "cautious" else 40
                rows.append(
                    {
                        "experiment": "leakage",
                        "policy": policy,
                        "run": run,
                        "t": t,
                        "reward": level + 0.01 * (run % 3),
                        "groups_touched": 100,
                        "groups_satisfied": 100 - (50 if t == 1 and policy == "cautious" else bad),
                        "predicted_broken": 15.0,
                    }
                )
    return pl.DataFrame(rows)


def verdicts(frame):
    return [claim.verdict for claim in evaluate(frame, TARGETS, any_size=True)]


def test_targets():
    assert verdicts(table()) == ["met", "met", "met", "not shown", "not shown"]
    assert verdicts(table(broken=3))[:2] == ["met", "met"]
    assert verdicts(table(broken=4))[:2] == ["not met", "met"]
    assert verdicts(table(broken=6))[:3] == ["not met", "not met", "met"]
    assert verdicts(table(broken=10))[2] == "not met"
    assert verdicts(table().filter(pl.col("policy") != "uniform")) == [
        "met",
        "not measured",
        "met",
        "not measured",
        "not shown",
    ]


def test_differences_of_accuracy_are_shown_or_not():
    found = evaluate(table(accuracy=(0.8, 0.9, 0.7)), TARGETS, any_size=True)[3:]
    assert [claim.verdict for claim in found] == ["shown", "shown"]
    assert [claim.remark.split()[-1] for claim in found] == ["worse.", "better."]
    unclear = table().with_columns(
        reward=pl.col("reward")
        + pl.when((pl.col("policy") == "cautious") & (pl.col("run") == 1)).then(0.2).otherwise(0.0)
    )
    assert verdicts(unclear)[3:] == ["not shown", "not shown"]


def test_data_of_the_study(monkeypatch):
    assert study("leakage").data_kind == DataKind.OTHER
    with pytest.raises(InvalidArgument):
        study("leakage", data="somewhere")
    monkeypatch.setitem(__import__("sys").modules, "sklearn.datasets", None)
    with pytest.raises(MissingData, match="--data synthetic"):
        study("leakage")
