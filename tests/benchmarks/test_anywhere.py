"""The runner of worlds that nothing was tuned on: the split, resuming, late outcomes, and the table."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest

import superarm as sa
from benchmarks import anywhere
from benchmarks.split import JUDGING, ROUNDS, SPLIT, TUNING, worlds
from superarm.environments import wrong
from superarm.environments.real import SETS
from superarm.environments.unseen import KINDS, UnseenWorld
from superarm.experiments.real import JUDGED


def test_every_world_is_either_tuned_on_or_judged():
    parts = {family: [*mine[TUNING], *mine[JUDGING]] for family, mine in SPLIT.items()}
    assert sorted(parts["real"]) == sorted(SETS)
    assert sorted(parts["new"]) == sorted(KINDS)
    assert {*parts["old"]} <= {*wrong.KINDS, "shops", "shops, one-hot"}
    for names in parts.values():
        assert len(names) == len({*names})
    assert SPLIT["real"][JUDGING] == JUDGED
    for kind in KINDS:
        assert ROUNDS.get(kind, ROUNDS["new"]) == UnseenWorld(kind).length


def test_worlds_by_name():
    assert worlds(["new", "real"], [JUDGING], ["shock", "base"]) == [("new", JUDGING, "shock")]
    with pytest.raises(SystemExit, match="unknown worlds: shok"):
        worlds(["new"], [TUNING], ["shok"])


@pytest.fixture
def here(monkeypatch):
    """Runs in this process, on the worlds as they are imported."""
    monkeypatch.setattr(anywhere, "prepare", lambda source: None)


def given(tmp_path, **more):
    fields = {"family": "new", "split": TUNING, "names": "base", "seeds": "3", "policies": "cautious,script"}
    paths = {"out": tmp_path / "runs.csv", "cache": tmp_path / "optima", "source": "src"}
    return SimpleNamespace(**fields, **paths, rounds=3, **more)


def test_a_run_and_what_is_done_is_skipped(here, tmp_path, capsys):
    asked = given(tmp_path)
    tasks = list(anywhere.tasks(asked))
    assert [task["policy"] for task in tasks] == ["cautious", "script"]
    found = [anywhere.run(task) for task in tasks]
    world = UnseenWorld("base", 3)
    trace = sa.simulate(sa.CautiousTCGPUCB(seed=3), world, rounds=3, seed=3)
    for column, mine in (("touched", "groups_touched"), ("kept", "groups_satisfied"), ("certified", "certified")):
        assert found[0][column] == trace[mine].sum()
    assert found[0]["reward"] == pytest.approx(trace["reward"].sum(), rel=1e-5)
    assert found[0]["optimal_reward"] == pytest.approx(trace["optimal_reward"].sum(), rel=1e-5)
    assert found[0]["touched"] - found[0]["stated"] == pytest.approx(trace["predicted_broken"].sum(), rel=1e-4)
    bins = json.loads(found[0]["bins"])
    assert sum(count for _, count, _, _ in bins) == found[0]["stated_of"] == found[0]["touched"]
    assert sum(kept for *_, kept in bins) == found[0]["kept"]
    assert (found[1]["stated_of"], found[1]["certified"]) == (0, 0)
    with asked.out.open("w", newline="") as file:
        table = csv.DictWriter(file, anywhere.COLUMNS)
        table.writeheader()
        table.writerow(found[0])
    assert [task["policy"] for task in anywhere.tasks(asked)] == ["script"]
    anywhere.show(asked.out)
    assert "| base | cautious | 1 |" in capsys.readouterr().out


def test_optima_are_kept_on_disk(here, tmp_path, monkeypatch):
    (task, _) = anywhere.tasks(given(tmp_path))
    world = UnseenWorld("base", 3)
    first = anywhere.optima(task, world)
    monkeypatch.setattr("superarm.regret.optimum", None)
    assert anywhere.optima(task, world) == first
    assert anywhere.optima({**task, "rounds": 2}, world) == first


class Notes:
    """A policy that writes down what it hears."""

    def __init__(self):
        self.heard = []

    def decided(self, decision, round, selection):
        self.heard.append(("decided", decision))

    def observed(self, decision, round, arms, outcomes):
        self.heard.append(("observed", decision, arms.tolist(), outcomes[:, 0].tolist()))

    def expired(self, decision):
        self.heard.append(("expired", decision))


def test_outcomes_come_when_they_are_due():
    days = np.array([2.0, 1.0, np.inf, 2.0])
    policy, world = Notes(), SimpleNamespace(lateness=lambda round: days)
    play = anywhere.Play(policy, world)
    for t in range(1, anywhere.DEADLINE + 2):
        world.lateness = lambda round: days if round.t == 1 else np.full(4, np.inf)
        arms = np.arange(4) if t == 1 else np.arange(0)
        play.update(SimpleNamespace(t=t), None, arms, np.column_stack([arms, arms]).astype(float))
    of_first = [what for what in policy.heard if what[1] == "1"]
    assert of_first == [
        ("decided", "1"),
        ("observed", "1", [1], [1.0]),
        ("observed", "1", [0, 3], [0.0, 3.0]),
        ("expired", "1"),
    ]


def test_errors_are_clustered_by_run():
    assert anywhere.share([9, 10], [10, 10]) == "0.950 +-0.050"
    assert anywhere.share([9], [10]) == "0.900"
    assert anywhere.share([0], [0]) == "-"


def test_bins():
    stated, came = np.array([0.05, 0.95, 0.99, 1.0]), np.array([True, False, True, True])
    assert anywhere.bins(stated, came) == [(0.0, 1, 0.05, 1), (0.9, 1, 0.95, 0), (0.99, 2, 0.995, 2)]
    runs = [anywhere.bins(stated, came), anywhere.bins(np.array([0.992, 0.01]), np.array([False, False]))]
    surest, *_, least = anywhere.pooled(runs)
    assert surest == (0.99, 3, pytest.approx((0.99 + 1.0 + 0.992) / 3), 2)
    assert least == (0.0, 2, pytest.approx(0.03), 1)


@pytest.mark.parametrize("promise", [sa.Mean() >= {0: 0.5, 1: 0.5}, sa.Sum() <= {0: 1.0, 1: 1.0}])
def test_the_peer_states_what_its_draws_keep(promise):
    pytest.importorskip("bayesianbandits")
    from benchmarks.peers.bandits import Peer

    rng, peer = np.random.default_rng(0), Peer(1)
    x = rng.uniform(size=(40, 2))
    round = sa.Round(t=1, contexts=x, groups=np.arange(40) % 2, constraint=promise, feasible=sa.AtMost(6, per_group=3))
    y = np.column_stack([x[:, 0], x[:, 0] + 0.1 * rng.normal(size=40)])
    peer.update(round, np.arange(40), y)
    arms = peer.select(round)
    assert round.feasible.allows(arms, round.grouping)
    sense = 1.0 if promise.sense.value == ">=" else -1.0
    assert set(peer.stated(round, arms)) == set(np.unique(round.groups[arms]).tolist())
    for label, said in peer.stated(round, arms).items():
        mine = arms[round.groups[arms] == label]
        value = x[mine, 0].mean() if sense > 0 else x[mine, 0].sum()
        clear = sense * (value - (0.5 if sense > 0 else 1.0))
        if abs(clear) > 0.2:
            assert (said > 0.5) == (clear > 0)
