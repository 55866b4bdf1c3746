"""The order in which all policies break ties: a random number for each arm, derived from the arm itself."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.posteriors.history import fingerprint, words
from superarm.rewards.promise import promised_groups
from superarm.rewards.reward import is_per_arm
from superarm.round import Round
from superarm.storage.hashes import Words, label_hashes


def tie_order(round: Round, seed: int) -> IntArray:
    """(M,) the arms in the order in which ties are broken: by lots, new for every seed and t.

    The lot of an arm is a hash of the seed, t and the arm: its group, context, identity, and what u and the promise to
    its group know of it. Neither its place in the list nor the other arms matter, so arms left out change nothing among
    the rest; arms alike in all of this stay as they are listed.
    """
    return np.argsort(lots(round, seed), kind="stable")


def lots(round: Round, seed: int) -> Words:
    """(M,) 64 well-mixed bits of each arm: the smaller they are, the earlier it comes."""
    grouping, (arms, dimension) = round.grouping, round.contexts.shape
    facts = np.zeros((arms, dimension + 4), dtype=np.uint64)
    facts[:, :dimension] = words(round.contexts)
    group, identity, entry, promised = facts[:, dimension:].T
    group[:] = grouping.hashes[grouping.codes]
    if round.arm_ids is not None:
        identity[:] = label_hashes(round.arm_ids)
    if is_per_arm(round.reward):
        entry[:] = _as_words(round.reward.entries(arms))
    for promise in round.promises:
        if is_per_arm(promise.reward):
            mine = promised_groups([promise], len(grouping))[grouping.codes]
            promised[mine] = _as_words(promise.reward.entries(arms))[mine]
    start = blake2b(f"{seed} {round.t}".encode(), digest_size=8).digest()
    return fingerprint(facts.view(np.float64), int.from_bytes(start, "little"))


def _as_words(entries: Array | IntArray) -> Words:
    """Numbers as words, equal where they are."""
    return words(np.asarray(entries, dtype=np.float64)[:, None])[:, 0]
