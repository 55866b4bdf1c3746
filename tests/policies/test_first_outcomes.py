"""One or two first outcomes do not tell how far others may lie."""

import numpy as np
import pytest

import superarm as sa


@pytest.mark.parametrize("cls", [sa.TCGPTS, sa.TCGPUCB, sa.CautiousTCGPUCB])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_first_outcomes_below_0_do_not_end_all_play(cls, scale):
    """Arms that lose are as far from 0 as arms that earn: whoever takes the first for all would pick none again."""
    for seed in range(6):
        rng, policy, picked = np.random.default_rng(seed), cls(seed=seed), []
        for t in range(1, 16):
            x = rng.uniform(size=(20, 2))
            round = sa.Round(
                t=t,
                contexts=x,
                groups=np.arange(20) % 4,
                constraint=sa.Sum() <= 5.0 * scale,
                feasible=sa.AtMost(1),
            )
            arms = policy.select(round).arms
            picked.append(len(arms))
            earned = -0.8 * np.ones(len(arms)) if t <= 2 else 2.0 * x[arms, 0] - 1.0
            policy.update(round, arms, scale * np.column_stack([earned, np.abs(earned)]))
        assert sum(picked[5:]) > 0


@pytest.mark.parametrize("first", [0.0, 3.0, -500.0])
def test_a_scale_taken_from_one_outcome_gives_way_to_that_of_many(first):
    policy, rng = sa.TCGPTS(), np.random.default_rng(0)
    for t, size in enumerate((1, 12, 12), start=1):
        x = rng.uniform(size=(12, 2))
        round = sa.Round(t=t, contexts=x, groups=["a"] * 12, constraint=sa.Sum() <= 1e4, feasible=sa.AtMost(12))
        values = first + rng.normal(0.0, 0.1, (size, 2))
        policy.update(round, np.arange(size), values)
    scales = [shape.constant**0.5 for shape in policy.learner.model.shapes]
    assert all(0.05 < scale < 1.5 for scale in scales)
