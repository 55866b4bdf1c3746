import datetime
import os
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from tests.wire.made import rounds

ITEMS = [0, 0, 1, 1]
GIVEN = {
    "t": 3,
    "contexts": np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.0]]),
    "groups": ["a", "a", "b", "b"],
    "constraint": sa.Sum() >= 0.2,
    "feasible": sa.AtMost(3, per_group=2),
    "reward": sa.Sum(),
    "arm_ids": ["w", "x", "y", "z"],
    "safe": [True, False, False, False],
}


def digest(**rest):
    return sa.Round(**GIVEN | rest).digest()


def changed(row, column, value):
    contexts = GIVEN["contexts"].copy()
    contexts[row, column] = value
    return contexts


OTHERS = [
    {"t": 4},
    {"contexts": changed(0, 0, np.nextafter(0.1, 1.0))},
    {"contexts": changed(3, 1, -0.0)},
    {"contexts": GIVEN["contexts"][[1, 0, 2, 3]]},
    {"contexts": np.column_stack([GIVEN["contexts"], np.zeros(4)])},
    {"groups": ["a", "a", "b", "c"]},
    {"groups": ["a", "a", "c", "c"]},
    {"groups": ["a", "b", "a", "b"]},
    {"groups": [b"a", b"a", b"b", b"b"]},
    {"groups": None},
    {"constraint": None},
    {"constraint": sa.Sum() <= 0.2},
    {"constraint": sa.Sum() >= np.nextafter(0.2, 1.0)},
    {"constraint": sa.Sum() >= {"a": 0.2, "b": 0.3}},
    {"constraint": {"a": sa.Sum() >= 0.2}},
    {"constraint": {"b": sa.Sum() >= 0.2}},
    {"constraint": {"a": sa.Sum() >= 0.2, "b": sa.Mean() >= 0.2}},
    *({"constraint": kind() >= 0.2} for kind in (sa.Mean, sa.Min, sa.Max, sa.Count, sa.Variance)),
    {"constraint": sa.DixitStiglitz(ITEMS) >= 0.2},
    {"constraint": sa.DixitStiglitz(ITEMS, power=2.0) >= 0.2},
    {"constraint": sa.DixitStiglitz([0, 1, 1, 1]) >= 0.2},
    {"constraint": sa.DixitStiglitz(["p", "p", "q", "q"]) >= 0.2},
    {"constraint": sa.DixitStiglitz([datetime.date(2026, 1, day) for day in (1, 1, 2, 2)]) >= 0.2},
    {"constraint": sa.DixitStiglitz([datetime.date(2026, 1, day) for day in (1, 1, 3, 3)]) >= 0.2},
    {"constraint": sa.Custom(np.max, "increasing") >= 0.2},
    {"constraint": sa.Custom(np.max, "none") >= 0.2},
    {"constraint": sa.Custom(np.min, "increasing") >= 0.2},
    {"feasible": sa.AtMost(2, per_group=2)},
    {"feasible": sa.AtMost(3, per_group=1)},
    {"feasible": sa.AtMost(3, per_group=[2, 1])},
    {"feasible": sa.Exactly(3, per_group=2)},
    {"feasible": sa.WholeGroups(1)},
    {"feasible": sa.WholeGroups(2)},
    {"reward": sa.Mean()},
    {"reward": sa.TransformedSum(np.sqrt)},
    {"reward": sa.TransformedSum(np.log1p)},
    {"reward": sa.TransformedSum(np.sqrt, weights=2.0)},
    {"reward": sa.TransformedSum(np.sqrt, weights=[1, 1, 1, 2])},
    {"arm_ids": None},
    {"arm_ids": ["w", "x", "y", "v"]},
    {"arm_ids": ["x", "w", "y", "z"]},
    {"arm_ids": [0, 1, 2, 3]},
    {"safe": None},
    {"safe": [False] * 4},
    {"safe": [False, True, False, False]},
]


def test_a_change_of_any_one_thing_is_another_digest():
    found = [digest(), *(digest(**other) for other in OTHERS)]
    twice = [other for other, one in zip(OTHERS, found[1:], strict=True) if found.count(one) > 1]
    assert twice == []
    assert all(len(one) == 64 and set(one) <= set("0123456789abcdef") for one in found)


SAME = [
    [{}, {"contexts": np.asfortranarray(GIVEN["contexts"])}, {"contexts": GIVEN["contexts"].tolist()}],
    [{}, {"groups": np.array(["a", "a", "b", "b"])}, {"groups": np.array(["a", "a", "b", "b"], dtype=object)}],
    [{"groups": [0, 0, 1, 1]}, {"groups": [0.0, False, True, 1]}, {"groups": np.array([0, 0, 1, 1], dtype=np.uint8)}],
    [{"arm_ids": [0, 1, 2, 3]}, {"arm_ids": np.arange(4.0)}, {"arm_ids": [False, True, 2.0, np.int8(3)]}],
    [
        {},
        {"constraint": sa.Sum() >= {"b": 0.2, "a": 0.2}},
        {"constraint": {"b": sa.Sum() >= 0.2, "a": sa.Sum() >= 0.2}},
    ],
    [{"constraint": None}, {"constraint": {}}],
    [{}, {"feasible": sa.AtMost(np.int64(3), per_group={"a": 2, "b": 9})}, {"feasible": sa.AtMost(3)}],
    [{"feasible": sa.AtMost()}, {"feasible": sa.AtMost(4)}, {"feasible": sa.AtMost(99, per_group=7.0)}],
    [
        {"reward": sa.DixitStiglitz(items, 3)}
        for items in (ITEMS, np.array(ITEMS), tuple(ITEMS), [False, 0.0, 1.0, True])
    ],
    [{"reward": sa.TransformedSum(np.sqrt, weights=weights)} for weights in (2, 2.0, [2.0], np.array([2]))],
    [{"safe": [True, False, False, False]}, {"safe": np.array([1, 0, 0, 0], dtype=bool)}],
]


@pytest.mark.parametrize("same", SAME, ids=range(len(SAME)))
def test_the_form_in_which_a_thing_was_given_is_no_difference(same):
    assert len({digest(**rest) for rest in same}) == 1


LASTING = [
    {},
    {"groups": [("a", 1), ("a", 1), frozenset({1, "x", b"y"}), None], "constraint": None},
    {"groups": [datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 5), Decimal("0.5"), 2**80]},
    {"reward": sa.TransformedSum(np.sqrt, weights=[1, 2, 3, 4]), "constraint": sa.DixitStiglitz(ITEMS) <= 0.3},
    {"groups": None, "constraint": None, "feasible": sa.WholeGroups(1), "arm_ids": None, "safe": None},
]
STATED = ["2450c7d9a922c36d", "1726ed52a816b9be", "5dfe4dcb46402516", "44dbf271d62fc578", "6689f71ec037e741"]


def test_digests_are_the_same_in_every_version():
    """Journals keep them."""
    assert [digest(**rest)[:16] for rest in LASTING] == STATED


def test_digests_are_the_same_in_every_process():
    code = "from tests.test_digest import LASTING, digest; print([digest(**rest)[:16] for rest in LASTING])"
    root = Path(__file__).parents[1]
    for seed in "12":
        environment = os.environ | {"PYTHONHASHSEED": seed}
        said = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment, cwd=root)
        assert said.strip() == str(STATED)


@given(rounds(), st.integers(1, 1000))
def test_a_digest_is_of_the_round_alone(round, t):
    again = replace(round, t=t)
    assert (again.digest() == round.digest()) == (t == round.t)
    assert replace(again, t=round.t).digest() == round.digest()
