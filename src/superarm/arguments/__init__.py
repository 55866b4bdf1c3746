"""Arguments that many calls take, each checked in one way: the error names it, what was expected and what was given.

And the types of arrays that go from one call to the next.
"""

from superarm.arguments.arrays import (
    TIMES,
    Array,
    IntArray,
    Mask,
    as_floats,
    checked_index,
    group_mask,
    magnitude,
    mask,
    permutation,
    real_array,
    with_masks,
)
from superarm.arguments.frames import check_frame, typed_frame
from superarm.arguments.objects import function_of, holds, instance, is_hashable, keeps, listed
from superarm.arguments.seeds import Seed, checked_seed, generator, seed_number
from superarm.arguments.values import (
    LARGEST_WHOLE,
    between,
    flag,
    fraction,
    interval,
    non_negative,
    one_of,
    positive,
    weight,
    whole_int64,
    whole_number,
)

__all__ = [
    "Array",
    "IntArray",
    "LARGEST_WHOLE",
    "Mask",
    "Seed",
    "TIMES",
    "as_floats",
    "between",
    "check_frame",
    "checked_index",
    "checked_seed",
    "flag",
    "function_of",
    "fraction",
    "generator",
    "group_mask",
    "holds",
    "instance",
    "interval",
    "is_hashable",
    "keeps",
    "listed",
    "magnitude",
    "mask",
    "non_negative",
    "one_of",
    "permutation",
    "positive",
    "real_array",
    "seed_number",
    "typed_frame",
    "weight",
    "whole_int64",
    "whole_number",
    "with_masks",
]
