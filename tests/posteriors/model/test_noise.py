"""Noise that differs: evidence beside SciPy, kinds of outcomes beside their own distributions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.kernels.stationary import SquaredExponential
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.learning.problem import Part, Problem, theta_of
from superarm.posteriors.learning.row_noise import RowNoise
from superarm.posteriors.model.noise import checked_kinds, left_out, of_kind, recognised, row_noise, scatter_of_expected
from superarm.posteriors.model.shape import Shape


def problem(n=25, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(size=(n, 2)), rng.normal(size=(n, 1))
    known = np.where(rng.uniform(size=n) < 0.5, rng.uniform(0.1, 1.0, n), 0.0)
    noise = RowNoise(known=known, relative=rng.uniform(0.2, 3.0, n))
    data = Observations(
        points=x, counts=np.ones(n), means=y, scatters=np.zeros((n, 1)), noise=np.ones(n), known=np.zeros(n, dtype=bool)
    )
    kernel = SquaredExponential(lengthscale=0.4, variance=1.3)
    part = Part(used=data, seen=data, noise=noise)
    return Problem(parts=(part,), kernel=kernel, noise=(0.6,), given=theta_of(kernel, (0.6,))), x, y, noise


def test_evidence_of_uneven_noise_is_the_density_of_scipy_and_so_is_its_gradient():
    asked, x, y, noise = problem()
    value, gradient = asked.evidence(asked.given)
    variance = np.where(noise.known > 0.0, noise.known, 0.36 * noise.relative)
    density = multivariate_normal(np.zeros(len(x)), asked.kernel(x, x) + np.diag(variance)).logpdf(y[:, 0])
    assert value == pytest.approx(density, abs=1e-6)
    slopes = approx_fprime(asked.given, lambda theta: asked.evidence(theta)[0], 1e-6)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-4)


@given(
    st.lists(st.tuples(st.floats(-2, 3), st.floats(0, 2), st.sampled_from([0.0, 0.3])), min_size=1, max_size=20),
    st.sampled_from(["binary", "count", "normal"]),
)
def test_variances_are_positive_and_told_ones_stay(rows, kind):
    mean, std, told = np.array(rows).T
    found = row_noise(Shape(base=SquaredExponential(), noise=0.5, kind=kind, usual=2.0), told, mean, std)
    if found is None:
        assert kind == "normal"
        assert not told.any()
        return
    variance = found.variance(0.25)
    assert (variance > 0.0).all()
    np.testing.assert_allclose(variance[told > 0.0], 0.09)
    if kind == "binary":
        assert (variance[told == 0.0] <= 0.25).all()


def test_chances_have_the_variance_of_a_coin_and_are_never_surer_than_they_are_known():
    shape = Shape(base=SquaredExponential(), noise=0.5, kind="binary")
    mean, std = np.array([0.5, 0.2, 1.0, 1.3]), np.array([0.01, 0.01, 0.1, 0.05])
    variance = row_noise(shape, np.zeros(4), mean, std).variance(0.25)
    np.testing.assert_allclose(variance, [0.25, 0.16, 0.09, 0.0475])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1] * 5, "binary"),
        ([0] * 10, "normal"),  # nothing tells
        ([0, 1, 2, 5] * 3, "count"),
        ([0, 1, -1] * 4, "normal"),
        ([0, 1, 0.5] * 4, "normal"),
        ([3, 4] * 5, "normal"),
        ([0, 1] * 4, "normal"),  # too few
    ],
)
def test_what_outcomes_look_like(values, kind):
    assert recognised(np.array(values, dtype=float), least=10) == kind


def played(policy, kind="bernoulli", rounds=8, seed=2):
    world, noise = sa.environments.WrongWorld(kind, "mean", seed), np.random.default_rng(1)
    for round in itertools.islice(world.rounds(np.random.default_rng(0)), rounds):
        arms = policy.select(round).arms
        policy.update(round, arms, world.outcomes(round, noise)[arms])
    return policy, round


@pytest.mark.parametrize(("kind", "word"), [("bernoulli", "outcomes are 0 or 1"), ("poisson", "outcomes are counts")])
def test_the_story_tells_what_was_recognised(kind, word):
    policy, _ = played(sa.TCGPUCB(), kind)
    assert str(policy).count(word) == 2
    declared, _ = played(sa.TCGPUCB(outcomes="normal"), kind)
    assert word not in str(declared)


def test_what_is_believed_of_clicks_is_what_scikit_learn_believes_with_their_noises():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    world = sa.environments.WrongWorld("bernoulli", "mean", 2)
    policy, round = played(sa.TCGPUCB(world.prior, outcomes="binary"), rounds=4)
    log, shape = policy.learner.model.log, policy.learner.model.shapes[1]
    kernel = ConstantKernel(shape.base.variance) * RBF(shape.base.lengthscale)
    p = np.full(len(log), 0.5)
    for _ in range(60):  # the noise that follows from the belief that follows from the noise
        gp = GaussianProcessRegressor(kernel, alpha=p * (1 - p), optimizer=None).fit(
            log.contexts, log.values[:, 1] - 0.5
        )
        mean, std = gp.predict(log.contexts, return_std=True)
        p = np.clip(mean + 0.5, std, 1 - std)
    believed = policy.posterior.predict(round.contexts)
    mean, std = gp.predict(round.contexts, return_std=True)
    np.testing.assert_allclose(believed.mean[:, 1], mean + 0.5, atol=0.02)
    np.testing.assert_allclose(believed.std[:, 1], std, atol=0.02)


@pytest.mark.parametrize("rate", [0.5, 2.0, 30.0])
def test_the_first_guess_of_counts_leaves_poissons_noise_out(rate):
    """Rates that scatter by a gamma distribution: the variance of counts is theirs and that of Poisson."""
    rng = np.random.default_rng(3)
    rates = rng.gamma(2.0, rate / 2.0, 20_000)  # of variance rate^2 / 2
    counts = rng.poisson(rates).astype(float)
    left, third = rate / np.sqrt(2.0), np.sqrt((rate + rate**2 / 2.0) / 3.0)
    assert scatter_of_expected("count", counts) == pytest.approx(max(left, third), rel=0.05)
    assert scatter_of_expected("normal", counts) == counts.std()
    shape = Shape(base=SquaredExponential(), noise=0.1)
    assert of_kind(shape, "count", counts, guessed=True).noise == pytest.approx(np.sqrt(rate), rel=0.05)
    assert of_kind(shape, "count", counts).noise == 0.1  # as it was given


def test_what_is_believed_without_a_value_is_what_the_others_say():
    rng = np.random.default_rng(5)
    x, y, stds = rng.uniform(size=(12, 2)), rng.normal(size=12), rng.uniform(0.2, 1.0, 12)
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.4), 0.3)
    both, each = np.column_stack([y, y]), np.column_stack([stds, stds])
    belief = prior.condition(x, both, each).predict(x)
    found = left_out(y, belief.mean[:, 1], belief.std[:, 1], np.square(stds))
    for i in range(12):
        others = np.arange(12) != i
        alone = prior.condition(x[others], both[others], each[others]).predict(x[[i]])
        assert found[i] == pytest.approx(alone.mean[0, 1], abs=1e-9)


def test_the_first_guess_of_clicks_is_right_if_every_chance_is_as_frequent():
    rng = np.random.default_rng(3)
    chances = rng.uniform(size=20_000)
    clicks = (rng.uniform(size=20_000) < chances).astype(float)
    assert scatter_of_expected("binary", clicks) == pytest.approx(chances.std(), rel=0.02)


def test_outcomes_that_are_not_as_declared_are_refused_and_change_nothing(tmp_path):
    policy, round = played(sa.CautiousTCGPUCB(outcomes=("count", "binary")))
    policy.save(tmp_path / "before")
    for pair, what in ([0.5, 1.0], "outcome 1"), ([1.0, 2.0], "outcome 2"):
        with pytest.raises(InvalidArgument, match=what):
            policy.update(round, [0], [pair])
    policy.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_kinds_are_one_or_a_pair():
    assert checked_kinds("binary") == ("binary", "binary")
    assert checked_kinds(["binary", None]) == ("binary", None)
    for wrong in ("clicks", ("binary",), ("binary", "normal", "count"), 3, {"binary": 1}):
        with pytest.raises(InvalidArgument, match="outcomes"):
            checked_kinds(wrong)
    with pytest.raises(InvalidArgument, match="outcomes: expected normal"):
        sa.TCGPUCB(sa.GaussianProcess(sa.SquaredExponential(), noise_std=0.1), learn=False, outcomes="binary")


def test_told_noise_weighs_and_is_not_learnt():
    """Half of the outcomes are told to be exact, and are; what is learnt of the others is their noise."""
    rng = np.random.default_rng(0)
    policy = sa.TCGPUCB(sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.4), noise_std=0.3))
    for t in range(1, 13):
        x = rng.uniform(size=(12, 1))
        round = sa.Round(t=t, contexts=x, groups=["a"] * 12, constraint=sa.Sum() >= 0.0, feasible=sa.AtMost(12))
        truth, arms = np.hstack([np.sin(6 * x), np.cos(6 * x)]), np.arange(12)
        std = np.where(arms % 2 == 0, 0.01, 1.0)[:, None]
        told = np.where(arms % 2 == 0, 0.01, np.nan)[:, None] * np.ones(2)
        policy.update(round, arms, truth + std * rng.normal(size=truth.shape), noise_std=told)
    belief = policy.posterior.predict(x)
    assert np.abs(belief.mean - truth).max() < 0.02
    assert policy.posterior.noise_std == pytest.approx((1.0, 1.0), rel=0.35)


def test_whole_numbers_that_scatter_alike_are_no_counts():
    policy, rng = sa.TCGPUCB(), np.random.default_rng(0)
    for t in range(1, 7):
        x = rng.uniform(size=(12, 1))
        round = sa.Round(t=t, contexts=x, groups=["a"] * 12, constraint=sa.Sum() >= 0.0, feasible=sa.AtMost(12))
        counts, prices = rng.poisson(2.0 + 40.0 * x), np.round(2.0 + 40.0 * x + rng.normal(size=x.shape)).clip(0.0)
        policy.update(round, np.arange(12), np.hstack([counts, prices]))
    assert [shape.kind for shape in policy.learner.model.shapes] == ["count", "normal"]


@pytest.mark.parametrize("second", [0.0, 1.0])
@pytest.mark.parametrize("first", ["clicks", "numbers"])
def test_a_few_outcomes_that_are_all_alike_make_nothing_certain(first, second):
    rng = np.random.default_rng(0)
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.35, variance=0.1), 0.4, mean=0.5)
    policy = sa.CautiousTCGPUCB(prior)
    for t in (1, 2):
        x, floor = rng.uniform(size=(8, 2)), sa.Mean() >= 0.2
        round = sa.Round(t=t, contexts=x, groups=[0, 1] * 4, constraint=floor, feasible=sa.AtMost(4))
        drawn = rng.integers(2, size=8) if first == "clicks" else rng.normal(0.5, 0.3, 8)
        policy.update(round, np.arange(8), np.column_stack([drawn, np.full(8, second)]))
    assert policy.learner.belief(round).std[:, 1].min() > 0.1
    assert len(policy.select(round).arms), "an outcome that was not seen yet is not thought to be out of reach"
