"""Rounds like those of federated learning, and a loop over them."""

import numpy as np

import superarm as sa

PRIOR = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05)


def federated(t, rng, clients=6):
    return sa.Round(
        t=t,
        contexts=np.tile(np.arange(1, 21) / 20, clients)[:, None],
        groups=np.repeat(np.arange(clients), 20),
        constraint=sa.Sum() <= rng.uniform(size=clients),
        feasible=sa.AtMost(10, per_group=rng.poisson(3, clients)),
    )


def outcomes(round, arms, rng):
    x = round.contexts[arms, 0]
    mean = np.column_stack([1 / (1 + np.exp(5 - 10 * x)), 0.05 + 0.95 * np.exp(-5 * x)])
    return mean + rng.normal(0, 0.05, mean.shape)


def play(policy, rounds, seed=0, first=1):
    rng = np.random.default_rng(seed)
    chosen = []
    for t in range(first, first + rounds):
        round = federated(t, rng)
        selection = policy.select(round)
        chosen.append((selection.arms.tolist(), selection.value))
        policy.update(round, selection.arms, outcomes(round, selection.arms, rng))
    return chosen
