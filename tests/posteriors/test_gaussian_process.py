"""The posterior that chooses its form: the same answers as the exact one, whatever the form."""

from dataclasses import replace

import numpy as np
import pytest

from superarm import storage
from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    GaussianProcess,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    SquaredExponential,
)
from superarm.posteriors.engines import adaptive, low_rank
from superarm.posteriors.engines.exact import ExactEngine
from superarm.posteriors.engines.low_rank import LowRankEngine, error_bounds
from tests.posteriors.dense import data, grown
from tests.posteriors.precise import regression

SE = SquaredExponential(lengthscale=0.6)
FORMS = {
    "state space": (Matern52(lengthscale=0.5), 0.1, 1),
    "state space, two kernels": ((Matern12(), Matern32(lengthscale=0.3, variance=2.0)), (0.1, 0.3), 1),
    "state space; exact": ((Matern12(), Matern12() + Matern32()), 0.1, 1),
    "state space; low rank": ((Matern12(), SE), 0.1, 1),
    "low rank": (SE, 0.1, 1),
    "low rank, two dimensions": (SquaredExponential(lengthscale=(1.0, 2.0), variance=3.0), (0.1, 0.2), 2),
    "low rank, linear": (Linear() * SE + Linear(), 0.1, 1),
    "low rank, coregionalised": (Coregionalised(SE, [[1.0, 0.5], [0.5, 2.0]]), (0.1, 0.2), 1),
    "exact": (Matern52(lengthscale=0.5), 0.1, 2),
    "exact, coregionalised": (Coregionalised(Matern52(), [[1.0, 0.5], [0.5, 2.0]]), 0.1, 1),
}


def precise_data(seed, n):
    """Contexts in [-1, 1], and outcomes with hardly any noise."""
    x = data(seed, n, 1)[0]
    return x, np.column_stack([np.sin(3 * x), np.cos(2 * x)]) + 0.002 * np.random.default_rng(seed).normal(size=(n, 2))


def assert_close(posterior, exact, c, tolerance=1e-7):
    ours, theirs = posterior.predict(c), exact.predict(c)
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(ours.std, theirs.std, rtol=0, atol=tolerance)
    np.testing.assert_allclose(posterior.covariance(c[:9]), exact.covariance(c[:9]), rtol=0, atol=tolerance)
    np.testing.assert_allclose(posterior.covariance(c[:9], c[5:]), exact.covariance(c[:9], c[5:]), atol=tolerance)
    np.testing.assert_allclose(posterior.log_marginal_likelihood(), exact.log_marginal_likelihood(), rtol=1e-7)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_exact_answers(name, missing):
    kernel, noise_std, d = FORMS[name]
    x, y = data(0, 500, d, repeats=0.2, missing=missing)
    c = np.concatenate([data(1, 40, d)[0], x[:3], np.full((1, d), 4.0)])
    posterior = grown(GaussianProcess(kernel, noise_std, mean=(0.5, -1.0)), x, y, (90, 17))
    exact = ExactPosterior(kernel, noise_std, mean=(0.5, -1.0)).condition(x, y)
    forms = [part.split(" (")[0] for part in posterior.form.split("; ")]
    expected = name.split(",")[0].split("; ")
    assert list(dict.fromkeys(forms)) == expected
    assert posterior.form in repr(posterior)
    assert (posterior.error_bound > 0) == ("low rank" in name)
    assert posterior.error_bound < 1e-6
    assert_close(posterior, exact, c)
    assert (posterior.observations, posterior.distinct) == (exact.observations, exact.distinct)
    assert posterior.noise_std == exact.noise_std
    assert posterior.jitter == 0.0
    draws = posterior.sample(c[:5], 20_000, seed=0)
    np.testing.assert_allclose(draws.mean(axis=0), exact.predict(c[:5]).mean, atol=0.06)
    for j in (0, 1):
        np.testing.assert_allclose(np.cov(draws[:, :, j].T), exact.covariance(c[:5])[j], atol=0.06)


def test_few_contexts_stay_exact_however_often_they_come():
    grid = np.linspace(0, 1, 100)[:, None]
    posterior = GaussianProcess(SE, 0.3)
    for _ in range(10):
        posterior = posterior.condition(np.repeat(grid, 3, axis=0), np.ones((300, 2)))
    assert (posterior.form, posterior.error_bound) == ("exact", 0.0)


def test_it_leaves_the_low_rank_form_when_the_noise_is_too_small_for_its_error():
    x, y = precise_data(2, 900)
    forms, posterior = [], GaussianProcess(SE, 0.002)
    for start in range(0, 900, 60):
        posterior = posterior.condition(x[start : start + 60], y[start : start + 60])
        forms.append(posterior.form.split(" (")[0])
        assert posterior.error_bound <= 1e-6
    changes = [form for form, before in zip(forms, ["", *forms], strict=False) if form != before]
    assert changes == ["exact", "low rank", "exact"]
    assert_close(posterior, ExactPosterior(SE, 0.002).condition(x, y), data(3, 30, 1)[0], 1e-6)


def test_it_leaves_the_low_rank_form_when_the_rank_grows():
    x, y = data(4, 300, 1)
    posterior = GaussianProcess(SE, 0.1).condition(x, y)
    assert posterior.form.startswith("low rank (r = 1")
    far = 10.0 * np.arange(1.0, 401.0)[:, None]
    later = posterior.condition(far, np.ones((400, 2)))
    assert later.form == "exact"
    both = ExactPosterior(SE, 0.1).condition(np.concatenate([x, far]), np.concatenate([y, np.ones((400, 2))]))
    assert_close(later, both, np.array([[0.1], [10.2], [3999.0]]))


def test_a_large_rank_is_refused_before_all_points_are_looked_at(monkeypatch):
    x, y = data(5, 1300, 2)
    looked = []
    greedy = low_rank.greedy_pivots
    monkeypatch.setattr(low_rank, "greedy_pivots", lambda *a: looked.append(len(a[2])) or greedy(*a))
    posterior = GaussianProcess(Matern12(), 0.1).condition(x, y)
    assert posterior.form == "exact"
    assert looked == [low_rank.SAMPLE]


def test_candidates_that_are_not_represented_join_the_basis_for_once(monkeypatch):
    x, y = data(6, 300, 1)
    posterior = GaussianProcess(SE, 0.05).condition(x, y)
    exact = ExactPosterior(SE, 0.05).condition(x, y)
    (engine,) = posterior.state.engines
    near = np.linspace(1.2, 4.0, 30)[:, None]  # partly determined by data in [-1, 1]
    assert error_bounds(engine.inner.sparse, near)[0].max() > 1e-4
    alone, joined = [], []
    cover, covering = low_rank.covered, LowRankEngine._covering
    monkeypatch.setattr(low_rank, "covered", lambda *a: alone.append(len(a[1])) or cover(*a))
    monkeypatch.setattr(LowRankEngine, "_covering", lambda *a: joined.append(covering(*a)) or joined[-1])
    assert_close(posterior, exact, near)
    (poor,) = alone
    assert 20 < poor <= len(near)
    assert len(joined[0].basis) > engine.inner.rank
    assert error_bounds(joined[0], near[:9])[0].max() < 1e-6  # whose covariances were asked for first
    before = engine.inner.rank
    posterior.predict(near)
    assert engine.inner.rank == before
    # So many of them that the exact form is cheaper for their covariances.
    joined.clear()
    assert_close(posterior, exact, np.linspace(-500.0, 500.0, 400)[:, None])
    assert isinstance(joined[-1], ExactEngine)


def test_contexts_that_policies_leave_alone_are_in_the_basis():
    rng = np.random.default_rng(7)
    corners = rng.uniform(0, 1, (100, 2)).round()
    x = np.concatenate([0.1 * rng.random((900, 2)), corners])
    (engine,) = GaussianProcess(SE, 0.1).condition(x, np.zeros((1000, 2))).state.engines
    residual = engine.inner.sparse.marginals(rng.random((400, 2))).residual
    assert residual.max() < 1e-11


def test_beyond_the_reach_of_a_factor_it_stays_and_says_so(monkeypatch):
    monkeypatch.setattr(adaptive, "MOST", 300)
    x, y = precise_data(8, 900)
    posterior = grown(GaussianProcess(SE, 0.002), x, y, (205, 695))
    assert posterior.form.startswith("low rank")
    assert posterior.error_bound > 1e-6
    exact = ExactPosterior(SE, 0.002).condition(x, y)
    c = data(9, 30, 1)[0]
    error = max(
        np.abs(posterior.predict(c).mean - exact.predict(c).mean).max(),
        np.abs(posterior.predict(c).std - exact.predict(c).std).max(),
    )
    assert error <= posterior.error_bound


@pytest.mark.parametrize("shift", [0.2, 0.5])
def test_the_bound_holds_at_data_that_the_basis_represents_less_well(shift):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(500, 1)), 100.0 * rng.standard_normal((500, 2))
    x[400:] += shift
    posterior = grown(GaussianProcess(SquaredExponential(), 100.0), x, y, (400, 100))
    exact = ExactPosterior(SquaredExponential(), 100.0).condition(x, y)
    ours, theirs = posterior.predict(x), exact.predict(x)
    assert posterior.form.startswith("low rank")
    error = max(np.abs(ours.mean - theirs.mean).max(), np.abs(ours.std - theirs.std).max())
    assert error <= posterior.error_bound


def test_a_first_batch_beyond_the_reach_of_a_factor(monkeypatch):
    monkeypatch.setattr(adaptive, "MOST", 300)
    monkeypatch.setattr(ExactEngine, "condition", lambda *a: pytest.fail("a factor was built"))
    posterior = GaussianProcess(SE, 0.002).condition(*precise_data(8, 900))
    assert posterior.form.startswith("low rank")
    assert posterior.error_bound > 1e-6


def stored(posterior, folder):
    """Bytes of everything that a posterior holds."""
    storage.write(posterior, folder / "posterior.zip")
    return (folder / "posterior.zip").stat().st_size


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("name", ["low rank", "low rank, two dimensions", "low rank, coregionalised"])
def test_a_stream_without_end_needs_no_more_memory(name, missing, monkeypatch, tmp_path):
    monkeypatch.setattr(low_rank, "REMEMBERED", 400)
    kernel, noise_std, d = FORMS[name]
    x, y = data(2, 1500, d, missing=missing)
    posterior = GaussianProcess(kernel, noise_std)
    sizes = {}
    for part in np.split(np.arange(1500), 15):
        posterior = posterior.condition(x[part], y[part])
        sizes[part[-1] + 1] = stored(posterior, tmp_path)
    assert posterior.observations == (~np.isnan(y)).any(axis=1).sum()
    assert sizes[1000] < 0.9 * max(sizes.values())
    assert sizes[1500] < 1.05 * sizes[1000]
    # What was let go is not lost.
    exact = ExactPosterior(kernel, noise_std).condition(x, y)
    c = np.concatenate([data(3, 40, d)[0], x[:3], x[-3:]])
    assert_close(posterior, exact, c)
    assert posterior.learned() is posterior


def test_a_new_region_is_learnt_though_the_data_before_it_were_let_go(monkeypatch, tmp_path):
    monkeypatch.setattr(low_rank, "REMEMBERED", 400)
    x, y = data(2, 900, 1)
    x[600:] += 2.5
    seen = GaussianProcess(SE, 0.1).condition(x[:600], y[:600])
    exact = ExactPosterior(SE, 0.1).condition(x[:600], y[:600])
    inside, outside = np.linspace(-1, 1, 30)[:, None], np.linspace(1.5, 3.5, 30)[:, None]
    # Before anything is seen there, the belief returns to the prior, without the help of the data.
    np.testing.assert_allclose(seen.predict(outside).std, exact.predict(outside).std, rtol=0, atol=1e-3)
    grown_here = grown(seen, x[600:], y[600:], (40,))
    exact = exact.condition(x[600:], y[600:])
    ours, theirs = (posterior.predict(np.concatenate([inside, outside])) for posterior in (grown_here, exact))
    errors = np.abs(ours.mean - theirs.mean).max(), np.abs(ours.std - theirs.std).max()
    assert max(errors) < 1e-5 < grown_here.error_bound
    engine = grown_here.state.engines[0].inner
    assert engine.grown
    assert engine.rank > seen.state.engines[0].inner.rank
    assert grown_here.predict([[50.0]]).std == pytest.approx(1.0)
    storage.write(seen, tmp_path / "posterior")
    loaded = grown(storage.read(tmp_path / "posterior"), x[600:], y[600:], (40,))
    np.testing.assert_array_equal(loaded.predict(x).mean, grown_here.predict(x).mean)


@pytest.mark.parametrize(
    ("kernel", "d"),
    [(SE, 1), (SquaredExponential(lengthscale=1.0), 2), (Coregionalised(SE, [[1.0, 0.5], [0.5, 2.0]]), 1)],
)
def test_drifting_contexts_are_learnt_without_the_data_before_them(kernel, d, monkeypatch):
    monkeypatch.setattr(low_rank, "REMEMBERED", 400)
    rng = np.random.default_rng(0)
    posterior, exact = GaussianProcess(kernel, 0.5), ExactPosterior(kernel, 0.5)
    for t in range(12):
        x = rng.uniform(size=(100, d))
        x[:, 0] += 0.4 * t
        y = np.column_stack([np.sin(x.sum(axis=1)), np.cos(x.sum(axis=1))]) + 0.5 * rng.standard_normal((100, 2))
        posterior, exact = posterior.condition(x, y), exact.condition(x, y)
        ours, theirs = posterior.predict(x), exact.predict(x)
        error = max(np.abs(ours.mean - theirs.mean).max(), np.abs(ours.std - theirs.std).max())
        assert error < 1e-3
        assert error <= posterior.error_bound + 1e-7
    assert posterior.state.engines[0].inner.grown


def test_a_basis_that_grows_without_the_data_has_a_largest_size(monkeypatch):
    monkeypatch.setattr(low_rank, "REMEMBERED", 400)
    monkeypatch.setattr(low_rank, "LARGEST_BASIS", 40)
    x, y = data(2, 900, 1)
    x[500:] = np.linspace(2.0, 60.0, 400)[:, None]
    posterior = grown(GaussianProcess(SE, 0.1), x, y, (90,))
    assert posterior.state.engines[0].inner.rank == 40
    # What has no place in the basis keeps the variance of its prior.
    assert posterior.predict([[59.0]]).std == pytest.approx(1.0)


def test_a_first_batch_beyond_what_is_remembered(monkeypatch):
    monkeypatch.setattr(low_rank, "REMEMBERED", 400)
    x, y = data(2, 600, 1)
    posterior = GaussianProcess(SE, 0.1).condition(x, y)
    assert posterior.state.history.runs == ()
    assert_close(posterior, ExactPosterior(SE, 0.1).condition(x, y), x[::20])
    with pytest.raises(ValueError, match=r"contexts: expected a finite array of shape \(M, 1\)"):
        posterior.predict(np.zeros((3, 2)))


def test_outcomes_are_kept_once(tmp_path):
    x, y = data(3, 3000, 1)
    posterior = GaussianProcess(SE, 0.1)
    for part in np.split(np.arange(3000), 30):
        posterior = posterior.condition(x[part], y[part])
    assert posterior.form.startswith("low rank")
    # Of a context: itself, two counts, means and scatters, and its key.
    assert stored(posterior, tmp_path) < 3000 * 8 * (1 + 6 + 1) + 30_000


def test_repeats_do_not_pile_up():
    grid = np.linspace(0, 1, 250)[:, None]
    posterior = GaussianProcess(SE, 0.3)
    rng = np.random.default_rng(0)
    for _ in range(40):
        posterior = posterior.condition(grid, np.sin(5 * grid) + 0.3 * rng.standard_normal((250, 2)))
    (engine,) = posterior.state.engines
    assert isinstance(engine.inner, LowRankEngine)
    assert sum(map(len, posterior.state.history.runs)) <= 1000
    assert posterior.observations == 10_000
    again = GaussianProcess(SE, 0.3).condition(np.zeros((0, 1)), np.zeros((0, 2)))
    assert again.form == "exact"


def test_continuations_do_not_disturb_each_other():
    for kernel in (SE, Matern32()):
        x, y = data(10, 500, 1)
        c = data(11, 30, 1)[0]
        parent = GaussianProcess(kernel, 0.1).condition(x[:300], y[:300])
        before = parent.predict(c)
        left, right = parent.condition(x[300:400] + 5, y[300:400]), parent.condition(x[400:], y[400:])
        fresh = GaussianProcess(kernel, 0.1).condition(x[:300], y[:300])
        np.testing.assert_array_equal(parent.predict(c).mean, before.mean)
        np.testing.assert_array_equal(left.predict(c).mean, fresh.condition(x[300:400] + 5, y[300:400]).predict(c).mean)
        np.testing.assert_array_equal(right.predict(c).std, fresh.condition(x[400:], y[400:]).predict(c).std)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("name", FORMS)
def test_saved_and_continued_equals_never_stopped(name, missing, tmp_path):
    kernel, noise_std, d = FORMS[name]
    x, y = data(12, 460, d, repeats=0.2, missing=missing)
    c = np.concatenate([data(13, 30, d)[0], np.full((1, d), 3.0)])
    kept = grown(GaussianProcess(kernel, noise_std), x[:330], y[:330], (90, 31))
    storage.write(kept, tmp_path / "posterior")
    loaded = storage.read(tmp_path / "posterior")
    for batch in (slice(0, 0), slice(330, 331), slice(331, 400), slice(400, 460)):
        kept, loaded = kept.condition(x[batch], y[batch]), loaded.condition(x[batch], y[batch])
        np.testing.assert_array_equal(loaded.predict(c).mean, kept.predict(c).mean)
        np.testing.assert_array_equal(loaded.predict(c).std, kept.predict(c).std)
        np.testing.assert_array_equal(loaded.sample(c, 3, seed=0), kept.sample(c, 3, seed=0))
        assert loaded.log_marginal_likelihood() == kept.log_marginal_likelihood()
    assert repr(loaded) == repr(kept)


def test_an_output_without_variance():
    x, y = data(14, 300, 1)
    posterior = GaussianProcess(Coregionalised(SE, [[0.0, 0.0], [0.0, 0.0]]), 0.1).condition(x, y)
    assert posterior.form == "low rank (r = 0, error at most 0 near the data)"
    np.testing.assert_array_equal(posterior.predict(x[:3]).std, 0.0)


def test_the_arguments_can_be_read_back():
    posterior = GaussianProcess((SE, Matern12()), (0.1, 0.2), mean=(1.0, 2.0)).condition(*data(15, 20, 1))
    state = posterior.state
    again = GaussianProcess(state.outputs, state.noise_std, mean=state.mean).condition(*data(15, 20, 1))
    assert repr(again) == repr(posterior)
    assert repr(posterior).endswith("observations=20, distinct=20, form='exact; state space')")


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("noise_std", [1e-7, 1e-8, 1e-10])
def test_jitter_is_reported_and_its_error_bounded(noise_std, repeats):
    kernel, rng = Matern52(lengthscale=200.0), np.random.default_rng(0)
    x = np.sort(rng.random(25))
    x = np.concatenate([x, *[x[:5]] * (repeats - 1)])
    y = np.sin(5 * x) + noise_std * rng.standard_normal(len(x))
    # Two equal columns: not in state-space form.
    points, asked = np.column_stack([x, x]), np.linspace(-1, 2, 13)
    posterior = GaussianProcess(kernel, noise_std).condition(points, np.column_stack([y, -y]))
    assert posterior.jitter > 0
    assert posterior.form.startswith("exact (jitter ")
    mean, covariance, _ = regression(replace(kernel, lengthscale=200.0 / np.sqrt(2)), noise_std, x, y, asked)
    belief = posterior.predict(np.column_stack([asked, asked]))
    assert np.abs(belief.mean[:, 0] - mean).max() <= posterior.error_bound
    assert np.abs(belief.std[:, 0] - np.sqrt(np.diagonal(covariance))).max() <= posterior.error_bound
    assert posterior.error_bound > 0


def test_noise_that_rounding_leaves_alone_needs_no_jitter():
    x, y = data(3, 100, 2)
    posterior = GaussianProcess(SE, 1e-3).condition(x, y)
    assert (posterior.form, posterior.error_bound, posterior.jitter) == ("exact", 0.0, 0.0)
