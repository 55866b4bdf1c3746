"""Small rounds for the tests of the cautious policy, with truths drawn from the prior."""

import itertools

import numpy as np

import superarm as sa
from superarm.environments.gp_sample import gp_draw
from superarm.policies.cautious.certificates import Judge
from superarm.policies.cautious.searches import SubsetSearch

KERNEL = sa.SquaredExponential(lengthscale=0.3)
NOISE = 0.1
PRIOR = sa.ExactPosterior(KERNEL, NOISE)
EPS = 0.01
CONSTRAINTS = {
    "sum <=": sa.Sum() <= 0.6,
    "sum >=": sa.Sum() >= 0.3,
    "mean >=": sa.Mean() >= 0.2,
    "mean <=": sa.Mean() <= 0.2,
    "min >=": sa.Min() >= -0.2,
    "min <=": sa.Min() <= 0.1,
    "max >=": sa.Max() >= 0.4,
    "max <=": sa.Max() <= 0.5,
    "variance >=": sa.Variance() >= 0.02,
    "variance <=": sa.Variance() <= 0.05,
    "count >=": sa.Count() >= 2,
    "dixit-stiglitz >=": sa.DixitStiglitz(items=np.arange(12) % 4) >= 0.5,
    "custom >=": sa.Custom(np.median, monotone="increasing") >= 0.2,
    "custom, not monotone": sa.Custom(np.ptp, monotone="none") >= 0.1,
}
FEASIBLE = {
    "at most": sa.AtMost(5, per_group=3),
    "exactly": sa.Exactly(4),
    "whole": sa.WholeGroups(2),
}


class Small:
    """Twelve arms in three groups, from a pool of forty contexts, with a truth drawn from the prior."""

    def __init__(self, constraint, feasible, seed):
        self.constraint, self.feasible = constraint, feasible
        rng = np.random.default_rng((seed, 5))
        self.pool = np.sort(rng.uniform(size=(40, 1)), axis=0)
        self.truth = gp_draw(KERNEL, self.pool, rng)

    def rounds(self, rng):
        for t in itertools.count(1):
            self.ids = rng.integers(40, size=12)
            yield sa.Round(
                t=t,
                contexts=self.pool[self.ids],
                groups=np.arange(12) % 3,
                constraint=self.constraint,
                feasible=self.feasible,
            )

    def expected_outcomes(self, round):
        return self.truth[np.searchsorted(self.pool[:, 0], round.contexts[:, 0])]

    def outcomes(self, round, rng):
        return self.expected_outcomes(round) + rng.normal(0.0, NOISE, (len(round), 2))


def played(environment, policy, rounds, seed):
    """Rounds, what was selected and the ledger before it."""
    arrivals, noise = np.random.default_rng((seed, 0)), np.random.default_rng((seed, 1))
    for round in itertools.islice(environment.rounds(arrivals), rounds):
        selection, before = policy.select(round), policy.posterior
        yield round, selection, before, policy.ledger
        policy.update(round, selection.arms, environment.outcomes(round, noise)[selection.arms])


def search_of(policy, round):
    belief = policy.posterior.predict(round.contexts)
    return SubsetSearch(
        round=round,
        index=belief.mean[:, 0] + 2.0 * belief.std[:, 0],
        belief=belief,
        judge=Judge(round, policy.posterior, round.contexts, belief, EPS),
        oracle=sa.Automatic(),
        order=np.arange(len(round)),
        eps=EPS,
    )


class Asked:
    """An oracle that counts how often it is asked."""

    def __init__(self):
        self.times = 0

    def __call__(self, index, round, good):
        self.times += 1
        return sa.Automatic()(index, round, good)
