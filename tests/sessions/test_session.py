"""A session: what it answers, what it keeps, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

import superarm as sa
from superarm.sessions import parts
from superarm.sessions.session import Session
from superarm.sessions.snapshots import digest_of_state
from superarm.sessions.stores.memory import MemoryStore
from tests.sessions.shop import a_round, outcomes, policy


def state_digest(session):
    return digest_of_state(session._running.durable())


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def session(request, tmp_path):
    place = {"path": MemoryStore() if request.param == "memory" else tmp_path / "s.db"}
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        place = {"path": server.url, "name": server.name()}
    with Session.open(
        **place, policy=policy(), durability="full" if request.param == "memory" else "normal"
    ) as session:
        yield session
        assert session.verify().ok, str(session.verify())


def test_a_session_does_what_the_policy_does(session):
    alone = policy()
    for t in range(1, 6):
        round = a_round(t)
        decision = session.decide(round)
        selection = alone.select(round)
        assert decision.arms.tolist() == selection.arms.tolist()
        assert decision.t == t
        receipt = session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
        assert (receipt.new, receipt.known, receipt.state) == (2 * len(decision.arms), 0, "complete")
        alone.update(round, selection.arms, outcomes(t, selection.arms))
    assert session.verify().exact
    from superarm.wire.policies import policy_to_bytes

    assert policy_to_bytes(session.policy) == policy_to_bytes(alone)


def test_outcomes_come_late_in_parts_and_again(session):
    first, second = (session.decide(a_round(t)) for t in (1, 2))
    values = outcomes(1, first.arms)
    halves = values.copy()
    halves[:, 1] = np.nan
    assert session.observe(second.id, second.arms[:1], outcomes(2, second.arms[:1])).state == "partial"
    assert session.observe(first.id, first.arms, halves).state == "partial"
    before = state_digest(session)
    again = session.observe(first.id, first.arms[::-1], halves[::-1])
    assert (again.new, again.known) == (0, len(first.arms))
    assert state_digest(session) == before
    receipt = session.observe(first.id, first.arms, values)
    assert (receipt.new, receipt.known, receipt.state) == (len(first.arms), len(first.arms), "complete")


def test_another_value_is_a_conflict_and_changes_nothing(session):
    decision = session.decide(a_round(1))
    session.observe(decision.id, decision.arms[:1], [[0.5, np.nan]])
    before = state_digest(session)
    with pytest.raises(sa.errors.Conflict, match=r"outcome 1 of arm \d+ is 0\.5 in the journal, and came as 0\.25"):
        session.observe(decision.id, decision.arms[:1], [[0.25, 0.1]])
    assert state_digest(session) == before
    assert session.observe(decision.id, decision.arms[:1], [[0.25, 0.1]], sample="second day").new == 2


def test_a_key_has_its_effect_once(session):
    one = session.decide(a_round(1), key="k")
    two = session.decide(a_round(1), key="k")
    assert one.id == two.id
    assert not one.replayed
    assert two.replayed
    assert str(two.selection) == str(one.selection)
    assert two.selection.upper_bound == one.selection.upper_bound
    with pytest.raises(sa.errors.Conflict, match="key 'k' was used for another request"):
        session.decide(a_round(2), key="k")
    with pytest.raises(sa.errors.Conflict, match="another request"):
        session.observe(one.id, one.arms, outcomes(1, one.arms), key="k")
    first = session.observe(one.id, one.arms[:1], [[0.5, 0.5]], key="o")
    assert session.observe(one.id, one.arms[:1], [[0.5, 0.5]], key="o") == first
    with pytest.raises(sa.errors.Conflict, match="another request"):
        session.observe(one.id, one.arms[1:2], [[0.5, 0.5]], key="o")
    known = session.observe(one.id, one.arms[:1], [[0.5, 0.5]], key="p")  # nothing new, but the key is taken now
    assert (known.new, known.known) == (0, 2)
    with pytest.raises(sa.errors.Conflict, match="another request"):
        session.observe(one.id, one.arms[1:2], [[0.5, 0.5]], key="p")


def test_the_session_counts_where_no_t_is_given(session):
    parts = {"contexts": np.eye(3), "feasible": sa.AtMost(2)}
    assert [session.decide(**parts).t for _ in range(3)] == [1, 2, 3]
    assert session.decide(t=10, **parts).t == 10
    assert session.decide(**parts, key="k").t == 11
    assert session.decide(**parts).t == 12
    assert session.decide(**parts, key="k").t == 11
    for wrong in (12, 3):
        with pytest.raises(sa.errors.InvalidArgument, match="t: expected more than every t of the session so far"):
            session.decide(t=wrong, **parts)


def test_arms_by_id(session):
    decision = session.decide(a_round(1, arm_ids=list("uvwxyz"), feasible=sa.Exactly(3)))
    names = ["uvwxyz"[arm] for arm in decision.arms]
    session.observe(decision.id, names[::-1], outcomes(1, decision.arms)[::-1])
    assert session.observe(decision.id, decision.arms, outcomes(1, decision.arms)).known == 6
    other = next(name for name in "uvwxyz" if name not in names)
    with pytest.raises(sa.errors.InvalidArgument, match="arm_ids that were picked"):
        session.observe(decision.id, [other], [[0.0, 0.0]])
    numbered = session.decide(a_round(2, arm_ids=[5, 4, 3, 2, 1, 0], feasible=sa.Exactly(2)))
    with pytest.raises(sa.errors.InvalidArgument, match="by: expected 'position' or 'id'"):
        session.observe(numbered.id, numbered.arms, outcomes(2, numbered.arms))
    session.observe(numbered.id, [5 - arm for arm in numbered.arms], outcomes(2, numbered.arms), by="id")
    assert session.observe(numbered.id, numbered.arms, outcomes(2, numbered.arms), by="position").known == 4


def test_withdrawn_and_played(session):
    one, two = (session.decide(a_round(t)) for t in (1, 2))
    session.withdraw(one.id)
    session.withdraw(one.id)
    with pytest.raises(sa.errors.Conflict, match="was withdrawn"):
        session.observe(one.id, one.arms, outcomes(1, one.arms))
    with pytest.raises(sa.errors.Conflict, match="was withdrawn"):
        session.played(one.id)
    session.played(two.id)
    with pytest.raises(sa.errors.Conflict, match="cannot be withdrawn"):
        session.withdraw(two.id)
    assert session.decisions()["state"].to_list() == ["withdrawn", "open"]
    assert session.pending()["decision"].to_list() == [two.id]
    assert session.decision(one.id).state == "withdrawn"


def test_records_are_learnt(session):
    alone, round = policy(), a_round(1)
    receipt = session.record(round, [0, 2], [[0.5, 0.1], [np.nan, 0.2]], probabilities=[0.5, 1.0], key="log 1")
    assert receipt.state == "partial"
    assert session.record(round, [0, 2], [[0.5, 0.1], [np.nan, 0.2]], probabilities=[0.5, 1.0], key="log 1") == receipt
    alone.update(round, [0, 2], [[0.5, 0.1], [np.nan, 0.2]])
    assert session.decide(a_round(2)).arms.tolist() == alone.select(a_round(2)).arms.tolist()
    assert session.observe(receipt.decision, [2], [[0.3, 0.2]]).state == "complete"
    assert session.decisions()["recorded"].to_list() == [True, False]


def test_arms_that_recur_are_kept_once(session):
    parts = {"contexts": np.random.default_rng(0).uniform(size=(500, 4)), "groups": [f"shop {i}" for i in range(500)]}
    digests = set()
    for k in (1, 2, 3, 2):
        decision = session.decide(**parts, feasible=sa.AtMost(k), constraint=sa.Sum() >= 0.1 * k)
        fact = session._running.journal.event(session._running.standing(decision.id).seq).fact
        digests.add(fact.catalogue)
        assert len(session._running.store.part(fact.round)) < 1000 < len(session._running.store.part(fact.catalogue))
    assert len(digests) == 1
    session.decide(**parts | {"groups": [f"shop {i}" for i in range(1, 501)]}, feasible=sa.AtMost(1))


def test_large_rounds_do_not_fill_the_memory(session, monkeypatch):
    monkeypatch.setattr(parts, "LARGEST", 3 * a_round(1).contexts.nbytes)
    first = session.decide(a_round(1))
    for t in range(2, 10):
        session.decide(a_round(t))
    assert len(session._running.parts._rounds) == 3
    session.observe(first.id, first.arms, outcomes(1, first.arms))  # read again


def test_an_empty_choice_waits_for_nothing(session):
    decision = session.decide(contexts=np.empty((0, 2)), feasible=sa.AtMost(2))
    assert (len(decision.arms), decision.state, session.decision(decision.id).state) == (0, "empty", "empty")
    assert session.decisions()["state"].to_list() == ["empty"]
    assert len(session.pending()) == 0
    with pytest.raises(
        sa.errors.Conflict, match="picked nothing, so there is nothing to withdraw; to decide again, use a new key"
    ):
        session.withdraw(decision.id)
    assert session.decision(decision.id).state == "empty"
    assert (
        session.record(sa.Round(t=2, contexts=np.eye(2), feasible=sa.AtMost(2)), [], np.empty((0, 2))).state == "empty"
    )


def test_the_key_of_a_withdrawn_decision_is_used_up(session):
    one = session.decide(a_round(1), key="monday")
    session.withdraw(one.id)
    with pytest.raises(
        sa.errors.Conflict, match=f"key 'monday' belongs to decision {one.id}, which was withdrawn.* new key"
    ):
        session.decide(a_round(1), key="monday")
    assert session.decide(a_round(2), key="monday again").state == "open"


def test_a_session_is_made_by_open(tmp_path):
    for given in ({}, {"policy": policy()}):
        with pytest.raises(sa.errors.InvalidArgument, match=r"expected Session.open\(path, policy=...\)"):
            Session(tmp_path / "x.db", **given)


BAD = {
    "unknown decision": (lambda s, d: s.observe("nobody", d.arms, [[0.0, 0.0]] * len(d.arms)), "id: expected the id"),
    "an id that is no text": (lambda s, d: s.observe(3, d.arms, [[0.0, 0.0]]), "id: expected the id"),
    "an arm that was not picked": (
        lambda s, d: s.observe(d.id, [next(arm for arm in range(6) if arm not in d.arms)], [[0.0, 0.0]]),
        "arms: expected arms that were picked",
    ),
    "an arm twice": (
        lambda s, d: s.observe(d.id, [d.arms[0]] * 2, np.zeros((2, 2))),
        "arms: expected every arm at most",
    ),
    "outcomes of another shape": (lambda s, d: s.observe(d.id, d.arms, np.zeros((9, 2))), "outcomes: expected shape"),
    "an infinite outcome": (lambda s, d: s.observe(d.id, d.arms[:1], [[np.inf, 0.0]]), "outcomes: expected numbers"),
    "an outcome of 1e308": (lambda s, d: s.observe(d.id, d.arms[:1], [[1e308, 0.0]]), "outcomes: expected numbers"),
    "noise that is not understood": (
        lambda s, d: s.observe(d.id, d.arms[:1], [[0.0, 0.0]], noise_std=-0.1),
        "noise_std: expected",
    ),
    "a key that is no text": (lambda s, d: s.decide(a_round(9), key=7), "key: expected text"),
    "an empty key": (lambda s, d: s.decide(a_round(9), key=""), "key: expected text"),
    "a sample that is no text": (lambda s, d: s.observe(d.id, d.arms, [[0.0, 0.0]], sample=1), "sample: expected text"),
    "no round": (lambda s, d: s.decide(), "round: expected a superarm.Round"),
    "a round and parts": (
        lambda s, d: s.decide(a_round(9), contexts=np.eye(2)),
        "round: expected a round, or its parts",
    ),
    "an unknown part": (lambda s, d: s.decide(context=np.eye(2)), "round: expected parts of a round"),
    "something else": (lambda s, d: s.decide("round"), "round: expected a superarm.Round"),
    "a t that was": (lambda s, d: s.decide(a_round(1)), "t: expected more than"),
    "a way to name arms": (lambda s, d: s.observe(d.id, d.arms, [[0.0, 0.0]], by="name"), "by: expected one of"),
    "ids where there are none": (
        lambda s, d: s.observe(d.id, d.arms, [[0.0, 0.0]], by="id"),
        "by: expected 'position'",
    ),
    "probabilities of nothing": (
        lambda s, d: s.record(a_round(9), [0], [[0.0, 0.0]], probabilities=[0.0]),
        "probabilities: expected numbers above 0",
    ),
    "too many probabilities": (
        lambda s, d: s.record(a_round(9), [0], [[0.0, 0.0]], probabilities=[0.5, 0.5]),
        "probabilities: expected one per arm",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_and_nothing_is_appended(session, case):
    call, message = BAD[case]
    decision = session.decide(a_round(1))
    before, seq = state_digest(session), session._running.store.last()
    with pytest.raises(sa.errors.InvalidArgument) as refused:
        call(session, decision)
    assert str(refused.value).startswith(message)
    assert (state_digest(session), session._running.store.last()) == (before, seq)


def test_an_event_after_which_the_policy_is_stuck_is_refused(tmp_path, monkeypatch):
    select = sa.TCGPUCB.select

    def fails(policy, round):  # as a policy of one's own may, once it has learnt something large
        if float(np.abs(policy.posterior.predict(round.contexts).mean).max(initial=0.0)) > 10.0:
            raise OverflowError("too large")
        return select(policy, round)

    monkeypatch.setattr(sa.TCGPUCB, "select", fails)
    with Session.open(tmp_path / "s.db", policy=policy()) as session:
        decision = session.decide(a_round(1))
        before, seq = state_digest(session), session._running.store.last()
        with pytest.raises(sa.errors.InvalidArgument, match=r"outcomes: .* some that make it fail: OverflowError"):
            session.observe(decision.id, decision.arms[:1], [[1e6, 0.0]])
        assert (state_digest(session), session._running.store.last()) == (before, seq)
        session.observe(decision.id, decision.arms[:1], [[1.0, 0.0]])
        session.decide(a_round(2))


def test_outcomes_outside_of_the_range_are_refused(tmp_path):
    with Session.open(tmp_path / "s.db", policy=policy(), outcome_range=(-1, 1)) as session:
        decision = session.decide(a_round(1))
        with pytest.raises(sa.errors.InvalidArgument, match=r"outcomes: expected numbers from -1 to 1.*got 1\.5"):
            session.observe(decision.id, decision.arms[:1], [[np.nan, 1.5]])
    again = Session.open(tmp_path / "s.db")
    with again, pytest.raises(sa.errors.InvalidArgument, match="outcome_range of the session"):
        again.observe(decision.id, decision.arms[:1], [[np.nan, 1.5]])
    with pytest.raises(sa.errors.InvalidArgument, match="outcome_range: expected None, or the setting of the session"):
        Session.open(tmp_path / "s.db", outcome_range=(0, 1))


@pytest.mark.parametrize("ids", [[2.0, 0.0, 1.0], [2, 0, 1], ["a", 0.0, 1.0]])
@pytest.mark.parametrize("kind", [int, float])
def test_whole_numbers_are_not_guessed_to_be_positions_or_ids(tmp_path, ids, kind):
    with Session.open(tmp_path / "s.db", policy=sa.CUCB(), durability="normal") as session:
        decision = session.decide(contexts=np.eye(3), arm_ids=ids, feasible=sa.AtMost(3))
        with pytest.raises(sa.errors.InvalidArgument, match="'position' or 'id'"):
            session.observe(decision.id, [kind(1)], [[0.5, 0.5]])
        session.observe(decision.id, [kind(1)], [[0.5, 0.5]], by="id")
        assert set(session.outcomes()["arm"]) == {2}


WRONG = [
    {},
    {"policy": sa.CUCB},
    {"policy": 3},
    {"policy": policy(), "deadline": "7d"},
    {"policy": policy(), "silence": (0.0, 0.0)},
    {"policy": policy(), "name": "a/b"},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_an_open_that_fails_leaves_no_file(tmp_path, wrong):
    with pytest.raises(sa.errors.InvalidArgument):
        Session.open(tmp_path / "new.db", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_restore_or_fork_that_fails_leaves_no_file(tmp_path, session):
    with pytest.raises(sa.errors.InvalidArgument, match=r"folder: expected a folder that Session.export wrote"):
        Session.restore(tmp_path / "nofolder", tmp_path / "r.db")
    with pytest.raises(sa.errors.InvalidArgument, match="policy"):
        session.fork(tmp_path / "r.db", sa.CUCB)
    decision = session.decide(a_round(1))
    session.observe(decision.id, decision.arms, outcomes(1, decision.arms))
    flat = np.zeros((3, a_round(1).contexts.shape[1] + 1))  # of rounds with another number of features
    other = policy()
    other.update(sa.Round(t=1, contexts=flat, feasible=sa.AtMost(3)), [0], [[0.5, 0.5]])
    with pytest.raises(sa.errors.InvalidArgument, match="contexts: expected"):
        session.fork(tmp_path / "r.db", other)
    assert not (tmp_path / "r.db").exists()


def test_a_fork_is_made_whole_or_not_at_all(session):
    for t in range(1, 6):
        decision = session.decide(a_round(t))
        session.observe(decision.id, decision.arms, outcomes(t, decision.arms))
    appended = []

    class Counted(MemoryStore):
        def append(self, entries):
            appended.append([digest for entry in entries for digest in entry.parts])
            super().append(entries)

    forked = session.fork(Counted(), sa.CUCB())
    assert len(forked.decisions()) == 5
    assert forked.verify().ok
    (digests,) = appended
    assert len(digests) == len(set(digests))


def test_mistakes_with_paths_and_deadlines_are_said_plainly(tmp_path, session):
    with pytest.raises(sa.errors.InvalidArgument, match=r"deadline: expected .* timedelta"):
        Session.open(tmp_path / "new.db", policy=policy(), deadline="7d")
    with pytest.raises(sa.errors.InvalidArgument, match="path: expected the path of a file"):
        Session.open(tmp_path, policy=policy())
    (tmp_path / "file").write_text("x")
    with pytest.raises(sa.errors.InvalidArgument, match="folder: expected the path of a folder"):
        session.export(tmp_path / "file")


def test_a_conflict_names_the_arm_and_the_ways_out(session):
    decision = session.decide(a_round(1, arm_ids=[f"c{arm}" for arm in range(6)], feasible=sa.Exactly(1)))
    session.observe(decision.id, decision.arm_ids, [[0.5, 0.1]])
    name = decision.arm_ids[0]
    with pytest.raises(sa.errors.Conflict, match=rf"arm \d \('{name}'\) .* use correct .* sample= for a repetition"):
        session.observe(decision.id, decision.arm_ids, [[0.6, 0.1]])


def test_a_wrong_line_of_a_file_is_named(session):
    decision = session.decide(a_round(1))
    good = {"decision": decision.id, "arm": int(decision.arms[0]), "outcome_1": 0.5, "outcome_2": 0.5}
    stranger = next(arm for arm in range(6) if arm not in decision.arms)
    for wrong, said in (
        ({"decision": "nobody"}, "'nobody', in row 1, column decision"),
        ({"outcome_2": "much"}, "'much', in row 1, column outcome_2"),
        ({"arm": stranger}, f"{stranger}, in row 1, column arm, of decision {decision.id}"),
    ):
        with pytest.raises(sa.errors.InvalidArgument, match=said):
            session.observe_many(pd.DataFrame([good, good | wrong]))
    assert len(session.outcomes()) == 0


def test_an_id_that_several_arms_have_names_none_of_them(session):
    ids = ["a", "a", "b", "c", "d", "e"]
    decision = session.decide(a_round(1, arm_ids=ids, feasible=sa.Exactly(6)))
    with pytest.raises(sa.errors.InvalidArgument, match="positions, as several picked arms have this id, got 'a'"):
        session.observe(decision.id, ["a", "b"], [[0.5, 0.5]] * 2)
    with pytest.raises(sa.errors.InvalidArgument, match="every arm at most once, got 'b' more than once"):
        session.observe(decision.id, ["b", "b"], [[0.5, 0.5]] * 2)
    with pytest.raises(sa.errors.InvalidArgument, match="several picked arms have this id"):
        session.record(a_round(2, arm_ids=ids), ["a"], [[0.5, 0.5]])
    frame = pd.DataFrame({"decision": [decision.id] * 2, "arm": ["b", "a"], "outcome_1": [0.5] * 2, "outcome_2": 0.5})
    with pytest.raises(sa.errors.InvalidArgument, match="have this id, got 'a', in row 1, column arm"):
        session.observe_many(frame)
    assert len(session.outcomes()) == 0
    session.observe(decision.id, [0, 1], [[0.5, 0.5]] * 2)


def test_decisions_say_with_which_probability_each_arm_was_picked():
    session = Session.open(MemoryStore(), policy=sa.Uniform())
    capped = sa.AtMost(6, per_group=1)  # six arms of three groups
    for t, (feasible, meant) in enumerate(
        [(sa.AtMost(3), 0.5), (sa.Exactly(2), 1 / 3), (capped, 0.5), (sa.WholeGroups(1), 1 / 3)], 1
    ):
        decision = session.decide(a_round(t, feasible=feasible), key=f"{t}")
        assert decision.probabilities == (meant,) * len(decision.arms)
        assert session.decision(decision.id).probabilities == decision.probabilities
    both = session.decide(a_round(5, feasible=sa.AtMost(2, per_group=1)))
    assert both.probabilities is None  # not known exactly
    told = session.record(a_round(6), [0, 1], [[0.5, 0.5]] * 2, probabilities=[0.25, 0.5])
    frame = session.decisions()
    assert frame["probabilities"].to_list()[-2:] == [None, [0.25, 0.5]]
    assert frame["decision"][-1] == told.decision
    session.reconfigure(sa.TCGPTS())
    assert session.decide(a_round(7)).probabilities is None  # drawn, but with which probability nobody knows
    assert session.verify().ok


def test_the_probabilities_of_uniform_are_how_often_it_picks_an_arm():
    for feasible in (sa.AtMost(2), sa.AtMost(6, per_group={"shop 0": 1, "shop 1": 2, "shop 2": 1}), sa.WholeGroups(2)):
        picked = np.zeros(6)
        for t in range(1, 2001):
            round = a_round(t, feasible=feasible, contexts=np.eye(6))
            picked[sa.Uniform().select(round).arms] += 1
        meant = sa.Uniform().probabilities(round, np.arange(6))
        assert np.abs(picked / 2000 - meant).max() < 4 * np.sqrt(0.25 / 2000)


def test_a_new_name_has_no_slash_and_an_old_one_goes_on(tmp_path):
    for name in ("a/b", "/"):
        with pytest.raises(sa.errors.InvalidArgument, match="a name without /"):
            sa.Session.open(tmp_path / "s.db", name=name, policy=sa.CUCB())
    with sa.Session.open(tmp_path / "s.db", policy=sa.CUCB()) as session:
        session._running.store._writer.execute("UPDATE session SET name = 'of/old' WHERE name = 'main'")
    with sa.Session.open(tmp_path / "s.db", name="of/old") as session:
        assert session.seq == 1
        with pytest.raises(sa.errors.InvalidArgument, match="a name without /"):
            session.fork(tmp_path / "t.db", sa.CUCB(), name="c/d")
