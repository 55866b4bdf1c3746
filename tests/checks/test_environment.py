"""The conformance suite of environments, and proof that it finds each wrong one."""

import itertools

import numpy as np
import pytest

from superarm.checks.environment import check_environment
from superarm.environments.environment import with_gaussian_noise
from superarm.errors import NonConforming
from superarm.feasible import AtMost
from superarm.rewards.simple import Sum
from superarm.round import Round


class Right:
    """Twelve arms in three groups; every wrong environment below changes one thing."""

    def rounds(self, rng):
        return (self.arrive(t, rng) for t in itertools.count(1))

    def arrive(self, t, rng, **changes):
        groups = rng.integers(3, size=12)
        return Round(
            **{
                "t": t,
                "contexts": rng.uniform(size=(12, 1)),
                "groups": groups,
                "constraint": Sum() <= rng.uniform(size=len(set(groups.tolist()))),
                "feasible": AtMost(5, per_group=rng.integers(1, 4)),
                **changes,
            }
        )

    def expected_outcomes(self, round):
        return np.hstack([round.contexts, round.contexts**2])

    def outcomes(self, round, rng):
        return with_gaussian_noise(self.expected_outcomes(round), 0.1, rng)


class Unseeded(Right):
    def arrive(self, t, rng):
        return super().arrive(t, rng, contexts=np.random.default_rng().uniform(size=(12, 1)))


class UnseededThresholds(Right):
    def arrive(self, t, rng):
        return super().arrive(t, rng, constraint=Sum() <= np.random.default_rng().uniform())


class UnseededCaps(Right):
    def __init__(self):
        self.k = itertools.count()

    def arrive(self, t, rng):
        return super().arrive(t, rng, feasible=AtMost(next(self.k)))


class FromZero(Right):
    def rounds(self, rng):
        return (self.arrive(t, rng) for t in itertools.count(2))


class Ending(Right):
    def rounds(self, rng):
        return itertools.islice(super().rounds(rng), 2)


class NoRounds(Right):
    def rounds(self, rng):
        return itertools.repeat("round")


class OneGenerator(Right):
    """Noise and arrivals share a generator, so that who is asked changes who comes."""

    def rounds(self, rng):
        self.rng = rng
        return super().rounds(rng)

    def outcomes(self, round, rng):
        self.rng.normal()
        return super().outcomes(round, rng)


class OneRun(Right):
    """Two runs share their state."""

    def rounds(self, rng):
        self.level = rng.uniform()
        for t in itertools.count(1):
            yield self.arrive(t, rng, contexts=np.full((12, 1), self.level))


class Moody(Right):
    def expected_outcomes(self, round):
        self.mood = getattr(self, "mood", 0.0) + 0.1
        return super().expected_outcomes(round) + self.mood


class Generous(Right):
    """Hands out its own array."""

    def __init__(self):
        self.kept = {}

    def expected_outcomes(self, round):
        return self.kept.setdefault(id(round), super().expected_outcomes(round))

    def outcomes(self, round, rng):
        return with_gaussian_noise(Right.expected_outcomes(self, round), 0.1, rng)


class OneOutcome(Right):
    def expected_outcomes(self, round):
        return round.contexts


class Lists(Right):
    def outcomes(self, round, rng):
        return super().outcomes(round, rng).tolist()


class Infinite(Right):
    def expected_outcomes(self, round):
        return np.full((12, 2), np.inf)


class OwnNoise(Right):
    def outcomes(self, round, rng):
        return super().outcomes(round, np.random.default_rng())


class Biased(Right):
    def outcomes(self, round, rng):
        return super().outcomes(round, rng) + np.array([0.0, 0.05])


class Shuffled(Right):
    """The outcomes of other arms: right on average over the arms."""

    def outcomes(self, round, rng):
        return super().outcomes(round, rng)[::-1].copy()


class BiasedInTurns(Right):
    """Biased up for one half of the arms and down for the other."""

    def expected_outcomes(self, round):
        return np.full((12, 2), 0.5)

    def outcomes(self, round, rng):
        return super().outcomes(round, rng) + 0.1 * np.where(np.arange(12) % 2, 1.0, -1.0)[:, None]


class Clicks(Right):
    """Right, with outcomes 0 and 1, some of which never come."""

    def outcomes(self, round, rng):
        expected = self.expected_outcomes(round)
        clicks = (rng.uniform(size=expected.shape) < expected).astype(float)
        clicks[rng.uniform(size=expected.shape) < 0.1] = np.nan
        return clicks


class Noiseless(Right):
    def outcomes(self, round, rng):
        return self.expected_outcomes(round)


@pytest.mark.parametrize("kind", [Right, Clicks, Noiseless])
@pytest.mark.parametrize("seed", range(5))
def test_a_right_environment_passes(kind, seed):
    check_environment(kind(), seed=seed)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Unseeded, "equal generators give different rounds: round 1 differs in its contexts"),
        (UnseededThresholds, "thresholds"),
        (UnseededCaps, "feasible"),
        (FromZero, "counts from 1"),
        (Ending, "ended after 2"),
        (NoRounds, "not a superarm.Round"),
        (OneGenerator, "whether outcomes were asked for"),
        (OneRun, "disturb each other"),
        (Moody, "pure"),
        (Generous, "its internal array"),
        (OneOutcome, r"expected_outcomes of round 1 gave float64 of shape \(12, 1\)"),
        (Lists, "outcomes returned a list"),
        (Infinite, "finite"),
        (OwnNoise, "noise must come from the generator"),
        (Biased, "outcome 1 is biased"),
        (Shuffled, "biased"),
        (BiasedInTurns, "biased"),
        (object, "not an environment"),
    ],
)
def test_a_wrong_environment_is_found(kind, said):
    with pytest.raises(NonConforming, match=said):
        check_environment(kind())
