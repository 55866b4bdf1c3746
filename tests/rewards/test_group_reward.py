import numpy as np
import pandas as pd
import pytest

from superarm.errors import InvalidArgument
from superarm.groups import Groups
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Comparable, Constraint, GroupReward, Sense, Structured, is_good, tolerance
from superarm.rewards.reward import Additive, Reward, TransformedSum
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance

COMPARABLE = [
    Sum(), Mean(), Min(), Max(), Count(), Variance(), DixitStiglitz(items=[1, 1, 2]), Custom(np.ptp, monotone="none"),
]  # fmt: skip
THRESHOLDS = [
    0.5, 1, np.float64(0.5), np.array([0.1, 0.2]), [0.1, 0.2], (0.1, 0.2), {"a": 1.0, "b": 2.0},
    np.array(0.5), np.array([1, 2]),
]  # fmt: skip


def ids(value):
    return type(value).__name__


@pytest.mark.parametrize("reward", COMPARABLE, ids=ids)
@pytest.mark.parametrize("threshold", THRESHOLDS, ids=repr)
def test_operators_on_either_side_make_a_constraint(reward, threshold):
    for constraint, sense in (
        (reward >= threshold, Sense.AT_LEAST),
        (reward <= threshold, Sense.AT_MOST),
        (threshold <= reward, Sense.AT_LEAST),
        (threshold >= reward, Sense.AT_MOST),
    ):
        assert isinstance(constraint, Constraint)
        assert constraint.reward is reward
        assert constraint.sense is sense
        assert constraint.thresholds(Groups.of(["a", "b"])).shape == (2,)


def test_a_pandas_column_on_the_right():
    constraint = Sum() <= pd.Series({"b": 2.0, "a": 1.0})  # its index names the groups
    assert constraint.thresholds(Groups.of(["a", "b"])).tolist() == [1.0, 2.0]
    with pytest.raises(InvalidArgument, match="threshold: expected labels of groups in this round"):
        (Sum() <= pd.Series([1.0, 2.0])).thresholds(Groups.of(["a", "b"]))


def test_strict_and_joined_promises_say_what_to_write():
    with pytest.raises(TypeError, match="write <= for <"):
        Sum() < 0.5  # noqa: B015  # to compare is what raises
    with pytest.raises(TypeError, match="write >= for >"):
        Sum() > 0.5  # noqa: B015  # to compare is what raises
    with pytest.raises(TypeError, match="one promise"):
        (Sum() <= 0.5) & (Sum() >= 0.1)


def test_two_sided_promises_are_not_silently_halved():
    with pytest.raises(TypeError):
        0.1 <= Sum() <= 0.5  # noqa: B015  # to compare is what raises


@pytest.mark.parametrize("sense", [">=", "<=", Sense.AT_LEAST, Sense.AT_MOST])
def test_the_sense_may_be_written(sense):
    assert Constraint(reward=Sum(), sense=sense, threshold=1).sense is Sense(sense)


@pytest.mark.parametrize("sense", [">", "==", 1, None])
def test_other_senses_are_refused(sense):
    with pytest.raises(InvalidArgument) as caught:
        Constraint(reward=Sum(), sense=sense, threshold=1)
    assert str(caught.value) == f"sense: expected '>=' or '<=', got {sense!r}"


def test_what_is_no_group_reward_is_refused():
    with pytest.raises(InvalidArgument, match=r"reward: expected a group reward \(members: value, monotone\), got 3"):
        Constraint(reward=3, sense=">=", threshold=1)


def test_an_unknown_direction_is_refused():
    class Odd:
        monotone = "sometimes"

        def value(self, outcomes, arms):
            return 0.0

    with pytest.raises(InvalidArgument, match=r"monotone: expected .* got 'sometimes'"):
        Constraint(reward=Odd(), sense=">=", threshold=1)


@pytest.mark.parametrize(
    ("reward", "least", "most"),
    [
        (Sum(), 1, -1),
        (Custom(np.sum, monotone="increasing"), 1, -1),
        (Custom(np.sum, monotone="decreasing"), -1, 1),
        (Variance(), 1, -1),
        (Custom(np.ptp, monotone="none"), 1, -1),
    ],
)
def test_which_bound_makes_a_promise_easier(reward, least, most):
    assert (reward >= 0.5).optimism == least
    assert (reward <= 0.5).optimism == most


def test_tolerance_grows_with_the_threshold():
    assert tolerance(0.0) == tolerance(-1.0) == 1e-9
    np.testing.assert_allclose(tolerance(np.array([-2e6, 5.0])), [2e-3, 5e-9])


@pytest.mark.parametrize("threshold", [0.0, 0.3, -1.0, 1e6, -1e6])
def test_good_is_decided_with_the_tolerance_on_either_side(threshold):
    slack = tolerance(threshold)
    for inside in (0.0, 0.5, 0.9):
        assert is_good(threshold - inside * slack, threshold, Sense.AT_LEAST)
        assert is_good(threshold + inside * slack, threshold, Sense.AT_MOST)
    for outside in (1.1, 2.0, 1e6):
        assert not is_good(threshold - outside * slack, threshold, Sense.AT_LEAST)
        assert not is_good(threshold + outside * slack, threshold, Sense.AT_MOST)
    assert not is_good(np.nan, threshold, Sense.AT_LEAST)
    assert not is_good(np.nan, threshold, Sense.AT_MOST)


def test_what_rewards_declare():
    for reward in COMPARABLE:
        assert isinstance(reward, GroupReward)
        assert isinstance(reward, Structured) != isinstance(reward, Custom)
    for reward in (Sum(), TransformedSum(np.exp)):
        assert isinstance(reward, Additive)
    assert isinstance(Custom(np.sum, monotone="increasing"), Reward)
    assert not isinstance(Custom(np.sum, monotone="increasing"), Additive)


def test_thresholds_are_finite_and_fit_the_groups():
    groups = Groups.of(["a", "b"])
    for threshold, fragment in ((np.inf, "finite"), ([1, 2, 3], "2 values"), ({"a": 1}, "none for 'b'")):
        with pytest.raises(InvalidArgument, match=f"threshold: expected .*{fragment}"):
            (Sum() >= threshold).thresholds(groups)


@pytest.mark.parametrize("reward", [Mean(), Sum(), Count(), Min(), DixitStiglitz(items=[0, 1])])
@pytest.mark.parametrize("number", [0.4, 1, np.float64(0.4)])
def test_equality_with_a_number_is_no_promise(reward, number):
    for compare in (lambda: reward == number, lambda: number == reward):
        with pytest.raises(TypeError, match="use <= or >="):
            compare()
    assert reward == reward
    assert reward != "text"
    assert hash(reward) == hash(reward)


def test_equal_rewards_stay_equal():
    assert Mean() == Mean()
    assert hash(Mean()) == hash(Mean())
    assert Mean() != Sum()


def test_a_class_in_place_of_a_reward_is_told_what_was_meant():
    for compare, meant in (
        (lambda: Sum >= 0.1, r"a reward, such as Sum\(\) >= 0.1, got the class Sum itself"),
        (lambda: Mean <= {"a": 1}, r"a reward, such as Mean\(\) <= \{'a': 1\}"),
        (lambda: Sum >= 0.1, r"a reward, such as Sum\(\) >= 0.1"),
        (lambda: Sum > 0.1, r"a reward, such as Sum\(\) >= 0.1"),
        (lambda: Sum < 0.1, r"a reward, such as Sum\(\) <= 0.1"),
    ):
        with pytest.raises(InvalidArgument, match=meant):
            compare()

    class Both(Comparable, GroupReward):  # a protocol may be inherited too
        monotone = "none"

        def value(self, outcomes, arms):
            return 0.0

    assert (Both() >= 0.1).threshold == 0.1
    assert isinstance(Both(), Comparable)
    assert not isinstance(Mean(), Sum)
