import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.environments.federated import Federated
from superarm.environments.gp_sample import GPSample


def first(environment, n, seed=0):
    return list(itertools.islice(environment.rounds(np.random.default_rng(seed)), n))


@pytest.mark.parametrize("environment", [Federated(), GPSample(pool=300, horizon=5)], ids=["federated", "gp sample"])
def test_conformance(environment):
    sa.check_environment(environment)


def test_federated_is_the_papers():
    rounds = first(Federated(), 200)
    clients = [len(round.labels) for round in rounds]
    assert np.mean(clients) == pytest.approx(50, abs=2)
    assert np.var(clients) == pytest.approx(50, rel=0.35)
    round = rounds[0]
    assert sorted(set(round.contexts[:, 0])) == [i / 100 for i in range(1, 101)]
    assert (np.bincount(round.groups) == 100).all()
    caps = np.concatenate([r.feasible.caps(r.grouping) for r in rounds])
    assert caps.mean() == pytest.approx(5, abs=0.1)
    assert (caps == 0).any()
    limits = np.concatenate([r.promises[0].thresholds for r in rounds])
    assert 0 <= limits.min() < 0.01 < 0.99 < limits.max() <= 1
    assert round.promises[0].sense is sa.Sense.AT_MOST
    truth = Federated().expected_outcomes(round)
    for arm in (0, 49, 99):
        x = (arm + 1) / 100
        assert truth[arm] == pytest.approx([1 / (1 + np.exp(5 - 10 * x)), 0.05 + 0.95 * np.exp(-5 * x)], rel=1e-14)


def test_gp_sample_is_the_papers():
    environment = GPSample(seed=4)
    rounds = first(environment, 100)
    assert np.mean([len(round.labels) for round in rounds]) == pytest.approx(50 * (1 - np.exp(-5)), abs=2)
    sizes = np.concatenate([round.grouping.sizes for round in rounds])
    assert sizes.min() == 1
    assert sizes.mean() == pytest.approx(5 / (1 - np.exp(-5)), abs=0.1)
    variances = [
        np.var(environment.expected_outcomes(round)[round.grouping.members(group), 1])
        for round in rounds
        for group in range(len(round.labels))
    ]
    thresholds = {float(t) for round in rounds for t in round.promises[0].thresholds}
    assert len(thresholds) == 1
    assert thresholds.pop() == pytest.approx(np.percentile(variances, 80), rel=1e-12)
    assert all(round.feasible.n == 10 for round in rounds)


def test_the_sampled_function_has_the_kernels_covariance():
    """Over many draws of the truth, with a pool small enough to compare with the dense kernel matrix."""
    environments = [GPSample(seed=seed, pool=40) for seed in range(1500)]
    same = [GPSample(seed=0, pool=40).contexts] * len(environments)
    draws = []
    for environment, contexts in zip(environments, same, strict=True):
        environment.__dict__["contexts"] = contexts  # the same points under every draw
        draws.append(environment.truth)
    values = np.array(draws)
    distance = ((same[0][:, None] - same[0][None]) ** 2).sum(-1)
    kernel = np.exp(-distance / (2 * 0.5**2))
    for j in range(2):
        assert np.abs(values[:, :, j].T @ values[:, :, j] / len(values) - kernel).max() < 0.2
    across = values[:, :, 0].T @ values[:, :, 1] / len(values)
    assert np.abs(across).max() < 0.15


def test_the_truth_belongs_to_the_environment_and_not_to_the_arrivals():
    environment = GPSample(seed=1, pool=100, horizon=3)
    one, other = first(environment, 1, seed=0)[0], first(environment, 1, seed=1)[0]
    assert not np.array_equal(one.arm_ids[:5], other.arm_ids[:5])
    shared = np.intersect1d(one.arm_ids, other.arm_ids)
    for pool_index in shared:
        a = environment.expected_outcomes(one)[np.flatnonzero(one.arm_ids == pool_index)[0]]
        b = environment.expected_outcomes(other)[np.flatnonzero(other.arm_ids == pool_index)[0]]
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    ("make", "settings", "argument"),
    [
        (Federated, {"clients": -1}, "clients"),
        (Federated, {"noise_std": float("nan")}, "noise_std"),
        (Federated, {"requests": 2.5}, "requests"),
        (GPSample, {"pool": 0}, "pool"),
        (GPSample, {"percentile": 101}, "percentile"),
        (GPSample, {"arms": "many"}, "arms"),
    ],
)
def test_bad_settings(make, settings, argument):
    with pytest.raises(ValueError, match=f"^{argument}: expected"):
        make(**settings)


def test_rounds_without_groups_are_legal():
    assert [len(round) for round in first(GPSample(pool=50, groups=0.0, horizon=2), 3)] == [0, 0, 0]
    assert [len(round) for round in first(Federated(clients=0.0), 2)] == [0, 0]
