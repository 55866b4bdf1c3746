"""Sums down the columns of V = L^-1 k(X, C): means and the variance that the data explain."""

from __future__ import annotations

from superarm.jit import compiled


@compiled
def add_columns(v, z, mean, explained):
    """Add the rows v ``(b, m)`` of V: ``mean += z^T v`` ``(q, m)`` and ``explained += sum v^2`` ``(m,)``.

    Row after row: the sum of a column depends neither on the other columns nor on how many rows come at once.
    """
    rows, m = v.shape
    for i in range(rows):
        row = v[i]
        for j in range(m):
            explained[j] += row[j] * row[j]
        for c in range(z.shape[1]):
            weight, total = z[i, c], mean[c]
            for j in range(m):
                total[j] += weight * row[j]
