"""Requests that a policy picks: whatever the order of clients, once each, in a session or not, and after any end."""

import itertools
import math

import numpy as np
import pytest

import superarm as sa
from superarm.errors import Conflict, DifferentPolicy, InvalidArgument
from superarm.federated import ClientProfile, Menu, Outcome, Request, RequestSelector
from superarm.federated.loop import learn
from superarm.selection import Kind
from superarm.sessions.stores.memory import MemoryStore
from tests.federated.digits import world

MENU = Menu(fractions=(0.5, 1.0), local_steps=(2, 16))


def profiles(n=4, limit=0.5):
    return [ClientProfile(client_id=f"c{i}", num_examples=20 + i, limit=limit) for i in range(n)]


def fake(proposal, seed=0):
    """Outcomes that only the request and the round decide."""
    found = []
    for request in proposal.requests:
        rng = np.random.default_rng(request.draw_seed(seed, proposal.server_round))
        leakage = 0.8 - 0.15 * math.log(request.num_records) + 0.05 * rng.normal()
        found.append(Outcome(request=request.id, utility=0.1 + 0.02 * rng.normal(), leakage=leakage))
    return found


def played(selector, rounds=6, clients=None, close=True):
    ids = []
    for number in range(1, rounds + 1):
        proposal = selector.propose(number, clients or profiles(), 2.0 / number)
        selector.observe(proposal, fake(proposal))
        if close:
            selector.close(proposal)
        ids.append([request.id for request in proposal.requests])
    return ids


def session(policy=None):
    return sa.Session.open(MemoryStore(), policy=policy or sa.CautiousTCGPUCB())


def test_the_limit_binds_the_largest_leakage_of_a_client():
    """The round that the policy sees: Max() <= limit, a group a client, log records and log steps."""
    seen = []

    class Spy(sa.Uniform):
        def select(self, round):
            seen.append(round)
            return super().select(round)

    selector = RequestSelector(Spy(), at_most=3, per_client=2, menu=MENU)
    selector.propose(7, profiles(2, limit=0.3), 1.5)
    (round,) = seen
    assert round.t == 7
    assert round.labels == ("c0", "c1")
    assert isinstance(round.promises[0].reward, sa.Max)
    assert round.promises[0].thresholds.tolist() == [0.3, 0.3]
    assert repr(round.feasible) == repr(sa.AtMost(3, per_group=2))
    first = Request.from_id(round.arm_ids[0])
    assert round.contexts[0].tolist() == [math.log(first.num_records), math.log(first.local_steps), 1.5]
    good = sa.GoodSubgroups(round, np.array([0.2, 0.4, 0.2, 0.2] * 2))
    assert good.allows([0, 2])
    assert not good.allows([0, 1])  # one request above the limit is enough; the mean of the two is not


def test_the_order_of_clients_does_not_matter():
    one = played(RequestSelector(at_most=3, menu=MENU))
    other = played(RequestSelector(at_most=3, menu=MENU), clients=profiles()[::-1])
    assert one == other


def test_a_session_picks_what_its_policy_picks():
    """Where every outcome comes at once, nothing is out, and both are the same policy."""
    assert played(RequestSelector(session(), at_most=3, menu=MENU)) == played(RequestSelector(at_most=3, menu=MENU))


@pytest.mark.parametrize("durable", [False, True])
def test_outcomes_count_once(durable):
    selector = RequestSelector(session() if durable else None, at_most=3, menu=MENU)
    proposal = selector.propose(1, profiles(), 2.0)
    told = fake(proposal)
    assert selector.observe(proposal, told[:1]) == 2
    assert selector.observe(proposal, told) == 2 * (len(told) - 1)
    assert selector.observe(proposal, told) == 0
    with pytest.raises(Conflict):
        selector.observe(proposal, [Outcome(request=told[0].request, utility=9.0, leakage=told[0].leakage)])
    later = [request.id for request in selector.propose(2, profiles(), 1.0).requests]
    once = RequestSelector(at_most=3, menu=MENU)
    first = once.propose(1, profiles(), 2.0)
    once.observe(first, told[:1])
    once.observe(first, told[1:])
    assert later == [request.id for request in once.propose(2, profiles(), 1.0).requests]


@pytest.mark.parametrize("durable", [False, True])
def test_a_round_asked_for_again_is_the_same(durable):
    selector = RequestSelector(session() if durable else None, at_most=3, menu=MENU)
    first = selector.propose(1, profiles(), 2.0)
    again = selector.propose(1, profiles(5), 1.7)  # somebody joined meanwhile
    assert (first.replayed, again.replayed) == (False, True)
    assert first.requests == again.requests


def test_clients_who_never_answer_do_not_hold_up_the_others():
    """Without close the policy would wait for two exploring rounds for ever."""
    selector = RequestSelector(session(), at_most=3, menu=MENU)
    sizes, kinds = [], []
    for number in range(1, 8):
        proposal = selector.propose(number, profiles(), 2.0)
        selector.observe(proposal, fake(proposal)[1:])
        selector.close(proposal)
        sizes.append(len(proposal))
        kinds.append(proposal.selection.kind)
    assert min(sizes) > 0
    assert Kind.WAITING not in kinds
    waiting = RequestSelector(session(), at_most=3, menu=MENU)
    kinds = []
    for number in range(1, 8):
        proposal = waiting.propose(number, profiles(), 2.0)
        waiting.observe(proposal, fake(proposal)[1:])
        kinds.append(proposal.selection.kind)
    assert Kind.WAITING in kinds


def test_outcomes_that_come_late_are_learnt():
    one = session(sa.CUCB())
    selector = RequestSelector(one, at_most=3, menu=MENU)
    proposal = selector.propose(1, profiles(), 2.0)
    selector.close(proposal)
    assert one.pending().is_empty()
    assert selector.observe(proposal, fake(proposal)) == 2 * len(proposal)


def test_clients_come_and_go():
    selector = RequestSelector(at_most=8, menu=MENU)
    assert selector.propose(1, [], 2.0).requests == ()
    asked = set()
    for number in range(2, 9):
        proposal = selector.propose(number, profiles(2 if number < 5 else 6)[number % 2 :], 2.0)
        assert {request.client_id for request in proposal.requests} <= {f"c{i}" for i in range(number % 2, 6)}
        asked |= {request.client_id for request in proposal.requests}
        selector.observe(proposal, fake(proposal))
    assert {"c4", "c5"} <= asked


def test_a_session_goes_on_after_any_end(tmp_path):
    """Killed between proposing and observing: the new process finds the round, and goes on as if nothing had been."""
    whole = played(
        RequestSelector(sa.Session.open(tmp_path / "a.db", policy=sa.CautiousTCGPUCB()), at_most=3, menu=MENU)
    )
    found = []
    for number in range(1, 7):
        with sa.Session.open(tmp_path / "b.db", policy=sa.CautiousTCGPUCB() if number == 1 else None) as killed:
            RequestSelector(killed, at_most=3, menu=MENU).propose(number, profiles(), 2.0 / number)
        with sa.Session.open(tmp_path / "b.db") as again:
            selector = RequestSelector(again, at_most=3, menu=MENU)
            proposal = selector.propose(number, profiles(), 2.0 / number)
            assert proposal.replayed
            selector.observe(proposal, fake(proposal))
            selector.close(proposal)
        found.append([request.id for request in proposal.requests])
    assert found == whole


def test_limits_are_kept_on_digits():
    """Expected leakage, mean of 40 re-runs, in the second half of 12 rounds: cautious beside drawing lots."""
    judged, _, clients = world(seed=3, clients=8, limits=(0.15, 0.5))
    by_id = {client.client_id: client for client in clients}
    broken = {}
    for name, policy in {"cautious": None, "uniform": sa.Uniform()}.items():
        rng = np.random.default_rng(0)
        rounds = itertools.islice(learn(clients, RequestSelector(policy, at_most=4), judged), 12)
        flags = []
        for each in rounds:
            for request in each.proposal.requests if each.proposal.server_round > 6 else ():
                client = by_id[request.client_id]
                mean, error = client.expected_leakage(request, each.before, 40, rng)
                flags.append(mean - client.limit > 2 * error)
        broken[name] = np.mean(flags)
    assert broken["uniform"] >= 0.25
    assert broken["cautious"] <= min(0.03, broken["uniform"] / 8)


@pytest.mark.parametrize("durable", [False, True])
def test_proposals_of_others_are_refused_and_change_nothing(durable):
    """Of another selector for the same round: nothing of it was picked here."""
    mine, other = (RequestSelector(session(sa.Uniform()) if durable else sa.Uniform(), at_most=3) for _ in range(2))
    here = mine.propose(1, profiles(), 2.0)
    there = other.propose(1, [ClientProfile(client_id="z", num_examples=9, limit=0.5)], 2.0)
    with pytest.raises(InvalidArgument):
        mine.observe(there, fake(there))
    assert mine.observe(here, fake(here)) == 2 * len(here)


@pytest.mark.parametrize("durable", [False, True])
def test_rounds_go_forward(durable):
    """A round that was skipped, or that a policy without a session has forgotten, is not made up afterwards."""
    selector = RequestSelector(session(sa.Uniform()) if durable else sa.Uniform(), at_most=1, menu=MENU)
    for number in [*range(1, 70), 80]:
        proposal = selector.propose(number, profiles(1), 2.0)
        selector.close(proposal)
    with pytest.raises(InvalidArgument) as caught:
        selector.propose(79, profiles(1), 2.0)
    assert caught.value.argument == "server_round"
    if durable:
        assert selector.propose(1, profiles(1), 2.0).replayed
    else:
        with pytest.raises(InvalidArgument):
            selector.propose(1, profiles(1), 2.0)
    assert selector.propose(80, profiles(1), 2.0).replayed
    assert not selector.propose(81, profiles(1), 2.0).replayed


def test_another_policy_for_the_same_session_is_refused(tmp_path):
    """What was chosen stays chosen; other limits of a selector hold from the next round."""
    with sa.Session.open(tmp_path / "s.db", policy=sa.CautiousTCGPUCB()) as one:
        first = RequestSelector(one, at_most=3, menu=MENU).propose(1, profiles(), 2.0)
    with pytest.raises(DifferentPolicy):
        sa.Session.open(tmp_path / "s.db", policy=sa.Uniform())
    with sa.Session.open(tmp_path / "s.db", policy=sa.CautiousTCGPUCB()) as again:
        fewer = RequestSelector(again, at_most=1, menu=MENU)
        assert fewer.propose(1, profiles(), 2.0).requests == first.requests
        assert len(fewer.propose(2, profiles(), 2.0)) == 1


@pytest.mark.parametrize("limit", [-1.0, 0.0, 1.0])
def test_limits_that_nothing_or_everything_keeps(limit):
    """A limit that nothing keeps: once that is known, the client is hardly asked; one that all keep costs nothing."""
    selector = RequestSelector(at_most=3, menu=MENU)
    sizes = []
    for number in range(1, 21):
        proposal = selector.propose(number, profiles(3, limit=limit), 2.0)
        selector.observe(proposal, fake(proposal))
        selector.close(proposal)
        sizes.append(len(proposal))
    if limit == 1.0:
        assert sizes[6:] == [3] * 14
    else:
        assert sum(sizes[10:]) <= 3


def test_requests_and_their_ids():
    for name in ("a", "a:b", "ü 1", ":1:2:", "a\nb", "../c", "a\tb", "..", " "):
        request = Request(client_id=name, num_records=3, local_steps=7)
        assert Request.from_id(request.id) == request
    for wrong in ("a", "a:b", "a:1:b", "a:-1:2", "a:0:2", ":1:2", "a:²:3"):
        with pytest.raises(InvalidArgument):
            Request.from_id(wrong)
    seeds = {
        Request(client_id=c, num_records=3, local_steps=7).draw_seed(s, t) for c in "ab" for s in (0, 1) for t in (1, 2)
    }
    assert len(seeds) == 8


def test_a_menu_has_every_number_of_records_once():
    offered = Menu(fractions=(0.1, 0.2, 1.0), local_steps=(4, 1, 4))(profiles(1)[0])
    assert [request.id for request in offered] == ["c0:2:1", "c0:2:4", "c0:4:1", "c0:4:4", "c0:20:1", "c0:20:4"]
    tiny = Menu(fractions=(0.1, 0.2), local_steps=(1,))(ClientProfile(client_id="c", num_examples=2, limit=0.0))
    assert [request.id for request in tiny] == ["c:1:1"]


def stranger(profile):
    return [Request(client_id="somebody", num_records=1, local_steps=1)]


def too_many(profile):
    return [Request(client_id=profile.client_id, num_records=profile.num_examples + 1, local_steps=1)]


def twice(profile):
    return [Request(client_id=profile.client_id, num_records=1, local_steps=1)] * 2


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: RequestSelector(at_most=0), "at_most"),
        (lambda: RequestSelector(per_client=0), "per_client"),
        (lambda: RequestSelector("cautious"), "policy"),
        (lambda: RequestSelector(menu=3), "menu"),
        (lambda: RequestSelector(menu=stranger).propose(1, profiles(), 1.0), "menu"),
        (lambda: RequestSelector(menu=too_many).propose(1, profiles(), 1.0), "menu"),
        (lambda: RequestSelector(menu=twice).propose(1, profiles(), 1.0), "menu"),
        (lambda: RequestSelector().propose(0, profiles(), 1.0), "server_round"),
        (lambda: RequestSelector().propose(1, profiles() * 2, 1.0), "profiles"),
        (lambda: RequestSelector().propose(1, profiles(), math.nan), "global_loss"),
        (lambda: ClientProfile(client_id="", num_examples=1, limit=0.5), "client_id"),
        (lambda: ClientProfile(client_id="x" * 101, num_examples=1, limit=0.5), "client_id"),
        (lambda: ClientProfile(client_id="a", num_examples=0, limit=0.5), "num_examples"),
        (lambda: ClientProfile(client_id="a", num_examples=1, limit=1.5), "limit"),
        (lambda: Menu(fractions=(0.0,)), "fractions"),
        (lambda: Menu(local_steps=()), "local_steps"),
    ],
)
def test_refused(call, argument):
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    "outcomes",
    [
        [Outcome(request="c9:1:1", utility=0.0, leakage=0.0)],
        [Outcome(request="c0", utility=0.0, leakage=1.5)],
        [("c0", 0.0, 0.0)],
    ],
)
def test_wrong_outcomes_change_nothing(outcomes):
    selector = RequestSelector(at_most=3, menu=MENU)
    proposal = selector.propose(1, profiles(), 2.0)
    with pytest.raises(InvalidArgument):
        selector.observe(proposal, [*fake(proposal), *outcomes])
    with pytest.raises(InvalidArgument):
        selector.observe(proposal, fake(proposal) * 2)
    assert selector.observe(proposal, fake(proposal)) == 2 * len(proposal)


def test_a_client_with_nothing_on_its_menu_is_not_asked():
    """And the others are."""

    def menu(profile):
        return [] if profile.client_id == "c0" else [Request(client_id=profile.client_id, num_records=4, local_steps=2)]

    proposal = RequestSelector(menu=menu).propose(1, profiles(), 1.0)
    assert {request.client_id for request in proposal.requests} <= {"c1", "c2", "c3"}
    assert len(proposal.requests) > 0


def test_what_was_withdrawn_is_not_handed_out_again(tmp_path):
    with sa.Session.open(tmp_path / "server.db", policy=sa.CautiousTCGPUCB()) as session:
        selector = RequestSelector(session)
        selector.propose(1, profiles(), 1.0)
        session.withdraw(session.decision(key="round 1").id)
        with pytest.raises(Conflict, match="round 1 was withdrawn"):
            selector.propose(1, profiles(), 1.0)
        assert len(selector.propose(2, profiles(), 1.0).requests) > 0


def test_a_smaller_round_is_refused_after_a_restart_too(tmp_path):
    """And where another process chose meanwhile; rounds that were chosen are found again, others are keys of others."""
    path = tmp_path / "s.db"
    with sa.Session.open(path, policy=sa.CautiousTCGPUCB(), durability="normal") as held:
        held.decide(contexts=np.eye(2), feasible=sa.AtMost(1), key="round 99 of cards")
        RequestSelector(held, at_most=2).propose(5, profiles(), 2.0)
    with sa.Session.open(path, durability="normal") as held, sa.Session.open(path, durability="normal") as other:
        selector = RequestSelector(held, at_most=2)
        seq = held.seq
        with pytest.raises(
            InvalidArgument,
            match=r"server_round: expected a number larger than those of all earlier rounds \(5\), got 3",
        ):
            selector.propose(3, profiles(), 2.0)
        assert held.seq == seq
        assert selector.propose(5, profiles(), 2.0).replayed
        RequestSelector(other, at_most=2).propose(8, profiles(), 2.0)
        with pytest.raises(InvalidArgument, match=r"larger than those of all earlier rounds \(8\), got 7"):
            selector.propose(7, profiles(), 2.0)
        assert not selector.propose(9, profiles(), 2.0).replayed
