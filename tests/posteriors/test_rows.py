"""Equal rows: found, numbered and sorted, whatever their order is."""

import numpy as np
import pytest

from superarm.posteriors.history import distinct_rows, find_rows, fingerprint


def test_fingerprints_depend_on_bytes_and_seed_only():
    x = np.random.default_rng(2).random((1000, 3))
    np.testing.assert_array_equal(fingerprint(x)[::-1], fingerprint(x[::-1]))
    assert len(np.unique(fingerprint(x))) == 1000
    assert (fingerprint(x, 1) != fingerprint(x, 2)).all()
    assert (fingerprint(x, -1) != fingerprint(x)).all()
    # SplitMix64, in whole numbers of any size.
    state, size = 5, 2**64
    for word in x[0].view(np.uint64).tolist():
        state = ((state ^ word) + 0x9E3779B97F4A7C15) % size
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % size
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB % size
        state ^= state >> 31
    assert fingerprint(x, 5)[0] == state
    ones = np.unpackbits(fingerprint(x).view(np.uint8)).mean()
    assert abs(ones - 0.5) < 0.01


@pytest.mark.parametrize("values", [3, 10**9])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_distinct_rows(d, values):
    x = np.random.default_rng(3).integers(-1, values, (500, d)).astype(float)
    x[x == 0] = -0.0
    x[::3] += 0.0
    first, inverse = distinct_rows(x)
    rows, where = np.unique(x + 0.0, axis=0, return_index=True)
    np.testing.assert_array_equal(x[first], rows)
    np.testing.assert_array_equal(first, where)
    np.testing.assert_array_equal(x[first][inverse], x)
    first, inverse = distinct_rows(x[:0])
    assert len(first) == len(inverse) == 0


def test_rows_are_found():
    rng = np.random.default_rng(4)
    among = np.unique(rng.integers(0, 9, (60, 2)), axis=0).astype(float)
    x = rng.integers(-2, 11, (200, 2)).astype(float)
    x[x == 0] = -0.0
    expected = [next((j for j, row in enumerate(among) if (row == asked).all()), -1) for asked in x]
    np.testing.assert_array_equal(find_rows(x, among), expected)
    assert -1 in expected
    assert len(find_rows(x[:0], among)) == 0
    np.testing.assert_array_equal(find_rows(x[:3], among[:0]), -1)
