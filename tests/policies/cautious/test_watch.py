"""Stated against seen: what the watch makes of residuals, and what certificates make of it."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import erfcx
from scipy.stats import norm
from scipy.stats import t as student

import superarm as sa
from superarm.errors import ModelWarning
from superarm.policies.cautious.certificates.widening import NONE, Widening
from superarm.policies.cautious.watch import (
    CHANGED,
    DEEPEST,
    KAPPA2,
    LASTING,
    LEAST,
    MEMORY,
    MOST_ARMS,
    MOST_GROUPS,
    NU,
    SHAPE,
    TAILS,
    TAU,
    Residuals,
    Watch,
    _log_likelihood,
    _looked_at,
)
from superarm.posteriors.model import Model
from superarm.posteriors.model.shape import Effects, Shape
from tests.policies.cautious.small import PRIOR

STARTED = Watch(outcomes=LEAST)


def drawn(rng, *, level=1.0, kappa2=1.0, tau=0.0, nu=1.0, degrees=None):
    """A round of 5 to 10 groups of 1 to 4 arms: codes, errors, covariance; the noise variance is 1."""
    sizes = rng.integers(1, 5, rng.integers(5, 11))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.uniform(size=(len(codes), 2))
    covariance = level * np.exp(-np.square(x[:, None] - x).sum(axis=2) / (2 * 0.35**2)) + 1e-9 * np.eye(len(x))
    noise = rng.standard_normal(len(x)) if degrees is None else rng.standard_t(degrees, len(x)) / math.sqrt(3.0)
    wrong = math.sqrt(kappa2) * np.linalg.cholesky(covariance) @ rng.standard_normal(len(x))
    return codes, wrong + tau * rng.standard_normal(len(sizes))[codes] + nu * noise, covariance


def watched(watch, rounds, seed, **wrong):
    """The watch after each of some rounds."""
    rng, seen = np.random.default_rng(seed), []
    for t in range(1, rounds + 1):
        watch = watch.after(Residuals.from_errors(*drawn(rng, **wrong), 1.0), t)
        seen.append(watch)
    return seen


@pytest.mark.filterwarnings("ignore::superarm.errors.ModelWarning")
@pytest.mark.parametrize("wrong", [{}, {"nu": 0.8}, {"nu": 1.25}, {"degrees": 3}], ids=str)
@pytest.mark.parametrize("level", [0.1, 2.0])
def test_nothing_is_widened_where_variances_are_right(wrong, level):
    """Whatever the noise is: by more of it, or by heavy tails, no certificate breaks."""
    runs = [watched(STARTED, 100, seed, level=level, **wrong) for seed in range(6)]
    assert np.mean([bool(watch.widening) for run in runs for watch in run]) <= 0.01


@pytest.mark.parametrize(
    ("wrong", "soon", "least"),
    [
        ({"kappa2": 4.0, "level": 2.0}, 20, Widening(kappa2=2.0)),
        ({"tau": 1.5}, 10, Widening(tau2=1.0)),
        ({"tau": 3.5}, 4, Widening(tau2=6.0)),
        ({"tau": 0.7, "level": 0.1}, 30, Widening(tau2=0.25)),
    ],
    ids=str,
)
def test_certificates_widen_where_the_model_errs_and_narrow_again(wrong, soon, least):
    with pytest.warns(ModelWarning, match="lie further from the beliefs than the model allows"):
        widened = watched(STARTED, soon + LASTING, 1, **wrong)[-1]
    assert 0 < widened.since <= soon
    assert widened.told
    assert widened.widening.kappa2 >= least.kappa2
    assert widened.widening.tau2 >= least.tau2
    later = watched(widened, 60, 2)
    assert any(not watch.widening for watch in later[:40])
    assert (later[-1].since, later[-1].lasted, later[-1].told) == (None, 0, True)
    assert repr(later[-1]) == "Watch(certificates not widened)"


def test_evidence_is_the_density_of_the_residuals():
    """Of one group, at every point of the grid, by SciPy's densities and another formula for the scatter."""
    rng = np.random.default_rng(0)
    codes, errors, covariance = np.zeros(4, dtype=np.intp), rng.normal(size=4), np.diag([0.3, 0.1, 0.2, 0.4]) + 0.2
    evidence = _log_likelihood(Residuals.from_errors(codes, errors, covariance, 1.0))
    of_mean = covariance.mean()
    within = (np.trace(covariance) - 4 * of_mean) / 3
    for i, j, k in itertools.product(*map(range, SHAPE)):
        kappa2, tau2, nu2 = KAPPA2[i], TAU[j] ** 2, NU[k] ** 2
        scale = math.sqrt((kappa2 * of_mean + tau2 + nu2 / 4) * TAILS * 3 / 5)
        scatter = norm(0, math.sqrt(kappa2 * within + nu2)).logpdf(errors - errors.mean()).sum()
        scatter += 0.5 * math.log(2 * math.pi * (kappa2 * within + nu2))  # one degree of freedom went to the mean
        expected = student(5).logpdf(errors.mean() / scale) - math.log(scale) + scatter
        if i == j == k == 0:
            constant = evidence[0, 0, 0] - expected
        assert evidence[i, j, k] == pytest.approx(expected + constant, abs=1e-9)


def test_groups_that_err_together_count_as_what_they_are():
    """Each mean less what those before foretell: under the model independent, with the variances stated."""
    codes, _, covariance = drawn(np.random.default_rng(3), level=5.0)
    groups = np.unique(codes)
    average = (groups[:, None] == codes) / np.bincount(codes)[:, None]
    joint = average @ (covariance + np.eye(len(codes))) @ average.T
    seen = [Residuals.from_errors(codes, error, covariance, 1.0) for error in np.eye(len(codes))]
    weights = np.column_stack([each.deviation for each in seen])  # from errors to deviations
    dense = weights @ (covariance + np.eye(len(codes))) @ weights.T
    assert dense == pytest.approx(np.diag(seen[0].model + seen[0].noise), abs=1e-8)
    assert np.linalg.det(dense) == pytest.approx(np.linalg.det(joint), rel=1e-6)
    assert (seen[0].common >= 1.0).all()


def test_normal_residuals_have_their_variance_as_the_best():
    def minus_density(v):
        """E[1/2 log v + 3 log(1 + z^2 / (3 c v))] has the derivative in v that this one has."""
        c = 3.0 * TAILS * v
        return 0.5 / v - 3.0 * (1.0 - math.sqrt(0.5 * math.pi * c) * erfcx(math.sqrt(0.5 * c))) / v

    assert minus_density(1.0) == pytest.approx(0.0, abs=1e-4)
    best = minimize_scalar(lambda v: minus_density(v) ** 2, bounds=(0.5, 2.0), method="bounded")
    assert best.x == pytest.approx(1.0, abs=1e-3)


def test_the_first_outcomes_are_only_counted():
    rng = np.random.default_rng(10)
    watch, came = Watch(), 0
    while came < LEAST:
        assert watch.outcomes == came
        codes, errors, covariance = drawn(rng, tau=50.0)
        watch, came = watch.after(Residuals.from_errors(codes, errors, covariance, 1.0), 1), came + len(codes)
        assert not watch.evidence.any()
    assert watch.outcomes == LEAST
    assert watch.after(Residuals.from_errors(*drawn(rng, tau=50.0), 1.0), 2).widening


def test_a_model_of_another_shape_keeps_little_of_the_evidence():
    with pytest.warns(ModelWarning):
        widened = watched(STARTED, 8, 1, tau=3.5)[-1]
    effects = Effects(offset=0.1)
    plain, other = (Shape(base=sa.Matern52(), noise=0.1, effects=effects) for effects in (Effects(), effects))
    models = {name: Model(shapes=(shape, shape)) for name, shape in (("plain", plain), ("other", other))}
    learnt = Model(shapes=(plain, replace(plain, noise=0.2, base=sa.Matern52(lengthscale=0.3))))
    assert widened.under(models["plain"], models["plain"], 9) is widened
    assert widened.under(models["plain"], learnt, 9) is widened
    assert widened.under(None, None, 9) is widened
    for before in (None, models["plain"]):
        faded = widened.under(before, models["other"], 9)
        assert faded.evidence == pytest.approx(CHANGED * widened.evidence)
        assert faded.lasted == widened.lasted
    moved = Model(shapes=(plain, replace(plain, mean=3.0)))
    assert widened.under(models["plain"], moved, 9).evidence.min() == pytest.approx(-CHANGED * DEEPEST)


def test_units_do_not_matter():
    codes, errors, covariance = drawn(np.random.default_rng(4))
    one, other = (Residuals.from_errors(codes, s * errors, s * s * covariance, s * s) for s in (1.0, 2.0**40))
    assert np.array_equal(STARTED.after(one, 1).evidence, STARTED.after(other, 1).evidence)


def test_old_evidence_is_forgotten_but_never_lost_beyond_return():
    right = watched(STARTED, 300, 5)[-1]
    assert right.evidence.max() == 0.0
    assert right.evidence.min() == -DEEPEST
    nothing = Residuals.from_errors(np.empty(0, np.intp), np.empty(0), np.empty((0, 0)), 1.0)
    assert np.array_equal(right.after(nothing, 301).evidence, right.evidence)
    groups = 8
    seen = Residuals.from_errors(np.arange(groups), np.zeros(groups), np.zeros((groups, groups)), 1.0)
    expected = (1 - 1 / MEMORY) ** groups * right.evidence + _log_likelihood(seen)
    assert right.after(seen, 301).evidence == pytest.approx(np.maximum(expected - expected.max(), -DEEPEST))


@pytest.mark.filterwarnings("ignore::superarm.errors.ModelWarning")
@pytest.mark.parametrize("error", [0.0, 1e-300, 1e12, 1e100])
@pytest.mark.parametrize("variance", [0.0, 1e-200, 1e150])
def test_any_residuals_leave_a_watch_that_works(error, variance):
    errors = error * np.array([1.0, -1.0, 1.0])
    seen = Residuals.from_errors(np.array([0, 0, 2]), errors, np.full((3, 3), variance), 1e-30)
    watch = STARTED.after(seen, 1)
    assert np.isfinite(watch.evidence).all()
    assert 1.0 <= watch.widening.kappa2 < np.inf
    assert 0.0 <= watch.widening.tau2 < np.inf


def test_large_groups_and_rounds_are_looked_at_in_part_whatever_the_order():
    rng = np.random.default_rng(6)
    codes, points = rng.integers(0, 50, 2000), rng.uniform(size=(2000, 2))
    looked = _looked_at(codes, points)
    counts = np.bincount(codes[looked])
    assert (counts > 0).sum() == MOST_GROUPS
    assert counts.max() == MOST_ARMS
    shuffled = rng.permutation(2000)
    assert np.array_equal(_looked_at(codes[shuffled], points[shuffled]), looked[shuffled])
    assert _looked_at(codes[:20], points[:20]).all()


def test_a_widening_is_wider():
    rng = np.random.default_rng(7)
    belief = sa.Belief(mean=rng.normal(size=(5, 2)), std=rng.uniform(0.1, 1.0, (5, 2)))
    wider = Widening(kappa2=2.0, tau2=0.5).belief(belief, 0.04)
    assert np.array_equal(wider.mean, belief.mean)
    assert np.array_equal(wider.std[:, 0], belief.std[:, 0])
    assert wider.std[:, 1] == pytest.approx(np.sqrt(2.0 * belief.std[:, 1] ** 2 + 0.02))
    assert NONE.belief(belief, 0.04) is belief
    assert not NONE


def shops(t, rng, effects):
    """A round of 6 groups that differ by effects of their own, and its expected outcomes."""
    x, group = rng.uniform(size=(36, 2)), np.repeat(np.arange(6), 6)
    feasible = sa.AtMost(12, per_group=3)
    round = sa.Round(t=t, contexts=x, groups=group, constraint=sa.Mean() >= -0.4, feasible=feasible)
    return round, np.column_stack([np.sin(4 * x[:, 0]), 0.5 * np.cos(4 * x[:, 1]) + effects[group]])


def played(policy, rounds):
    """What the policy reported in rounds where every group has an effect drawn anew."""
    rng, reported = np.random.default_rng(8), []
    for t in range(1, rounds + 1):
        round, truth = shops(t, rng, rng.normal(0, 0.7, 6))
        arms = policy.select(round).arms
        outcomes = (truth + rng.normal(0, 0.1, truth.shape))[arms]
        policy.update(round, arms, outcomes)
        reported.append((round, arms, outcomes))
    return reported


@pytest.fixture
def surprised():
    """A policy that learns nothing of the effects of groups, and the rounds that it has played."""
    policy = sa.CautiousTCGPUCB(PRIOR, learn=sa.Learning(schedule=()))
    with pytest.warns(ModelWarning, match="certificates are widened since t = ") as caught:
        reported = played(policy, 12)
    assert [(warning.filename, warning.lineno) for warning in caught] == [
        (__file__, played.__code__.co_firstlineno + 7)
    ]
    return policy, reported


def test_the_policy_certifies_by_the_wider_variances(surprised):
    policy, _ = surprised
    widening = policy.watch.widening
    assert widening.tau2 > 1.0
    assert f"certificates widened since t = {policy.watch.since}" in repr(policy)
    assert str(policy).endswith(f"watch: certificates widened since t = {policy.watch.since}: {widening}")
    round = shops(9, np.random.default_rng(9), np.zeros(6))[0]
    selection = policy.select(round)
    posterior, points = policy.learner.view(round)
    plain, noise = posterior.predict(points[selection.arms]).std[:, 1], posterior.noise_std[1] ** 2
    assert selection.belief.std[:, 1] == pytest.approx(np.sqrt(widening.kappa2 * plain**2 + widening.tau2 * noise))
    for group in selection.groups:
        arms = np.array(group.arms)
        mean = posterior.predict(points[arms]).mean[:, 1].mean()
        variance = widening.kappa2 * posterior.covariance(points[arms])[1].mean() + widening.tau2 * noise
        assert group.probability == pytest.approx(norm.sf((-0.4 - mean) / math.sqrt(variance)), abs=1e-9)


def test_a_trusted_posterior_is_not_watched():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    played(policy, 5)
    assert policy.watch is None


def test_a_watched_policy_is_saved_as_it_is(surprised, tmp_path):
    policy, _ = surprised
    policy.save(tmp_path / "policy")
    loaded = sa.load(tmp_path / "policy")
    assert np.array_equal(loaded.watch.evidence, policy.watch.evidence)
    assert {**vars(loaded.watch), "evidence": None} == {**vars(policy.watch), "evidence": None}
    round = shops(9, np.random.default_rng(9), np.zeros(6))[0]
    one, other = policy.select(round), loaded.select(round)
    assert np.array_equal(one.arms, other.arms)
    assert [group.probability for group in one.groups] == [group.probability for group in other.groups]


def test_outcomes_that_never_came_say_nothing(surprised):
    policy, reported = surprised
    round, arms, outcomes = reported[-1]
    before = policy.watch.evidence
    policy.update(round, arms, np.column_stack([outcomes[:, 0], np.full(len(arms), np.nan)]))
    assert np.array_equal(policy.watch.evidence, before)


def test_outcomes_of_a_noise_of_their_own_are_measured_by_it():
    codes, errors, covariance = drawn(np.random.default_rng(0))
    plain = Residuals.from_errors(codes, errors, covariance, 4.0)
    alike = Residuals.from_errors(codes, errors, covariance, 4.0, np.full(len(codes), 4.0))
    unknown = Residuals.from_errors(codes, errors, covariance, 4.0, np.full(len(codes), np.nan))
    for name in vars(plain):
        np.testing.assert_allclose(getattr(alike, name), getattr(plain, name), rtol=1e-12)
        np.testing.assert_allclose(getattr(unknown, name), getattr(plain, name), rtol=1e-12)
    # In another unit, 1, the same noise is 4 times as large, and what follows from it has the same density.
    unit = Residuals.from_errors(codes, errors, covariance, 1.0, np.full(len(codes), 4.0))
    np.testing.assert_allclose(unit.rough, 4.0)
    np.testing.assert_allclose(unit.noise, 4.0 * plain.noise, rtol=1e-9)
    np.testing.assert_allclose(np.square(unit.deviation), 4.0 * np.square(plain.deviation), rtol=1e-9)


def test_a_noise_that_was_told_alarms_nobody():
    rng, told, untold = np.random.default_rng(3), STARTED, STARTED
    for t in range(1, LASTING):  # before a warning is due
        codes, errors, covariance = drawn(rng, nu=20.0)
        told = told.after(Residuals.from_errors(codes, errors, covariance, 1.0, np.full(len(codes), 400.0)), t)
        untold = untold.after(Residuals.from_errors(codes, errors, covariance, 1.0), t)
    assert untold.widening
    assert not told.widening


def test_a_policy_passes_the_noise_on():
    """Outcomes fifty times as noisy as usual, as told, are as noisy as stated: nu is 1."""
    rng, policy = np.random.default_rng(3), sa.CautiousTCGPUCB(PRIOR)
    for t in range(1, 9):
        x, loud = rng.uniform(size=(12, 1)), 10.0 if t > 3 else 0.2
        groups, constraint = np.arange(12) // 3, sa.Sum() >= -50.0
        round = sa.Round(t=t, contexts=x, groups=groups, constraint=constraint, feasible=sa.AtMost(12))
        outcomes = np.sin(3 * x) + loud * rng.normal(size=(12, 2))
        policy.update(round, np.arange(12), outcomes, noise_std=loud)
    assert not policy.watch.widening
    assert 0.8 <= NU[policy.watch.evidence.max(axis=(0, 1)).argmax()] <= 1.2
