"""A small shop to hold sessions in: rounds that need no thinking, and outcomes that follow from them."""

import numpy as np

import superarm as sa


def a_round(t, arms=6, **rest):
    rng = np.random.default_rng(t)
    given = {
        "contexts": rng.uniform(size=(arms, 2)),
        "groups": [f"shop {place % 3}" for place in range(arms)],
        "constraint": sa.Sum() >= 0.2,
        "feasible": sa.AtMost(3),
    }
    return sa.Round(t=t, **given | rest)


def outcomes(t, arms):
    """Two outcomes of every arm, the same whenever they are asked for."""
    return np.array([np.random.default_rng((t, int(arm))).normal(size=2) for arm in arms]).reshape(-1, 2)


def policy():
    return sa.TCGPUCB(sa.ExactPosterior(sa.Matern52(lengthscale=0.5), noise_std=0.1), learn=False)
