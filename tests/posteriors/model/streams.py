"""Rounds with outcomes from a known truth: with and without effects of groups, at any scale."""

from dataclasses import dataclass

import numpy as np

import superarm as sa
from superarm.posteriors.learning import LEARNING
from superarm.posteriors.model import Model, after
from superarm.round import Outcomes

LABELS = "abcdefgh"


@dataclass(frozen=True)
class Truth:
    """Smooth functions of two features; groups add constants, kept or drawn again in every round."""

    seed: int = 0
    effect: float = 0.0  # standard deviation of a group's constant
    anew: bool = False
    mean: float = 0.0
    scale: float = 1.0
    noise: float = 0.1

    def outcomes(self, round, arms, rng):
        x = round.contexts[arms]
        smooth = np.column_stack([np.sin(4 * x[:, 0]) + x[:, 1], np.cos(3 * x[:, 1]) - x[:, 0]])
        own = np.random.default_rng((self.seed, round.t if self.anew else 0)).normal(size=(len(LABELS), 2))
        group = [LABELS.index(round.labels[code]) for code in round.grouping.codes[arms]]
        values = smooth + self.effect * own[group] + rng.normal(0.0, self.noise, (len(arms), 2))
        return self.mean + self.scale * values


def arrived(t, rng, groups=6, arms=4, dimension=2):
    """A round of equal groups."""
    labels = np.repeat(list(LABELS[:groups]), arms)
    contexts = rng.uniform(size=(groups * arms, dimension))
    return sa.Round(t=t, contexts=contexts, groups=labels, constraint=sa.Mean() >= 0.0, feasible=sa.AtMost(8))


def stream(truth, rounds, seed=0, picked=10, groups=6):
    """Rounds, arms and outcomes that no policy chose."""
    rng = np.random.default_rng((seed, truth.seed))
    for t in range(1, rounds + 1):
        round = arrived(t, rng, groups)
        arms = np.sort(rng.choice(len(round), picked, replace=False))
        yield round, arms, truth.outcomes(round, arms, rng)


def learnt(model, posterior, data, learning=LEARNING, seed=0):
    """The model and the posterior after all of it."""
    for round, arms, values in data:
        model, posterior = after(model, posterior, round, Outcomes.of(round, arms, values), learning, seed)
    return model, posterior


def fresh_model(prior=None):
    return Model.of(prior), prior
