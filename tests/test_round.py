import dataclasses
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import superarm as sa
import superarm.wire
from superarm.errors import InvalidArgument
from superarm.feasible import AtMost, Exactly, WholeGroups
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Constraint, Sense
from superarm.rewards.reward import TransformedSum
from superarm.rewards.simple import Count, Max, Mean, Min, Sum
from superarm.round import Outcomes, Round


def a_round(**changes):
    arguments = {"t": 1, "contexts": np.zeros((4, 2)), "groups": list("abba"), "feasible": AtMost(2)}
    return Round(**arguments | changes)


def refused(changes, argument, *fragments):
    with pytest.raises(InvalidArgument) as caught:
        a_round(**changes)
    assert caught.value.argument == argument
    message = str(caught.value)
    assert message.startswith(f"{argument}: expected ")
    for fragment in fragments:
        assert fragment in message


# Arms and contexts ------------------------------------------------------------------------------------------------


def test_a_round_holds_its_own_read_only_copy_of_what_it_is_told():
    contexts, labels = np.ones((2, 1)), np.array([1, 0])
    round = a_round(contexts=contexts, groups=labels)
    contexts[0, 0] = labels[0] = 9
    assert round.contexts.tolist() == [[1.0], [1.0]]
    assert round.groups.tolist() == [1, 0]
    for array in (round.contexts, round.groups):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        round.t = 2


def test_caps_changed_by_the_caller_do_not_change_the_round():
    caps = np.array([2, 2])
    round = a_round(feasible=AtMost(per_group=caps))
    caps[:] = 0
    assert round.feasible.caps(round.grouping).tolist() == [2, 2]


def test_thresholds_changed_by_the_caller_do_not_change_the_round():
    thresholds = np.array([0.1, 0.2])
    round = a_round(constraint=Sum() <= thresholds)
    thresholds[:] = 9
    assert round.promises[0].thresholds.tolist() == [0.1, 0.2]


def test_without_groups_all_arms_form_one():
    round = a_round(groups=None)
    assert round.labels == (0,)
    assert len(round) == 4


def test_an_empty_round_is_legal():
    round = a_round(contexts=np.zeros((0, 3)), groups=[], constraint=Sum() <= 0.5)
    assert (len(round), round.labels) == (0, ())
    assert len(a_round(contexts=np.zeros((0, 3)), groups=None)) == 0


def test_fields_are_given_by_name():
    with pytest.raises(TypeError):
        Round(1, np.zeros((1, 1)))


@pytest.mark.parametrize("t", [0, -1, 1.5, "1", True, None])
def test_rounds_count_from_one(t):
    refused({"t": t}, "t", "a whole number >= 1", repr(t))


def test_numpy_round_numbers_become_plain():
    assert type(a_round(t=np.int64(3)).t) is int


@pytest.mark.parametrize(
    ("contexts", "fragments"),
    [
        (np.array([[0.0, 1.0], [0.0, np.nan]]), ("finite numbers", "row 1")),
        (np.array([[np.inf, 1.0], [0.0, 0.0]]), ("finite numbers", "row 0")),
        (np.zeros(4), ("shape (M, D)", "shape (4,)", "contexts[:, None]")),
        (np.zeros((4, 2, 1)), ("shape (M, D)", "shape (4, 2, 1)")),
        ([["a", "b"]], ("numbers of shape (M, D)",)),
        ([[1.0], [1.0, 2.0]], ("numbers of shape (M, D)", "[1.0, 2.0]]")),
        (3.0, ("shape (M, D)", "shape ()")),
    ],
)
def test_wrong_contexts_are_refused(contexts, fragments):
    refused({"contexts": contexts, "groups": None}, "contexts", *fragments)


@pytest.mark.parametrize("count", [3, 5])
def test_labels_are_one_per_arm(count):
    refused({"groups": ["a"] * count}, "groups", "one label per arm (4)", f"{count} labels")


@pytest.mark.parametrize("feasible", [3, None, "all", AtMost])
def test_wrong_feasible_sets_are_refused(feasible):
    refused({"feasible": feasible}, "feasible", "AtMost, Exactly or WholeGroups", repr(feasible))


def test_caps_are_checked_against_the_groups_at_once():
    refused({"feasible": AtMost(per_group={"a": 1})}, "per_group", "none for 'b'")
    refused({"feasible": Exactly(1, per_group=[1, 2, 3])}, "per_group", "2 values", "shape (3,)")


@pytest.mark.parametrize("feasible", [Exactly(40), AtMost(40), WholeGroups(9)])
def test_asking_for_more_than_there_is_is_no_error(feasible):
    assert len(a_round(feasible=feasible)) == 4


@pytest.mark.parametrize("reward", [None, 3, "sum", np.sum])
def test_wrong_rewards_are_refused(reward):
    refused({"reward": reward}, "reward", "a super-arm reward", repr(reward))


def test_a_class_in_place_of_a_reward_is_refused():
    refused({"reward": Sum}, "reward", "Sum")


def test_entries_per_arm_must_fit_the_round():
    refused({"constraint": DixitStiglitz(items=[1, 2]) >= 1}, "items", "one item per arm (4)", "2 items")
    refused({"constraint": {"a": DixitStiglitz(items=[1, 2]) >= 1}}, "items", "one item per arm (4)", "2 items")
    refused({"reward": TransformedSum(np.exp, weights=np.ones(3))}, "weights", "one per arm (4)", "3 weights")


# Promises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "thresholds",
    [{"b": 0.2, "a": 0.1}, np.array([0.1, 0.2]), [0.1, 0.2], pd.Series({"b": 0.2, "a": 0.1}), pl.Series([0.1, 0.2])],
)
def test_one_promise_with_a_threshold_for_every_group(thresholds):
    (promise,) = a_round(constraint=Mean() >= thresholds).promises
    assert promise.groups.tolist() == [0, 1]
    assert promise.thresholds.tolist() == [0.1, 0.2]
    assert (promise.sense, promise.optimism) == (Sense.AT_LEAST, 1)


def test_a_mapping_of_promises_leaves_other_groups_free():
    round = a_round(groups=["d", "a", "c", "b"], constraint={"c": Sum() <= 0.3, "a": Sum() <= 0.1, "d": Min() >= 0.4})
    below, least = round.promises
    assert (below.groups.tolist(), below.thresholds.tolist()) == ([0, 2], [0.1, 0.3])
    assert (below.sense, below.optimism) == (Sense.AT_MOST, -1)
    assert (least.groups.tolist(), least.thresholds.tolist()) == ([3], [0.4])


def test_senses_and_rewards_are_kept_apart():
    round = a_round(groups=list("abcd"), constraint={"a": Max() <= 1, "b": Max() >= 1, "c": Count() >= 1})
    assert len(round.promises) == 3


def test_a_reward_without_a_hash_can_be_promised_to_single_groups():
    @dataclass
    class Total:
        monotone = "increasing"

        def value(self, outcomes, arms):
            return float(np.sum(outcomes))

    constraint = Constraint(reward=Total(), sense=">=", threshold=1)
    assert len(a_round(constraint={"a": constraint}).promises) == 1


@pytest.mark.parametrize("constraint", [None, {}])
def test_no_promise(constraint):
    assert a_round(constraint=constraint).promises == ()


@pytest.mark.parametrize("constraint", [0.5, "Sum() <= 1", Sum(), [Sum() <= 1]])
def test_wrong_constraints_are_refused(constraint):
    refused({"constraint": constraint}, "constraint", "a Constraint such as Sum() <= 0.8", repr(constraint))


@pytest.mark.parametrize(
    ("constraint", "argument", "fragments"),
    [
        ({"a": 0.5}, "constraint", ("a Constraint for group 'a'", "0.5")),
        ({"a": Sum() <= [1, 2]}, "threshold", ("one number for group 'a'", "[1, 2]")),
        ({"a": Sum() <= {"a": 1}}, "threshold", ("one number for group 'a'", "{'a': 1}")),
        ({"a": Sum() <= np.inf}, "threshold", ("finite", "inf")),
        (Sum() <= np.inf, "threshold", ("finite", "inf")),
        (Sum() <= np.nan, "threshold", ("numbers", "NaN")),
        (Sum() <= {"a": 1}, "threshold", ("a value for every group", "none for 'b'")),
        (Sum() <= {"a": 1, "b": 1, "c": 1}, "threshold", ("unknown 'c'",)),
        (Sum() <= [1, 2, 3], "threshold", ("2 values", "shape (3,)")),
        (Sum() <= "much", "threshold", ("numbers", "'much'")),
    ],
)
def test_wrong_thresholds_are_refused(constraint, argument, fragments):
    refused({"constraint": constraint}, argument, *fragments)


def test_a_promise_to_an_unknown_group_names_the_constraint():
    refused({"constraint": {"z": Sum() <= 1}}, "constraint", "'a', 'b'", "'z'")


# Frames -----------------------------------------------------------------------------------------------------------

COLUMNS = {"x": [0.1, 0.2, 0.3], "n": [1, 2, 3], "client": ["v", "u", "v"]}


@pytest.mark.parametrize("frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)], ids=["pandas", "polars"])
def test_a_round_from_a_frame(frame):
    round = Round.from_frame(
        frame, contexts=["x", "n"], group="client", t=2, feasible=AtMost(1), constraint=Sum() <= {"u": 1, "v": 2}
    )
    assert round.contexts.tolist() == [[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]]
    assert round.labels == ("u", "v")
    assert round.grouping.codes.tolist() == [1, 0, 1]
    assert round.t == 2
    assert Round.from_frame(frame, contexts=["x"], t=1, feasible=AtMost(1)).labels == (0,)


@pytest.mark.parametrize("frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)], ids=["pandas", "polars"])
def test_wrong_columns_are_refused(frame):
    with pytest.raises(InvalidArgument, match=r"frame: expected the columns \['x', 'site'\], got none called"):
        Round.from_frame(frame, contexts=["x"], group="site", t=1, feasible=AtMost(1))
    with pytest.raises(InvalidArgument, match="contexts: expected a list of column names, got"):
        Round.from_frame(frame, contexts=[], t=1, feasible=AtMost(1))
    with pytest.raises(InvalidArgument, match="contexts: expected a list of column names, got 'x'"):
        Round.from_frame(frame, contexts="x", t=1, feasible=AtMost(1))
    # Text is a category; what is neither that nor a number is refused.
    round = Round.from_frame(frame, contexts=["x", "client"], t=1, feasible=AtMost(1))
    assert round.columns.categories == (False, True)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("contexts", [["x", "when"], ["when"]])
def test_a_column_of_times_is_named(make, contexts):
    frame = make({"x": [0.1, 0.2], "when": [datetime(2024, 1, 1), datetime(2024, 1, 2)]})
    with pytest.raises(InvalidArgument, match=r"got column 'when' of dtype [dD]ate"):
        Round.from_frame(frame, contexts=contexts, t=1, feasible=AtMost(1))


def test_text_in_many_contexts_is_called_text():
    with pytest.raises(InvalidArgument, match=r"contexts: expected numbers of shape \(M, D\), got text: 'blue'"):
        Round(t=1, contexts=np.array([[0.5, "blue"]] * 100, dtype=object), feasible=AtMost(1))


@pytest.mark.parametrize("frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)], ids=["pandas", "polars"])
def test_arm_ids_may_name_a_column(frame):
    round = Round.from_frame(frame, contexts=["x"], arm_ids="client", t=1, feasible=AtMost(1))
    assert round.arm_ids.tolist() == ["v", "u", "v"]
    given = Round.from_frame(frame, contexts=["x"], arm_ids=[7, 8, 9], t=1, feasible=AtMost(1))
    assert given.arm_ids.tolist() == [7, 8, 9]
    with pytest.raises(InvalidArgument, match=r"frame: expected the columns \['x', 'ad'\], got none called \['ad'\]"):
        Round.from_frame(frame, contexts=["x"], arm_ids="ad", t=1, feasible=AtMost(1))


@pytest.mark.parametrize("frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)], ids=["pandas", "polars"])
def test_safe_arms_may_be_a_column_or_an_array(frame):
    mine = frame.assign(ok=[True, False, True]) if isinstance(frame, pd.DataFrame) else frame.with_columns(ok=MASK)
    for safe in ("ok", [True, False, True], mine["ok"], np.array([1, 0, 1], dtype=bool)):
        round = Round.from_frame(mine, contexts=["x"], safe=safe, t=1, feasible=AtMost(1))
        assert round.safe.dtype == np.bool_
        assert round.safe.tolist() == [True, False, True]
        assert not round.safe.flags.writeable
    with pytest.raises(InvalidArgument, match=r"frame: expected the columns \['x', 'fine'\], got none called"):
        Round.from_frame(mine, contexts=["x"], safe="fine", t=1, feasible=AtMost(1))


MASK = pl.Series([True, False, True])
THREE = {"t": 1, "contexts": [[0.1], [0.2], [0.3]], "feasible": AtMost(1)}


@pytest.mark.parametrize(
    ("safe", "what"),
    [
        ([True, False], "dtype bool, shape (2,)"),
        (True, "dtype bool, shape ()"),
        ([1, 0, 1], "dtype int64, shape (3,)"),
        (["a", "b", "c"], "shape (3,)"),
        ([[True, False, True]], "dtype bool, shape (1, 3)"),
        ([True, None, False], "None"),
        (pl.Series([True, None, False]), "None"),
        (pd.Series([True, None, False], dtype="boolean"), "<NA>"),
        (np.ma.array([True, True, False], mask=[0, 1, 0]), "a masked value"),
        ([[True], [False, True], []], "[[True], [False, True], []]"),
    ],
    ids=str,
)
def test_safe_arms_are_told_by_true_and_false(safe, what):
    with pytest.raises(
        InvalidArgument, match=r"^safe: expected True or False for every arm, shape \(3,\), got "
    ) as found:
        Round(**THREE, safe=safe)
    assert str(found.value).endswith(what)


def test_safe_arms_stay_with_a_round():
    mine = np.array([True, False, True])
    round = Round(**THREE, safe=mine)
    mine[:] = False
    assert round.safe.tolist() == [True, False, True]
    assert dataclasses.replace(round, t=2).safe.tolist() == [True, False, True]
    assert "3 arms in 1 dimension, 2 safe," in repr(round)
    assert "safe" not in repr(Round(**THREE))
    assert Round(t=1, contexts=np.empty((0, 1)), feasible=AtMost(1), safe=[]).safe.shape == (0,)
    assert Round(**THREE, safe=pd.Series([True, False, True], dtype="boolean")).safe.tolist() == [True, False, True]


def test_a_missing_number_in_a_frame_is_refused():
    frame = pl.DataFrame({"x": [0.1, None]})
    with pytest.raises(InvalidArgument, match="contexts: expected finite numbers"):
        Round.from_frame(frame, contexts=["x"], t=1, feasible=AtMost(1))


# Arms and outcomes ------------------------------------------------------------------------------------------------


def test_arms_in_any_integer_form():
    round = a_round()
    for arms in ([2, 0], (2, 0), np.array([2, 0], dtype=np.uint8), pd.Series([2, 0])):
        assert round.check_arms(arms).tolist() == [2, 0]
    assert round.check_arms([]).tolist() == []
    assert round.check_arms(np.array([])).dtype == np.intp


@pytest.mark.parametrize(
    ("arms", "fragments"),
    [
        ([0, 4], ("arm numbers from 0 to 3", "got 4")),
        ([-1], ("arm numbers from 0 to 3", "got -1")),
        ([1, 2, 1], ("every arm at most once", "arm 1 more than once")),
        ([1.0], ("integers of shape (k,)", "float64")),
        ([True, False], ("integers of shape (k,)", "bool")),
        ([[1]], ("integers of shape (k,)", "shape (1, 1)")),
        (2, ("integers of shape (k,)", "shape ()")),
        ("ab", ("integers of shape (k,)",)),
    ],
)
def test_wrong_arms_are_refused(arms, fragments):
    with pytest.raises(InvalidArgument) as caught:
        a_round().check_arms(arms)
    assert str(caught.value).startswith("arms: expected ")
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_outcomes_belong_to_the_picked_arms():
    outcomes = Outcomes.of(a_round(), [2, 0], [[1, 2], [np.nan, 4]])
    assert outcomes.arms.tolist() == [2, 0]
    np.testing.assert_array_equal(outcomes.values, [[1, 2], [np.nan, 4]])
    for nothing in ([], np.empty((0, 2)), np.empty(0)):
        assert Outcomes.of(a_round(), [], nothing).values.shape == (0, 2)


def test_outcomes_do_not_follow_the_callers_array():
    mine = np.ones((1, 2))
    outcomes = Outcomes.of(a_round(), [1], mine)
    mine[:] = 5
    assert outcomes.values.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("arms", "outcomes", "argument", "fragments"),
    [
        ([0, 1], [[1, 2]], "outcomes", ("shape (2, 2), one row per picked arm", "shape (1, 2)")),
        ([0], [1, 2], "outcomes", ("shape (1, 2)", "shape (2,)")),
        ([0], [[1, 2, 3]], "outcomes", ("shape (1, 2)", "shape (1, 3)")),
        ([], [[1, 2]], "outcomes", ("shape (0, 2)", "shape (1, 2)")),
        ([0], [["a", "b"]], "outcomes", ("numbers",)),
        ([0], [[np.inf, 1]], "outcomes", ("NaN where an outcome never came", "infinite")),
        ([9], [[1, 1]], "arms", ("from 0 to 3", "9")),
        ([1, 1], [[1, 1], [1, 1]], "arms", ("at most once",)),
    ],
)
def test_wrong_outcomes_are_refused(arms, outcomes, argument, fragments):
    with pytest.raises(InvalidArgument) as caught:
        Outcomes.of(a_round(), arms, outcomes)
    assert caught.value.argument == argument
    for fragment in fragments:
        assert fragment in str(caught.value)


TIMES = np.array(["2026-01-01", "NaT"], dtype="datetime64[s]")


def test_what_is_missing_is_refused_by_name():
    two = {"t": 1, "contexts": [[0.1], [0.2]], "feasible": sa.AtMost(1)}
    masked = np.ma.array([1, 1], mask=[False, True])
    for argument, given in {
        "contexts": TIMES[:, None],
        "groups": masked,
        "arm_ids": masked,
        "thresholds": sa.Sum() >= np.ma.array([0.1, 0.2], mask=[False, True]),
    }.items():
        given = {"groups": [0, 1], ("constraint" if argument == "thresholds" else argument): given}
        with pytest.raises(InvalidArgument, match="threshold" if argument == "thresholds" else argument):
            sa.Round(**(two | given))
    for contexts in (np.ma.array([[1.0], [2.0]], mask=[[False], [True]]), [[0.1], [None]]):
        with pytest.raises(InvalidArgument, match="contexts: expected finite numbers"):
            sa.Round(**(two | {"contexts": contexts}))


@pytest.mark.parametrize(
    ("ids", "what"),
    [
        (pl.Series([1, None]), "a missing label (NaN)"),
        (pl.Series(["a", None]), "a missing label (None)"),
        (pd.Series([1, None], dtype="Int64"), "a missing label (NaN)"),
        ([1.0, float("nan")], "a missing label (NaN)"),
        (np.array([1.0, np.nan]), "a missing label (NaN)"),
        (TIMES, "a missing label (NaN)"),
        ([pd.NaT, 1], "a missing label (NaN)"),
        ([("a", float("nan")), ("a", 1.0)], "a missing label (NaN)"),
        (["a", None], "a missing label (None)"),
        (np.array(["a", None], dtype=object), "a missing label (None)"),
        (np.ma.array([1, 2], mask=[False, True]), "a missing label (masked)"),
        ([[1], [2]], "unhashable type: 'list'"),
    ],
    ids=str,
)
def test_every_arm_is_somebody(ids, what):
    with pytest.raises(
        InvalidArgument, match=r"^arm_ids: expected (a label for every arm|hashable labels), got "
    ) as error:
        sa.Round(t=1, contexts=[[0.1], [0.2]], feasible=sa.AtMost(1), arm_ids=ids)
    assert str(error.value).endswith(what)


def test_none_is_a_group_and_may_be_part_of_an_identity():
    two = {"t": 1, "contexts": [[0.1], [0.2]], "feasible": sa.AtMost(1)}
    assert sa.Round(**two, groups=[None, "a"], arm_ids=[("a", None), "a"]).labels == (None, "a")


def test_arms_and_outcomes_that_are_missing():
    round = sa.Round(t=1, contexts=[[0.1], [0.2]], feasible=sa.AtMost(2))
    with pytest.raises(InvalidArgument, match=r"arms: expected arm numbers, got a masked number"):
        round.check_arms(np.ma.array([0, 1], mask=[False, True]))
    with pytest.raises(InvalidArgument, match="outcomes: expected numbers"):
        sa.Outcomes.of(round, [0], np.array([[1, "NaT"]], dtype="timedelta64[s]"))
    never_came = sa.Outcomes.of(round, [0], np.ma.array([[1.0, 2.0]], mask=[[False, True]])).values
    np.testing.assert_array_equal(never_came, [[1.0, np.nan]])


@pytest.mark.parametrize("contexts", [5, None, "x", [], object, 1.5])
def test_names_of_columns_must_be_a_list(contexts):
    with pytest.raises(InvalidArgument, match="contexts: expected a list of column names"):
        sa.Round.from_frame(pl.DataFrame({"x": [0.1]}), contexts=contexts, t=1, feasible=sa.AtMost(1))


@pytest.mark.parametrize("frame", [None, 5, pl.DataFrame, {"x": [0.1]}])
def test_a_frame_must_be_one(frame):
    with pytest.raises(InvalidArgument, match="frame: expected a polars or pandas frame"):
        sa.Round.from_frame(frame, contexts=["x"], t=1, feasible=sa.AtMost(1))


@pytest.mark.parametrize(
    ("column", "fragment"),
    [
        (pl.Series("x", [date(2026, 1, 1), None]), "columns of numbers, got column 'x' of dtype Date"),
        (pl.Series("x", ["0.1", None]), "only numbers or only text in a column, got a missing value in column 'x'"),
        (pl.Series("x", [1, None]), "finite numbers, got a missing value in column 'x'"),
        (pd.Series([1, None], dtype="Int64", name="x"), "finite numbers, got a missing value in column 'x'"),
        (pd.Series([True, None], dtype="boolean", name="x"), "finite numbers, got a missing value in column 'x'"),
        (
            pd.Series(["0.1", None], name="x"),
            "only numbers or only text in a column, got a missing value in column 'x'",
        ),
        (pd.Series(pd.to_datetime(["2026-01-01", None]), name="x"), "columns of numbers, got column 'x'"),
    ],
)
def test_a_column_with_gaps_text_or_times_is_named(column, fragment):
    with pytest.raises(InvalidArgument) as caught:
        sa.Round.from_frame(column.to_frame(), contexts=["x"], t=1, feasible=sa.AtMost(1))
    assert f"contexts: expected {fragment}" in str(caught.value)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_of_contexts_names_the_column_that_is_wrong(frame):
    times = [datetime(2024, 1, 1), datetime(2024, 1, 2)]
    with pytest.raises(InvalidArgument, match=r"^contexts: expected columns of numbers, got column 'when' of dtype"):
        sa.Round(t=1, contexts=frame({"x": [1.0, 2.0], "when": times}), feasible=sa.AtMost(1))
    round = sa.Round(t=1, contexts=frame({"x": [1.0, 2.0], "y": [3, 4]}), feasible=sa.AtMost(1))
    assert round.contexts.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_one_of_anything_is_told_as_one():
    assert repr(sa.Round(t=1, contexts=[[0.1]], constraint=sa.Sum() >= 0.1, feasible=sa.AtMost(1))).startswith(
        "Round(t=1, 1 arm in 1 dimension, 1 group, 1 kind of promise, "
    )
    assert "2 arms in 2 dimensions, 1 group, no promise" in repr(
        sa.Round(t=1, contexts=np.zeros((2, 2)), feasible=sa.AtMost(1))
    )


@pytest.mark.parametrize("t", [2**63, 10**5000, np.uint64(2**63)], ids=["int", "long", "numpy"])
def test_a_number_of_a_round_that_no_frame_can_hold_is_refused(t):
    refused({"t": t}, "t", "a whole number below 2**63")


def test_the_largest_number_of_a_round_is_played_as_any_other():
    round = a_round(t=2**63 - 1, constraint=Sum() <= 0.8)
    for policy in (sa.CautiousTCGPUCB(), sa.TCGPUCB(), sa.TCGPTS()):
        arms = policy.select(round).arms
        policy.update(round, arms, np.full((len(arms), 2), 0.5))
    assert round.digest() == sa.wire.round_from_bytes(sa.wire.round_to_bytes(round)).digest()


@pytest.mark.parametrize(("columns", "contexts"), [("aba", ["a", "b"]), ("abc", ["a", "b", "a"])])
def test_columns_that_repeat_are_refused(columns, contexts):
    """They were taken without their names."""
    frame = pd.DataFrame(np.ones((2, 3)), columns=list(columns))
    with pytest.raises(InvalidArgument, match="columns with distinct names, got 'a' more than once"):
        sa.Round.from_frame(frame, t=1, contexts=contexts, feasible=sa.AtMost(1))
    kept = sa.Round.from_frame(frame, t=1, contexts=["b"], feasible=sa.AtMost(1))
    assert kept.columns.names == ("b",), "another column may repeat"
