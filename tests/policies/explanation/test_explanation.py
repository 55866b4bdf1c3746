"""Explanations change nothing, refuse what is not of the round, and read well whatever labels are."""

import datetime
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm import storage
from superarm.errors import InvalidArgument
from superarm.policies.explanation.words import label_text
from tests.policies.explanation.told import Told, numbered, rounds
from tests.policies.rounds import PRIOR, federated, outcomes

POLICIES = {
    "ucb": lambda: sa.TCGPUCB(PRIOR),
    "ucb learns": lambda: sa.TCGPUCB(),
    "batch": lambda: sa.TCGPUCB(PRIOR, batch_aware=True),
    "ts": lambda: sa.TCGPTS(),
    "cautious": lambda: sa.CautiousTCGPUCB(),
    "cautious fixed": lambda: sa.CautiousTCGPUCB(PRIOR, learn=False),
    "sparse": lambda: sa.CautiousTCGPUCB(sa.SparsePosterior(sa.Matern52(lengthscale=0.4), noise_std=0.1)),
    "state space": lambda: sa.TCGPTS(sa.GaussianProcess(sa.Matern32(lengthscale=0.4), noise_std=0.1)),
}


def bits(policy, tmp_path):
    policy.save(tmp_path / "policy")
    return (tmp_path / "policy").read_bytes()


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_explaining_is_pure(make, tmp_path):
    """The saved state stays as it is, and so does what comes after, beside a twin that explains nothing."""
    policy, twin, rng = make(), make(), np.random.default_rng(0)
    for t in range(1, 6):
        round = federated(t, rng)
        selection, same = policy.select(round), twin.select(round)
        before = bits(policy, tmp_path)
        first, second = policy.explain(round, selection), policy.explain(round, selection)
        assert first.same
        assert first.to_dict() == second.to_dict()
        assert str(first) == str(second)
        assert bits(policy, tmp_path) == before
        again = policy.select(round)
        for other in (again, same):
            np.testing.assert_array_equal(selection.arms, other.arms)
            assert selection.value == other.value
        seen = outcomes(round, selection.arms, rng)
        policy.update(round, selection.arms, seen)
        twin.update(round, same.arms, seen)
    assert bits(policy, tmp_path) == bits(twin, tmp_path)


@given(rounds(rewards=(sa.Sum(), sa.Custom(np.max, monotone="increasing"))))
@settings(max_examples=60, deadline=None)
def test_any_small_round_is_told_as_text_and_as_json(case):
    round, mean = case
    policy = sa.TCGPUCB(Told(mean), oracle=sa.Exhaustive())
    selection = policy.select(round)
    told = policy.explain(round, selection, most=2)
    assert told.same
    data = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert data["version"] == 1
    assert [arm["arm"] for arm in data["arms"]] == [arm.arm for arm in told.arms]
    assert len(data["runners_up"]) <= 2
    str(told).encode()
    assert all(line == line.rstrip() for line in str(told).splitlines())


def test_limits_say_what_was_left_out():
    mean = np.column_stack([np.linspace(1, 2, 40), np.zeros(40)])
    round = numbered(40, groups=np.arange(40) % 20, constraint=sa.Sum() <= 1.0, feasible=sa.AtMost(30))
    policy = sa.TCGPUCB(Told(mean))
    told = policy.explain(round, policy.select(round), most=3)
    assert (len(told.arms), len(told.groups), len(told.runners_up)) == (30, 20, 3)
    assert [arm.replacement is not None for arm in told.arms] == [True] * 3 + [False] * 27
    assert {arm.remark for arm in told.arms[3:]} == {"computed only for the first 3"}
    assert sum(group.price is not None for group in told.groups) == 3
    assert {group.remark for group in told.groups[3:]} == {"computed only for the 3 with the least margin"}
    assert "and 27 more" in str(told)
    assert "and 17 more" in str(told)


def test_no_arms_and_one_arm():
    for make in POLICIES.values():
        empty = sa.Round(t=1, contexts=np.empty((0, 1)), constraint=sa.Sum() <= 1.0, feasible=sa.AtMost(2))
        policy = make()
        told = policy.explain(empty, policy.select(empty))
        assert (told.arms, told.groups, told.runners_up) == ((), (), ())
        assert "picked: nothing" in str(told)
        one = sa.Round(t=1, contexts=np.zeros((1, 1)), feasible=sa.Exactly(1), arm_ids=["only"])
        (arm,) = policy.explain(one, policy.select(one)).arms
        assert (arm.id, arm.replacement, arm.remark) == ("only", None, "there is nothing else")


HOSTILE = [
    "<script>alert(1)</script>",
    "new\nline\r\x00\x1b[31m",
    "\ud800",
    "‮right to left",
    "x" * 500,
    ("tuple", 1, None),
    frozenset({1}),
    b"\xff",
    datetime.date(2026, 1, 2),
    datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC),
    10**400,
    float("inf"),
    True,
    None,
]


@pytest.mark.parametrize("make", [sa.TCGPUCB, sa.CautiousTCGPUCB, sa.TCGPTS])
def test_hostile_labels_are_told_and_drawn(make):
    n = len(HOSTILE)
    labels = np.fromiter([*HOSTILE, *HOSTILE], dtype=object)
    round = sa.Round(
        t=1,
        contexts=np.linspace(0, 1, 2 * n)[:, None],
        groups=labels,
        arm_ids=[(label, number) for number, label in enumerate(labels)],
        constraint=sa.Sum() <= 1.0,
        feasible=sa.AtMost(2 * n, per_group=1),
    )
    policy = make()
    told = policy.explain(round, policy.select(round))
    said = str(told)
    said.encode("utf-8")
    assert not set(said) & set("\r\x00\x1b‮")
    assert len({line for line in said.splitlines() if line.startswith("touched groups")}) == 1
    json.dumps(told.to_dict(), allow_nan=False)
    told.plot().to_dict()


def test_labels_in_words():
    assert label_text("x" * 500) == "x" * 37 + "..."
    assert label_text(datetime.date(2026, 1, 2)) == "2026-01-02"
    assert label_text(("a", 1)) == "('a', 1)"


def test_a_selection_of_another_round_is_refused():
    policy, rng = sa.TCGPUCB(PRIOR), np.random.default_rng(0)
    round = federated(1, rng)
    selection = policy.select(round)
    smaller = sa.Round(t=1, contexts=round.contexts[:3], feasible=sa.AtMost(2))
    regrouped = sa.Round(
        t=1,
        contexts=round.contexts,
        groups=np.asarray(round.groups) + 1,
        constraint=sa.Sum() <= 1.0,
        feasible=sa.AtMost(10),
    )
    for other in (smaller, regrouped):
        with pytest.raises(InvalidArgument, match="selection"):
            policy.explain(other, selection)
    for wrong in (None, selection.arms, "selection"):
        with pytest.raises(InvalidArgument, match="selection"):
            policy.explain(round, wrong)
    for wrong in (0, -1, 2.5, "many", None, True):
        with pytest.raises(InvalidArgument, match="most"):
            policy.explain(round, selection, most=wrong)
    with pytest.raises(InvalidArgument, match="round"):
        policy.explain(selection, selection)


@pytest.mark.parametrize("make", [POLICIES["ucb"], POLICIES["cautious"], POLICIES["ts"]])
def test_a_selection_of_another_state_is_told_so(make):
    policy, rng = make(), np.random.default_rng(0)
    round = federated(1, rng)
    selection = policy.select(round)
    assert policy.explain(round, selection).same
    policy.update(round, selection.arms, outcomes(round, selection.arms, rng))
    told = policy.explain(round, selection)
    assert not told.same
    assert "Note: the policy would not make this selection now" in str(told)
    assert told.kind is selection.kind


def test_other_beliefs_are_another_state_though_the_arms_are_the_same():
    round, first = numbered(3, feasible=sa.AtMost(1)), [0.1, 0.9, 0.5]
    before, after = (sa.TCGPUCB(Told(np.column_stack([first, second]))) for second in ([0, 0, 0], [0, 1, 0]))
    selection = before.select(round)
    assert before.explain(round, selection).same
    assert after.select(round).arms.tolist() == selection.arms.tolist()
    assert not after.explain(round, selection).same


def test_somebody_elses_choice_is_explained_as_far_as_it_goes():
    policy, rng = sa.CautiousTCGPUCB(PRIOR, learn=False), np.random.default_rng(0)
    round = federated(1, rng)
    chosen = sa.Uniform(seed=3).select(round)
    told = policy.explain(round, chosen)
    assert not told.same
    assert "not picked by a policy that certifies" in told.why
    assert sorted(arm.arm for arm in told.arms) == chosen.arms.tolist()


def test_what_was_known_is_counted():
    policy, rng = sa.CautiousTCGPUCB(), np.random.default_rng(0)
    for t in range(1, 4):
        round = federated(t, rng)
        selection = policy.select(round)
        seen = outcomes(round, selection.arms, rng)
        seen[0, 1] = np.nan
        policy.update(round, selection.arms, seen)
        total = sum(policy.posterior.state.history.seen(output) for output in (0, 1))
    round = federated(4, rng)
    known = policy.explain(round, policy.select(round)).known
    assert (known.updates, known.decisions) == (3, 3)
    assert known.outcomes[0] == known.outcomes[1] + 3
    assert sum(known.outcomes) == total
    assert list(known.believed) == [line.strip() for line in str(policy).splitlines()[1:]]


def test_a_loaded_policy_explains_alike(tmp_path):
    policy, rng = sa.CautiousTCGPUCB(), np.random.default_rng(0)
    for t in range(1, 5):
        round = federated(t, rng)
        selection = policy.select(round)
        policy.update(round, selection.arms, outcomes(round, selection.arms, rng))
    policy.save(tmp_path / "policy")
    round = federated(5, rng)
    selection = policy.select(round)
    loaded = storage.read(tmp_path / "policy")
    assert loaded.explain(round, selection).to_dict() == policy.explain(round, selection).to_dict()


@given(st.permutations(range(8)))
@settings(max_examples=20, deadline=None)
def test_the_order_of_the_arms_does_not_matter(order):
    order = np.array(order)
    rng = np.random.default_rng(1)
    x, groups, y = rng.uniform(size=(8, 1)), np.arange(8) % 3, rng.normal(size=(8, 2))
    posterior = PRIOR.condition(x[:5], y[:5])
    told = []
    for arms in (np.arange(8), order):
        round = sa.Round(
            t=1, contexts=x[arms], groups=groups[arms], constraint=sa.Sum() <= 0.5, feasible=sa.AtMost(3, per_group=2)
        )
        policy = sa.CautiousTCGPUCB(posterior, learn=False)
        one = policy.explain(round, policy.select(round))
        told.append(
            (
                [(int(arms[arm.arm]), arm.replacement and int(arms[arm.replacement.arms[0]])) for arm in one.arms],
                [(group.label, group.price and round_(group.price.gain)) for group in one.groups],
                [(int(arms[r.arms[0]]), r.reason, r.group) for r in one.runners_up],
            )
        )
    assert told[0] == told[1]


def round_(value):
    return round(value, 9)
