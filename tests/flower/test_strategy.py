"""Federated learning carried out by Flower, in this process: as in NumPy, with faults, and after any end.

Runs in the environment of requirements-flower.lock: ``make test-slow`` makes it.
"""

import itertools
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import strategy as strategies
from flwr.serverapp.strategy import FedAvg
from limits_app.arrays import arrays_of
from limits_app.client_app import train

import superarm as sa
from superarm.errors import InvalidArgument, UnreadableFile
from superarm.federated import ClientProfile, Request, RequestSelector, standalone
from superarm.federated.loop import learn
from superarm.federated.softmax import accuracy, loss
from superarm.flower import BanditStrategy, answer_profile, audited_train
from superarm.flower.checkpoint import Checkpoint
from superarm.sessions.stores.memory import MemoryStore
from tests.flower import digits_app as digits

pytestmark = pytest.mark.slow
ROOT = digits.ROOT
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), str(digits.EXAMPLE)])}


def selector(policy=None, **rest):
    return RequestSelector(policy, **{"at_most": 4, "menu": digits.MENU, **rest})


def played(rounds=6, grid=None, chosen=None, **rest):
    grid = grid or digits.HereGrid(seed=1)
    made = digits.strategy(chosen or selector(), **rest)
    result = made.start(grid, digits.initial(), num_rounds=rounds)
    return made, grid, result


def ids(made):
    return [[request.id for request in each.proposal.requests] for each in made.rounds]


@pytest.fixture(scope="module")
def in_numpy():
    return list(itertools.islice(learn(digits.PEOPLE, selector(), digits.JUDGED, seed=0), 6))


def test_the_same_selections_and_the_same_model_as_in_numpy(in_numpy):
    made, _, result = played()
    assert ids(made) == [[request.id for request in each.proposal.requests] for each in in_numpy]
    for mine, theirs in zip(digits.model_of(result.arrays), in_numpy[-1].after, strict=True):
        assert np.array_equal(mine, theirs)
    assert all(each.answered and not each.failed + each.silent + each.refused for each in made.rounds)


def test_node_ids_and_the_order_of_replies_do_not_matter():
    one, other = (played(grid=digits.HereGrid(seed=seed))[0] for seed in (1, 2))
    assert ids(one) == ids(other)


def test_every_request_has_its_own_config_and_is_echoed():
    _, grid, _ = played(rounds=3)
    trains = [each for each in grid.sent if each.metadata.message_type == "train"]
    by_round = {}
    for each in trains:
        config = each.content["config"]
        by_round.setdefault(config["server-round"], []).append(
            (config["superarm.request"], config["superarm.draw-seed"])
        )
    assert all(len(set(asked)) == len(asked) > 1 for asked in by_round.values())
    echoes = set()
    for each in trains:
        (reply,) = digits.HereGrid.send_and_receive(grid, [each])
        echo = reply.content["superarm.echo"]
        assert echo["superarm.request"] == each.content["config"]["superarm.request"]
        assert echo["drawn"] == int(echo["superarm.request"].split(":")[1])
        echoes.add((each.content["config"]["server-round"], echo["superarm.request"], echo["digest"]))
    assert len(echoes) == len(trains)


def test_the_model_learns():
    _, _, result = played(rounds=10, chosen=selector(sa.Uniform(), at_most=5))
    assert accuracy(digits.model_of(digits.initial()), digits.REPORT) < 0.2
    assert accuracy(digits.model_of(result.arrays), digits.REPORT) > 0.8


def test_several_requests_to_one_client():
    made, _, _ = played(rounds=3, chosen=selector(sa.Uniform(), per_client=3, at_most=8))
    clients = [[request.client_id for request in each.proposal.requests] for each in made.rounds]
    assert any(len(set(asked)) < len(asked) for asked in clients)
    assert all(len(each.answered) == len(each.proposal) for each in made.rounds)


@pytest.mark.parametrize("fault", ["raise", "silent", "lie", "twice"])
def test_faults_of_one_client(fault):
    """The others count, and once; nothing is learnt of the one in question unless it only answers twice."""
    session = sa.Session.open(MemoryStore(), policy=sa.Uniform())

    def faulty(message):
        mine = message.metadata.message_type == "train" and message.content["config"]["superarm.request"].startswith(
            "client 02"
        )
        return fault if mine else None

    made, _, _ = played(rounds=5, grid=digits.HereGrid(seed=3, fault=faulty), chosen=selector(session, at_most=5))
    asked = [id for each in made.rounds for id in ([request.id for request in each.proposal.requests])]
    hers = {id for id in asked if id.startswith("client 02")}
    assert hers
    answered = [id for each in made.rounds for id in each.answered]
    if fault == "twice":
        assert len(answered) == len(asked)
        assert sum(len(each.refused) for each in made.rounds) > 0
    else:
        assert not hers & set(answered)
        assert len(answered) == len([id for id in asked if id not in hers])
        where = {"raise": "failed", "silent": "silent", "lie": "silent"}[fault]
        assert {id for each in made.rounds for id in getattr(each, where)} == hers
    assert any(each.refused for each in made.rounds) == (fault in ("lie", "twice"))
    assert len(session.outcomes()) == 2 * len(answered)
    assert session.pending().is_empty()


def reply_with(message, *, drawn=None, leakage=0.1, arrays=None, examples=None, seed=None):
    request, asked = (message.content["config"][f"superarm.{name}"] for name in ("request", "draw-seed"))
    k = Request.from_id(request).num_records
    content = {
        "arrays": arrays if arrays is not None else message.content["arrays"],
        "metrics": MetricRecord({"num-examples": k if examples is None else examples, "leakage": leakage}),
        "superarm.echo": ConfigRecord(
            {
                "superarm.request": request,
                "superarm.draw-seed": asked if seed is None else seed,
                "drawn": k if drawn is None else drawn,
                "digest": "",
            }
        ),
    }
    return Message(RecordDict(content), reply_to=message)


def client_app(train, profile=lambda context: digits.PEOPLE[int(context.node_config["partition-id"])].profile):
    made = ClientApp()
    made.query()(answer_profile(profile))
    made.train()(train)
    return made


def test_such_a_reply_counts_where_it_can_be_true():
    made, _, _ = played(rounds=1, grid=digits.HereGrid(seed=1, client_app=client_app(lambda m, c: reply_with(m))))
    assert len(made.rounds[0].answered) == len(made.rounds[0].proposal) > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"drawn": 1_000_000},
        {"seed": 1},  # of another round
        {"leakage": 1.5},
        {"leakage": float("nan")},
        {"examples": 10**9},
        {"arrays": ArrayRecord({"weights": Array(np.zeros((2, 2)))})},
        {"arrays": ArrayRecord({"weights": Array(np.full((64, 10), np.nan)), "biases": Array(np.zeros(10))})},
    ],
)
def test_replies_that_cannot_be_true_count_for_nothing(wrong):
    liar = client_app(lambda message, context: reply_with(message, **wrong))
    made, _, result = played(rounds=1, grid=digits.HereGrid(seed=1, client_app=liar))
    assert made.rounds[0].answered == ()
    assert len(made.rounds[0].refused) == len(made.rounds[0].proposal)
    assert np.array_equal(digits.model_of(result.arrays)[0], np.zeros((64, 10)))


def test_an_update_with_which_the_loss_overflows_does_not_end_the_run(tmp_path):
    """Its leakage is learnt, its utility is not known, and the model stays; with others the model goes on."""
    huge = arrays_of((np.full((64, 10), 1e200), np.zeros(10)))

    def diverged(message, context):
        hers = message.content["config"]["superarm.request"].startswith("client 02")
        return reply_with(message, arrays=huge) if hers else digits.app(message, context)

    def loss_of(arrays):
        model = digits.model_of(arrays)
        return float("nan") if np.abs(model[0]).max() > 1e100 else loss(model, digits.JUDGED)

    session = sa.Session.open(MemoryStore(), policy=sa.Uniform())
    grid = digits.HereGrid(seed=1, client_app=client_app(diverged))
    made, _, result = played(
        rounds=8,
        grid=grid,
        chosen=selector(session, at_most=2),
        loss=loss_of,
        checkpoint=tmp_path / "model.npz",
        utility=standalone,
    )
    hers = [id for each in made.rounds for id in each.answered if id.startswith("client 02")]
    assert 0 < len(hers) < 8
    told = session.outcomes()
    assert set(told.filter(told["arm_id"].str.starts_with("client 02"))["outcome"]) == {2}
    for arrays in (result.arrays, Checkpoint(tmp_path / "model.npz").read()[1]):
        assert np.isfinite(loss_of(arrays))
        assert not np.array_equal(digits.model_of(arrays)[0], np.zeros((64, 10)))


def test_what_clients_call_themselves_forges_no_line_of_the_log(caplog):
    """Names with new lines, slashes and colons are names like others."""
    names = ["a\n2026-01-01 ERROR all is lost", "../../etc/passwd", "a:1:2", ":", "client 00"]

    def profile(context):
        place = int(context.node_config["partition-id"])
        return ClientProfile(client_id=names[place], num_examples=len(digits.PEOPLE[place].pool), limit=0.5)

    def lie(message):
        return "lie" if message.metadata.message_type == "train" else None

    chosen = selector(sa.Uniform(), at_most=5)
    honest = digits.HereGrid(seed=1, clients=5, client_app=client_app(lambda m, c: reply_with(m), profile))
    made, _, _ = played(rounds=1, grid=honest, chosen=chosen)
    assert {request.client_id for request in made.rounds[0].proposal.requests} == set(names)
    assert len(made.rounds[0].answered) == 5
    liars = digits.HereGrid(seed=2, clients=5, fault=lie, client_app=honest.app)
    made, _, _ = played(rounds=1, grid=liars, chosen=selector(sa.Uniform(), at_most=5))
    assert len(made.rounds[0].refused) >= 4
    assert not any("\n" in record.getMessage() for record in caplog.records if record.name == "superarm.flower")


@audited_train
def with_loss(task, context):
    """The client of the app, with the metric that QFedAvg asks for."""
    found = train.__wrapped__(task, context)
    return replace(found, metrics={"train_loss": float(np.mean(found.member_losses[1]))})


INSIDE = {
    "FedAvg": {},
    "FedAvgM": {"server_learning_rate": 1.0, "server_momentum": 0.5},
    "FedAdagrad": {"eta": 0.1},
    "FedAdam": {"eta": 0.1},
    "FedYogi": {"eta": 0.1},
    "FedMedian": {},
    "FedTrimmedAvg": {"beta": 0.2},
    "FedProx": {"proximal_mu": 0.25},
    "QFedAvg": {"client_learning_rate": 0.5, "q": 0.1},
    "Krum": {"num_malicious_nodes": 1},
    "MultiKrum": {"num_malicious_nodes": 1, "num_nodes_to_select": 2},
}


@pytest.mark.parametrize("name", INSIDE)
def test_strategies_inside(name):
    """Each learns, waits for nobody though it wants a hundred nodes, keeps its settings, and adds to the config."""
    inside = getattr(strategies, name)(
        fraction_train=0.5, min_available_nodes=100, fraction_evaluate=0.0, **INSIDE[name]
    )
    made = BanditStrategy(
        selector(sa.Uniform(), at_most=5), inside, loss=lambda arrays: loss(digits.model_of(arrays), digits.JUDGED)
    )
    grid = digits.HereGrid(seed=1, client_app=client_app(with_loss))
    result = made.start(grid, digits.initial(), num_rounds=3)
    assert accuracy(digits.model_of(result.arrays), digits.REPORT) > 0.4
    assert inside.fraction_train == 0.5
    configs = [each.content["config"] for each in grid.sent if each.metadata.message_type == "train"]
    assert all(("proximal-mu" in config) == (name == "FedProx") for config in configs)


def test_a_server_that_ends_before_its_checkpoint_asks_for_the_round_again(tmp_path, monkeypatch):
    """All was told to the session and the model is not kept yet: the round is played once more, and counts once."""
    whole = digits.serve(tmp_path / "a" if (tmp_path / "a").mkdir() is None else tmp_path, 5)
    (tmp_path / "b").mkdir()
    write = Checkpoint.write

    def ends(self, server_round, arrays):
        if server_round == 3:
            raise KeyboardInterrupt
        write(self, server_round, arrays)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", ends)
        with pytest.raises(KeyboardInterrupt):
            digits.serve(tmp_path / "b", 5)
    second = digits.serve(tmp_path / "b", 5)
    assert [each.server_round for each in second.rounds] == [3, 4, 5]
    assert ids(second) == ids(whole)[2:]
    one, other = (digits.model_of(Checkpoint(tmp_path / name / "model.npz").read()[1]) for name in "ab")
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))
    counted = []
    for name in "ab":
        with sa.Session.open(tmp_path / name / "server.db") as session:
            counted.append(session.outcomes().select("decision", "arm", "outcome", "value").rows())
    assert 0 < len(counted[0]) == len(counted[1]) == len(set(counted[1]))


def test_one_client_that_comes_and_goes():
    grid = digits.HereGrid(seed=1, clients=0)
    made = digits.strategy(selector(at_most=3), min_clients=0)
    arrays = digits.initial()
    for number in range(1, 9):
        grid.partitions = {1000 + number: 0} if number % 2 else {}
        replies = grid.send_and_receive(made.configure_train(number, arrays, ConfigRecord(), grid))
        arrays = made.aggregate_train(number, replies)[0] or arrays
    assert [len(each.answered) for each in made.rounds] == [1, 0] * 4
    assert {id.split(":")[0] for each in made.rounds for id in each.answered} == {"client 00"}


def test_nobody_there_and_newcomers():
    grid = digits.HereGrid(seed=1, clients=0)
    made = digits.strategy(selector(sa.Uniform(), at_most=6), min_clients=0)
    arrays = digits.initial()
    asked = []
    for number in range(1, 7):
        if number == 3:
            grid.partitions = {100 + place: place for place in range(3)}
        if number == 5:
            grid.partitions |= {100 + place: place for place in range(3, 6)}
        if number == 6:
            del grid.partitions[100]
        replies = grid.send_and_receive(made.configure_train(number, arrays, ConfigRecord(), grid))
        arrays = made.aggregate_train(number, replies)[0] or arrays
        asked.append({request.client_id for request in made.rounds[-1].proposal.requests})
    assert asked[:2] == [set(), set()]
    assert asked[2] == asked[3] == {f"client 0{place}" for place in range(3)}
    assert asked[4] == {f"client 0{place}" for place in range(6)}
    assert asked[5] == {f"client 0{place}" for place in range(1, 6)}
    queries = [each for each in grid.sent if each.metadata.message_type == "query"]
    assert len(queries) == 6  # each once


def test_a_round_waits_for_enough_clients(monkeypatch):
    grid = digits.HereGrid(seed=1, clients=1)
    naps = []

    def nap(seconds):
        naps.append(seconds)
        grid.partitions |= {100 + len(naps): len(naps)}

    monkeypatch.setattr("superarm.flower.strategy.time.sleep", nap)
    made = digits.strategy(selector(sa.Uniform(), at_most=6), min_clients=3)
    made.configure_train(1, digits.initial(), ConfigRecord(), grid)
    assert len(naps) == 2
    assert len(made._nodes) == 3


def test_a_client_belongs_to_the_node_that_said_so_first():
    grid = digits.HereGrid(seed=1, clients=3)
    made = digits.strategy(selector(sa.Uniform(), at_most=6))
    made.configure_train(1, digits.initial(), ConfigRecord(), grid)
    known = dict(made._nodes)
    grid.partitions[7] = 0  # says that it is client 00
    messages = made.configure_train(2, digits.initial(), ConfigRecord(), grid)
    assert made._nodes == known
    assert 7 not in {message.metadata.dst_node_id for message in messages}


def test_a_server_that_is_killed_twice_goes_on(tmp_path):
    """Killed in the midst of two rounds: the run ends, every round once, no outcome counted twice."""
    for last in ("round 3", "round 6", None):
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.flower.digits_app", str(tmp_path), "9"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=ENVIRONMENT,
            cwd=ROOT,
        )
        try:
            for line in server.stdout:
                if line.strip() == last:
                    os.kill(server.pid, signal.SIGKILL)
                    break
            said = line.strip()
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
    assert said == "ended"
    assert Checkpoint(tmp_path / "model.npz").read()[0] == 9
    with sa.Session.open(tmp_path / "server.db") as session:
        decisions, outcomes = session.decisions(), session.outcomes()
        assert decisions["key"].to_list() == [f"round {number}" for number in range(1, 10)]
        assert not outcomes.select("decision", "arm", "outcome").is_duplicated().any()
        assert session.pending().is_empty()
        assert 0 < len(outcomes) < 2 * decisions["arms"].list.len().sum()
        assert not outcomes["arm_id"].str.starts_with("client 05").any()
        assert session.verify().ok


def test_faults_by_lot():
    """A fifth of the requests raise, a tenth never answer, and one client lies, whatever it is asked."""
    lots = Counter()
    for server_round, client in itertools.product(range(1, 801), range(digits.CLIENTS)):
        config = ConfigRecord({"server-round": server_round, "superarm.request": f"client 0{client}:9:2"})
        said = SimpleNamespace(metadata=SimpleNamespace(message_type="train"), content={"config": config})
        lots[digits.faults_by_lot(said)] += 1
    honest = 800 * (digits.CLIENTS - 1)
    assert lots["lie"] == 800
    assert lots["raise"] / honest == pytest.approx(0.2, abs=0.02)
    assert lots["silent"] / honest == pytest.approx(0.1, abs=0.02)


def test_a_run_from_a_checkpoint_is_the_run(tmp_path):
    whole = digits.serve(tmp_path / "a" if (tmp_path / "a").mkdir() is None else tmp_path, 6)
    (tmp_path / "b").mkdir()
    first, second = digits.serve(tmp_path / "b", 3), digits.serve(tmp_path / "b", 6)
    assert ids(whole) == ids(first) + ids(second)
    assert [each.server_round for each in second.rounds] == [4, 5, 6]
    for words in ("answered", "failed", "silent", "refused"):  # the faults are there
        assert any(getattr(each, words) for each in whole.rounds)
    one, other = (digits.model_of(Checkpoint(tmp_path / name / "model.npz").read()[1]) for name in "ab")
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))
    done = digits.serve(tmp_path / "b", 6)
    assert done.rounds == []


def test_damaged_checkpoints_are_refused(tmp_path):
    assert Checkpoint(tmp_path / "none").read() is None
    for content in (b"", b"PK\x03\x04 half", b"not at all"):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(UnreadableFile):
            Checkpoint(tmp_path / "bad").read()


def test_refused():
    with pytest.raises(InvalidArgument):
        BanditStrategy("cautious", FedAvg(), loss=len)
    with pytest.raises(InvalidArgument):
        BanditStrategy(selector(), "fedavg", loss=len)
    for wrong in ({"loss": 3}, {"utility": None}, {"min_clients": -1}, {"query_seconds": float("nan")}):
        with pytest.raises(InvalidArgument) as caught:
            digits.strategy(selector(), **wrong)
        assert caught.value.argument in wrong
    with pytest.raises(InvalidArgument):
        digits.strategy(selector()).aggregate_train(1, [])
