import dataclasses

import numpy as np
import pytest

from superarm import storage
from superarm.errors import NotStorable, UnreadableFile
from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    GaussianProcess,
    GreedyVariance,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    RandomSubset,
    RationalQuadratic,
    SparsePosterior,
    SquaredExponential,
)
from tests.posteriors.dense import data, grown

SE = SquaredExponential(lengthscale=(0.6, 0.8))
POSTERIORS = {
    "exact": ExactPosterior(SE, 0.1),
    "exact, two kernels": ExactPosterior((Matern12() * Linear() + Matern32(), RationalQuadratic()), (0.1, 0.2)),
    "exact, coregionalised": ExactPosterior(Coregionalised(Matern52(), [[1, 0.3], [0.3, 2]]), 0.1, mean=(1, 2)),
    "exact, catalogue": ExactPosterior((SE, Matern12()), 0.1, catalogue=data(1, 60, 2)[0]),
    "sparse, greedy": SparsePosterior(SE, 0.1, inducing=GreedyVariance(1e-4)),
    "sparse, random": SparsePosterior((SE, Matern52()), 0.1, inducing=RandomSubset(7), mean=1.0),
    "sparse, coregionalised": SparsePosterior(Coregionalised(SE, [[1, 0.3], [0.3, 2]]), 0.1),
    "low rank": GaussianProcess(SE, 0.1),
    "low rank, coregionalised": GaussianProcess(Coregionalised(SE, [[1, 0.3], [0.3, 2]]), (0.1, 0.2)),
}


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("kind", POSTERIORS)
def test_saved_and_continued_equals_never_stopped(kind, missing, tmp_path):
    x, y = data(0, 400, 2, repeats=0.3, missing=missing)
    c = data(1, 60, 2)[0]
    kept = grown(POSTERIORS[kind], x[:330], y[:330], (90, 31))
    storage.write(kept, tmp_path / "posterior")
    loaded = storage.read(tmp_path / "posterior")
    for batch in (slice(0, 0), slice(330, 331), slice(331, 360), slice(360, 400)):
        kept, loaded = kept.condition(x[batch], y[batch]), loaded.condition(x[batch], y[batch])
        np.testing.assert_array_equal(loaded.predict(c).mean, kept.predict(c).mean)
        np.testing.assert_array_equal(loaded.predict(c).std, kept.predict(c).std)
        np.testing.assert_array_equal(loaded.sample(c, 3, seed=0), kept.sample(c, 3, seed=0))
        assert loaded.log_marginal_likelihood() == kept.log_marginal_likelihood()
    assert repr(loaded) == repr(kept)


@pytest.mark.parametrize("cls", [ExactPosterior, SparsePosterior, GaussianProcess])
@pytest.mark.parametrize("kernel", [SE, (SE, Matern52()), Coregionalised(SE, [[1, 0.3], [0.3, 2]])], ids=repr)
def test_the_kernel_is_what_was_given_and_stays_so_when_loaded(cls, kernel, tmp_path):
    x, y = data(0, 30, 2)
    posterior = cls(kernel, 0.1).condition(x, y)
    assert posterior.kernel == kernel
    storage.write(posterior, tmp_path / "posterior")
    assert storage.read(tmp_path / "posterior").kernel == kernel
    assert type(posterior.learned().kernel) is type(kernel)


@pytest.mark.parametrize("kind", POSTERIORS)
def test_an_unconditioned_posterior_can_be_saved(kind, tmp_path):
    storage.write(POSTERIORS[kind], tmp_path / "posterior")
    x, y = data(2, 20, 2)
    np.testing.assert_array_equal(
        storage.read(tmp_path / "posterior").condition(x, y).predict(x).mean,
        POSTERIORS[kind].condition(x, y).predict(x).mean,
    )


def arrays(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from arrays(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from arrays(getattr(value, field.name))


@pytest.mark.parametrize("kind", POSTERIORS)
def test_the_state_is_in_the_order_that_files_keep(kind):
    # A file holds arrays row by row; another order in memory could round differently after loading.
    x, y = data(3, 300, 2, repeats=0.2, missing=0.1)
    state = list(arrays(grown(POSTERIORS[kind], x, y, (70, 200))))
    assert len(state) > 5
    assert all(array.flags.c_contiguous for array in state)


def test_a_function_cannot_be_saved(tmp_path):
    posterior = ExactPosterior(SE, 0.1, mean=lambda c: np.zeros((len(c), 2)))
    with pytest.raises(NotStorable, match="mean"):
        storage.write(posterior, tmp_path / "posterior")


def with_fields(value, **changes):
    """As a file might hold it: nothing is checked."""
    new = object.__new__(type(value))
    for field in dataclasses.fields(value):
        object.__setattr__(new, field.name, changes.get(field.name, getattr(value, field.name)))
    return new


def refused(posterior, path):
    storage.write(posterior, path)
    with pytest.raises(UnreadableFile, match=r"holds a (SparseEngine|TwoOutputs)"):
        storage.read(path)


@pytest.mark.parametrize("spoil", [lambda kept: kept.T.copy(), lambda kept: kept[:, :1].copy()])
def test_inducing_points_of_another_dimension_are_refused(spoil, tmp_path):
    posterior = SparsePosterior(SE, 0.1).condition(*data(0, 30, 2))
    (engine,) = posterior.state.engines
    engine = with_fields(engine, kept=spoil(engine.kept))
    refused(posterior._with(with_fields(posterior.state, engines=(engine,))), tmp_path / "posterior")


@pytest.mark.parametrize("cls", [ExactPosterior, SparsePosterior, GaussianProcess])
@pytest.mark.parametrize("kernel", [SE, (SE, Matern52(lengthscale=(0.5, 0.5)))], ids=repr)
@pytest.mark.parametrize("rows", [0, 30])
@pytest.mark.parametrize("field", ["first", "second"])
def test_kernels_of_another_dimension_are_refused(cls, kernel, rows, field, tmp_path):
    posterior = cls(kernel, 0.1).condition(*data(0, rows, 2))
    state = posterior.state
    other = with_fields(state.outputs, **{field: SquaredExponential(lengthscale=(1.0, 2.0, 3.0))})
    refused(posterior._with(with_fields(state, outputs=other)), tmp_path / "outputs")
    given = with_fields(state.given, outputs=other)
    refused(posterior._with(with_fields(state, given=given)), tmp_path / "given")
