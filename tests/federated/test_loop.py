"""Federated learning in NumPy: requests truly differ, the model learns from labels and from nothing else."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.federated import DrawnUtility, RequestSelector, Update, leave_one_out, reported, standalone
from superarm.federated.clients import dealt
from superarm.federated.loop import learn
from superarm.federated.requests import Request
from superarm.federated.softmax import Records, accuracy, loss, losses, trained, untrained
from superarm.federated.updates import mean
from tests.federated.digits import digits, world


def rounds(seed=0, many=8, labels=None, **rest):
    judged, report, clients = world(seed)
    if labels is not None:
        rng = np.random.default_rng(labels)
        for client in clients:
            object.__setattr__(
                client, "pool", Records(features=client.pool.features, labels=rng.permutation(client.pool.labels))
            )
    selector = RequestSelector(sa.Uniform(seed=seed), at_most=5)
    return list(itertools.islice(learn(clients, selector, judged, seed=seed, **rest), many)), report, clients


def test_clients_train_on_what_they_were_asked_for():
    found, _, clients = rounds()
    pools = {client.client_id: client.pool for client in clients}
    seen = set()
    for each in found:
        asked = {request.id: request for request in each.proposal.requests}
        assert asked.keys() == each.answers.keys()
        for id, answer in each.answers.items():
            many, digest = answer.drawn
            assert many == asked[id].num_records == answer.update.num_examples
            seen.add((each.proposal.server_round, digest))
            drawn = np.sort(
                np.random.default_rng(asked[id].draw_seed(0, each.proposal.server_round)).permutation(
                    len(pools[asked[id].client_id])
                )[:many]
            )
            assert pools[asked[id].client_id][drawn].digest() == digest
    assert len(seen) == sum(len(each.answers) for each in found)
    assert any(len({(q.num_records, q.local_steps) for q in each.proposal.requests}) > 1 for each in found)


def test_the_model_learns_from_labels_and_from_nothing_else():
    found, report, _ = rounds(many=12)
    assert accuracy(found[0].before, report) < 0.2
    assert accuracy(found[-1].after, report) > 0.8
    assert all(not np.array_equal(each.before[0], each.after[0]) for each in found)
    lost, report, _ = rounds(many=12, labels=1)
    assert accuracy(lost[-1].after, report) < 0.4


def test_a_run_is_the_same_for_the_same_seed():
    one, other, third = (rounds(seed)[0] for seed in (0, 0, 1))
    assert all(np.array_equal(a.after[0], b.after[0]) for a, b in zip(one, other, strict=True))
    assert not np.array_equal(one[-1].after[0], third[-1].after[0])


def test_no_request_leaves_the_model_as_it_is():
    judged, _, clients = world()
    found = next(learn(clients, RequestSelector(menu=lambda profile: []), judged))
    assert found.answers == {}
    assert np.array_equal(found.before[0], found.after[0])


def test_records_are_dealt_once_and_half_are_held_out():
    for alike in (True, False):
        _, _, clients = world(alike=alike)
        everything = [
            tuple(row) for client in clients for part in (client.pool, client.held_out) for row in part.features
        ]
        distinct = len(np.unique(digits().features, axis=0))
        assert len(everything) <= len(digits()) - 400
        assert len(set(everything)) >= len(everything) - (len(digits()) - distinct)
        assert {len(client.pool) for client in clients} == {len(client.held_out) for client in clients}


def test_clients_that_are_not_alike_prefer_classes():
    def spread(alike):
        _, _, clients = world(seed=1, alike=alike)
        shares = np.array([np.bincount(client.pool.labels, minlength=10) / len(client.pool) for client in clients])
        return float(shares.std(axis=0).mean())

    assert spread(False) > 2 * spread(True)


def test_too_few_records_to_deal():
    with pytest.raises(InvalidArgument):
        dealt(digits()[:3], [0.5] * 4, np.random.default_rng(0))


def test_training_follows_the_gradient():
    """One step is minus the rate times the numerical slope of the mean loss."""
    records, model = digits()[:20], trained(untrained(64, 10), digits()[20:60], 5)
    after, eps = trained(model, records, 1), 1e-6
    for place in [(3, 4), (20, 9), (43, 0)]:
        bumped = model[0].copy()
        bumped[place] += eps
        slope = (loss((bumped, model[1]), records) - loss(model, records)) / eps
        assert after[0][place] - model[0][place] == pytest.approx(-0.5 * slope, abs=1e-5)
    shares = np.exp(-losses(model, records))
    scores = records.features @ model[0] + model[1]
    assert shares == pytest.approx(
        (np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))[np.arange(20), records.labels]
    )


def updates():
    rng = np.random.default_rng(0)
    return [
        Update(
            request=f"c{i}:{i + 1}:1",
            model=(rng.normal(size=3), rng.normal(size=())),
            num_examples=i + 1,
            reported=float(i),
        )
        for i in range(4)
    ]


def squares(model):
    return float(np.square(model[0]).sum() + model[1] ** 2)


def test_the_mean_is_weighted_by_records():
    found = mean(updates())
    weights = np.arange(1, 5)
    assert found[0] == pytest.approx(np.average([each.model[0] for each in updates()], axis=0, weights=weights))
    assert found[1] == pytest.approx(np.average([each.model[1] for each in updates()], weights=weights))
    with pytest.raises(InvalidArgument):
        mean([])


def test_utilities():
    some, before = updates(), (np.ones(3), np.array(2.0))
    without = leave_one_out(some, before, squares)
    for place, value in enumerate(without):
        rest = [each for each in some if each is not some[place]]
        assert value == pytest.approx(squares(mean(rest)) - squares(mean(some)))
    assert leave_one_out(some[:1], before, squares) == [pytest.approx(squares(before) - squares(some[0].model))]
    assert leave_one_out([], before, squares) == []
    assert standalone(some, before, squares) == pytest.approx([squares(before) - squares(each.model) for each in some])
    assert reported(some, before, squares) == [0.0, 1.0, 2.0, 3.0]
    lots = [lot for t in range(200) for lot in DrawnUtility(3)(some, before, squares, t)]
    assert np.mean(lots) == pytest.approx(0.5, abs=0.05)
    assert np.std(lots) == pytest.approx(12**-0.5, abs=0.03)
    assert len(set(lots)) == len(lots)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_examples": 0}, "num_examples of at least 1, which is the weight of an update, got 0 of 'c1:2:1'"),
        ({"num_examples": -1}, "got -1 of"),
        ({"num_examples": math.nan}, "got nan of"),
        ({"num_examples": None}, "got None of"),
        (
            {"model": (np.ones(4), np.array(1.0))},
            r"models of the same shapes as that of 'c0:1:1': \[\(3,\), \(\)\], got",
        ),
        ({"model": (np.ones(3),)}, "models of the same shapes"),
        ({"model": (np.ones((1, 3)), np.array(1.0))}, "models of the same shapes"),  # NumPy would take it for the same
    ],
)
def test_updates_without_a_mean_are_refused(change, words):
    some, before = updates(), (np.ones(3), np.array(2.0))
    some[1] = dataclasses.replace(some[1], **change)
    for call in (lambda: leave_one_out(some, before, squares), lambda: mean(some)):
        with pytest.raises(InvalidArgument, match=words) as caught:
            call()
        assert caught.value.argument == "updates"


def test_a_model_before_of_other_shapes_is_refused():
    with pytest.raises(InvalidArgument, match="before: expected arrays of the shapes of the updates"):
        leave_one_out(updates(), (np.ones(3),), squares)


def test_a_client_answers_only_for_itself():
    _, _, clients = world()
    for wrong in (
        Request(client_id="client 01", num_records=1, local_steps=1),
        Request(client_id="client 00", num_records=10**6, local_steps=1),
    ):
        with pytest.raises(InvalidArgument):
            clients[0].answer(wrong, untrained(64, 10), 0)


def test_expected_leakage_is_the_mean_of_answers():
    _, _, clients = world()
    model = untrained(64, 10)
    few = Request(client_id="client 00", num_records=6, local_steps=8)
    mean_leakage, error = clients[0].expected_leakage(few, model, 60, np.random.default_rng(0))
    singles = [clients[0].answer(few, model, seed).leakage for seed in range(60)]
    assert mean_leakage == pytest.approx(np.mean(singles), abs=4 * error)
    every = Request(client_id="client 00", num_records=len(clients[0].pool), local_steps=8)
    assert clients[0].expected_leakage(every, model, 60, np.random.default_rng(0)) == (
        clients[0].answer(every, model, 5).leakage,
        0.0,
    )
