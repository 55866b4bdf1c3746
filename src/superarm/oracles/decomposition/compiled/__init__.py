"""The compiled loops of the decomposition.

A group is a list of blocks; from each block at most one option is taken. Option o has a count (arms), a reward ``a[o]``
and a gain ``g[o]``. A choice is good iff its gains sum to at least ``theta``. For an ordinary promise every arm is a
block with one option; a Dixit-Stiglitz item is a block whose options are its undominated subsets.

Arrays are flat: group G owns the blocks ``group_start[G]:group_start[G+1]``, block b the options
``block_start[b]:block_start[b+1]``.
"""

import numpy as np

from superarm.oracles.decomposition.compiled.counts import combine, largest_total
from superarm.oracles.decomposition.compiled.dominance import subsets_of_blocks
from superarm.oracles.decomposition.compiled.entries import arms_of, refine
from superarm.oracles.decomposition.compiled.lagrangian import CLOSE, first_bounds
from superarm.oracles.decomposition.compiled.ranking import lay_out, unbeaten_in_three


def warm_up() -> None:
    """Load, or compile, every loop by playing two groups of two arms: the second must be searched."""
    group_start, block_start = np.array([0, 2, 4]), np.arange(5)
    count, cap, entry_start = np.ones(4, dtype=np.intp), np.array([2, 2]), np.array([0, 3, 6])
    a, g, theta = np.array([1.0, 2.0, 3.0, 2.0]), np.array([0.0, 0.0, 1.0, 2.0]), np.array([0.0, 1.5])
    U, L, P, Q, lam = np.full(6, np.inf), np.full(6, -np.inf), np.ones(6), np.zeros(6), np.full(6, np.nan)
    U[[0, 3]] = L[[0, 3]] = 0.0
    options = (group_start, block_start, count, a, g, theta, cap, entry_start)
    lay_out(np.arange(4), np.array([0, 0, 1, 1]), np.ones(4, dtype=np.bool_), a, g, cap, np.zeros(2, dtype=np.bool_))
    first_bounds(*options, U, L, P, Q, lam, np.ones(2, dtype=np.bool_))
    taken, number, nowhere = np.empty(1, dtype=np.intp), np.empty(1, dtype=np.intp), np.full(6, -1)
    refine(np.array([1]), np.array([1]), *options, U, L, P, Q, lam, 10, taken, np.array([0]), number)
    counts = np.ones(2, dtype=np.intp)
    arms_of(
        counts, *options[:5], entry_start, P, Q, block_start, np.arange(4), nowhere, nowhere, taken,
        np.empty(4, dtype=np.intp),
    )  # fmt: skip
    combine(entry_start, L, 0, 2, counts)
    largest_total(entry_start, L, 2)
    unbeaten_in_three(group_start, a, g, cap, np.zeros(4, dtype=np.bool_))
    subsets_of_blocks(np.array([0, 2, 3]), a, a, np.array([2, 1]), 10, False)


__all__ = [
    "CLOSE", "arms_of", "combine", "first_bounds", "largest_total", "lay_out", "refine", "subsets_of_blocks",
    "unbeaten_in_three", "warm_up",
]  # fmt: skip
