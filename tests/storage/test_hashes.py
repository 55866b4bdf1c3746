import subprocess
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.storage.hashes import label_hashes
from tests.storage.test_labels import LABELS as KEPT

LABELS = KEPT | st.frozensets(st.integers() | st.text()) | st.fractions() | st.decimals(allow_nan=False) | st.none()


class Colour(Enum):
    RED = 1
    BLUE = 2


class Bare:
    pass


@given(st.lists(LABELS, min_size=1, max_size=6))
def test_hashes_are_equal_where_labels_are_and_do_not_depend_on_the_others(labels):
    together = label_hashes(labels)
    assert together.dtype == np.uint64
    alone = [int(label_hashes([label])[0]) for label in labels]
    assert together.tolist() == alone
    for i, one in enumerate(labels):
        for j, other in enumerate(labels[:i]):
            assert (alone[i] == alone[j]) == (one == other)


@pytest.mark.parametrize(
    "equal",
    [
        [1, 1.0, True, np.int64(1), np.float32(1), Fraction(1), Decimal("1.00"), 1 + 0j],
        [0.5, Fraction(1, 2), Decimal("0.5"), np.float64(0.5)],
        [2**70, float(2**70), Decimal(2**70)],
        ["a", np.str_("a")],
        [(1, "a"), (1.0, np.str_("a"))],
        [date(2026, 1, 1), np.datetime64("2026-01-01")],
        [datetime(2026, 1, 1, 5), np.datetime64("2026-01-01T05")],
        [frozenset({1, 2}), frozenset({2.0, 1})],
    ],
    ids=lambda labels: type(labels[0]).__name__,
)
def test_equal_labels_of_other_types_have_one_hash(equal):
    assert len(set(label_hashes(equal).tolist())) == 1


def test_labels_that_look_alike_have_hashes_of_their_own():
    labels = [
        "1", 1, b"1", -1, -2, "", (), ("1",), ((1,),), (1,), None, "None", frozenset({1}), 2**63, -(2**63), 2**64, 0.1,
        "a", "a\0", "\0a", "\udc80", float("inf"), timedelta(1), Colour.RED, Colour.BLUE, ("ab", "c"), ("a", "bc"), 1j,
    ]  # fmt: skip
    assert len(set(label_hashes(labels).tolist())) == len(labels)


@pytest.mark.parametrize(
    "array", [np.array([3, -1]), np.array([3, 2**64 - 1], dtype=np.uint64), np.array(["b", "cc"]), np.array([0.5, 2.0])]
)
def test_an_array_means_the_same_as_a_list_of_its_items(array):
    assert label_hashes(array).tolist() == label_hashes(array.tolist()).tolist()


def test_what_is_only_a_place_in_memory_is_told_by_its_type_alone():
    assert label_hashes([Bare()]) == label_hashes([Bare()]) != label_hashes([Colour.RED])


def test_many_labels_that_differ_little_share_no_hash_and_every_bit_is_even():
    for labels in (range(100_000), [f"shop {i}" for i in range(100_000)]):
        hashes = label_hashes(list(labels))
        assert len(set(hashes.tolist())) == len(hashes)
        ones = ((hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(axis=0)
        assert np.abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(len(hashes))


def test_no_labels_have_no_hashes():
    assert label_hashes([]).shape == label_hashes(np.array([], dtype=object)).shape == (0,)


def test_every_process_finds_the_same_hashes():
    code = "from superarm.storage.hashes import label_hashes as h; print(h(['x', 7, frozenset('abcd'), 0.3]).tolist())"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert found == {f"{label_hashes(['x', 7, frozenset('abcd'), 0.3]).tolist()}\n"}


def test_numbers_of_a_billion_digits_are_hashed_without_them():
    code = """
from superarm.wire import round_from_dict
import superarm as sa
groups = ["a", {"decimal": "1e999999999"}, {"decimal": "-1e-999999999"}, {"tuple": [{"decimal": "-3e999999"}]}]
data = {"t": 1, "contexts": [[0.1, 0.5, 0.7, 0.9]], "groups": groups, "feasible": {"at_most": 1}, "arm_ids": groups}
sa.CautiousTCGPUCB().select(round_from_dict(data))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("power", [0, 3, 18, 19, 100, 308, 309, 400, 1023, 1024, 1025, 1026, 5000])
def test_equal_numbers_have_one_hash_however_large(power):
    for number in (10**power, -(10**power), 10**power + 1):
        equal = [number, Fraction(number), Decimal(number)]
        equal += [float(number)] if power <= 308 and float(number) == number else []
        assert len(set(label_hashes(equal).tolist())) == 1
        assert label_hashes([number]) != label_hashes([number + 1])
    assert label_hashes([Decimal(f"1e{power}")]) == label_hashes([10**power])
