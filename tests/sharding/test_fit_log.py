"""A posterior from a log: that of all outcomes at once, with the same bits whoever worked on it and who was killed."""

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from typer.testing import CliRunner

import superarm as sa
from superarm import storage
from superarm.cli import app
from superarm.errors import InvalidArgument, UnexpectedData, WorkerLost
from superarm.posteriors.statistics import FixedBasis, likeliest_scales
from superarm.sharding import log_sample
from superarm.sharding.log_files import checked_columns, leaves_of
from superarm.workers.here import Here

SE = sa.SquaredExponential(lengthscale=0.6)
COLUMNS = {"contexts": ["x0", "x1"], "outcomes": ["sold", "leak"]}
GRID = np.random.default_rng(9).random((50, 2))


def logged(folder, rows=6000, files=3, seed=0, missing=0.0, contexts=None):
    """Files of outcomes, and all of them as arrays."""
    rng = np.random.default_rng(seed)
    x = rng.random((rows, 2)) if contexts is None else contexts[rng.integers(len(contexts), size=rows)]
    y = np.column_stack([np.sin(4 * x[:, 0]), x[:, 1] - 0.5]) + 0.1 * rng.standard_normal((rows, 2))
    y[rng.random((rows, 2)) < missing] = np.nan
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(np.array_split(np.arange(rows), files)):
        frame = pl.DataFrame({"x0": x[part, 0], "x1": x[part, 1], "sold": y[part, 0], "leak": y[part, 1]})
        frame.with_columns(pl.col("leak").fill_nan(None)).write_parquet(folder / f"{number}.parquet")
    return x, y


def alike(one, other, tolerance):
    a, b = one.predict(GRID), other.predict(GRID)
    np.testing.assert_allclose(a.mean, b.mean, atol=tolerance, rtol=0)
    np.testing.assert_allclose(a.std, b.std, atol=tolerance, rtol=0)


@pytest.mark.parametrize(
    ("prior", "missing"),
    [
        (sa.GaussianProcess(SE, 0.1), 0.0),
        (sa.GaussianProcess(SE, 0.1, mean=(1.0, -2.0)), 0.2),
        (sa.GaussianProcess((SE, sa.SquaredExponential(lengthscale=0.9)), (0.1, 0.2)), 0.0),
        (sa.GaussianProcess(sa.Coregionalised(SE, [[1.0, 0.3], [0.3, 0.5]]), 0.1), 0.1),
        (sa.GaussianProcess(sa.Linear(), 0.1), 0.0),
    ],
)
def test_it_is_the_posterior_of_all_outcomes_at_once(tmp_path, prior, missing):
    """Against the plain posterior, which certifies itself to 1e-6 of the exact one."""
    x, y = logged(tmp_path, missing=missing)
    posterior, report = sa.fit_log(prior, f"{tmp_path}/*.parquet", **COLUMNS, leaf_rows=700)
    alike(posterior, prior.condition(x, y), 1e-7)
    assert report.rows == posterior.observations == np.count_nonzero(~np.isnan(y).all(axis=1))
    assert report.distinct == posterior.distinct
    assert (report.files, report.leaves) == (3, 9)
    assert report.worst_error < 1e-6
    assert "low rank" in report.form
    assert report.digest[:16] in str(report)


def test_repeated_contexts_against_the_exact_posterior(tmp_path):
    x, y = logged(tmp_path, rows=20_000, contexts=np.random.default_rng(1).random((150, 2)))
    posterior, report = sa.fit_log(sa.GaussianProcess(SE, 0.1), tmp_path, **COLUMNS, leaf_rows=3000)
    alike(posterior, sa.ExactPosterior(SE, 0.1).condition(x, y), 1e-7)
    assert report.distinct == 150
    plain = sa.GaussianProcess(SE, 0.1).condition(x, y)
    assert posterior.log_marginal_likelihood() == pytest.approx(plain.log_marginal_likelihood(), rel=1e-7)


def test_few_rows_against_scikit_learn(tmp_path):
    x, y = logged(tmp_path, rows=300)
    posterior, _ = sa.fit_log(sa.GaussianProcess(SE, 0.1), [tmp_path / "2.parquet", tmp_path], **COLUMNS)
    other = GaussianProcessRegressor(RBF(0.6), alpha=0.01, optimizer=None).fit(x, y)
    mean, std = other.predict(GRID, return_std=True)
    np.testing.assert_allclose(posterior.predict(GRID).mean, mean, atol=1e-8)
    np.testing.assert_allclose(posterior.predict(GRID).std, std, atol=1e-8)


class Backwards(Here):
    """Workers that give the last result first."""

    def unordered(self, task, items, shared, *, retries=3):
        return reversed(list(super().unordered(task, items, shared, retries=retries)))


def test_the_order_in_which_parts_come_changes_no_bit(tmp_path):
    logged(tmp_path)
    prior = sa.GaussianProcess(SE, 0.1)
    digests = {
        sa.fit_log(prior, tmp_path, **COLUMNS, leaf_rows=700, workers=workers, learn=True)[1].digest
        for workers in ("here", Here(), Backwards())
    }
    assert len(digests) == 1
    assert sa.fit_log(prior, tmp_path, **COLUMNS, leaf_rows=900)[1].digest not in digests  # so it tells


@pytest.mark.slow
def test_the_number_of_workers_changes_no_bit_nor_does_a_kill(tmp_path):
    logged(tmp_path / "log", rows=40_000, missing=0.1)
    driver, mark = os.getpid(), str(tmp_path / "killed")

    def mean(x):
        """0, and the end of the first worker that asks for it."""
        if os.getpid() != driver:
            with suppress(FileExistsError):  # another was the first
                open(mark, "x").close()
                os.kill(os.getpid(), signal.SIGKILL)
        return np.zeros((len(x), 2))

    prior = sa.GaussianProcess(SE, 0.1)
    reports = [
        sa.fit_log(prior, tmp_path / "log", **COLUMNS, leaf_rows=2500, workers=workers)[1] for workers in (1, 2, 4)
    ]
    killed = sa.fit_log(sa.GaussianProcess(SE, 0.1, mean=mean), tmp_path / "log", **COLUMNS, leaf_rows=2500, workers=2)
    assert {report.digest for report in [*reports, killed[1]]} == {reports[0].digest}
    assert os.path.exists(mark)
    assert killed[1].repeated >= 1


def test_what_no_basis_holds_stays_uncertain(tmp_path):
    x, y = logged(tmp_path, rows=2100)
    prior = sa.GaussianProcess(sa.Matern12(lengthscale=0.3), 0.1)
    posterior, report = sa.fit_log(prior, tmp_path, **COLUMNS, at_most=50)
    assert "bounded" in report.form
    assert report.worst_error == np.inf
    exact = sa.ExactPosterior(sa.Matern12(lengthscale=0.3), 0.1).condition(x, y).predict(GRID)
    belief = posterior.predict(GRID)
    assert (belief.std >= exact.std).all()
    assert (np.abs(belief.mean - exact.mean) <= 3 * belief.std).all()


def test_noise_and_variance_are_learnt_from_all_outcomes(tmp_path):
    logged(tmp_path, rows=20_000)
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3, variance=4.0), 0.4)
    posterior, report = sa.fit_log(prior, tmp_path, **COLUMNS, learn=sa.Learning(starts=2))
    assert posterior.noise_std == pytest.approx((0.1, 0.1), rel=0.02)  # twenty thousand outcomes tell
    given, _ = sa.fit_log(prior, tmp_path, **COLUMNS)
    assert posterior.log_marginal_likelihood() > given.log_marginal_likelihood() + 1000
    assert "learnt from 2,000 contexts" in report.learnt


def sums_of(kernel, noise, x, y):
    state = sa.GaussianProcess(kernel, noise).condition(x, y).state
    basis = FixedBasis.of(kernel, x, 2, 500)
    return basis, basis.sums(state.observed()[0])


def test_scaled_sums_are_those_of_the_scaled_model(tmp_path):
    x, y = logged(tmp_path, rows=3000, contexts=np.random.default_rng(1).random((900, 2)))
    basis, sums = sums_of(SE, 0.1, x, y)
    scaled = basis.scaled(sums, 2.0, 9.0)
    fresh = sums_of(replace(SE, variance=2.0), 0.3, x, y)
    one, other = (basis.engine(sums, len(x)) for basis, sums in (scaled, fresh))
    assert one.log_marginal_likelihood() == pytest.approx(other.log_marginal_likelihood(), rel=1e-9)
    for a, b in zip(one.predict(GRID, None), other.predict(GRID, None), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_the_likeliest_scales_are_those_of_a_grid(tmp_path):
    x, y = logged(tmp_path, rows=2500)
    basis, sums = sums_of(SE, 0.3, x, y)
    found = likeliest_scales(sums)

    def evidence(variance, noise):
        changed, scaled = basis.scaled(sums, variance, noise)
        return changed.engine(scaled, len(x)).log_marginal_likelihood()

    top = evidence(*found)
    for a in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        assert evidence(a * found[0], found[1]) < top
        assert evidence(found[0], a * found[1]) < top


def test_it_is_a_prior_of_policies_and_saved_with_them(tmp_path):
    logged(tmp_path / "log")
    posterior, _ = sa.fit_log(sa.GaussianProcess(SE, 0.1), tmp_path / "log", **COLUMNS)
    round = sa.Round(t=1, contexts=GRID, groups=np.arange(50) % 5, constraint=sa.Sum() <= 0.2, feasible=sa.AtMost(4))
    for policy in (sa.TCGPUCB(posterior), sa.TCGPUCB(posterior, learn=False), sa.CautiousTCGPUCB(posterior)):
        picked = policy.select(round).arms
        policy.save(tmp_path / "policy")
        again = sa.load(tmp_path / "policy")
        assert again.select(round).arms.tolist() == picked.tolist()
        for each in (policy, again):
            each.update(round, picked, np.full((len(picked), 2), 0.3))
        after = replace(round, t=2)
        assert policy.select(after).arms.tolist() == again.select(after).arms.tolist()


def test_more_outcomes_may_follow(tmp_path):
    x, y = logged(tmp_path)
    posterior, _ = sa.fit_log(sa.GaussianProcess(SE, 0.1), tmp_path, **COLUMNS)
    more, outcomes = np.random.default_rng(5).random((40, 2)), np.ones((40, 2))
    together = sa.GaussianProcess(SE, 0.1).condition(np.concatenate([x, more]), np.concatenate([y, outcomes]))
    alike(posterior.condition(more, outcomes), together, 1e-7)
    assert posterior.learned() is posterior


def test_a_sample_is_one_of_contexts_whoever_looked_first(tmp_path, monkeypatch):
    monkeypatch.setattr(log_sample, "SAMPLE", 50)
    logged(tmp_path, contexts=np.random.default_rng(1).random((400, 2)))
    columns = checked_columns(**COLUMNS)
    looks = [log_sample.look(columns, leaf) for leaf in leaves_of(tmp_path, columns, 250)]
    forth, back = looks[0], looks[-1]
    for one, other in zip(looks[1:], looks[-2::-1], strict=True):
        forth, back = forth.merged(one), back.merged(other)
    assert forth.contexts.tobytes() == back.contexts.tobytes()
    assert len(forth.keys) == 50
    assert 250 < forth.distinct < 600  # of 400


def test_an_empty_log_leaves_the_prior(tmp_path):
    logged(tmp_path, rows=4)
    frame = pl.read_parquet(tmp_path / "0.parquet").clear()
    for file in tmp_path.glob("*.parquet"):
        frame.write_parquet(file)
    posterior, report = sa.fit_log(sa.GaussianProcess(SE, 0.1), tmp_path, **COLUMNS)
    assert (report.rows, posterior.observations) == (0, 0)


def test_letters_of_patterns_in_a_path_are_letters(tmp_path):
    prior, folder = sa.GaussianProcess(SE, 0.1), tmp_path / "log [2026]"
    logged(tmp_path / "log", rows=300, files=1)
    logged(folder, rows=300, files=1)
    (folder / "0.parquet").rename(folder / "ü[1]?.parquet")
    expected = sa.fit_log(prior, tmp_path / "log", **COLUMNS)[1].digest
    assert sa.fit_log(prior, folder, **COLUMNS)[1].digest == expected
    assert sa.fit_log(prior, [folder / "ü[1]?.parquet"], **COLUMNS)[1].digest == expected


@dataclass(frozen=True)
class Meddler(Here):
    """Workers that give what ``spoil`` makes of their results, and call ``before`` for every call but the first."""

    spoil: Any = iter
    before: Any = None
    calls: list = field(default_factory=list)

    def unordered(self, task, items, shared, *, retries=3):
        self.calls.append(task)
        if len(self.calls) > 1 and self.before is not None:
            self.before()
        yield from self.spoil([*super().unordered(task, items, shared, retries=retries)])


def test_a_file_that_changes_while_it_is_read_is_noticed(tmp_path):
    logged(tmp_path, rows=3000)
    longer = pl.read_parquet(tmp_path / "2.parquet")
    for changed in (longer.with_columns(pl.col("x0") * 3.0), pl.concat([longer, longer])):
        meddler = Meddler(before=lambda changed=changed: changed.write_parquet(tmp_path / "1.parquet"))
        with pytest.raises(UnexpectedData, match=r"1\.parquet.*the rows that it had when the fit began"):
            sa.fit_log(sa.GaussianProcess(SE, 0.1), tmp_path, **COLUMNS, workers=meddler)


@pytest.mark.parametrize("spoil", [lambda found: found[1:], lambda found: [*found, found[0]], lambda found: []])
def test_workers_that_lose_results_are_found_out(tmp_path, spoil):
    logged(tmp_path, rows=3000)
    with pytest.raises(WorkerLost, match="the workers gave"):
        sa.fit_log(sa.GaussianProcess(SE, 0.1), tmp_path, **COLUMNS, workers=Meddler(spoil=spoil))


def test_an_outcome_that_never_came_in_a_file_is_missing(tmp_path):
    """A column of which every value is null has the type Null."""
    prior = sa.GaussianProcess(SE, 0.1)
    logged(tmp_path, rows=3000)
    frame = pl.read_parquet(tmp_path / "1.parquet")
    frame.with_columns(leak=pl.lit(None, dtype=pl.Float64)).write_parquet(tmp_path / "1.parquet")
    expected = sa.fit_log(prior, tmp_path, **COLUMNS)[1]
    frame.with_columns(leak=pl.lit(None)).write_parquet(tmp_path / "1.parquet")
    assert pl.read_parquet_schema(tmp_path / "1.parquet")["leak"] == pl.Null
    assert sa.fit_log(prior, tmp_path, **COLUMNS)[1].digest == expected.digest


def test_what_is_refused(tmp_path):
    x, y = logged(tmp_path)
    prior = sa.GaussianProcess(SE, 0.1)
    for wrong in (
        {"contexts": ["x0", "x0"]},
        {"contexts": []},
        {"contexts": "x0"},
        {"outcomes": ["sold"]},
        {"learn": "yes"},
        {"at_most": 0},
        {"leaf_rows": 0},
        {"workers": 0},
        {"log": tmp_path / "none"},
        {"log": []},
        {"prior": prior.condition(x[:3], y[:3])},
        {"prior": sa.ExactPosterior(SE, 0.1)},
        {"prior": sa.GaussianProcess(sa.SquaredExponential(lengthscale=[1.0, 1.0, 1.0]), 0.1)},
    ):
        with pytest.raises(InvalidArgument):
            sa.fit_log(**{"prior": prior, "log": tmp_path, **COLUMNS, **wrong})
    with pytest.raises(UnexpectedData, match="none called"):
        sa.fit_log(prior, tmp_path, contexts=["x0", "x9"], outcomes=["sold", "leak"])
    frame = pl.read_parquet(tmp_path / "1.parquet")
    for column, value in (("x0", None), ("x1", float("inf")), ("sold", float("inf")), ("x0", "a")):
        frame.with_columns(pl.lit(value).alias(column)).write_parquet(tmp_path / "1.parquet")
        with pytest.raises(UnexpectedData, match=r"1\.parquet"):
            sa.fit_log(prior, tmp_path, **COLUMNS)
    (tmp_path / "1.parquet").write_bytes(b"nothing")
    with pytest.raises(UnexpectedData, match=r"1\.parquet"):
        sa.fit_log(prior, tmp_path, **COLUMNS)


def test_the_command_writes_the_posterior(tmp_path):
    logged(tmp_path / "log")
    prior = sa.GaussianProcess(SE, 0.1)
    storage.write(prior, tmp_path / "prior.sa")
    named = ["--contexts", "x0, x1", "--outcomes", "sold,leak", "--prior", str(tmp_path / "prior.sa")]
    said = CliRunner().invoke(app, ["fit", f"{tmp_path}/log/*.parquet", *named, "--out", str(tmp_path / "fitted.sa")])
    assert said.exit_code == 0, said.output
    posterior, report = sa.fit_log(prior, tmp_path / "log", **COLUMNS)
    assert report.digest[:16] in said.output
    again = storage.read(tmp_path / "fitted.sa").predict(GRID)
    assert again.mean.tobytes() == posterior.predict(GRID).mean.tobytes()
    wrong = CliRunner().invoke(app, ["fit", str(tmp_path / "no"), *named, "--out", str(tmp_path / "other.sa")])
    assert wrong.exit_code == 1
    assert not (tmp_path / "other.sa").exists()
    for out in (tmp_path / "log", tmp_path / "nowhere" / "fitted.sa"):  # before the work, not after it
        wrong = CliRunner().invoke(app, ["fit", str(tmp_path / "log"), *named, "--out", str(out)])
        assert wrong.exit_code == 1
        assert "out: expected a file in an existing folder" in wrong.output
