"""The compiled loops of the decomposition.

A group is a list of blocks; from each block at most one option is taken. Option o has a count (arms), a reward ``a[o]``
and a gain ``g[o]``. A choice is good iff its gains sum to at least ``theta``. For an ordinary promise every arm is a
block with one option; a Dixit-Stiglitz item is a block whose options are its undominated subsets.

Arrays are flat: group G owns the blocks ``group_start[G]:group_start[G+1]``, block b the options
``block_start[b]:block_start[b+1]``.
"""

from superarm.oracles.decomposition.compiled.bounds import CLOSE, first_bounds
from superarm.oracles.decomposition.compiled.counts import combine
from superarm.oracles.decomposition.compiled.dominance import subsets_of_blocks
from superarm.oracles.decomposition.compiled.entries import rebuild, refine

__all__ = ["CLOSE", "combine", "first_bounds", "rebuild", "refine", "subsets_of_blocks"]
