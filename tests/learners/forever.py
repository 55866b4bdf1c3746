"""Teach the learners of a folder, batch after batch, and say the number of each once its update has returned."""

import sys

import numpy as np

import superarm as sa

KEYS, ARMS = 60, 30


def start(folder=None, partitions=3, **rest):
    rng = np.random.default_rng(0)
    features, groups = rng.standard_normal((ARMS, 3)), rng.integers(5, size=ARMS)
    if folder is None:
        return sa.Learners(features, groups, noise_std=0.3)
    return sa.Learners.open(folder, features, groups, noise_std=0.3, partitions=partitions, **rest)


def teach(learners):
    """The next batch, which follows from its number alone."""
    rng = np.random.default_rng(learners.batches)
    keys = rng.integers(KEYS, size=20).tolist()
    arms = np.stack([rng.choice(ARMS, 6, replace=False) for _ in keys])
    batch = learners.select(keys, arms, feasible=sa.AtMost(3), constraint=sa.Sum() <= 0.5)
    learners.update(batch, rng.standard_normal((*batch.arms.shape, 2)), number=learners.batches + 1)


if __name__ == "__main__":
    with start(sys.argv[1], workers=sys.argv[2] if len(sys.argv) > 2 else 1) as learners:
        while True:
            teach(learners)
            print(learners.batches, flush=True)
            if learners.batches % 50 == 0:
                learners.snapshot()
