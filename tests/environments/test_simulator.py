import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.environments import Simulator
from superarm.errors import InvalidArgument


def draw(t, rng):
    return sa.Round(
        t=t,
        contexts=rng.uniform(size=(6, 2)),
        groups=list("aabbcc"),
        constraint=sa.Sum() <= 0.7,
        feasible=sa.AtMost(3),
    )


def expected(round):
    return np.column_stack([round.contexts[:, 0], round.contexts.mean(axis=1)])


def first(simulator, seed=0):
    return next(simulator.rounds(np.random.default_rng(seed)))


@pytest.mark.parametrize("noise_std", [0.0, 0.1, (0.1, 0.3)])
def test_conformance(noise_std):
    sa.check_environment(Simulator(draw, expected, noise_std=noise_std))


class Shop:
    """The same by hand, as a class with three methods."""

    def rounds(self, rng):
        return (draw(t, rng) for t in itertools.count(1))

    def expected_outcomes(self, round):
        return expected(round)

    def outcomes(self, round, rng):
        return expected(round) + rng.normal(0, 0.05, (len(round), 2))


def test_it_is_the_class_with_three_methods():
    ours, theirs = (
        sa.simulate(sa.CUCB(), world, rounds=20, seed=3)
        for world in (Simulator(draw, expected, noise_std=0.05), Shop())
    )
    same = [name for name in ours.columns if not name.endswith("seconds")]
    assert ours.select(same).equals(theirs.select(same))


def test_each_outcome_may_have_its_own_noise():
    simulator = Simulator(draw, expected, noise_std=(0.1, 0.3))
    round, rng = first(simulator), np.random.default_rng(1)
    seen = np.array([simulator.outcomes(round, rng) - expected(round) for _ in range(2000)])
    assert seen.std(axis=(0, 1)) == pytest.approx([0.1, 0.3], rel=0.03)


def test_outcomes_may_come_late():
    told = []

    class Listener(sa.CUCB):
        def select(self, round):
            told.append(("asked", round.t))
            return super().select(round)

        def update(self, round, arms, outcomes):
            told.append(("told", round.t))

    sa.simulate(Listener(), Simulator(draw, expected, delay=1), rounds=2)
    assert told == [("asked", 1), ("asked", 2), ("told", 1), ("told", 2)]


def test_the_caller_may_write_to_the_truth():
    kept = np.zeros((6, 2))
    simulator = Simulator(draw, lambda round: kept)
    simulator.expected_outcomes(first(simulator))[:] = 1.0
    assert not kept.any()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"draw": 3}, "draw: expected a function of t and a generator"),
        ({"draw": sa.Round}, "draw: expected a function of t and a generator"),
        ({"expected": None}, "expected: expected a function of a round"),
        ({"draw": lambda rng: None}, r"draw: .* that returns a round, got one that takes \(rng\)"),
        ({"draw": expected, "expected": draw}, r"draw: .* got one that takes \(round\)"),
        ({"noise_std": -0.1}, "noise_std: expected a number from 0"),
        ({"noise_std": (0.1, 0.2, 0.3)}, "or one for each outcome"),
        ({"noise_std": np.nan}, "noise_std: expected a number from 0"),
        ({"delay": 0.5}, "delay: expected"),
    ],
)
def test_other_arguments_are_refused(given, said):
    with pytest.raises(InvalidArgument, match=said):
        Simulator(**{"draw": draw, "expected": expected, **given})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"draw": lambda t, rng: None}, "draw: expected a function that returns a superarm.Round"),
        ({"draw": lambda t, rng: draw(t + 1, rng)}, "a function that returns round t = 1, got t = 2"),
        ({"expected": lambda round: np.zeros(6)}, "shape .6, 2., a row per arm, got shape .6,."),
        ({"expected": lambda round: np.full((6, 2), np.nan)}, "a function that returns numbers from"),
        ({"expected": lambda round: "many"}, "a function that returns numbers"),
    ],
)
def test_functions_that_return_something_else_are_refused(given, said):
    simulator = Simulator(**{"draw": draw, "expected": expected, **given})
    with pytest.raises(InvalidArgument, match=said):
        simulator.expected_outcomes(first(simulator))


def test_it_says_what_it_is_in_every_process_alike():
    assert repr(Simulator(draw, expected, noise_std=0.1)) == "Simulator(draw, expected, noise_std=0.1, delay=0)"
