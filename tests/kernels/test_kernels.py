import math

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel

from superarm.errors import InvalidArgument
from superarm.kernels.combinations import ProductKernel, SumKernel
from superarm.kernels.kernel import Kernel, evaluate
from superarm.kernels.linear import Linear
from superarm.kernels.stationary import Laplacian, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential
from tests.posteriors.dense import FORMULAS, scaled_distance

STATIONARY = [SquaredExponential, Matern12, Matern32, Matern52]
EVERY = [*STATIONARY, Linear, RationalQuadratic]
LENGTHSCALES = [0.7, (0.3, 2.0, 1.1)]


def points(seed=0, n=7, m=5, d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((m, d))


def by_pairs(function, x, y):
    return np.array([[function(a, b) for b in y] for a in x])


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
@pytest.mark.parametrize("cls", STATIONARY)
def test_stationary_kernels_are_their_formulas(cls, lengthscale):
    x, y = points()
    formula = FORMULAS[cls.__name__]
    expected = by_pairs(lambda a, b: 1.7 * formula(scaled_distance(a, b, lengthscale)), x, y)
    np.testing.assert_allclose(cls(lengthscale=lengthscale, variance=1.7)(x, y), expected, rtol=1e-13)


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
def test_rational_quadratic_is_its_formula(lengthscale):
    x, y = points()
    expected = by_pairs(lambda a, b: 0.4 * (1 + scaled_distance(a, b, lengthscale) ** 2 / (2 * 1.3)) ** -1.3, x, y)
    kernel = RationalQuadratic(lengthscale=lengthscale, variance=0.4, alpha=1.3)
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-13)


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
def test_linear_is_its_formula(lengthscale):
    x, y = points()
    scales = np.broadcast_to(lengthscale, 3)
    expected = by_pairs(lambda a, b: 2.5 * math.fsum(p * q / s**2 for p, q, s in zip(a, b, scales, strict=True)), x, y)
    np.testing.assert_allclose(Linear(lengthscale=lengthscale, variance=2.5)(x, y), expected, rtol=1e-12, atol=1e-14)


def test_sums_and_products():
    x, y = points()
    a, b, c = SquaredExponential(lengthscale=0.5), Matern32(variance=2.0), Linear()
    kernel = a * b + c
    assert kernel == SumKernel(ProductKernel(a, b), c)
    np.testing.assert_allclose(kernel(x, y), a(x, y) * b(x, y) + c(x, y), rtol=1e-15)
    np.testing.assert_allclose(kernel.diagonal(x), np.diag(kernel(x, x)), rtol=0)


@pytest.mark.parametrize(
    "kernel",
    [*(cls(lengthscale=0.37, variance=1.3) for cls in EVERY), Linear() * Matern12() + SquaredExponential()],
)
@pytest.mark.parametrize("d", [1, 3])
def test_diagonal_and_symmetry_to_the_last_bit(kernel, d):
    x = np.random.default_rng(1).standard_normal((40, d)) * 10
    np.testing.assert_array_equal(np.diag(kernel(x, x)), kernel.diagonal(x))
    np.testing.assert_array_equal(kernel(x, x), kernel(x, x).T)
    assert isinstance(kernel, Kernel)


@pytest.mark.parametrize("cls", [Matern12, Matern32, Matern52, SquaredExponential])
def test_distances_of_near_points_do_not_cancel(cls):
    x = np.array([[1000.0, 1000.0]])
    y = x + np.array([[2.0**-30, 0.0]])
    r = 2.0**-30 / 1e-6
    np.testing.assert_allclose(cls(lengthscale=1e-6)(x, y)[0, 0], FORMULAS[cls.__name__](r), rtol=1e-13)


@pytest.mark.parametrize("cls", [*STATIONARY, RationalQuadratic])
def test_far_points_are_uncorrelated_without_a_warning(cls):
    k = cls()(np.array([[1e200], [-1e200]]), np.array([[0.0]]))
    np.testing.assert_array_equal(k, 0.0)


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
def test_jumps_are_the_laplacian_kernel_of_scikit_learn(lengthscale):
    x, y = points(n=30, m=40)
    x[:10], y[:20] = 30 * x[:10], 300 * y[:20]
    y[-1] = x[-1]
    expected = 1.7 * laplacian_kernel(*(z / np.asarray(lengthscale) for z in (x, y)), gamma=1.0)
    k = Laplacian(lengthscale=lengthscale, variance=1.7)(x, y)
    np.testing.assert_allclose(k, expected, rtol=1e-12, atol=1e-300)  # both round exponents of some hundreds
    assert k[-1, -1] == 1.7
    assert (k == 0).any()


PROFILES = {
    SquaredExponential: lambda square: np.exp(-0.5 * square),
    Matern12: lambda square: np.exp(-np.sqrt(square)),
    Matern32: lambda square: (1.0 + np.sqrt(3.0 * square)) * np.exp(-np.sqrt(3.0 * square)),
    Matern52: lambda square: (5.0 * square / 3.0 + np.sqrt(5.0 * square) + 1.0) * np.exp(-np.sqrt(5.0 * square)),
    RationalQuadratic: lambda square: (1.0 + 0.5 * square) ** -1.0,
}


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
@pytest.mark.parametrize("cls", [*STATIONARY, RationalQuadratic])
def test_kernels_keep_every_digit(cls, lengthscale):
    """From exactly equal points over the whole range to those where exp(-s) is no normal number."""
    x, y = points(n=30, m=40)
    x[:10], y[:20] = 30 * x[:10], 300 * y[:20]
    y[-1] = x[-1]
    square = np.square((x[:, None] - y) * (1.0 / np.asarray(lengthscale))).sum(axis=2)
    expected = 1.7 * PROFILES[cls](square)
    k = cls(lengthscale=lengthscale, variance=1.7)(x, y)
    np.testing.assert_allclose(k, expected, rtol=2e-13, atol=1e-300)
    nearby = square < 1.0
    np.testing.assert_allclose(k[nearby], expected[nearby], rtol=2e-15)
    assert k[-1, -1] == 1.7
    assert cls is RationalQuadratic or (k == 0).any()


@pytest.mark.parametrize("cls", [*STATIONARY, RationalQuadratic])
def test_kernels_write_into_rows_of_a_larger_array(cls):
    x, y = points()
    v = np.full((11, 5), 7.0)
    evaluate(cls(), x, y, v[2:9])
    np.testing.assert_array_equal(v[2:9], cls()(x, y))
    np.testing.assert_array_equal(v[[0, 1, 9, 10]], 7.0)


@pytest.mark.parametrize("cls", STATIONARY)
def test_a_value_does_not_depend_on_its_place(cls):
    x, y = points(n=50, m=3000)
    kernel = cls(lengthscale=0.7)
    k = kernel(x, y)
    np.testing.assert_array_equal(k[17:18], kernel(x[17:18], y))
    np.testing.assert_array_equal(k[:, 1001:1014], kernel(x, y[1001:1014]))
    np.testing.assert_array_equal(k, kernel(y, x).T)


def test_tiles_do_not_show():
    x, y = points(n=50, m=3000)
    kernel = RationalQuadratic()
    np.testing.assert_array_equal(kernel(x, y)[17:18], kernel(x[17:18], y))
    assert Matern52()(x[:0], y).shape == (0, 3000)
    assert Matern52()(x, y[:0]).shape == (50, 0)


@pytest.mark.parametrize("cls", EVERY)
def test_values_compare_and_hash(cls):
    a, b = cls(lengthscale=[1, 2.0]), cls(lengthscale=np.array([1.0, 2.0]))
    assert a == b
    assert hash(a) == hash(b)
    assert a != cls(lengthscale=(1.0, 2.5))
    assert a.lengthscale == (1.0, 2.0)
    with pytest.raises(AttributeError):
        a.variance = 3.0


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "wide", [], [1.0, -2.0], [[1.0]], 1j, None])
def test_lengthscale_must_be_positive(cls, value):
    with pytest.raises(InvalidArgument, match="lengthscale"):
        cls(lengthscale=value)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, [1.0, 2.0], "much"])
def test_variance_and_alpha_must_be_positive(value):
    with pytest.raises(InvalidArgument, match="variance"):
        SquaredExponential(variance=value)
    with pytest.raises(InvalidArgument, match="alpha"):
        RationalQuadratic(alpha=value)


@pytest.mark.parametrize("cls", EVERY)
def test_one_lengthscale_for_each_dimension(cls):
    x, y = points()
    with pytest.raises(InvalidArgument, match="lengthscale"):
        cls(lengthscale=(1.0, 2.0))(x, y)
    with pytest.raises(InvalidArgument, match="lengthscale"):
        cls(lengthscale=(1.0, 2.0)).diagonal(x)
    with pytest.raises(InvalidArgument, match="shape"):
        cls()(x, y[:, :2])


@pytest.mark.parametrize("other", [3.0, "k", SquaredExponential])
def test_only_kernels_combine(other):
    with pytest.raises(InvalidArgument, match="second"):
        Matern12() + other
    with pytest.raises(InvalidArgument, match="second"):
        Matern12() * other


@pytest.mark.parametrize("number", [-1, 6])
def test_a_profile_that_is_not_there_is_refused(number):
    class New(SquaredExponential):
        form = number

    with pytest.raises(ValueError, match="form"):
        New()(*points())


@pytest.mark.parametrize("cls", EVERY)
def test_a_kernel_tells_its_own_name_and_what_a_lengthscale_is(cls):
    with pytest.raises(TypeError, match=rf"^{cls.__name__}\.__init__\(\) takes 1 positional"):
        cls(0.3)
    assert "``lengthscale``: one number, or one for each dimension" in cls.__doc__.replace("`` is", "``:")


@pytest.mark.parametrize("cls", [SumKernel, ProductKernel])
def test_a_combination_of_kernels_tells_its_own_name(cls):
    with pytest.raises(TypeError, match=rf"^{cls.__name__}\.__init__\(\) missing"):
        cls(Linear())
