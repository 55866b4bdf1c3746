import numpy as np
import pytest

from superarm.errors import InvalidArgument
from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    Independent,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    SquaredExponential,
)
from superarm.posteriors import history as history_module
from tests.posteriors.dense import DenseGP, data, grown, independent

SE = SquaredExponential(lengthscale=0.6)


def rows(posterior):
    return [len(engine.factor) for engine in posterior.state.engines]


def assert_close(posterior, dense, c, tolerance=1e-9):
    belief = posterior.predict(c)
    mean, std = dense.predict(c)
    np.testing.assert_allclose(belief.mean, mean, atol=tolerance)
    np.testing.assert_allclose(belief.std, std, atol=tolerance)


def assert_same(first, second, c):
    a, b = first.predict(c), second.predict(c)
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_array_equal(a.std, b.std)
    assert first.log_marginal_likelihood() == second.log_marginal_likelihood()


@pytest.mark.parametrize("sizes", [(700,), (1,) * 20, (7, 250, 3, 40), (256, 256, 1)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_batches_of_any_size_give_the_dense_answer(sizes, missing):
    x, y = data(0, 620, 2, repeats=0.2, missing=missing)
    posterior = grown(ExactPosterior(SE, 0.1), x, y, sizes)
    dense = DenseGP(independent(SE, SE), (0.1, 0.1), x, y)
    assert_close(posterior, dense, data(1, 60, 2)[0])
    np.testing.assert_allclose(posterior.log_marginal_likelihood(), dense.log_marginal_likelihood(), rtol=1e-9)
    assert posterior.jitter == 0.0
    assert posterior.observations == (~np.isnan(y)).any(axis=1).sum()
    assert posterior.distinct == len(np.unique(x[(~np.isnan(y)).any(axis=1)], axis=0))


@pytest.mark.parametrize("mean", [0.5, (0.5, -2.0), lambda c: np.column_stack([c[:, 0], 2 * c[:, 0] - 1])])
def test_prior_mean(mean):
    x, y = data(2, 30, 1)
    c = np.linspace(-3, 3, 11)[:, None]
    at = mean if callable(mean) else lambda c: np.broadcast_to(mean, (len(c), 2))
    posterior = ExactPosterior(SE, 0.1, mean=mean)
    np.testing.assert_array_equal(posterior.predict(c).mean, at(c))
    dense = DenseGP(independent(SE, SE), (0.1, 0.1), x, y - at(x))
    belief, (expected, std) = posterior.condition(x, y).predict(c), dense.predict(c)
    np.testing.assert_allclose(belief.mean, expected + at(c), atol=1e-9)
    np.testing.assert_allclose(belief.std, std, atol=1e-9)


def test_two_kernels_and_two_noises():
    x, y = data(3, 80, 2, repeats=0.3, missing=0.1)
    first, second = Matern12(lengthscale=0.5), Linear(variance=2.0) + Matern52()
    dense = DenseGP(independent(first, second), (0.1, 0.3), x, y)
    c = data(4, 20, 2)[0]
    for kernel in ((first, second), Independent(first, second)):
        posterior = grown(ExactPosterior(kernel, (0.1, 0.3)), x, y, (30, 20))
        assert_close(posterior, dense, c)
        np.testing.assert_allclose(posterior.log_marginal_likelihood(), dense.log_marginal_likelihood(), rtol=1e-10)


def test_one_factor_serves_both_outputs_until_an_outcome_is_missing():
    x, y = data(5, 40, 1)
    parent = ExactPosterior(SE, 0.1).condition(x, y)
    assert rows(parent) == [40]
    gap = y[:2].copy()
    gap[0, 1] = np.nan
    child = parent.condition(x[:2] + 0.01, gap)
    assert rows(child) == [42, 41]
    shared = parent.state.engines[0].factor.blocks[0].corner
    assert np.shares_memory(shared, parent.state.engines[0].column(1).factor.blocks[0].corner)


def test_continuations_do_not_disturb_each_other():
    x, y = data(6, 400, 2, repeats=0.1)
    c = data(7, 30, 2)[0]
    parent = ExactPosterior(SE, 0.1).condition(x[:300], y[:300])
    before = parent.predict(c)
    # Rows enough to fill the parent's last block and to repeat its contexts.
    left = parent.condition(x[300:350], y[300:350]).condition(x[:40], y[:40])
    right = parent.condition(x[350:], y[350:])
    fresh = ExactPosterior(SE, 0.1).condition(x[:300], y[:300])
    np.testing.assert_array_equal(parent.predict(c).mean, before.mean)
    np.testing.assert_array_equal(parent.predict(c).std, before.std)
    assert_same(left, fresh.condition(x[300:350], y[300:350]).condition(x[:40], y[:40]), c)
    assert_same(right, fresh.condition(x[350:], y[350:]), c)
    assert np.shares_memory(
        left.state.engines[0].factor.blocks[0].corner, parent.state.engines[0].factor.blocks[0].corner
    )


def test_callers_arrays_are_neither_kept_nor_changed():
    x, y = data(8, 20, 1)
    x0, y0 = x.copy(), y.copy()
    posterior = ExactPosterior(SE, 0.1).condition(x, y)
    before = posterior.predict(x0).mean
    np.testing.assert_array_equal(x, x0)
    np.testing.assert_array_equal(y, y0)
    x[:], y[:] = 0.5, 9.0
    np.testing.assert_array_equal(posterior.condition(x0[:0], y0[:0]).predict(x0).mean, before)


def test_repeats_cost_what_the_distinct_contexts_cost():
    rng = np.random.default_rng(9)
    grid = np.linspace(0, 1, 100)[:, None]
    posterior = ExactPosterior(SE, 0.3)
    picks = rng.integers(0, 100, (400, 250))
    noise = 0.3 * rng.standard_normal((400, 250, 2))
    for pick, e in zip(picks, noise, strict=True):
        posterior = posterior.condition(grid[pick], np.sin(5 * grid[pick]) + e)
        assert rows(posterior)[0] <= 132
    assert posterior.observations == 100_000
    assert posterior.distinct == 100
    counts = np.bincount(picks.ravel(), minlength=100)
    sums = np.zeros((100, 2))
    np.add.at(sums, picks.ravel(), (np.sin(5 * grid[picks]) + noise).reshape(-1, 2))
    k = SE(grid, grid)
    weights = np.linalg.solve(k + np.diag(0.09 / counts), sums / counts[:, None])
    np.testing.assert_allclose(posterior.predict(grid).mean, k @ weights, atol=1e-9)


def test_repeats_one_by_one_stay_few_rows():
    x, y = data(10, 50, 1)
    posterior = ExactPosterior(SE, 0.2).condition(x, y)
    most = 0
    for i in range(200):
        posterior = posterior.condition(x[i % 50 : i % 50 + 1], y[i % 50 : i % 50 + 1] + 0.1)
        most = max(most, rows(posterior)[0])
    assert 50 < most <= 82
    again = np.concatenate([x, *[x] * 4])
    values = np.concatenate([y, *[y + 0.1] * 4])
    assert_close(posterior, DenseGP(independent(SE, SE), (0.2, 0.2), again, values), x)


def test_zero_has_no_sign():
    posterior = ExactPosterior(SE, 0.1).condition([[0.0], [-0.0]], [[1.0, 1.0], [3.0, 3.0]])
    assert posterior.distinct == 1
    assert posterior.condition([[-0.0]], [[2.0, 2.0]]).distinct == 1


def test_colliding_fingerprints_change_nothing(monkeypatch):
    x, y = data(11, 60, 2, repeats=0.4)
    c = data(12, 10, 2)[0]
    monkeypatch.setattr(history_module, "fingerprint", lambda rows: np.zeros(len(rows), dtype=np.uint64))
    posterior = grown(ExactPosterior(SE, 0.1), x, y, (13, 5))
    dense = DenseGP(independent(SE, SE), (0.1, 0.1), x, y)
    assert_close(posterior, dense, c)
    np.testing.assert_allclose(posterior.log_marginal_likelihood(), dense.log_marginal_likelihood(), rtol=1e-10)


def test_order_of_candidates_changes_no_bit():
    x, y = data(14, 300, 2)
    c = np.concatenate([data(15, 700, 2)[0]] * 2)
    posterior = ExactPosterior(SE, 0.1).condition(x, y)
    order = np.random.default_rng(0).permutation(len(c))
    belief, permuted = posterior.predict(c), posterior.predict(c[order])
    np.testing.assert_array_equal(permuted.mean, belief.mean[order])
    np.testing.assert_array_equal(permuted.std, belief.std[order])


def test_equal_candidates_are_computed_once_and_in_one_order():
    class Spy:
        asked = ()

        def __call__(self, x, y):
            self.asked = (*self.asked, y)
            return SE(x, y)

        def diagonal(self, x):
            return SE.diagonal(x)

    spy = Spy()
    posterior = ExactPosterior(spy, 0.1).condition(*data(14, 30, 2))
    c = np.tile(data(15, 40, 2)[0], (50, 1))
    for candidates in (c, c[np.random.default_rng(0).permutation(len(c))]):
        spy.asked = ()
        posterior.predict(candidates)
        (asked,) = spy.asked
        np.testing.assert_array_equal(asked, np.unique(c, axis=0))


def test_chunks_of_candidates_do_not_show():
    x, y = data(16, 100, 1)
    c = np.random.default_rng(1).uniform(-1, 1, (2500, 1))
    posterior = ExactPosterior(Matern32(lengthscale=0.3), 0.1).condition(x, y)
    one_by_one = [posterior.predict(c[i : i + 1]) for i in range(0, 2500, 250)]
    np.testing.assert_allclose(posterior.predict(c).mean[::250], [b.mean[0] for b in one_by_one], atol=1e-12)
    np.testing.assert_allclose(posterior.predict(c).std[::250], [b.std[0] for b in one_by_one], atol=1e-12)


def test_covariance_and_samples():
    x, y = data(17, 12, 1, missing=0.2)
    c = np.concatenate([data(18, 5, 1)[0], x[:1], x[:1]])
    posterior = ExactPosterior((SE, Matern32()), (0.3, 0.2)).condition(x, y)
    mean, covariance = DenseGP(independent(SE, Matern32()), (0.3, 0.2), x, y).posterior(c)
    m = len(c)
    np.testing.assert_allclose(posterior.covariance(c)[0], covariance[:m, :m], atol=1e-10)
    np.testing.assert_allclose(posterior.covariance(c)[1], covariance[m:, m:], atol=1e-10)
    f = posterior.sample(c, 40_000, seed=0)
    assert f.shape == (40_000, m, 2)
    np.testing.assert_array_equal(f[:, -1], f[:, -2])
    flat = f.transpose(0, 2, 1).reshape(len(f), 2 * m)
    np.testing.assert_allclose(flat.mean(axis=0), mean.T.ravel(), atol=0.02)
    np.testing.assert_allclose(np.cov(flat.T), covariance, atol=0.02)


def test_shared_outputs_are_sampled_independently():
    x, y = data(19, 5, 1)
    posterior = ExactPosterior(SE, 0.3).condition(x, y)
    c = np.array([[0.1], [2.0]])
    f = posterior.sample(c, 20_000, seed=np.random.default_rng(3))
    correlation = np.corrcoef(f[:, 1].T)
    assert abs(correlation[0, 1]) < 0.03
    np.testing.assert_allclose(f.std(axis=0), posterior.predict(c).std, rtol=0.03)


def test_samples_follow_the_seed():
    posterior = ExactPosterior(SE, 0.3).condition(*data(20, 5, 1))
    c = data(21, 300, 1)[0]
    np.testing.assert_array_equal(posterior.sample(c, 3, seed=1), posterior.sample(c, 3, seed=1))
    assert (posterior.sample(c, 3, seed=1) != posterior.sample(c, 3, seed=2)).any()
    assert posterior.sample(c, 0, seed=None).shape == (0, 300, 2)
    assert posterior.sample(c[:0], 3, seed=None).shape == (3, 0, 2)
    for n in (-1, 2.0, True, "three"):
        with pytest.raises(InvalidArgument, match="n: expected"):
            posterior.sample(c, n, seed=0)


def test_empty_is_legal():
    x, y = data(22, 9, 2)
    posterior = ExactPosterior(SE, 0.1)
    assert posterior.predict(np.empty((0, 2))).mean.shape == (0, 2)
    assert posterior.log_marginal_likelihood() == 0.0
    assert posterior.covariance(np.empty((0, 2))).shape == (2, 0, 0)
    same = posterior.condition(np.empty((0, 2)), np.empty((0, 2)))
    assert (same.observations, same.distinct) == (0, 0)
    np.testing.assert_array_equal(same.predict(x).std, 1.0)
    posterior = posterior.condition(x, y)
    assert posterior.predict(np.empty((0, 2))).std.shape == (0, 2)
    never = posterior.condition(x[:3] + 1, np.full((3, 2), np.nan))
    assert_same(never, posterior, x)
    assert (never.observations, never.distinct) == (9, 9)


def test_an_output_that_never_comes_keeps_its_prior():
    x, y = data(23, 10, 1)
    y[:, 1] = np.nan
    belief = ExactPosterior(SE, 0.1, mean=(0.0, 5.0)).condition(x, y).predict(x)
    np.testing.assert_array_equal(belief.mean[:, 1], 5.0)
    np.testing.assert_array_equal(belief.std[:, 1], 1.0)
    assert (belief.std[:, 0] < 0.2).all()


def test_repr_says_what_it_holds():
    posterior = ExactPosterior(SE, 0.1).condition(*data(24, 10, 1))
    assert repr(posterior) == (
        "ExactPosterior(SquaredExponential(lengthscale=0.6, variance=1.0), noise_std=0.1, mean=0.0; "
        "observations=10, distinct=10, jitter=0)"
    )
    assert "noise_std=(0.1, 0.2)" in repr(ExactPosterior((SE, Matern12()), (0.1, 0.2)))


def test_jitter_is_on_the_scale_of_each_output():
    """A large output's rounding must not swamp a small one beside it."""
    x = np.random.default_rng(0).random((12, 1))
    y = np.column_stack([np.sin(6 * x), 1e-3 * np.sin(6 * x)])
    kernel = SquaredExponential(lengthscale=0.3)
    joint = ExactPosterior(Coregionalised(kernel, [[1e6, 0.0], [0.0, 1e-6]]), noise_std=(1e-2, 1e-6))
    apart = ExactPosterior(
        (SquaredExponential(lengthscale=0.3, variance=1e6), SquaredExponential(lengthscale=0.3, variance=1e-6)),
        noise_std=(1e-2, 1e-6),
    )
    small = apart.condition(x, y).predict(x).std[:, 1]
    assert np.abs(joint.condition(x, y).predict(x).std[:, 1] - small).max() < 0.1 * small.max()
