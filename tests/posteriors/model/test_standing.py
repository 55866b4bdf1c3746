"""Thresholds that stay with their groups, and what they tell."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import superarm as sa
from superarm.environments.shops import Shops
from superarm.posteriors.learning import LEARNING
from superarm.posteriors.model import Model, after
from superarm.posteriors.model.conditioned import posterior_of
from superarm.posteriors.model.evidence import Judgement
from superarm.posteriors.model.log import Log, group_keys
from superarm.posteriors.model.shape import Effects, Shape
from superarm.posteriors.model.standing import SLOPE, Promised, Slope, Standing
from superarm.round import Outcomes
from superarm.storage.hashes import keys_of

FLOORS = dict(zip("abcdef", (0.0, 0.5, 1.0, 1.5, 2.0, 2.5), strict=True))
PRIOR = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5, variance=0.3), noise_std=0.1, mean=1.5)


def round_at(t, thresholds=FLOORS, reward=None, seed=0):
    """Four arms of every group, with a promise to each."""
    labels = np.repeat(list(thresholds), 4)
    contexts = np.random.default_rng((seed, t)).uniform(size=(len(labels), 2))
    reward = reward or sa.Mean()
    promises = {label: reward >= threshold for label, threshold in thresholds.items()}
    return sa.Round(t=t, contexts=contexts, groups=labels, constraint=promises, feasible=sa.AtMost(9))


def standing_after(*rounds):
    standing = Standing()
    for round in rounds:
        standing = standing.after(round)
    return standing


def keys(labels):
    contexts = np.zeros((len(labels), 1))
    return keys_of(sa.Round(t=1, contexts=contexts, groups=list(labels), feasible=sa.AtMost(1)).grouping.hashes)


def test_thresholds_tell_once_a_group_came_back_with_its_own():
    assert standing_after(round_at(1)).promised is None
    promised = standing_after(round_at(1), round_at(2)).promised
    assert promised.at(keys("acf")) == pytest.approx([-1.25, -0.25, 1.25])
    assert promised.at(keys("z")).tolist() == [0.0]


def test_groups_may_come_and_go():
    some, others = ({label: FLOORS[label] for label in labels} for labels in ("abc", "cdef"))
    promised = standing_after(round_at(1, some), round_at(2, others)).promised
    assert promised.at(keys("abcdef")) == pytest.approx(np.array([*FLOORS.values()]) - 1.25)


@pytest.mark.parametrize("reward", [sa.Min(), sa.Max()], ids=repr)
def test_promises_about_one_outcome_are_in_its_unit(reward):
    assert standing_after(round_at(1, reward=reward), round_at(2, reward=reward)).promised is not None


@pytest.mark.parametrize(
    "later",
    [
        round_at(2, {**FLOORS, "c": 1.1}),
        round_at(2, reward=sa.Sum()),
        round_at(2, reward=sa.Variance()),
        replace(round_at(2), constraint={"a": sa.Mean() >= 0.0, "b": sa.Sum() >= 0.5}),
        replace(round_at(2), constraint=None),
        replace(round_at(2), constraint=sa.Mean() <= FLOORS),
        round_at(2, {**FLOORS, "g": -1e155}),
    ],
    ids=["another threshold", "sum", "variance", "two kinds", "none", "upper limits", "beyond all outcomes"],
)
def test_thresholds_that_change_or_cannot_be_compared_tell_nothing_for_ever(later):
    assert standing_after(round_at(1), later, round_at(3), round_at(4)).promised is None


def test_equal_thresholds_tell_nothing():
    same = dict.fromkeys(FLOORS, 0.5)
    assert standing_after(round_at(1, same), round_at(2, same)).promised is None


def test_a_thousand_groups_are_remembered_and_no_more():
    many = {i: i / 1000 for i in range(1001)}
    few = {i: i / 1000 for i in range(1000)}
    assert standing_after(round_at(1, few), round_at(2, few)).promised is not None
    assert standing_after(round_at(1, few), round_at(2, few), round_at(3, many)).promised is None


def test_the_mean_follows_the_threshold_with_a_slope_that_is_not_well_known():
    """The posterior beside SciPy's normal distribution of the same prior, conditioned by hand."""
    promised = standing_after(round_at(1), round_at(2)).promised
    shape = Shape(base=PRIOR.state.outputs.second, noise=0.1, mean=0.3, effects=Effects(offset=0.2), promised=promised)
    round, arms = round_at(3), np.array([0, 4, 9])
    log = Log.empty(2).with_rows(round, arms, np.array([[0.0, 0.4], [0.0, 0.9], [0.0, 1.2]]))
    points = np.column_stack([round.contexts, group_keys(round)])
    belief = posterior_of((shape, shape), log, shape.columns).predict(points)
    shifts = np.repeat([*FLOORS.values()], 4) - 1.25
    prior = 0.3 + shifts
    covariance = shape.base(round.contexts, round.contexts)
    covariance += 0.2 * np.equal.outer(round.groups, round.groups) + SLOPE**2 * np.outer(shifts, shifts)
    gain = np.linalg.solve(covariance[np.ix_(arms, arms)] + 0.01 * np.eye(3), covariance[arms]).T
    assert belief.mean[:, 1] == pytest.approx(prior + gain @ (np.array([0.4, 0.9, 1.2]) - prior[arms]), abs=1e-6)
    variance = np.diagonal(covariance) - (gain * covariance[:, arms]).sum(axis=1)
    assert belief.std[:, 1] == pytest.approx(np.sqrt(variance), abs=1e-6)
    problem = Judgement.of(log, 1, LEARNING, np.random.default_rng(0))._problem(shape, shape)
    density = multivariate_normal(prior[arms], covariance[np.ix_(arms, arms)] + 0.01 * np.eye(3))
    assert problem.evidence(problem.given)[0] == pytest.approx(density.logpdf([0.4, 0.9, 1.2]), abs=1e-4)


def test_the_slope_is_a_kernel():
    promised = standing_after(round_at(1), round_at(2)).promised
    slope = Slope(promised=promised, column=1)
    points = np.column_stack([np.zeros(7), keys("abcdefz")])
    matrix = slope(points, points)
    assert slope.diagonal(points) == pytest.approx(np.diagonal(matrix))
    assert np.linalg.eigvalsh(matrix).min() >= -1e-12
    assert matrix[0, 5] == pytest.approx(-(SLOPE**2) * 1.25**2)


def played(follows, rounds, labels="ab", prior=PRIOR, seed=0):
    """A model that saw outcomes of two groups, at so much of their thresholds above the shared function."""
    model, posterior, rng = Model.of(prior), prior, np.random.default_rng(seed)
    for t in range(1, rounds + 1):
        round = round_at(t, seed=seed)
        arms = np.flatnonzero(np.isin(round.groups, list(labels)))
        floors = np.array([FLOORS[label] for label in round.groups[arms].tolist()])
        expected = 0.5 + np.sin(3.0 * round.contexts[arms, 0]) + follows * (floors - 1.25)
        values = np.column_stack([rng.normal(size=len(arms)), expected + 0.1 * rng.normal(size=len(arms))])
        model, posterior = after(model, posterior, round, Outcomes.of(round, arms, values), LEARNING, seed)
    return model, posterior


@pytest.mark.parametrize("prior", [PRIOR, None], ids=["prior", "none"])
def test_groups_never_tried_are_believed_to_lie_around_their_thresholds(prior):
    model, posterior = played(1.0, 6, "abc", prior)
    assert model.shapes[1].promised is not None
    assert model.shapes[0].promised is None
    assert any("thresholds stay with their groups" in line for line in model.lines())
    round = round_at(99)
    mean = posterior.predict(model.points(round)).mean[:, 1]
    by_group = [float(mean[round.groups == label].mean()) for label in "abf"]
    assert by_group[2] - by_group[0] == pytest.approx(2.5, abs=0.8)


@pytest.mark.parametrize("prior", [PRIOR, None], ids=["prior", "none"])
def test_outcomes_that_speak_against_it_are_believed(prior):
    model, _ = played(0.0, 9, "abcdef", prior)
    assert model.shapes[1].promised is None


def test_another_threshold_ends_it_at_the_next_look():
    model, posterior = played(1.0, 5, "abc")
    assert model.shapes[1].promised is not None
    for t in (6, 7, 8, 9):
        round = round_at(t, {**FLOORS, "a": 0.1})
        arms = np.arange(4)
        values = np.zeros((4, 2))
        model, posterior = after(model, posterior, round, Outcomes.of(round, arms, values), LEARNING, 0)
    assert model.shapes[1].promised is None


def test_the_shops_are_all_tried():
    """Twelve shops whose floors say what they are like; before, those of low floors were all that was picked."""
    shops, noise = Shops(seed=0), np.random.default_rng(0)
    policy, tried = sa.CautiousTCGPUCB(shops.prior, seed=0), set()
    rounds = shops.rounds(np.random.default_rng(1))
    for _ in range(9):
        round = next(rounds)
        arms = policy.select(round).arms
        tried |= set(round.groups[arms].tolist())
        policy.update(round, arms, shops.outcomes(round, noise)[arms])
    assert len(tried) >= 10


def test_promised_are_equal_by_value():
    one, same = (Promised(keys=np.array([1.0, 2.0]), shifts=np.array([-0.5, 0.5])) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Promised(keys=np.array([1.0, 2.0]), shifts=np.array([-0.5, 0.6]))
    assert one != 1.0


def test_groups_presumed_to_differ_have_functions_of_their_own_that_are_not_small():
    """Those of three groups that hardly differ would be learnt to be next to nothing."""
    model, _ = played(1.0, 8, "abc")
    effects = model.shapes[1].effects
    assert effects.deviation == 0.0 or effects.deviation >= 0.1
    assert Effects(offset=1.0, deviation=0.02).at_least(0.1).deviation == 0.1
    assert Effects(offset=1.0, deviation=0.3).at_least(0.1).deviation == 0.3
    assert Effects(offset=1.0).at_least(0.1) == Effects(offset=1.0)
