import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import superarm as sa
from superarm import theory
from tests.theory.dense import coordinates, dense_covariance, dense_gain, multisets

KERNELS = [
    sa.SquaredExponential(lengthscale=0.4),
    sa.Matern12(lengthscale=0.6, variance=0.5),
    sa.Matern52(lengthscale=(0.4, 1.5)),
    sa.Linear(variance=0.7) + sa.RationalQuadratic(lengthscale=0.5, alpha=2.0),
]


runs = st.lists(
    st.integers(0, 4).flatmap(lambda k: arrays(np.float64, (k, 2), elements=coordinates)), min_size=1, max_size=6
)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("noise_std", [0.01, 0.3, 5.0])
def test_gain_against_a_dense_determinant(kernel, noise_std):
    x = np.random.default_rng(1).random((40, 2))
    x[30:] = x[:10]
    x[38:] = x[0]
    assert theory.information_gain(kernel, x, noise_std) == pytest.approx(dense_gain(kernel, x, noise_std), rel=1e-10)


@given(runs, st.sampled_from(KERNELS), st.sampled_from([0.05, 0.5]))
def test_chain_rule_and_eigenvalues_against_dense_algebra(rounds, kernel, noise_std):
    gains = theory.information_gains(kernel, rounds, noise_std)
    each = theory.gains_of_rounds(kernel, rounds, noise_std)
    seen, largest = np.empty((0, 2)), 0.0
    stars = theory.lambda_star(kernel, rounds, noise_std)
    for t, z in enumerate(rounds):
        if len(z):
            covariance = dense_covariance(kernel, seen, z, noise_std)
            largest = max(largest, np.linalg.eigvalsh(covariance)[-1])
            assert each.variance[t] == pytest.approx(np.trace(covariance), rel=1e-7, abs=1e-9)
            stds = np.sqrt(np.clip(np.diagonal(covariance), 0, None))
            assert each.width[t] == pytest.approx(stds.sum(), rel=1e-6, abs=1e-6)
        seen = np.concatenate([seen, z])
        assert gains[t] == pytest.approx(dense_gain(kernel, seen, noise_std), rel=1e-8, abs=1e-9)
        assert gains[t] == pytest.approx(theory.information_gain(kernel, seen, noise_std), rel=1e-8, abs=1e-9)
        assert stars[t] == pytest.approx(largest, rel=1e-8, abs=1e-9)
    assert each.size.tolist() == [len(z) for z in rounds]


@given(runs, st.sampled_from(KERNELS), st.sampled_from([0.05, 0.5, 2.0]))
def test_lemma_6_information_gain_against_the_sum_of_variances(rounds, kernel, noise_std):
    each = theory.gains_of_rounds(kernel, rounds, noise_std)
    gains, stars = np.cumsum(each.gain), np.maximum.accumulate(each.eigenvalue)
    least = np.cumsum(each.variance) / noise_std**2 / (2 * (stars / noise_std**2 + 1))
    assert (gains >= least - 1e-9).all()
    # The other side, log(1 + x) <= x, which is how the gain is bounded by variances.
    assert (gains <= np.cumsum(each.variance) / (2 * noise_std**2) + 1e-9).all()


def test_lambda_star_is_at_most_k_and_at_least_the_largest_variance():
    kernel = sa.SquaredExponential()
    same = [np.zeros((5, 1))]
    assert theory.lambda_star(kernel, same, 0.1)[0] == pytest.approx(5.0)
    apart = [100.0 * np.arange(5)[:, None]]
    assert theory.lambda_star(kernel, apart, 0.1)[0] == pytest.approx(1.0)


def test_almost_no_noise_on_a_smooth_kernel_stays_finite():
    x = np.linspace(0, 1, 60)[:, None]
    gain = theory.information_gain(sa.SquaredExponential(), x, 1e-9)
    assert np.isfinite(gain)
    assert gain > theory.information_gain(sa.SquaredExponential(), x, 1e-3)


def test_nothing_tells_nothing():
    kernel = sa.SquaredExponential()
    assert theory.information_gain(kernel, [], 0.1) == 0.0
    assert theory.information_gains(kernel, [[], [[0.5]], []], 0.1) == pytest.approx(
        [0, np.log(101) / 2, np.log(101) / 2]
    )
    assert theory.information_gains(kernel, [], 0.1).shape == (0,)
    assert theory.lambda_star(kernel, [[]], 0.1).tolist() == [0.0]


@settings(max_examples=40)
@given(
    arrays(np.float64, (5, 2), elements=coordinates),
    st.integers(1, 4),
    st.sampled_from(KERNELS),
    st.sampled_from([0.1, 1.0]),
)
def test_greedy_encloses_the_maximum_over_all_multisets(x, n, kernel, noise_std):
    greedy = theory.greedy_information_gain(kernel, x, n, noise_std)
    for m in range(1, n + 1):
        best = max(dense_gain(kernel, chosen, noise_std) for chosen in multisets(x, m))
        assert greedy.lower[m - 1] <= best + 1e-9
        assert greedy.lower[m - 1] >= (1 - 1 / np.e) * best - 1e-9
        assert best - 1e-9 <= greedy.upper[m - 1] <= greedy.lower[m - 1] / (1 - 1 / np.e) + 1e-9
        picked = x[greedy.picks[:m]]
        assert greedy.lower[m - 1] == pytest.approx(dense_gain(kernel, picked, noise_std), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [19, 20, 200])
def test_greedy_with_and_without_the_whole_covariance(n):
    # 2 d <= n keeps the covariance matrix, otherwise the vectors: the picks tell the same.
    kernel, x = sa.Matern32(lengthscale=0.3), np.random.default_rng(0).random((10, 1))
    greedy = theory.greedy_information_gain(kernel, x, n, 0.2)
    many = theory.greedy_information_gain(kernel, np.concatenate([x, x]), n, 0.2)  # duplicates change nothing
    assert many.lower == pytest.approx(greedy.lower)
    assert greedy.lower[-1] == pytest.approx(dense_gain(kernel, x[greedy.picks], 0.2), rel=1e-9)
    assert (np.diff(greedy.lower) > 0).all()
    assert (greedy.upper >= greedy.lower).all()


def test_certificate_is_close_where_contexts_repeat():
    x = np.linspace(0, 1, 50)[:, None]
    greedy = theory.greedy_information_gain(sa.SquaredExponential(lengthscale=0.3), x, 500, 0.1)
    assert greedy.upper[-1] <= 1.005 * greedy.lower[-1]


def test_greedy_beats_random_choices_of_many():
    rng = np.random.default_rng(3)
    x, kernel = rng.random((400, 2)), sa.Matern52(lengthscale=0.3)
    greedy = theory.greedy_information_gain(kernel, x, 60, 0.1)
    for _ in range(10):
        chosen = x[rng.integers(400, size=60)]
        assert theory.information_gain(kernel, chosen, 0.1) <= greedy.lower[-1] <= greedy.upper[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kernel", [[0.0]], 0.1), "kernel: expected a kernel"),
        ((sa.Linear(), [[np.nan]], 0.1), "contexts: expected a finite array"),
        ((sa.Linear(), [0.0, 1.0], 0.1), "contexts: expected a finite array"),
        ((sa.Linear(), [[0.0]], 0.0), "noise_std: expected a positive finite number"),
        ((sa.Linear(), [[0.0]], 1e-200), "noise_std: expected a number whose square is positive"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(sa.errors.InvalidArgument, match=message):
        theory.information_gain(*arguments)


def test_bad_picks():
    with pytest.raises(sa.errors.InvalidArgument, match="n: expected a whole number >= 0"):
        theory.greedy_information_gain(sa.Linear(), [[0.0]], -1, 0.1)
    with pytest.raises(sa.errors.InvalidArgument, match="contexts: expected at least one"):
        theory.greedy_information_gain(sa.Linear(), [], 1, 0.1)
    assert theory.greedy_information_gain(sa.Linear(), [[1.0]], 0, 0.1).lower.shape == (0,)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("noise_std", [0.1, 0.5, 2.0])
def test_upper_bound_is_the_least_of_its_three_formulas(kernel, noise_std):
    x = np.random.default_rng(2).random((12, 2))
    greedy = theory.greedy_information_gain(kernel, x, 30, noise_std)
    for m in (1, 2, 5, 30):
        picked = x[greedy.picks[:m]]
        value = dense_gain(kernel, picked, noise_std)
        v = np.diagonal(dense_covariance(kernel, picked, x, noise_std))
        guarantee = value / (1 - (1 - 1 / m) ** m)
        submodular = value + m / 2 * np.log(1 + v.max() / noise_std**2)
        tangent = value + (m * v.max() - v[greedy.picks[:m]].sum()) / (2 * noise_std**2)
        assert greedy.upper[m - 1] == pytest.approx(min(guarantee, submodular, tangent), rel=1e-8)


def test_upper_bound_where_the_greedy_choice_is_not_the_best():
    # The variance grows with x and falls off with distance: the first pick is often not in the best set.
    missed = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        kernel, noise_std = sa.SquaredExponential(lengthscale=0.4) * sa.Linear(), 10 ** rng.uniform(-1, 0)
        x = rng.uniform(0.2, 1, (5, 1))
        greedy = theory.greedy_information_gain(kernel, x, 3, noise_std)
        for m in (2, 3):
            best = max(dense_gain(kernel, chosen, noise_std) for chosen in multisets(x, m))
            assert greedy.lower[m - 1] - 1e-9 <= best <= greedy.upper[m - 1] + 1e-9
            missed += best > greedy.lower[m - 1] * 1.01
    assert missed > 5
