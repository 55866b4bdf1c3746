import numpy as np
import pytest

from superarm.errors import InvalidArgument
from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    GreedyVariance,
    Linear,
    Matern32,
    Matern52,
    RandomSubset,
    SparsePosterior,
    SquaredExponential,
)
from superarm.posteriors.engines.inducing import Basis
from tests.posteriors.dense import data, grown

SE = SquaredExponential(lengthscale=0.6)


def assert_close(first, second, c, tolerance):
    a, b = first.predict(c), second.predict(c)
    np.testing.assert_allclose(a.mean, b.mean, atol=tolerance)
    np.testing.assert_allclose(a.std, b.std, atol=tolerance)


def titsias(kernel, noise_std, x, y, u, c):
    """Mean, variance and bound of one output, from the formulas of the paper with raw data."""
    kuu = kernel(u, u) + 1e-12 * np.eye(len(u))
    kuf, kuc = kernel(u, x), kernel(u, c)
    sigma = kuu + kuf @ kuf.T / noise_std**2
    mean = kuc.T @ np.linalg.solve(sigma, kuf @ y) / noise_std**2
    inner = np.linalg.inv(sigma) - np.linalg.inv(kuu)
    variance = kernel.diagonal(c) + np.einsum("im,ij,jm->m", kuc, inner, kuc)
    q = kuf.T @ np.linalg.solve(kuu, kuf)
    total = q + noise_std**2 * np.eye(len(x))
    fit = y @ np.linalg.solve(total, y) + np.linalg.slogdet(total)[1] + len(x) * np.log(2 * np.pi)
    return mean, variance, -0.5 * (fit + (kernel.diagonal(x).sum() - np.trace(q)) / noise_std**2)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kernel", [SE, Matern52(lengthscale=0.8), Matern32() + Linear()])
def test_few_inducing_points_give_titsias_posterior_and_bound(kernel, missing):
    x, y = data(0, 120, 2, repeats=0.3, missing=missing)
    c = data(1, 20, 2)[0]
    posterior = grown(SparsePosterior(kernel, (0.2, 0.4), inducing=RandomSubset(9, seed=3)), x, y, (50, 11))
    u, belief, bound = posterior.inducing_points, posterior.predict(c), 0.0
    assert u.shape == (9, 2)
    for j, noise in enumerate((0.2, 0.4)):
        came = ~np.isnan(y[:, j])
        mean, variance, part = titsias(kernel, noise, x[came], y[came, j], u, c)
        np.testing.assert_allclose(belief.mean[:, j], mean, atol=1e-6)
        np.testing.assert_allclose(belief.std[:, j], np.sqrt(variance), atol=1e-6)
        np.testing.assert_allclose(np.diagonal(posterior.covariance(c)[j]), variance, atol=1e-6)
        bound += part
    np.testing.assert_allclose(posterior.log_marginal_likelihood(), bound, rtol=1e-7)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("kernel", [SE, Matern32(lengthscale=0.7), Matern52(), Linear()])
def test_all_data_as_inducing_points_is_exact(kernel, d, missing):
    x, y = data(2, 200, d, repeats=0.3, missing=missing)
    c = data(3, 50, d)[0]
    sparse = SparsePosterior(kernel, 0.05, inducing=RandomSubset(1000), mean=0.5).condition(x, y)
    exact = ExactPosterior(kernel, 0.05, mean=0.5).condition(x, y)
    assert_close(sparse, exact, c, 1e-7)
    np.testing.assert_allclose(sparse.log_marginal_likelihood(), exact.log_marginal_likelihood(), rtol=1e-6)
    assert len(sparse.inducing_points) == sparse.distinct == exact.distinct


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_random_subset_streams_to_the_batch(missing):
    x, y = data(4, 400, 2, repeats=0.3, missing=missing)
    c = data(5, 40, 2)[0]
    batch = SparsePosterior(SE, 0.1, inducing=RandomSubset(25)).condition(x, y)
    stream = grown(SparsePosterior(SE, 0.1, inducing=RandomSubset(25)), x, y, (13, 1, 60))
    order = np.random.default_rng(0).permutation(400)
    shuffled = grown(SparsePosterior(SE, 0.1, inducing=RandomSubset(25)), x[order], y[order], (100,))
    for other in (stream, shuffled):
        np.testing.assert_array_equal(other.inducing_points, batch.inducing_points)
        assert_close(other, batch, c, 1e-9)
        np.testing.assert_allclose(other.log_marginal_likelihood(), batch.log_marginal_likelihood(), rtol=1e-9)
        assert (other.observations, other.distinct) == (batch.observations, batch.distinct)


def test_random_subset_is_a_subset_and_follows_its_seed():
    x, y = data(6, 300, 2, repeats=0.5)
    distinct = np.unique(x, axis=0)
    seen = set(map(tuple, distinct))
    points = SparsePosterior(SE, 0.1, inducing=RandomSubset(20, seed=1)).condition(x, y).inducing_points
    assert len(points) == 20
    assert len({tuple(p) for p in points} & seen) == 20
    other = SparsePosterior(SE, 0.1, inducing=RandomSubset(20, seed=2)).condition(x, y).inducing_points
    assert {tuple(p) for p in points} != {tuple(p) for p in other}
    few = SparsePosterior(SE, 0.1, inducing=RandomSubset(20)).condition(x[:5], y[:5])
    assert len(few.inducing_points) == len(np.unique(x[:5], axis=0))


def test_random_subset_is_uniform():
    x = np.linspace(0, 1, 20)[:, None]
    rule = RandomSubset(5)
    none = np.empty((0, 1))
    hits = np.zeros(20)
    for seed in range(4000):
        chosen = RandomSubset(5, seed).choose(SE, none, x, np.ones(20), lambda: x)
        hits += np.isin(x[:, 0], chosen[:, 0])
    assert len(rule.choose(SE, none, x, np.ones(20), lambda: x)) == 5
    # Each context is in with probability 1/4: standard deviation of the share 0.007.
    np.testing.assert_allclose(hits / 4000, 0.25, atol=0.03)


@pytest.mark.parametrize(
    ("kernel", "d", "most"),
    [(SquaredExponential(lengthscale=0.3), 1, 25), (Matern52(lengthscale=0.5), 1, 200), (SE, 2, 110)],
)
def test_greedy_variance_is_nearly_exact_with_few_points(kernel, d, most):
    x, y = data(7, 400, d)
    c = data(8, 100, d)[0]
    exact = ExactPosterior(kernel, 0.05).condition(x, y)
    for sizes in ((400,), (20,)):
        sparse = grown(SparsePosterior(kernel, 0.05, inducing=GreedyVariance(1e-8)), x, y, sizes)
        assert_close(sparse, exact, c, 1e-5)
        assert len(sparse.inducing_points) < most
        assert f"inducing_points={len(sparse.inducing_points)}" in repr(sparse)


def test_greedy_variance_represents_every_observed_context():
    x, y = data(9, 300, 2)
    kernel = Matern32() + Linear()
    for tolerance in (1e-2, 1e-4):
        posterior = grown(SparsePosterior(kernel, 0.1, inducing=GreedyVariance(tolerance)), x, y, (40,))
        u = posterior.inducing_points
        phi = Basis.of(kernel, u).features(kernel, x)
        residual = kernel.diagonal(x) - np.square(phi).sum(axis=0)
        assert (residual <= tolerance * kernel.diagonal(x) * (1 + 1e-9) + 1e-12).all()
        assert {tuple(p) for p in u} <= {tuple(p) for p in x}


def test_greedy_variance_takes_the_greatest_residual_first():
    kernel = SquaredExponential(lengthscale=0.2)
    x = np.linspace(0, 1, 60)[:, None]
    chosen = GreedyVariance(1e-6).choose(kernel, x[:0], x, np.ones(60), lambda: x)
    for s in range(1, len(chosen)):
        k = kernel(chosen[:s], chosen[:s])
        residual = 1 - np.einsum("ij,ij->j", kernel(chosen[:s], x), np.linalg.solve(k, kernel(chosen[:s], x)))
        at = residual[np.flatnonzero((x == chosen[s]).all(axis=1))[0]]
        np.testing.assert_allclose(at, residual.max(), rtol=1e-3)


def test_greedy_variance_at_most_moves_with_the_data():
    kernel = SquaredExponential(lengthscale=0.1)
    rng = np.random.default_rng(10)
    posterior = SparsePosterior(kernel, 0.1, inducing=GreedyVariance(1e-8, at_most=5))
    changes, kept = 0, None
    for t in range(60):
        x = rng.uniform(0, 0.2 if t < 20 else 1.0, (10, 1))
        posterior = posterior.condition(x, np.column_stack([x, x]))
        changes += kept is not None and not np.array_equal(kept, posterior.inducing_points)
        kept = posterior.inducing_points
        assert len(kept) == 5
        # Points chosen in [0, 0.2] make room for the rest of [0, 1], and then stay.
        assert (kept.max() > 0.9) == (t >= 20)
    assert np.diff(np.sort(kept[:, 0])).max() < 0.4
    assert changes < 5


def test_a_shared_basis_splits_when_an_outcome_is_missing():
    x, y = data(18, 60, 1)
    again = y[:9] + 0.1
    again[::2, 0] = again[1, 1] = np.nan
    shared = SparsePosterior(SE, 0.1).condition(x, y)
    apart = SparsePosterior((SE, SquaredExponential(lengthscale=0.6)), 0.1).condition(x, y)
    assert (len(shared.state.engines), len(apart.state.engines)) == (1, 2)
    shared, apart = shared.condition(x[:9], again), apart.condition(x[:9], again)
    assert len(shared.state.engines) == 2
    assert_close(shared, apart, data(19, 30, 1)[0], 1e-10)
    np.testing.assert_allclose(shared.log_marginal_likelihood(), apart.log_marginal_likelihood(), rtol=1e-12)


def test_dependent_points_are_left_out_of_the_basis():
    x = data(20, 100, 2)[0]
    assert len(Basis.of(Linear(), x)) == 2
    assert len(Basis.of(SE, np.concatenate([x[:10], x[:10]]))) == 10
    pivots = np.square(np.diagonal(Basis.of(SquaredExponential(lengthscale=3.0), x).lower))
    assert len(pivots) < 60
    assert pivots.min() > 1e-14


def test_statistics_touch_no_old_data_while_the_points_stay(monkeypatch):
    grid = np.linspace(0, 1, 50)[:, None]
    posterior = SparsePosterior(SE, 0.1).condition(grid, np.column_stack([grid, grid]))
    monkeypatch.setattr("superarm.posteriors.two_outputs.joined", lambda runs: pytest.fail("old data touched"))
    later = posterior.condition(grid[:7] + 0.003, np.ones((7, 2)))
    assert later.observations == 57
    np.testing.assert_array_equal(later.inducing_points, posterior.inducing_points)


def test_continuations_do_not_disturb_each_other():
    x, y = data(11, 120, 1)
    c = data(12, 30, 1)[0]
    parent = SparsePosterior(SE, 0.1).condition(x[:60], y[:60])
    before = parent.predict(c)
    left, right = parent.condition(x[60:90] + 3, y[60:90]), parent.condition(x[90:], y[90:])
    fresh = SparsePosterior(SE, 0.1).condition(x[:60], y[:60])
    np.testing.assert_array_equal(parent.predict(c).mean, before.mean)
    np.testing.assert_array_equal(left.predict(c).mean, fresh.condition(x[60:90] + 3, y[60:90]).predict(c).mean)
    np.testing.assert_array_equal(right.predict(c).std, fresh.condition(x[90:], y[90:]).predict(c).std)


@pytest.mark.parametrize("s", [1, 4, 12, 40])
@pytest.mark.parametrize("kernel", [SE, Matern32(), Coregionalised(Matern52(), [[1.0, 0.5], [0.5, 2.0]])])
def test_bound_is_below_the_marginal_likelihood(kernel, s):
    x, y = data(13, 80, 1, repeats=0.2, missing=0.1)
    exact = ExactPosterior(kernel, 0.2).condition(x, y).log_marginal_likelihood()
    bound = SparsePosterior(kernel, 0.2, inducing=RandomSubset(s)).condition(x, y).log_marginal_likelihood()
    assert bound <= exact + 1e-8 * abs(exact)


@pytest.mark.parametrize("noise_std", [1e-6, 1e-9])
def test_nearly_identical_contexts(noise_std):
    rng = np.random.default_rng(14)
    x = 0.5 + 1e-9 * rng.standard_normal((2000, 1))
    y = 2.0 + noise_std * rng.standard_normal((2000, 2))
    for rule in (GreedyVariance(), RandomSubset(30)):
        belief = grown(SparsePosterior(SE, noise_std, inducing=rule), x, y, (300,)).predict(
            np.concatenate([x, [[0.5], [9.0]]])
        )
        np.testing.assert_allclose(belief.mean[:-1], 2.0, atol=1e-5)
        assert ((belief.std >= 0) & (belief.std <= 1)).all()


def test_samples_have_the_posterior_covariance():
    x, y = data(15, 30, 1)
    c = np.concatenate([data(16, 4, 1)[0], [[0.3], [0.3]]])
    posterior = SparsePosterior((SE, Matern32()), 0.4, inducing=RandomSubset(4)).condition(x, y)
    f = posterior.sample(c, 40_000, seed=0)
    np.testing.assert_array_equal(f[:, -1], f[:, -2])
    for j in (0, 1):
        np.testing.assert_allclose(f[:, :, j].mean(axis=0), posterior.predict(c).mean[:, j], atol=0.02)
        np.testing.assert_allclose(np.cov(f[:, :, j].T), posterior.covariance(c)[j], atol=0.02)


def test_a_rule_of_ones_own():
    class Grid:
        def choose(self, kernel, kept, fresh, unexplained, observed):
            return np.linspace(-1, 1, 15)[:, None]

    x, y = data(17, 100, 1)
    posterior = SparsePosterior(SE, 0.1, inducing=Grid()).condition(x, y)
    np.testing.assert_array_equal(posterior.inducing_points, np.linspace(-1, 1, 15)[:, None])
    assert_close(posterior, ExactPosterior(SE, 0.1).condition(x, y), x, 1e-3)
    with pytest.raises(ValueError, match="read-only"):
        posterior.inducing_points[0] = 1.0

    class Wrong:
        def choose(self, kernel, kept, fresh, unexplained, observed):
            return np.zeros(3)

    with pytest.raises(InvalidArgument, match="inducing"):
        SparsePosterior(SE, 0.1, inducing=Wrong()).condition(x, y)


def test_empty_is_legal():
    posterior = SparsePosterior(SE, 0.1, mean=2.0)
    belief = posterior.predict(np.zeros((3, 2)))
    np.testing.assert_array_equal(belief.mean, 2.0)
    np.testing.assert_array_equal(belief.std, 1.0)
    assert posterior.log_marginal_likelihood() == 0.0
    assert posterior.jitter == 0.0
    assert len(posterior.inducing_points) == 0
    assert "inducing_points=0" in repr(posterior)
    assert posterior.condition(np.empty((0, 2)), np.empty((0, 2))).observations == 0
    assert posterior.condition([[1.0, 2.0]], [[np.nan, np.nan]]).observations == 0
    assert posterior.predict(np.empty((0, 2))).mean.shape == (0, 2)


@pytest.mark.parametrize("s", [0, -1, 2.5, True, "ten"])
def test_rules_check_their_arguments(s):
    with pytest.raises(InvalidArgument, match="s: expected"):
        RandomSubset(s)
    with pytest.raises(InvalidArgument, match="at_most"):
        GreedyVariance(at_most=s)


@pytest.mark.parametrize("tolerance", [0, 1.0, -1e-8, np.nan, "small"])
def test_tolerance_is_a_share(tolerance):
    with pytest.raises(InvalidArgument, match="tolerance"):
        GreedyVariance(tolerance)
    with pytest.raises(InvalidArgument, match="seed"):
        RandomSubset(3, seed=1.5)


def test_random_subset_is_drawn_anew_with_every_new_context_and_with_nothing_else():
    x = np.random.default_rng(0).uniform(size=(40, 1))
    posterior = SparsePosterior(SE, 0.1, inducing=RandomSubset(5)).condition(x[:30], np.zeros((30, 2)))
    before = posterior.inducing_points
    again = posterior.condition(x[:10], np.ones((10, 2)))
    assert np.array_equal(again.inducing_points, before)
    draws = {posterior.condition(x[30 : 31 + i], np.zeros((i + 1, 2))).inducing_points.tobytes() for i in range(10)}
    assert len(draws) == 10
