"""Rounds and outcomes on which the policies without a posterior are replayed against plain versions of themselves."""

import numpy as np

import superarm as sa

FEASIBLE = {
    "total": sa.AtMost(7),
    "exactly": sa.Exactly(6),
    "caps": sa.AtMost(per_group=2),
    "both": sa.AtMost(5, per_group={0: 1, 1: 2, 2: 0, 3: 4}),
}


def a_round(t, rng, dimension, feasible, **more):
    """Contexts on a coarse grid, so that they repeat and lie on faces of cells, and some outside the cube."""
    contexts = np.where(
        rng.uniform(size=(24, dimension)) < 0.7,
        rng.integers(0, 21, (24, dimension)) / 20,
        rng.uniform(-0.1, 1.1, (24, dimension)),
    )
    return sa.Round(
        t=t, contexts=contexts, groups=np.arange(24) % 4, constraint=sa.Sum() >= 99, feasible=feasible, **more
    )


def play(policy, rounds, dimension=1, feasible=FEASIBLE["total"], seed=0, first=1, **more):
    """Yield each round with the selection, then its outcomes go to the policy; some never come."""
    rng = np.random.default_rng(seed)
    for t in range(first, first + rounds):
        round = a_round(t, rng, dimension, feasible, **{name: make(rng) for name, make in more.items()})
        selection = policy.select(round)
        x = round.contexts[selection.arms]
        outcomes = np.column_stack([np.sin(3 * x).mean(axis=1), x[:, 0]]) + rng.normal(0, 0.1, (len(x), 2))
        outcomes[rng.uniform(size=len(x)) < 0.1, 0] = np.nan
        yield round, selection, outcomes
        policy.update(round, selection.arms, outcomes)


def greedy(index, round):
    """The best super arm of a sum under caps and a total, by the matroid's greedy algorithm: its indices, sorted."""
    caps = round.feasible.caps(round.grouping).tolist()
    least, most = round.feasible.totals(len(round))
    taken = []
    for arm in sorted(range(len(round)), key=lambda arm: -index[arm]):
        group = int(round.grouping.codes[arm])
        if len(taken) < most and caps[group] > 0 and (index[arm] > 0 or len(taken) < least):
            caps[group] -= 1
            taken.append(index[arm])
    return sorted(taken)
