import json
import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm import errors, wire
from tests.wire.made import rounds


def same(one, other):
    assert other.digest() == one.digest()
    assert other.t == one.t
    assert other.contexts.tobytes() == one.contexts.tobytes()
    assert other.contexts.shape == one.contexts.shape
    assert other.contexts.flags.c_contiguous
    assert other.labels == one.labels
    assert [type(label) for label in other.labels] == [type(label) for label in one.labels]
    for name in ("codes", "order", "starts", "hashes"):
        assert getattr(other.grouping, name).tolist() == getattr(one.grouping, name).tolist()
    assert other.caps.tolist() == one.caps.tolist()
    assert type(other.feasible) is type(one.feasible)
    assert other.feasible.totals(len(one)) == one.feasible.totals(len(one))
    assert other.feasible.most_groups(one.grouping) == one.feasible.most_groups(one.grouping)
    assert (other.arm_ids is None) == (one.arm_ids is None)
    assert one.arm_ids is None or other.arm_ids.tolist() == one.arm_ids.tolist()
    assert (other.safe is None) == (one.safe is None)
    assert one.safe is None or other.safe.tolist() == one.safe.tolist()
    assert type(other.reward) is type(one.reward)
    assert len(other.promises) == len(one.promises)
    for mine, theirs in zip(one.promises, other.promises, strict=True):
        assert type(theirs.reward) is type(mine.reward)
        assert (theirs.sense, theirs.optimism) == (mine.sense, mine.optimism)
        assert theirs.groups.tolist() == mine.groups.tolist()
        assert theirs.thresholds.tobytes() == mine.thresholds.tobytes()


@given(rounds())
def test_a_round_goes_through_json_text_and_means_the_same(round):
    text = json.dumps(wire.round_to_dict(round), allow_nan=False)
    same(round, wire.round_from_dict(json.loads(text)))


@given(rounds())
def test_a_round_goes_through_bytes_and_means_the_same(round):
    content = wire.round_to_bytes(round)
    back = wire.round_from_bytes(content)
    same(round, back)
    assert wire.round_to_bytes(back) == content


@given(rounds(most=4), st.data())
def test_damaged_bytes_are_refused_or_never_wrong(round, data):
    content = bytearray(wire.round_to_bytes(round))
    where = data.draw(st.integers(0, len(content) - 1))
    cut = data.draw(st.booleans())
    if cut:
        del content[where:]
    else:
        content[where] ^= data.draw(st.integers(1, 255))
    with pytest.raises(errors.UnreadableFile, match="round"):
        wire.round_from_bytes(bytes(content))


@given(st.binary(max_size=200))
def test_bytes_of_anything_else_are_refused(content):
    with pytest.raises(errors.UnreadableFile):
        wire.round_from_bytes(content)


WORDS = st.sampled_from(["sum", "<=", "numpy.sqrt"]) | st.text(max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
    max_leaves=6,
)
PLACES = ["t", "contexts", "groups", "promises", "feasible", "reward", "arm_ids", "safe", "version"]


@given(rounds(most=3), st.sampled_from(PLACES), JSON)
def test_data_of_any_form_make_a_round_or_a_clear_error(round, place, data):
    whole = wire.round_to_dict(round) | {place: data}
    with suppress(errors.InvalidArgument):
        wire.round_from_dict(whole)


@given(rounds(most=3), JSON, st.data())
def test_data_with_one_part_of_another_form_make_a_round_or_a_clear_error(round, strange, data):
    whole = json.loads(json.dumps(wire.round_to_dict(round)))
    node, key = whole, None
    while isinstance(node, (dict, list)) and node:
        outer, key = node, data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        node = node[key]
        if data.draw(st.integers(0, 3)) == 0:
            break
    outer[key] = strange
    with suppress(errors.InvalidArgument):
        wire.round_from_dict(whole)


PROMISE = {"reward": "sum", "sense": "<="}


def small(**rest):
    given = {"groups": ["a", "b", "a"], "constraint": sa.Sum() >= 0.2, "feasible": sa.AtMost(2)}
    return sa.Round(t=3, contexts=np.array([[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]]), **given | rest)


def test_a_threshold_keeps_its_sign_where_it_is_zero():
    for thresholds in ([0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0]):
        round = small(constraint=sa.Sum() >= np.array(thresholds))
        same(round, wire.round_from_dict(json.loads(json.dumps(wire.round_to_dict(round)))))


def test_a_round_by_hand():
    data = {
        "t": 3,
        "contexts": {"price": [0.1, 0.2, 0.3], "age": [1, 2, 3]},
        "groups": ["a", "b", "a"],
        "promises": [{"reward": "sum", "sense": ">=", "thresholds": 0.2}],
        "feasible": {"at_most": 2},
    }
    same(small(columns=["price", "age"]), wire.round_from_dict(data))
    same(small(), wire.round_from_dict(data | {"contexts": list(data["contexts"].values())}))


def test_labels_as_sent_need_no_order():
    data = wire.round_to_dict(small())
    data["groups"] = {"labels": ["nobody", "b", "a"], "codes": [2, 1, 2]}
    data["feasible"] = {"at_most": 2, "per_group": [9, 1, 2]}
    data["promises"][0]["thresholds"] = [7.0, 0.1, 0.4]
    expected = small(constraint=sa.Sum() >= {"a": 0.4, "b": 0.1}, feasible=sa.AtMost(2, per_group={"a": 2, "b": 1}))
    same(expected, wire.round_from_dict(data))
    data["promises"] = [
        {"reward": "sum", "sense": ">=", "groups": [2, 0], "thresholds": [0.4, 7.0]},
        {"reward": "mean", "sense": "<=", "groups": [1], "thresholds": 0.5},
    ]
    both = {"a": sa.Sum() >= 0.4, "b": sa.Mean() <= 0.5}
    same(small(constraint=both, feasible=sa.AtMost(2, per_group=[2, 1])), wire.round_from_dict(data))


def test_thresholds_go_by_label_whatever_the_order():
    data = wire.round_to_dict(small())
    data["groups"] = {"labels": ["nobody", "b", "a"], "codes": [2, 1, 2]}
    expected = small(constraint=sa.Sum() >= {"a": 0.4, "b": 0.1})
    for thresholds in ({"b": 0.1, "a": 0.4}, {"nobody": 7.0, "a": 0.4, "b": 0.1}):
        for groups in (None, [1, 2]):
            wanted = {label: thresholds[label] for label in "ba"} if groups else thresholds
            data["promises"] = [{"reward": "sum", "sense": ">=", "thresholds": wanted, "groups": groups}]
            found = wire.round_from_dict(data)
            assert found.promises[0].thresholds.tolist() == expected.promises[0].thresholds.tolist() == [0.4, 0.1]


def twice(x):
    return float(2 * x.sum())


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"reward": sa.Custom(twice, "increasing")}, "Custom.*twice"),
        ({"constraint": sa.Custom(twice, "increasing") >= 1.0}, "Custom.*twice"),
        ({"reward": sa.TransformedSum(lambda x: x)}, "function: .*lambda.* of a TransformedSum"),
        ({"arm_ids": [1, 2, 1j]}, "arm_ids: .*complex"),
        ({"groups": ["a", 1j, "a"]}, "groups: .*complex"),
        ({"reward": type("Mine", (), {"value": lambda self, outcomes, arms: 1.0})()}, "Mine.*class of your own"),
    ],
)
def test_what_only_this_process_knows_is_refused_by_name(rest, words):
    for send in (wire.round_to_dict, wire.round_to_bytes):
        with pytest.raises(errors.InvalidArgument, match=words):
            send(small(**rest))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version: expected 1, got 2"),
        ({"surprise": 1}, "round: expected the keys"),
        ({"promises": [{"reward": "sum"}]}, "promises: expected each with"),
        ({"promises": [{"reward": "sum", "sense": "<", "thresholds": 1}]}, "sense"),
        ({"promises": [{"reward": "sum", "sense": "<=", "groups": [2], "thresholds": 1}]}, "from 0 to 1, got 2"),
        ({"promises": 2 * [{"reward": "sum", "sense": "<=", "thresholds": 1}]}, "one promise to a group"),
        ({"promises": [{"reward": "sum", "sense": "<=", "thresholds": [1]}]}, "one for each of 2 groups"),
        ({"promises": [PROMISE | {"thresholds": {"a": 1}}]}, "thresholds: expected a threshold for each group, .* 'b'"),
        ({"promises": [PROMISE | {"thresholds": {"a": 1, "c": 1}}]}, "labels of groups of the round, got 'c'"),
        ({"promises": [PROMISE | {"thresholds": {"a": 1}, "groups": [0, 1]}]}, "a threshold for each group, .* 'b'"),
        ({"promises": [PROMISE | {"thresholds": {"a": "1", "b": 1}}]}, "threshold.*numbers"),
        ({"feasible": {"whole_groups": 1, "per_group": 1}}, "feasible"),
        ({"feasible": {"at_most": 1, "exactly": 1}}, "feasible"),
        ({"reward": "product"}, "reward: expected one of sum"),
        ({"reward": {"transformed_sum": {"function": "os.system"}}}, "function: expected one of float"),
        ({"contexts": [[1.0, None, 2.0]]}, "contexts: expected finite numbers"),
        ({"contexts": [[1.0, 2.0, 3.0], [1.0]]}, "contexts"),
        ({"groups": {"labels": ["a"], "codes": [0, 0, 1]}}, "groups: expected codes from 0 to 0"),
        ({"groups": {"labels": ["a", "a"], "codes": [0, 0, 1]}}, "groups: expected every label once"),
        ({"groups": [[1], [2], [3]]}, "groups: expected a label as plain data"),
        ({"arm_ids": [None, 1, 2]}, "arm_ids: .*missing"),
        ({"safe": [0, 1, 1]}, "safe: expected True or False"),
    ],
)
def test_wrong_data_are_refused_by_name(change, words):
    with pytest.raises(errors.InvalidArgument, match=words):
        wire.round_from_dict(wire.round_to_dict(small()) | change)


def test_bytes_are_few():
    rng = np.random.default_rng(0)
    shops = np.repeat(np.arange(50), 100)
    round = sa.Round(t=1, contexts=rng.normal(size=(5000, 4)), groups=shops, feasible=sa.AtMost(9))
    assert len(wire.round_to_bytes(round)) < 5000 * (4 * 8 + 1) + 1000
    grid = sa.Round(t=1, contexts=np.tile(np.arange(20.0), 250)[:, None], groups=round.groups, feasible=sa.AtMost(9))
    assert len(wire.round_to_bytes(grid)) < 3000


POLICIES = {
    "cautious": sa.CautiousTCGPUCB,
    "tcgp-ucb": sa.TCGPUCB,
    "tcgp-ts": sa.TCGPTS,
    "cgp-ucb": lambda: sa.CGPUCB(sa.ExactPosterior(sa.Matern52(lengthscale=0.5), noise_std=0.1)),
    "cucb": sa.CUCB,
    "cc-mab": lambda: sa.CCMAB(horizon=20),
    "acc-ucb": lambda: sa.ACCUCB(horizon=20),
    "uniform": sa.Uniform,
}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_does_the_same_with_what_comes_back(policy, tmp_path):
    """Selections and saved states are equal bit for bit after rounds that went through JSON and through bytes."""
    ways = [
        lambda round: round,
        lambda round: wire.round_from_dict(json.loads(json.dumps(wire.round_to_dict(round)))),
        lambda round: wire.round_from_bytes(wire.round_to_bytes(round)),
    ]
    files = []
    for number, way in enumerate(ways):
        rng = np.random.default_rng(7)
        player = POLICIES[policy]()
        chosen = []
        for t in range(1, 9):
            x = rng.uniform(size=(12, 2))
            labels = [("shop", k % 3) if t % 2 else f"shop {k % 3}" for k in range(12)]
            limits = {label: float(rng.uniform()) for label in dict.fromkeys(labels)}
            constraint = [sa.Sum() <= limits, {label: sa.Mean() <= limit for label, limit in limits.items()}][t // 5]
            ids = [f"arm {k}" for k in range(12)]
            round = sa.Round(t=t, contexts=x, groups=labels, constraint=constraint, feasible=sa.AtMost(4), arm_ids=ids)
            round = way(round)
            selection = player.select(round)
            chosen.append((selection.arms.tolist(), selection.value, selection.status, str(selection.kind)))
            noise = rng.normal(0, 0.1, (12, 2))
            player.update(round, selection.arms, (x + noise)[selection.arms])
        player.save(tmp_path / f"{number}.superarm")
        files.append((chosen, (tmp_path / f"{number}.superarm").read_bytes()))
    assert files[1] == files[0]
    assert files[2] == files[0]
    assert math.isfinite(files[0][0][0][1])
