"""Codecs of rounds, outcomes, selections and policies as plain data, JSON and Arrow; they read and write no files.

As plain data for JSON: :func:`round_to_dict`, :func:`outcomes_to_dict`, :func:`selection_to_dict`. As few bytes, for a
journal: :func:`round_to_bytes`, :func:`policy_to_bytes`. As polars frames, and these as Arrow: :func:`round_to_frame`,
:func:`outcomes_to_frame`, :func:`selection_to_frame`, :func:`frame_to_arrow`. Each has its way back. :func:`settings`
says what a policy was made with, :func:`policy_from_dict` makes one of that, and :func:`difference` tells in what two
were made differently.

What comes back means the same to the last bit: a round has the same :meth:`superarm.Round.digest`, and every policy
selects and learns the same with it. All rewards, promises and feasible sets of superarm travel, and labels that are
text, bytes, numbers, dates, times, None, and tuples and frozensets of these. A function of your own
(:class:`superarm.Custom`) and a class of your own do not, as only this process knows them.
"""

from superarm.wire.frames import (
    frame_from_arrow,
    frame_to_arrow,
    outcomes_from_frame,
    outcomes_to_frame,
    round_from_frame,
    round_to_frame,
    selection_from_frame,
    selection_to_frame,
)
from superarm.wire.made import policy_from_dict
from superarm.wire.outcomes import outcomes_from_dict, outcomes_to_dict
from superarm.wire.policies import difference, policy_from_bytes, policy_to_bytes, settings
from superarm.wire.rounds import round_from_bytes, round_from_dict, round_to_bytes, round_to_dict
from superarm.wire.selections import selection_from_dict, selection_to_dict

__all__ = [
    "round_to_dict",
    "round_from_dict",
    "round_to_bytes",
    "round_from_bytes",
    "round_to_frame",
    "round_from_frame",
    "outcomes_to_dict",
    "outcomes_from_dict",
    "outcomes_to_frame",
    "outcomes_from_frame",
    "selection_to_dict",
    "selection_from_dict",
    "selection_to_frame",
    "selection_from_frame",
    "frame_to_arrow",
    "frame_from_arrow",
    "policy_to_bytes",
    "policy_from_bytes",
    "policy_from_dict",
    "settings",
    "difference",
]
