import numpy as np
import pytest

from superarm import storage
from superarm.checks.posterior import check_posterior
from superarm.errors import InvalidArgument
from superarm.posteriors import Coregionalised, ExactPosterior, Matern32, Matern52, SquaredExponential
from superarm.posteriors.engines.factor import Factor
from tests.posteriors.dense import DenseGP, coregionalised, data, grown, independent

SE, ROUGH = SquaredExponential(lengthscale=0.6), Matern32(lengthscale=0.8)
MATRIX = [[1.0, -0.6], [-0.6, 0.8]]
RELATIONS = {
    "shared": (SE, independent(SE, SE)),
    "separate": ((SE, ROUGH), independent(SE, ROUGH)),
    "joint": (Coregionalised(ROUGH, MATRIX), coregionalised(ROUGH, MATRIX)),
}


def shelf(m=90, d=2):
    return data(50, m, d)[0]


def picks(n, share, *, missing=0.0, seed=51):
    """Outcomes at contexts of which a share is from the catalogue, many of them again and again."""
    rng = np.random.default_rng(seed)
    x, y = data(seed, n, 2, missing=missing)
    inside = rng.random(n) < share
    x[inside] = shelf()[rng.integers(0, len(shelf()), inside.sum())]
    return x, y


def engines(posterior):
    return posterior.state.engines


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_catalogue_changes_no_answer(relation, share, missing):
    kernel, covariances = RELATIONS[relation]
    x, y = picks(420, share, missing=missing)
    posterior = grown(ExactPosterior(kernel, (0.1, 0.1), catalogue=shelf()), x, y, (40, 3, 60))
    c = np.concatenate([shelf()[::-1], data(52, 20, 2)[0], shelf()[:5]])
    belief, (mean, std) = posterior.predict(c), DenseGP(covariances, (0.1, 0.1), x, y).predict(c)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-9)
    np.testing.assert_allclose(belief.std, std, atol=1e-9)
    plain = grown(ExactPosterior(kernel, (0.1, 0.1)), x, y, (40, 3, 60))
    np.testing.assert_allclose(posterior.log_marginal_likelihood(), plain.log_marginal_likelihood(), rtol=1e-10)
    np.testing.assert_allclose(posterior.covariance(c[80:100]), plain.covariance(c[80:100]), atol=1e-10)


def test_outputs_that_part_take_the_catalogue_along():
    x, y = picks(120, 0.8)
    y[100:, 1] = np.nan
    posterior = grown(ExactPosterior(SE, 0.1, catalogue=shelf()), x, y, (100, 20))
    first, second = (engine.catalogue for engine in engines(posterior))
    assert len(first.blocks[0]) > len(second.blocks[0])
    mean, std = DenseGP(independent(SE, SE), (0.1, 0.1), x, y).predict(shelf())
    np.testing.assert_allclose(posterior.predict(shelf()).mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.predict(shelf()).std, std, atol=1e-9)


def test_the_catalogue_alone_asks_for_no_solve(monkeypatch):
    posterior = grown(ExactPosterior(SE, 0.1, catalogue=shelf()), *picks(50, 1.0), (7,))
    expected = posterior.condition(shelf()[:4], np.ones((4, 2))).predict(shelf())

    def refuse(*_):
        raise AssertionError("a solve")

    monkeypatch.setattr(Factor, "solve", refuse)
    monkeypatch.setattr(Factor, "project", refuse)
    belief = posterior.condition(shelf()[:4], np.ones((4, 2))).predict(shelf())
    np.testing.assert_array_equal(belief.mean, expected.mean)


def test_v_is_extended_and_shared():
    parent = ExactPosterior(SE, 0.1, catalogue=shelf()).condition(*data(53, 300, 2))
    before = parent.predict(shelf())
    left, right = (parent.condition(*data(seed, 20, 2)) for seed in (54, 55))
    blocks = [engines(posterior)[0].catalogue.blocks for posterior in (parent, left, right)]
    assert [[len(block) for block in each] for each in blocks] == [[256, 44], [256, 64], [256, 64]]
    assert blocks[0][0] is blocks[1][0] is blocks[2][0]
    np.testing.assert_array_equal(parent.predict(shelf()).mean, before.mean)
    assert (left.predict(shelf()).mean != right.predict(shelf()).mean).any()


@pytest.mark.parametrize("relation", RELATIONS)
def test_saved_and_continued_equals_never_stopped(relation, tmp_path):
    x, y = picks(330, 0.7, missing=0.05)
    kept = grown(ExactPosterior(RELATIONS[relation][0], 0.1, catalogue=shelf()), x[:300], y[:300], (90, 31))
    storage.write(kept, tmp_path / "posterior")
    loaded = storage.read(tmp_path / "posterior")
    for batch in (slice(300, 301), slice(301, 330)):
        kept, loaded = kept.condition(x[batch], y[batch]), loaded.condition(x[batch], y[batch])
        for c in (shelf(), data(56, 30, 2)[0]):
            np.testing.assert_array_equal(loaded.predict(c).mean, kept.predict(c).mean)
            np.testing.assert_array_equal(loaded.predict(c).std, kept.predict(c).std)
            np.testing.assert_array_equal(loaded.covariance(c[:9]), kept.covariance(c[:9]))
    assert repr(loaded) == repr(kept)


def test_memory_is_limited():
    x, y = data(57, 200, 2)
    posterior = ExactPosterior(SE, 0.1, catalogue=shelf(), catalogue_memory=8 * 90 * 60)
    sizes = []
    for start in range(0, 200, 20):
        posterior = posterior.condition(x[start : start + 20], y[start : start + 20])
        catalogue = engines(posterior)[0].catalogue
        sizes.append(len(catalogue))
        assert sum(block.nbytes for block in catalogue.blocks) <= 8 * 90 * 60
    assert sizes[2] == 90
    assert sizes[3] == 45
    assert sizes[-1] == 22
    assert repr(posterior).endswith("catalogue=22)")
    mean, std = DenseGP(independent(SE, SE), (0.1, 0.1), x, y).predict(shelf())
    np.testing.assert_allclose(posterior.predict(shelf()).mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.predict(shelf()).std, std, atol=1e-9)
    nothing = ExactPosterior(SE, 0.1, catalogue=shelf(), catalogue_memory=0).condition(x, y)
    np.testing.assert_allclose(nothing.predict(shelf()).mean, mean, atol=1e-9)
    assert nothing.covariance(shelf()[:3]).shape == (2, 3, 3)


def test_nearly_identical_contexts_keep_their_digits():
    rng = np.random.default_rng(58)
    x = 0.5 + 1e-4 * rng.standard_normal((600, 1))
    y = 2.0 + 1e-6 * rng.standard_normal((600, 2))
    posterior = grown(ExactPosterior(Matern52(), 1e-6, catalogue=x), x, y, (150,))
    np.testing.assert_allclose(posterior.predict(x).mean, 2.0, atol=1e-5)


def test_repeats_collapse_with_a_catalogue():
    grid = np.linspace(0, 1, 60)[:, None]
    rng = np.random.default_rng(59)
    posterior = ExactPosterior(SE, 0.3, catalogue=grid)
    picked = rng.integers(0, 60, (50, 30))
    y = rng.standard_normal((50, 30, 2))
    for pick, outcomes in zip(picked, y, strict=True):
        posterior = posterior.condition(grid[pick], outcomes)
        assert len(engines(posterior)[0].factor) <= 92
    dense = DenseGP(independent(SE, SE), (0.3, 0.3), grid[picked.ravel()], y.reshape(-1, 2))
    np.testing.assert_allclose(posterior.predict(grid).mean, dense.predict(grid)[0], atol=1e-9)


@pytest.mark.parametrize("catalogue", [[1.0, 2.0], [[np.nan]], [["a"]], np.empty((3, 0))])
def test_bad_catalogues_are_named(catalogue):
    with pytest.raises(InvalidArgument, match="catalogue: expected"):
        ExactPosterior(SE, 0.1, catalogue=catalogue)


def test_the_catalogue_settles_the_dimension():
    posterior = ExactPosterior(SE, 0.1, catalogue=shelf())
    with pytest.raises(InvalidArgument, match="contexts: expected"):
        posterior.predict([[1.0]])
    with pytest.raises(InvalidArgument, match="contexts: expected"):
        posterior.condition([[1.0]], [[1.0, 1.0]])
    with pytest.raises(InvalidArgument, match="lengthscale"):
        ExactPosterior(SquaredExponential(lengthscale=(1.0, 2.0, 3.0)), 0.1, catalogue=shelf())
    for memory in (-1, 1.5, True, "much"):
        with pytest.raises(InvalidArgument, match="catalogue_memory"):
            ExactPosterior(SE, 0.1, catalogue=shelf(), catalogue_memory=memory)


@pytest.mark.parametrize("relation", RELATIONS)
def test_conformance(relation):
    contexts = np.random.default_rng(0).uniform(size=(7, 1))  # those that the check begins with
    check_posterior(ExactPosterior(RELATIONS[relation][0], 0.1, catalogue=contexts))


def test_an_empty_catalogue_is_legal():
    posterior = ExactPosterior(SE, 0.1, catalogue=np.empty((0, 2))).condition(*data(61, 9, 2))
    assert posterior.predict(shelf()).mean.shape == (90, 2)
    assert ExactPosterior(SE, 0.1, catalogue=shelf()).predict(shelf()).std.min() == 1.0
