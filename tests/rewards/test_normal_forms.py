"""A normal form says of every subset of every group what the predicate says: the solvers rest on this."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Sense, is_good, tolerance
from superarm.rewards.normal_forms import Blocks, Dispersion, Filter, WeightedSum, Witness
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.sums import exact_sums_by

REWARDS = {
    "sum": lambda items: Sum(),
    "mean": lambda items: Mean(),
    "min": lambda items: Min(),
    "max": lambda items: Max(),
    "count": lambda items: Count(),
    "variance": lambda items: Variance(),
    "dixit 1": lambda items: DixitStiglitz(items=items, power=1),
    "dixit 2": lambda items: DixitStiglitz(items=items, power=2),
    "dixit 3": lambda items: DixitStiglitz(items=items, power=3),
    "dixit 1.5": lambda items: DixitStiglitz(items=items, power=1.5),
}


def says(form, groups, group, subset):
    """What the form's docstring says about a non-empty subset (positions among the arms) of one group."""
    subset = list(subset)
    match form:
        case Filter():
            return bool(form.allowed[subset].all()) and form.least[group] <= len(subset) <= form.most[group]
        case Witness():
            return bool(form.witness[subset].any())
        case WeightedSum():
            return float(form.weights[subset].sum()) >= form.least[group]
        case Blocks():
            sums = {}
            for arm in subset:
                sums[form.blocks[arm]] = sums.get(form.blocks[arm], 0.0) + form.terms[arm]
            return form.sign * float(form.root(np.array(list(sums.values()))).sum()) >= form.least[group]
        case Dispersion():
            return form.sign * float(np.var(form.values[subset])) >= form.least[group]


# Quarters are exact in binary, ties included; the others are positive, where no powers cancel.
OUTCOMES = st.lists(st.integers(-8, 8).map(lambda x: x / 4), min_size=1, max_size=7) | st.lists(
    st.floats(0.01, 10.0), min_size=1, max_size=7
)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("name", REWARDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), outcomes=OUTCOMES)
def test_forms_agree_with_the_predicate_and_know_what_is_attainable(name, sense, data, outcomes):
    n = len(outcomes)
    outcomes = np.array(outcomes)
    labels = np.unique(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), return_inverse=True)[1]
    items = data.draw(st.lists(st.integers(0, 2), min_size=n + 3, max_size=n + 3))
    reward = REWARDS[name](items)
    arms = np.sort(data.draw(st.permutations(range(n + 3))))[:n]  # numbers in the round, not 0, 1, 2, ...
    members = [np.flatnonzero(labels == group) for group in range(labels.max() + 1)]
    thresholds = []
    for mine in members:
        chosen = sorted(data.draw(st.sets(st.sampled_from(mine.tolist()), min_size=1)))
        value = reward.value(outcomes[chosen], arms[chosen])
        nudge = data.draw(st.sampled_from([0.0, 0.0, 0.5, -0.5, 2.0, -2.0, 1e6, 3e8, -3e8, 1e13, -1e13]))
        thresholds.append(value + nudge * tolerance(value))
    thresholds = np.array(thresholds)
    form = reward.normal_form(outcomes, arms, labels, thresholds, sense)
    attainable = form.attainable(labels)
    for group, mine in enumerate(members):
        verdicts = []
        for size in range(1, len(mine) + 1):
            for subset in itertools.combinations(mine.tolist(), size):
                value = reward.value(outcomes[list(subset)], arms[list(subset)])
                verdicts.append(bool(is_good(value, thresholds[group], sense)))
                assert says(form, labels, group, subset) == verdicts[-1], (subset, value, thresholds[group])
        assert attainable[group] == any(verdicts)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("name", REWARDS)
def test_no_groups_and_no_arms(name, sense):
    none = np.empty(0, dtype=np.intp)
    form = REWARDS[name]([]).normal_form(np.empty(0), none, none, np.empty(0), sense)
    assert form.attainable(none).tolist() == []


SIX_ARMS = [Sum(), Mean(), Min(), Max(), Count(), Variance(), DixitStiglitz(items=[0, 1, 0, 2, 1, 1])]


@pytest.mark.parametrize("sense", Sense, ids=lambda sense: sense.value)
@pytest.mark.parametrize("reward", SIX_ARMS, ids=lambda reward: type(reward).__name__)
def test_a_form_says_of_every_group_what_its_subgroups_do(reward, sense):
    rng, groups = np.random.default_rng(0), np.array([0, 0, 0, 0, 1, 1])
    for _ in range(60):
        # Halves and quarters: many outcomes are equal, and many thresholds are met exactly.
        outcomes, thresholds = rng.integers(-3, 4, 6) / 2, rng.integers(-6, 12, 2) / 4
        form = reward.normal_form(outcomes, np.arange(6), groups, thresholds, sense)
        attainable, (margins, off) = form.attainable(groups), form.whole(groups)
        for group, threshold in enumerate(thresholds):
            mine = groups == group
            sizes = range(1, np.count_nonzero(mine) + 1)
            good = {
                size
                for size in sizes
                for arms in itertools.combinations(np.flatnonzero(mine), size)
                if is_good(reward.value(outcomes[list(arms)], np.array(arms)), threshold, sense)
            }
            assert attainable[group] == bool(good)
            assert {size for size in sizes if form.has_size(size, mine, group)} == good
            if abs(margins[group]) > np.broadcast_to(off, 2)[group]:  # else only the predicate knows
                assert (margins[group] > 0.0) == (max(sizes) in good)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6))
def test_at_the_least_sum_itself_the_exact_sum_decides_however_arms_are_listed_or_split(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 3, 30)
    weights = 10.0 ** rng.integers(-3, 4, 30) * rng.normal(size=30)
    exact = np.array([math.fsum(np.maximum(weights[groups == group], 0.0)) for group in range(3)])
    for least, attainable in ((exact, exact > 0.0), (np.nextafter(exact, np.inf), np.zeros(3, dtype=np.bool_))):
        for order in (np.arange(30), rng.permutation(30), np.argsort(weights), np.argsort(-weights)):
            found = WeightedSum(weights[order], least).attainable(groups[order])
            assert np.array_equal(found[exact > 0.0], attainable[exact > 0.0])
    # An item of its own for every arm, and power 1, make the same sum of blocks.
    for order in (np.arange(30), rng.permutation(30)):
        form = Blocks(np.arange(30)[order], weights[order], 1.0, 1, exact)
        assert form.attainable(groups[order])[exact > 0.0].all()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6))
def test_exact_sums_by_code_are_those_of_math(seed):
    rng = np.random.default_rng(seed)
    codes, values = rng.integers(0, 5, 40), 10.0 ** rng.integers(-9, 9, 40) * rng.normal(size=40)
    exact = [math.fsum(values[codes == code]) for code in range(6)]
    order = rng.permutation(40)
    assert exact_sums_by(codes[order], values[order], 6).tolist() == exact
