import numpy as np
import pytest

from superarm.errors import InvalidArgument
from superarm.posteriors import (
    Belief,
    Coregionalised,
    ExactPosterior,
    GaussianProcess,
    Independent,
    Posterior,
    RandomSubset,
    RationalQuadratic,
    SparsePosterior,
    SquaredExponential,
)
from tests.posteriors.dense import data

SE = SquaredExponential()
KINDS = [ExactPosterior, SparsePosterior, GaussianProcess]

BAD_CONTEXTS = [
    [[np.nan, 0.0]],
    [[np.inf, 0.0]],
    [0.0, 1.0],
    0.0,
    np.zeros((2, 3)),
    np.zeros((2, 0)),
    np.zeros((1, 2, 1)),
    [["a", "b"]],
    [[1j, 0]],
    [[0.0, 1.0], [0.0]],
    None,
]
BAD_OUTCOMES = [
    np.zeros((2, 2)),
    np.zeros((3, 1)),
    np.zeros((3, 3)),
    np.zeros(3),
    0.0,
    [[np.inf, 0.0]] * 3,
    [["a", "b"]] * 3,
    [["0.1", "0.2"]] * 3,
    None,
]


@pytest.fixture(params=KINDS)
def posterior(request):
    return request.param(SE, 0.1).condition(*data(0, 12, 2))


@pytest.mark.parametrize("contexts", BAD_CONTEXTS, ids=str)
def test_bad_contexts_change_nothing(posterior, contexts):
    c = data(1, 5, 2)[0]
    before = posterior.predict(c)
    for call in (
        lambda: posterior.predict(contexts),
        lambda: posterior.covariance(contexts),
        lambda: posterior.sample(contexts, 1, seed=0),
        lambda: posterior.condition(contexts, np.zeros((2, 2))),
    ):
        with pytest.raises(InvalidArgument, match=r"contexts: expected .*shape \(M, 2\), got"):
            call()
    np.testing.assert_array_equal(posterior.predict(c).mean, before.mean)
    np.testing.assert_array_equal(posterior.predict(c).std, before.std)
    assert posterior.observations == 12


@pytest.mark.parametrize("outcomes", BAD_OUTCOMES, ids=str)
def test_bad_outcomes_change_nothing(posterior, outcomes):
    c = data(1, 5, 2)[0]
    before = posterior.predict(c)
    with pytest.raises(InvalidArgument, match=r"outcomes: expected .*\(3, 2\).*, got"):
        posterior.condition(np.zeros((3, 2)), outcomes)
    np.testing.assert_array_equal(posterior.predict(c).mean, before.mean)
    assert posterior.observations == 12


@pytest.mark.parametrize("number", [1e308, -1e308, 1e160])
@pytest.mark.parametrize("mean", [0.0, 1e150, -1e150])
@pytest.mark.parametrize("kind", KINDS)
def test_outcomes_whose_squares_overflow_change_nothing(kind, mean, number):
    x, y = data(0, 12, 2)
    posterior = kind(SE, 0.1, mean=mean).condition(x, y)
    before = posterior.predict(x)
    with pytest.raises(InvalidArgument, match=r"outcomes: expected numbers within 1e\+152 of the prior mean"):
        posterior.condition(np.zeros((3, 2)), [[0.0, 0.0], [0.0, number], [np.nan, 0.0]])
    np.testing.assert_array_equal(posterior.predict(x).mean, before.mean)
    assert posterior.observations == 12


@pytest.mark.parametrize("number", [1e150, -1e150])
@pytest.mark.parametrize("kind", KINDS)
def test_large_outcomes_leave_a_posterior_that_answers(kind, number):
    x = np.repeat(np.linspace(0, 1, 150), 2)[:, None]
    posterior = kind(SE, 0.1).condition(x, np.full((300, 2), [number, 0.1])).condition(x, np.zeros((300, 2)))
    belief = posterior.predict(x)
    assert np.isfinite(belief.mean).all()
    assert np.abs(belief.mean[:, 1]).max() < 1


@pytest.mark.parametrize("value", [1e308, 1e151, 1e-151, 1e-310])
@pytest.mark.parametrize("argument", ["lengthscale", "variance", "alpha"])
def test_hyperparameters_whose_squares_overflow_are_refused(argument, value):
    with pytest.raises(InvalidArgument, match=f"{argument}: expected .* 1e-150 to 1e\\+150"):
        RationalQuadratic(**{argument: value})
    assert getattr(RationalQuadratic(**{argument: 1e150}), argument) == 1e150


def test_a_matrix_of_outputs_whose_squares_overflow_is_refused():
    with pytest.raises(InvalidArgument, match="matrix: expected numbers from"):
        Coregionalised(SE, [[1e308, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("inducing", [np.zeros((3, 2)), [0.0], RandomSubset, 5, None], ids=repr)
def test_an_array_is_no_inducing_rule(inducing):
    with pytest.raises(InvalidArgument, match="inducing: expected GreedyVariance, RandomSubset, or"):
        SparsePosterior(SE, 0.1, inducing=inducing)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "noise", [0.0, -0.1, np.nan, np.inf, (0.1, 0.0), (0.1, 0.2, 0.3), "loud", "0.1", None, 1e-200, 1e308, (0.1, 1e200)]
)
def test_noise_must_be_positive(kind, noise):
    with pytest.raises(InvalidArgument, match="noise_std"):
        kind(SE, noise)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mean", [np.nan, (1.0, np.inf), (1.0, 2.0, 3.0), "zero", "0.1", -1e308])
def test_mean_must_be_finite(kind, mean):
    with pytest.raises(InvalidArgument, match="mean"):
        kind(SE, 0.1, mean=mean)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [np.zeros(3), np.full((3, 2), np.nan), np.zeros((2, 2)), "zero"])
def test_mean_functions_give_two_finite_columns(kind, values):
    posterior = kind(SE, 0.1, mean=lambda c: values)
    with pytest.raises(InvalidArgument, match="mean: expected"):
        posterior.predict([[0.0], [1.0], [2.0]])
    with pytest.raises(InvalidArgument, match="mean: expected"):
        posterior.condition([[0.0], [1.0], [2.0]], np.zeros((3, 2)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [None, "SE", 1.0, SquaredExponential, (SE,), (SE, SE, SE), (SE, None), [SE, SE]])
def test_kernel_must_be_one(kind, kernel):
    with pytest.raises(InvalidArgument, match="kernel"):
        kind(kernel, 0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [lambda k: k, lambda k: (SE, k), lambda k: Coregionalised(k, np.eye(2))])
def test_lengthscales_must_fit_the_contexts(kind, make):
    posterior = kind(make(SquaredExponential(lengthscale=(1.0, 2.0))), 0.1)
    for x in (np.zeros((3, 1)), np.zeros((0, 1))):
        with pytest.raises(InvalidArgument, match="lengthscale"):
            posterior.predict(x)
        with pytest.raises(InvalidArgument, match="lengthscale"):
            posterior.condition(x, np.zeros((len(x), 2)))


@pytest.mark.parametrize(
    "matrix",
    [
        [[1.0, 2.0], [2.0, 1.0]],
        [[-1.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.5], [0.4, 1.0]],
        np.eye(3),
        [1.0, 1.0],
        [[np.nan, 0.0], [0.0, 1.0]],
        "identity",
    ],
)
def test_matrix_must_be_positive_semidefinite(matrix):
    with pytest.raises(InvalidArgument, match=r"matrix: expected .*semidefinite"):
        Coregionalised(SE, matrix)


def test_relations_hold_kernels():
    with pytest.raises(InvalidArgument, match="second"):
        Independent(SE, 3.0)
    with pytest.raises(InvalidArgument, match="kernel"):
        Coregionalised(3.0, np.eye(2))
    assert Coregionalised(SE, np.eye(2)) == Coregionalised(SE, [[1, 0], [0, 1]])
    assert hash(Coregionalised(SE, np.eye(2))) == hash(Coregionalised(SE, [[1, 0], [0, 1]]))


@pytest.mark.parametrize("kind", KINDS)
def test_inducing_must_be_a_rule(kind):
    if kind is SparsePosterior:
        with pytest.raises(InvalidArgument, match="inducing"):
            kind(SE, 0.1, inducing=10)


def test_belief_checks_its_arrays():
    mean, std = np.zeros((3, 2)), np.ones((3, 2))
    belief = Belief(mean=mean, std=std)
    mean[:] = 7.0
    np.testing.assert_array_equal(belief.mean, 0.0)
    with pytest.raises(ValueError, match="read-only"):
        belief.std[0] = 2.0
    for bad in ({"mean": np.zeros(3)}, {"mean": np.full((3, 2), np.nan)}, {"mean": np.zeros((2, 2))}):
        with pytest.raises(InvalidArgument, match=r"mean|std"):
            Belief(**{"mean": mean, "std": std, **bad})
    for bad in (-std, np.ones((3, 3)), np.full((3, 2), np.inf)):
        with pytest.raises(InvalidArgument, match="std"):
            Belief(mean=mean, std=bad)


def test_a_posterior_of_ones_own_inherits_nothing():
    class Prior:
        def predict(self, contexts):
            return Belief(mean=np.zeros((len(contexts), 2)), std=np.ones((len(contexts), 2)))

        def condition(self, contexts, outcomes):
            return self

    assert isinstance(Prior(), Posterior)
    assert isinstance(ExactPosterior(SE, 0.1), Posterior)
    assert isinstance(SparsePosterior(SE, 0.1), Posterior)
    assert not isinstance(SE, Posterior)
