import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.environments import WrongWorld
from superarm.environments.wrong import BEYOND, KINDS, PROMISES
from superarm.regret import optimum


def first(environment, n, seed=0):
    return list(itertools.islice(environment.rounds(np.random.default_rng(seed)), n))


def residuals(world, rounds=40):
    noise = np.random.default_rng(3)
    return np.vstack([world.outcomes(r, noise) - world.expected_outcomes(r) for r in first(world, rounds)])


@pytest.mark.parametrize("kind", KINDS)
def test_conformance(kind):
    for promise in PROMISES:
        world = WrongWorld(kind, promise, seed=5)
        sa.check_environment(world, rounds=2, repetitions=100)
        assert kind in world.description
        assert promise in world.description


@pytest.mark.parametrize("promise", PROMISES)
def test_rounds_are_what_the_page_says(promise):
    rounds = first(WrongWorld("right", promise, seed=1), 80)
    assert {len(round.labels) for round in rounds} == set(range(5, 11))
    sizes = np.concatenate([round.grouping.sizes for round in rounds])
    assert (sizes.min(), sizes.max()) == (5, 10)
    assert set().union(*(round.labels for round in rounds)) == set(range(14))
    for round in rounds:
        assert (round.feasible.k, round.feasible.per_group) == (10, 4)
        (one,) = round.promises
        assert one.sense.value == ("<=" if promise == "sum" else ">=")


@pytest.mark.parametrize("kind", ["right", "groups kept", "offset 500 scale 100", "poisson"])
def test_thresholds_are_quantiles_under_the_truth(kind):
    """Single arms, pairs, triples and fours of the rounds themselves have means of which the thresholds are ranks."""
    world = WrongWorld(kind, "mean", seed=4)
    rng = np.random.default_rng(1)
    rounds = first(world, 200)
    values = []
    for round in rounds:
        expected = world.expected_outcomes(round)[:, 1]
        for code in range(len(round.labels)):
            some = rng.choice(round.grouping.members(code), rng.integers(1, 5), replace=False)
            values.append(expected[some].mean())
    thresholds = np.concatenate([round.promises[0].thresholds for round in rounds])
    ranks = np.searchsorted(np.sort(values), thresholds) / len(values)
    assert np.quantile(ranks, [0.0, 0.5, 1.0]) == pytest.approx([0.25, 0.55, 0.85], abs=0.08)


def test_there_is_something_to_earn_in_every_world():
    for number, kind in enumerate(KINDS):
        promise = PROMISES[number % 3]
        world = WrongWorld(kind, promise, seed=2)
        best = [optimum(round, world.expected_outcomes(round)) for round in first(world, 3)]
        assert all(selection.exact for selection in best)
        assert sum(selection.value for selection in best) > 0.0


def test_what_a_learner_is_told():
    """The prior that is right, times what is wrong."""
    right = WrongWorld("right").prior
    assert (right.kernel.lengthscale, right.kernel.variance, right.noise_std) == (0.35, 1.0, (0.2, 0.2))
    told = {
        "lengthscale x0.3": (0.105, 1.0, 0.2),
        "lengthscale x3": (1.05, 1.0, 0.2),
        "variance x0.25": (0.35, 0.25, 0.2),
        "variance x4": (0.35, 4.0, 0.2),
        "noise x0.3": (0.35, 1.0, 0.06),
        "noise x3": (0.35, 1.0, 0.6),
    }
    for kind in [
        "step",
        "hetero",
        "offset 5",
        "scale 100",
        "offset 500 scale 100",
        "groups kept",
        "delay 5",
        "partial",
    ]:
        told[kind] = (0.35, 1.0, 0.2)  # what would be right if nothing were wrong
    for kind, expected in told.items():
        prior = WrongWorld(kind).prior
        assert (prior.kernel.lengthscale, prior.kernel.variance, prior.noise_std[0]) == pytest.approx(expected), kind


def test_outcomes_are_as_likely_as_draws_of_the_prior_that_is_right():
    surprise = []
    for seed in range(12):
        world = WrongWorld("right", seed=seed)
        round = first(world, 1)[0]
        _, some = np.unique(round.arm_ids, return_index=True)
        x, y = round.contexts[some], world.outcomes(round, np.random.default_rng(seed))[some, 1]
        gram = world.prior.kernel(x, x) + 0.2**2 * np.eye(len(x))
        surprise.append(y @ np.linalg.solve(gram, y) / len(x))
    assert np.mean(surprise) == pytest.approx(1.0, abs=0.15)


def test_noise():
    assert residuals(WrongWorld("right")).std(axis=0) == pytest.approx([0.2, 0.2], rel=0.05)
    assert residuals(WrongWorld("scale 100")).std(axis=0) == pytest.approx([20.0, 20.0], rel=0.05)
    heavy = residuals(WrongWorld("t3"))
    assert np.median(np.abs(heavy)) == pytest.approx(0.2 * 0.7649 / np.sqrt(3), rel=0.05)  # the upper quartile of t3
    world = WrongWorld("hetero")
    rounds = first(world, 40)
    where = np.concatenate([round.contexts[:, 0] for round in rounds])
    rough = residuals(world)
    assert rough[where < 0.1].std() == pytest.approx(0.2 * 0.325, rel=0.15)
    assert rough[where > 0.9].std() == pytest.approx(0.2 * 1.675, rel=0.15)


def test_clicks_and_counts():
    noise = np.random.default_rng(0)
    for kind, values in (("bernoulli", {0.0, 1.0}), ("poisson", set(map(float, range(100))))):
        world = WrongWorld(kind)
        round = first(world, 1)[0]
        assert set(world.outcomes(round, noise).ravel().tolist()) <= values


def test_offset_and_scale_move_the_same_truth():
    plain, moved = WrongWorld("right", seed=3), WrongWorld("offset 500 scale 100", seed=3)
    ours, theirs = first(plain, 1)[0], first(moved, 1)[0]
    assert moved.expected_outcomes(theirs) == pytest.approx(500 + 100 * plain.expected_outcomes(ours))


def by_label(kind, rounds=40):
    """What each group differs by from the world without effects, by (label, t)."""
    plain, world = WrongWorld("right", seed=6), WrongWorld(kind, seed=6)
    found = {}
    for ours, theirs in zip(first(plain, rounds), first(world, rounds), strict=True):
        difference = world.expected_outcomes(theirs) - plain.expected_outcomes(ours)
        for code, label in enumerate(theirs.labels):
            some = difference[theirs.grouping.members(code)]
            assert some == pytest.approx(np.broadcast_to(some[0], some.shape))  # the same for all arms of a group
            found[label, theirs.t] = some[0]
    return found


def test_groups_differ():
    kept, new, redrawn = by_label("groups kept"), by_label("groups new"), by_label("groups redrawn")
    for label in range(14):
        of_label = np.array([effect for (other, _), effect in kept.items() if other == label])
        assert of_label == pytest.approx(np.broadcast_to(of_label[0], of_label.shape))
        assert np.std([effect for (other, _), effect in redrawn.items() if other == label]) > 0.4
    assert len({label for label, _ in new}) == len(new)  # none comes back
    for found in (new, redrawn):
        assert np.std([*found.values()], axis=0) == pytest.approx([0.7, 0.7], abs=0.1)


def changes(kind):
    """Correlations of the truth of rounds 1, 30, 31 and 60 with one that stays, over ten worlds in the mean."""
    found = []
    for seed in range(10):
        world, still = WrongWorld(kind, seed=seed), WrongWorld("right", seed=seed)
        rounds = first(world, 60)
        pairs = [(world.expected_outcomes(r)[:, 1], still.expected_outcomes(r)[:, 1]) for r in rounds]
        found.append([np.corrcoef(*pairs[place])[0, 1] for place in (0, 29, 30, 59)])
    return np.mean(found, axis=0)


def test_drift():
    abrupt, slow = changes("drift abrupt"), changes("drift slow")
    assert abrupt[:2] == pytest.approx([1.0, 1.0])
    assert np.abs(abrupt[2:]).max() < 0.5
    # A turn by half a right angle: the cosine of what is done of it, but for chance likeness.
    assert slow == pytest.approx(np.cos(np.pi / 4 * np.array([1, 30, 31, 60]) / 60), abs=0.12)


def test_delay_and_missing_outcomes():
    assert {kind: WrongWorld(kind).delay for kind in KINDS if WrongWorld(kind).delay} == {"delay 1": 1, "delay 5": 5}
    world = WrongWorld("partial")
    missing = np.isnan(np.vstack([world.outcomes(r, np.random.default_rng(r.t)) for r in first(world, 40)]))
    assert missing.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.03)
    assert (missing[:, 0] & missing[:, 1]).mean() == pytest.approx(0.25, abs=0.03)


def test_features():
    assert WrongWorld("interactions").contexts.shape == (220, 5)
    one_hot = WrongWorld("one-hot").contexts
    assert one_hot.shape == (220, 7)
    assert (one_hot[:, 2:].sum(axis=1) == 1.0).all()
    step = WrongWorld("step")
    assert len({*np.vstack([step.expected_outcomes(r)[:, 1] for r in first(step, 1)]).ravel().tolist()}) <= 16


def test_kinds_beyond_are_kinds():
    assert set(BEYOND) < set(KINDS)


@pytest.mark.parametrize(
    ("arguments", "wrong"), [({"kind": "worse"}, "kind"), ({"promise": "min"}, "promise"), ({"seed": -1}, "seed")]
)
def test_bad_arguments(arguments, wrong):
    with pytest.raises(ValueError, match=rf"^{wrong}: expected"):
        WrongWorld(**arguments)


def test_rounds_of_others_are_refused():
    world = WrongWorld("groups kept")
    with pytest.raises(ValueError, match=r"^round: expected a round of this environment"):
        world.expected_outcomes(
            sa.Round(t=1, contexts=np.zeros((2, 2)), groups=["a", "b"], feasible=sa.AtMost(1), arm_ids=[0, 1])
        )
