"""Posteriors of frames with text, against scikit-learn on one-hot columns made by hand, and themselves."""

import numpy as np
import polars as pl
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import superarm as sa
from superarm.errors import InvalidArgument

COLOURS = np.array(["red", "green", "blue", "pink"])
KERNEL = sa.Matern52(columns=["price", "age"], lengthscale=(0.5, 2.0)) * sa.Categories(
    columns=["colour"], lengthscale=0.9
) + sa.Linear(columns=["age"], variance=0.3)


def frame(n, seed=0, colours=COLOURS):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {"price": rng.uniform(size=n), "age": rng.uniform(size=n), "colour": rng.choice(colours, size=n)}
    )


def outcomes(table, seed=1):
    price, age = table["price"].to_numpy(), table["age"].to_numpy()
    shift = table["colour"].replace_strict(dict(zip(COLOURS, [0.0, 0.8, -0.6, 0.3], strict=True)), default=0.0)
    noise = np.random.default_rng(seed).normal(size=(len(table), 2))
    return np.column_stack([np.sin(4 * price) + shift, age + 0.5 * shift]) + 0.1 * noise


def one_hot(table):
    columns = np.equal.outer(table["colour"].to_numpy(), COLOURS).astype(float)
    return np.column_stack([table["price"].to_numpy() / 0.5, table["age"].to_numpy() / 2.0, columns / 0.9])


class Part(sk.Kernel):
    """A kernel of some columns, by hand."""

    def __init__(self, kernel, columns):
        self.kernel, self.columns = kernel, columns

    def __call__(self, x, y=None, eval_gradient=False):
        return self.kernel(x[:, self.columns], None if y is None else y[:, self.columns])

    def diag(self, x):
        return self.kernel.diag(x[:, self.columns])

    def is_stationary(self):
        return False


@pytest.mark.parametrize("kind", [sa.ExactPosterior, sa.GaussianProcess, sa.SparsePosterior])
def test_against_scikit_learn_on_one_hot_columns(kind):
    seen, asked = frame(40), frame(25, seed=5)
    posterior = kind(KERNEL, noise_std=0.1).condition(seen, outcomes(seen))
    belief = posterior.predict(asked)
    smooth = Part(sk.Matern(1.0, nu=2.5), [0, 1]) * Part(sk.RBF(1.0), [2, 3, 4, 5])
    linear = Part(sk.ConstantKernel(0.3 * 2.0**2) * sk.DotProduct(sigma_0=0.0, sigma_0_bounds="fixed"), [1])
    for output in (0, 1):
        referee = GaussianProcessRegressor(smooth + linear, alpha=0.01, optimizer=None)
        referee.fit(one_hot(seen), outcomes(seen)[:, output])
        mean, std = referee.predict(one_hot(asked), return_std=True)
        near = 1e-4 if kind is sa.SparsePosterior else 1e-8
        assert np.allclose(belief.mean[:, output], mean, atol=near)
        assert np.allclose(belief.std[:, output], std, atol=near)


@pytest.mark.parametrize("kind", [sa.ExactPosterior, sa.GaussianProcess, sa.SparsePosterior])
def test_frames_come_with_columns_in_any_order_and_arrays_in_that_of_the_first(kind):
    seen, asked = frame(12), frame(7, seed=5)
    prior = kind(KERNEL, noise_std=0.1)
    posterior = prior.condition(seen, outcomes(seen))
    turned = asked.select("colour", "age", "price")
    assert np.array_equal(posterior.predict(asked).mean, posterior.predict(turned).mean)
    assert np.array_equal(posterior.covariance(asked, turned), posterior.covariance(turned, asked))
    assert np.array_equal(posterior.sample(asked, 3, seed=1), posterior.sample(turned, 3, seed=1))
    assert np.array_equal(prior.covariance(asked, turned), prior.covariance(asked))
    contexts = sa.Round(t=1, contexts=asked, feasible=sa.AtMost(1)).contexts
    assert np.array_equal(posterior.predict(asked).mean, posterior.predict(contexts).mean)
    again = posterior.condition(asked, outcomes(asked)).predict(asked).mean
    assert np.array_equal(posterior.condition(turned, outcomes(asked)).predict(asked).mean, again)


def test_a_category_that_was_never_seen_has_more_of_its_prior_uncertainty():
    seen = frame(60)
    posterior = sa.GaussianProcess(sa.Categories(columns=["colour"]) + sa.Matern52(columns=["price"]), noise_std=0.1)
    posterior = posterior.condition(seen, outcomes(seen))
    known, new = seen[:5], seen[:5].with_columns(colour=pl.lit("mauve"))
    assert (posterior.predict(new).std > 3 * posterior.predict(known).std).all()
    # An unknown category is the mean of those known, shrunk to what is believed of all.
    assert np.isfinite(posterior.predict(new).mean).all()


def test_what_differs_is_learnt():
    seen = frame(120)
    given = [sa.Matern52(columns=["price"], lengthscale=1.0) + sa.Categories(columns=["colour"]) for _ in range(2)]
    posterior = sa.GaussianProcess(tuple(given), noise_std=0.3).condition(seen, outcomes(seen))
    learnt = posterior.learned()
    assert learnt.log_marginal_likelihood() > posterior.log_marginal_likelihood() + 10
    first, _ = learnt.kernel
    assert first.first.columns == ("price",)
    assert first.first.lengthscale < 0.8
    assert learnt.noise_std[0] < 0.15
    plain = sa.GaussianProcess(sa.Matern52(columns=["price"], lengthscale=1.0), noise_std=0.3)
    alone = plain.condition(seen, outcomes(seen)).learned()
    assert learnt.log_marginal_likelihood() > alone.log_marginal_likelihood() + 50  # the colour says much


def test_missing_and_strange_columns_are_named_and_nothing_changes():
    seen = frame(8)
    posterior = sa.GaussianProcess(KERNEL, noise_std=0.1)
    with pytest.raises(InvalidArgument, match=r"contexts: expected the columns of the kernel.*none called 'age'"):
        posterior.predict(seen.drop("age"))
    with pytest.raises(InvalidArgument, match="contexts: expected a frame"):
        posterior.predict(np.ones((2, 3)))
    posterior = posterior.condition(seen, outcomes(seen))
    with pytest.raises(InvalidArgument, match="contexts: expected the columns 'price', 'age', 'colour', as before"):
        posterior.predict(seen.drop("price"))
    with pytest.raises(InvalidArgument, match="got also 'more'"):
        posterior.condition(seen.with_columns(more=1.0), outcomes(seen))
    assert posterior.observations == 8


def test_a_catalogue_may_be_a_frame():
    shelf = frame(30)
    posterior = sa.ExactPosterior(KERNEL, noise_std=0.1, catalogue=shelf)
    plain = sa.ExactPosterior(KERNEL, noise_std=0.1)
    one, other = (each.condition(shelf[:5], outcomes(shelf[:5])).predict(shelf) for each in (posterior, plain))
    assert np.allclose(one.mean, other.mean, atol=1e-12)


def test_outputs_that_are_related_have_columns_too():
    seen = frame(10)
    related = sa.Coregionalised(KERNEL, [[1.0, 0.5], [0.5, 1.0]])
    posterior = sa.GaussianProcess(related, noise_std=0.1).condition(seen, outcomes(seen))
    assert posterior.kernel.kernel == KERNEL
    assert np.isfinite(posterior.learned().predict(seen).mean).all()
