"""The compiled loops of the posteriors: kernels, sums down the columns of V, and the search for equal rows."""

import numpy as np

from superarm.posteriors.compiled.columns import add_columns
from superarm.posteriors.compiled.rows import distinct, find, fingerprint, merged
from superarm.posteriors.compiled.stationary import fill


def warm_up() -> None:
    """Load, or compile, every loop."""
    x, k = np.zeros((1, 1)), np.empty((1, 1))
    fill(0, x, x, np.ones(1), 1.0, k)
    add_columns(k, x, np.zeros((1, 1)), np.zeros(1))
    words = x.view(np.uint64)
    distinct(words)
    find(words, words)
    fingerprint(words, np.uint64(0))
    merged(np.ones(1, dtype=np.bool_), x, x, x)


__all__ = ["add_columns", "distinct", "fill", "find", "fingerprint", "merged", "warm_up"]
