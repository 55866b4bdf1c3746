import numpy as np
import pytest

from superarm.posteriors.history import History, collapse, fingerprint, joined, merged


def remembered(x, y, sizes):
    history, start = History(), 0
    for size in sizes:
        part = slice(start, start + size)
        present = (~np.isnan(y[part])).astype(float)
        batch = collapse(x[part], present, np.nan_to_num(y[part]), np.zeros_like(y[part]))
        known = history.known(batch.contexts, batch.keys)
        history, start = history.remember(batch, size, known), start + size
    return history


def test_counts_means_and_scatters_are_those_of_the_raw_outcomes():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, (500, 2)).astype(float)
    y = 1e6 + rng.standard_normal((500, 2))
    y[rng.random((500, 2)) < 0.2] = np.nan
    total = joined(remembered(x, y, (1, 99, 3, 200, 7, 190)).runs)
    assert len(total) == len(np.unique(x, axis=0))
    for context, count, mean, scatter in zip(total.contexts, total.counts, total.means, total.scatters, strict=True):
        raw = y[(x == context).all(axis=1)]
        np.testing.assert_array_equal(count, (~np.isnan(raw)).sum(axis=0))
        np.testing.assert_allclose(mean, np.nanmean(raw, axis=0), rtol=1e-14)
        np.testing.assert_allclose(scatter, np.nansum((raw - np.nanmean(raw, axis=0)) ** 2, axis=0), rtol=1e-6)


def test_known_says_which_outcome_was_seen_where():
    x = np.array([[1.0], [2.0]])
    y = np.array([[1.0, np.nan], [np.nan, 2.0]])
    history = remembered(x, y, (2,))
    asked = np.array([[2.0], [1.0], [3.0]])
    np.testing.assert_array_equal(
        history.known(asked, fingerprint(asked)), [[False, True], [True, False], [False, False]]
    )
    assert History().known(asked, fingerprint(asked)).sum() == 0
    # A fingerprint alone proves nothing.
    assert not history.known(np.array([[3.0]]), fingerprint(np.array([[1.0]]))).any()


def test_runs_are_few_and_shared():
    rng = np.random.default_rng(1)
    x, y = rng.random((3000, 1)), np.zeros((3000, 2))
    history = remembered(x, y, (10,) * 300)
    assert history.distinct == history.observations == 3000
    assert sum(len(run) for run in history.runs) == 3000
    assert len(history.runs) <= 10
    more = history.remember(collapse(x[:1] + 1, y[:1] + 1, y[:1], y[:1]), 1, np.zeros((1, 2), dtype=bool))
    assert more.runs[0] is history.runs[0]


def test_repeats_keep_the_history_short():
    x = np.linspace(0, 1, 100)[:, None]
    history = remembered(np.tile(x, (50, 1)), np.zeros((5000, 2)), (100,) * 50)
    assert history.distinct == 100
    assert sum(len(run) for run in history.runs) <= 200


@pytest.mark.parametrize("columns", [1, 2])
def test_rows_are_merged(columns):
    rng = np.random.default_rng(5)
    first = rng.random(400) < 0.3
    first[0] = True
    counts = rng.integers(0, 4, (400, columns)).astype(float)
    means, scatters = rng.standard_normal((400, 2)), rng.random((400, 2))
    found = merged(first, counts, means, scatters)
    for g, rows in enumerate(np.split(np.arange(400), np.flatnonzero(first)[1:])):
        c, m = counts[rows], means[rows]
        total = c.sum(axis=0)
        mean = (c * m).sum(axis=0) / np.maximum(total, 1)
        np.testing.assert_array_equal(found[0][g], total)
        np.testing.assert_allclose(found[1][g], mean, rtol=0, atol=1e-15)
        np.testing.assert_allclose(found[2][g], (scatters[rows] + c * np.square(m - mean)).sum(axis=0), rtol=1e-13)
