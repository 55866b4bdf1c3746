"""One or two first outcomes do not tell how far others may lie."""

import numpy as np
import pytest

import superarm as sa
from superarm.round import LARGEST


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


@pytest.mark.parametrize("prior", [None, sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.7), noise_std=0.1)])
def test_certificates_hold_for_outcomes_of_the_largest_size(prior):
    """Outcomes are no larger than scales may be: beyond, certificates would rest on a scale that is too small."""
    scale, rng, policy = LARGEST / 2.0, np.random.default_rng(0), sa.CautiousTCGPUCB(prior)
    certified = 0
    for t in range(1, 13):
        x, noise = rng.uniform(size=(24, 2)), rng.normal(0.0, 0.1, (24, 2))
        true = np.sin(4.0 * x[:, 0]) - x[:, 1]
        round = sa.Round(
            t=t, contexts=x, groups=np.arange(24) // 4, feasible=sa.AtMost(8), constraint=sa.Mean() >= 0.2 * scale
        )
        selection = policy.select(round)
        for group in selection.groups:
            if group.probability >= policy.confidence:
                certified += 1
                assert true[list(group.arms)].mean() >= 0.2
        values = np.clip((np.column_stack([x[:, 1], true]) + noise)[selection.arms], -2.0, 2.0)
        policy.update(round, selection.arms, scale * values)
    assert certified > 10
