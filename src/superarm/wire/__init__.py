"""Rounds on their way elsewhere: as plain data for JSON and as bytes. Nothing here reads or writes files.

What comes back means the same to the last bit: a round has the same :meth:`superarm.Round.digest`, and every policy
selects and learns the same with it. All rewards, promises and feasible sets of superarm travel, and labels that are
text, bytes, numbers, dates, times, None, and tuples and frozensets of these. A function of one's own
(:class:`superarm.Custom`) and a class of one's own do not, as only this process knows them.
"""

from superarm.wire.rounds import round_from_bytes, round_from_dict, round_to_bytes, round_to_dict

__all__ = ["round_to_dict", "round_from_dict", "round_to_bytes", "round_from_bytes"]
