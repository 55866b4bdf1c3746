"""One who is told the truth of clicks and counts believes what the outcomes say, by other formulas."""

import numpy as np
import pytest

from benchmarks.reachable import RECOGNISED, SLOPES, TOLD, Truth, line, play, players
from superarm.environments import WrongWorld
from superarm.simulation import stream

KINDS = sorted(SLOPES)


def taught(kind, rows=60):
    """The truth after outcomes of some contexts, several of the same, one of them missing."""
    world = WrongWorld(kind, "mean", 3)
    round = next(world.rounds(stream(0, "arrivals")))
    contexts, outcomes = np.tile(round.contexts, (2, 1)), np.tile(world.outcomes(round, stream(0, "noise")), (2, 1))
    outcomes = outcomes[:rows].copy()
    outcomes[0, 1] = np.nan
    return world, round, Truth(world).condition(contexts[:rows], outcomes)


@pytest.mark.parametrize("kind", KINDS)
def test_the_link_is_that_of_the_world(kind):
    world, round, truth = taught(kind)
    latent = world._truth(1)[round.arm_ids]
    assert truth.link(latent) == pytest.approx(world.expected_outcomes(round), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", [0, 1])
def test_the_mode_and_its_curvature_are_those_of_the_posterior(kind, output):
    """K^-1 f is the gradient of the log likelihood there, and the covariance the inverse of K^-1 + W."""
    _, _, truth = taught(kind)
    mode, covariance = truth.latent(output)
    counts, expected, slope = truth.counts[:, output], truth.link(mode), SLOPES[kind]
    gradient = slope * (truth.sums[:, output] - counts * expected)
    assert mode == pytest.approx(truth._prior @ gradient, abs=1e-6)
    weight = slope**2 * counts * (expected * (1.0 - expected) if kind == "bernoulli" else expected)
    inverse = np.linalg.solve(np.eye(len(mode)) + truth._prior * weight, truth._prior)
    assert covariance == pytest.approx(inverse, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_those_of_draws(kind):
    _, round, truth = taught(kind)
    mode, covariance = truth.latent(1)
    places = truth._at(round.contexts[:3])
    root = np.linalg.cholesky(covariance[np.ix_(places, places)] + 1e-9 * np.eye(3))
    drawn = truth.link(mode[places] + np.random.default_rng(1).normal(size=(200_000, 3)) @ root.T)
    belief = truth.predict(round.contexts[:3])
    assert belief.mean[:, 1] == pytest.approx(drawn.mean(axis=0), rel=0.02)
    assert belief.std[:, 1] == pytest.approx(drawn.std(axis=0), rel=0.1)
    assert truth.covariance(round.contexts[:3])[1] == pytest.approx(np.cov(drawn.T), rel=0.2, abs=0.003)


def test_a_world_is_told_in_lines():
    world = WrongWorld("poisson", "mean", 3)
    tallies, best = play(world, players(world, 3), 2, 3)
    assert len(best) == 2
    assert all("reward" in line(name, [(tallies[name], best)]) for name in (RECOGNISED, TOLD))
