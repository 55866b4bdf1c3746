"""Normal forms against the predicate on every subgroup."""

import itertools

import numpy as np
import pytest

from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Sense, is_good
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance

REWARDS = [Sum(), Mean(), Min(), Max(), Count(), Variance(), DixitStiglitz(items=[0, 1, 0, 2, 1, 1])]


@pytest.mark.parametrize("sense", Sense, ids=lambda sense: sense.value)
@pytest.mark.parametrize("reward", REWARDS, ids=lambda reward: type(reward).__name__)
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
