"""What every oracle refuses, in the same words."""

import itertools

import numpy as np
import pytest

from superarm.errors import InvalidArgument
from superarm.feasible import AtMost, WholeGroups
from superarm.oracles.automatic import Automatic
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.greedy import Greedy
from superarm.oracles.milp.milp import MILP
from superarm.oracles.oracle import checked_oracle
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.simple import Max, Mean, Min, Sum, Variance
from superarm.round import Round

ORACLES = [Automatic(), Decomposition(), MILP(), Exhaustive(), Greedy(), BestWholeGroups()]


@pytest.fixture
def question():
    round = Round(t=1, contexts=np.zeros((3, 1)), groups=[0, 1, 1], constraint=Sum() <= 1, feasible=AtMost(2))
    return {"index": np.ones(3), "round": round, "good": GoodSubgroups(round, np.ones(3))}


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: type(oracle).__name__)
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("index", None),
        ("index", "abc"),
        ("index", np.ones(2)),
        ("index", np.full(3, np.nan)),
        ("index", np.full(3, 1e308)),
        ("index", np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])),
        ("round", None),
        ("round", 5),
        ("good", None),
        ("good", GoodSubgroups),
    ],
)
def test_a_question_that_is_none_is_refused_by_name(oracle, question, argument, value):
    with pytest.raises(InvalidArgument, match=f"^{argument}: expected"):
        oracle(**(question | {argument: value}))


@pytest.mark.parametrize("oracle", [Automatic, Greedy, 5, "greedy", object()])
def test_what_is_no_oracle_is_refused(oracle):
    with pytest.raises(InvalidArgument, match="oracle: expected a callable"):
        checked_oracle(oracle)


REWARDS = [Sum(), Mean(), Min(), Max(), Variance(), DixitStiglitz(items=[0, 0, 1, 1])]
LARGE = [
    *itertools.product([Automatic(), Exhaustive(), Greedy()], REWARDS),
    *itertools.product([MILP()], REWARDS[:5]),  # where promises are concave
]


@pytest.mark.parametrize(("oracle", "reward"), LARGE, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("sense", [">=", "<="])
def test_the_largest_indices_are_solved(oracle, reward, sense, whole):
    feasible = WholeGroups(1) if whole else AtMost(3)
    promise = reward >= 1.0 if sense == ">=" else reward <= 1.0
    round = Round(t=1, contexts=np.zeros((4, 1)), constraint=promise, feasible=feasible)
    good = GoodSubgroups(round, 1e150 * np.array([1.0, -1.0, 0.5, -0.25]))
    index = 1e150 * np.array([1.0, -1.0, 0.5, 1.0])
    selection = oracle(index, round, good)
    assert np.isfinite(selection.value)
    assert selection.arms.tolist() == [] or good.is_empty() or good.allows(selection.arms)
