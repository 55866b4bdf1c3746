"""What must not change an answer, and what can change it in one direction only."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.oracles.decomposition import model
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.selection import Status
from tests.referees.enumeration import ask, is_feasible, is_good, judge, random_problem

SEEDS = st.integers(0, 2**32)


def problems(seed, *, whole=False, most_arms=9):
    rng = random.Random(seed)
    while True:
        problem = random_problem(rng, most_arms)
        if (problem.feasible == "whole groups") == whole and problem.groups:
            return problem


def permuted(problem, permutation):
    """The same round with arm ``permutation[j]`` listed at place j."""
    place = {arm: j for j, arm in enumerate(permutation)}
    return replace(
        problem,
        a=tuple(problem.a[arm] for arm in permutation),
        b=tuple(problem.b[arm] for arm in permutation),
        groups=tuple(problem.groups[arm] for arm in permutation),
        items=tuple(problem.items[arm] for arm in permutation),
        weights=None if problem.weights is None else tuple(problem.weights[arm] for arm in permutation),
        order=tuple(place[arm] for arm in problem.order),
    )


@pytest.mark.parametrize(
    ("oracle", "whole"),
    [(Decomposition(), False), (Exhaustive(), False), (BestWholeGroups(), True)],
    ids=["decomposition", "exhaustive", "whole groups"],
)
@settings(max_examples=150, deadline=None)
@given(seed=SEEDS)
def test_listing_the_arms_otherwise_changes_nothing(oracle, whole, seed):
    problem = problems(seed, whole=whole, most_arms=7 if isinstance(oracle, Exhaustive) else 12)
    permutation = random.Random(seed).sample(range(len(problem.groups)), len(problem.groups))
    plain, other = ask(oracle, problem), ask(oracle, permuted(problem, permutation))
    assert sorted(permutation[arm] for arm in other.arms) == plain.arms.tolist()
    assert other.value == plain.value
    assert other.status is plain.status


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_asking_twice_gives_the_same_answer(seed):
    problem = problems(seed)
    first, second = ask(Decomposition(), problem), ask(Decomposition(), problem)
    assert first.arms.tolist() == second.arms.tolist()
    assert (first.value, first.upper_bound, first.status) == (second.value, second.upper_bound, second.status)


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.floats(0.0, 2.0))
def test_raising_a_reward_index_never_lowers_the_optimum(seed, more):
    problem = problems(seed, most_arms=12)
    arm = seed % len(problem.a)
    raised = replace(problem, a=tuple(x + more * (i == arm) for i, x in enumerate(problem.a)))
    before, after = ask(Decomposition(), problem), ask(Decomposition(), raised)
    assert after.value >= before.value - 1e-9 * max(1.0, abs(before.value))
    assert after.status is before.status


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_an_arm_that_earns_nothing_and_cannot_be_picked_changes_nothing(seed):
    problem = problems(seed)
    caps = problem.caps or {group: len(problem.groups) for group in problem.groups}
    more = replace(
        problem,
        a=(*problem.a, 5.0),
        b=(*problem.b, 0.5),
        groups=(*problem.groups, 99),
        items=(*problem.items, 0),
        weights=None if problem.weights is None else (*problem.weights, 1.0),
        order=(len(problem.a), *problem.order),
        caps={**caps, 99: 0},
    )
    before, after = ask(Decomposition(), problem), ask(Decomposition(), more)
    if before.status is not Status.NO_GOOD_SUBGROUP:  # the new group is free, so something is good now
        assert after.value == pytest.approx(before.value, abs=1e-9)  # ties among sums may fall otherwise
        assert after.status is before.status


@pytest.mark.parametrize("oracle", [Decomposition(label_limit=1), Decomposition(deadline=0.0)], ids=["labels", "time"])
@settings(max_examples=150, deadline=None)
@given(seed=SEEDS)
def test_a_limited_search_is_still_feasible_good_and_certified(oracle, seed):
    problem = problems(seed, most_arms=12)
    verdict, selection = judge(problem), ask(oracle, problem)
    near = 1e-9 * max(1.0, abs(verdict.value))
    assert selection.value <= verdict.value + near
    assert verdict.value <= selection.upper_bound + near
    assert is_feasible(problem, selection.arms, verdict.size)
    if verdict.status == "OPTIMAL":
        assert selection.status in (Status.OPTIMAL, Status.WITHIN_GAP, Status.LIMIT)
    else:
        assert selection.status.name == verdict.status
    if verdict.status != "NO_GOOD_SUBGROUP":
        assert is_good(problem, selection.arms)


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS, subsets=st.integers(1, 4))
def test_dropped_subsets_of_a_block_stay_inside_the_bound(seed, subsets):
    rng = random.Random(seed)
    problem = problems(seed, most_arms=11)
    items = tuple(rng.randrange(2) for _ in problem.items)
    problem = replace(
        problem,
        items=items,
        promises={
            group: replace(promise, kind=rng.choice(["dixit 2", "dixit 3"]))
            for group, promise in problem.promises.items()
        },
        b=tuple(np.random.default_rng(seed).random(len(items)).tolist()),
    )
    verdict = judge(problem)
    kept = model.SUBSETS_PER_COUNT
    model.SUBSETS_PER_COUNT = subsets
    try:
        selection = ask(Decomposition(), problem)
    finally:
        model.SUBSETS_PER_COUNT = kept
    near = 1e-9 * max(1.0, abs(verdict.value))
    assert selection.value <= verdict.value + near
    assert verdict.value <= selection.upper_bound + near
    assert is_feasible(problem, selection.arms, verdict.size)
    if verdict.status != "NO_GOOD_SUBGROUP":
        assert is_good(problem, selection.arms)
