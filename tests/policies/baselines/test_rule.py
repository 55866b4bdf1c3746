import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument

ROUND = sa.Round(
    t=1, contexts=np.linspace(0, 1, 6)[:, None], groups=list("aabbcc"), constraint=sa.Sum() <= 1, feasible=sa.AtMost(2)
)


def largest(round):
    return np.argsort(-round.contexts[:, 0])[:2]


def test_conformance():
    def one_of_each_group(round):
        return np.sort(np.unique(round.grouping.codes, return_index=True)[1])[: round.feasible.k]

    sa.check_policy(sa.Rule(one_of_each_group))


def test_it_picks_what_the_rule_picks_and_claims_nothing():
    selection = sa.Rule(largest).select(ROUND)
    assert selection.arms.tolist() == [4, 5]
    assert selection.upper_bound == np.inf
    assert selection.groups == ()
    assert repr(sa.Rule(largest)) == "Rule(largest)"


@pytest.mark.parametrize(
    ("pick", "said"),
    [
        (lambda round: [0, 1, 2], "pick: expected arms that AtMost.* allows"),
        (lambda round: [7], "pick: expected a function that returns arms: arm numbers from 0 to 5, got 7"),
        (lambda round: None, "pick: expected a function that returns arms: arm numbers"),
    ],
)
def test_other_arms_are_refused(pick, said):
    with pytest.raises(InvalidArgument, match=said):
        sa.Rule(pick).select(ROUND)


@pytest.mark.parametrize("pick", [None, 3, "largest", [0, 1], sa.CUCB, lambda: [0], lambda round, k: [0]])
def test_what_is_no_rule_is_refused(pick):
    with pytest.raises(InvalidArgument, match="pick: expected a function of a round"):
        sa.Rule(pick)


def test_it_plays_in_a_simulation_as_its_answers_do():
    class Largest:
        def select(self, round):
            return largest(round)

        def update(self, round, arms, outcomes):
            pass

    world = sa.environments.Simulator(lambda t, rng: ROUND if t == 1 else _later(t), lambda round: np.ones((6, 2)))
    ours, theirs = (sa.simulate(policy, world, rounds=3) for policy in (sa.Rule(largest), Largest()))
    assert ours.drop("select_seconds", "update_seconds").equals(theirs.drop("select_seconds", "update_seconds"))


def _later(t):
    return sa.Round(t=t, contexts=ROUND.contexts, constraint=sa.Sum() <= 1, feasible=sa.AtMost(2))
