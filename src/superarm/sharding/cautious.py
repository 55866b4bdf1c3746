"""The cautious policy on a sharded round: certified rounds and trials on the arms that can matter, others on all.

Exploring, rounds on credit and the start-up look for what is least known among all arms, which no pruning leaves out:
there all arms are gathered, up to a stated number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from superarm.arguments import Array, IntArray, Mask
from superarm.errors import UnsolvableRound
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.cautious.elsewhere import Beyond
from superarm.policies.cautious.searches import SubsetSearch
from superarm.policies.ties import lots
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.promise import Promise
from superarm.rewards.simple import Count, Max, Mean, Min, Sum
from superarm.selection import Selection
from superarm.sharding.attainable import Part, attainable, merged
from superarm.sharding.certifiable import Cautious, Certifiable, certifiable, explaining, looked_at, search_on
from superarm.sharding.excerpts import excerpt
from superarm.sharding.picked import ShardedSelection
from superarm.sharding.round import ShardedRound
from superarm.slim import Excerpt
from superarm.workers.workers import Workers, in_order

MOST_GATHERED = 1_000_000  # arms of a round, all of which are gathered where none can be left out

Pick = Callable[[pl.DataFrame, IntArray, Excerpt, Selection, int], ShardedSelection]


@dataclass(kw_only=True, eq=False)
class Left:
    """The arms that were not gathered: see :class:`superarm.policies.cautious.elsewhere.Elsewhere`."""

    asked: Cautious
    workers: Workers
    rows: IntArray  # (M,) of the arms that were
    codes: IntArray  # (M,) their groups
    hopeful: Mask  # (G,)

    @property
    def empty_is_known(self) -> bool:
        return all(map(_is_decided_by_one, self.asked.round.promises))

    def explained(self, points: Array, std: Array, arms: IntArray) -> tuple[Array, Array, Mask]:
        asked = replace(self.asked, points=points, std=std, rows=self.rows[arms], groups=self.codes[arms])
        shards = range(len(asked.round.arms.shards))
        found = list(in_order(self.workers, explaining, shards, self.workers.share(asked)))
        by_others, by_own = (np.max([part[i] for part in found], axis=0) for i in (0, 1))
        return by_others, by_own, asked.round.arms.grouping.sizes[self.codes[arms]] > 1


def select_cautiously(policy: CautiousTCGPUCB, round: ShardedRound, workers: Workers, pick: Pick) -> ShardedSelection:
    """A super arm of a sharded round, as the policy picks it of a plain one; ``pick`` renumbers its arms."""
    firsts, _ = excerpt(round, round.arms.firsts)
    posterior, _ = policy.learner.view(firsts)
    known = all(isinstance(p.reward, (Sum, Mean, Min, Max, Count, DixitStiglitz)) for p in round.promises)
    if policy._starting(firsts, posterior) or not known or (round.safe is not None and round.weights is not None):
        return _on_all_arms(policy, round, 0)
    asked = Cautious(policy=policy, round=round)
    parts = list(in_order(workers, certifiable, range(len(round.arms.shards)), workers.share(asked)))
    frame, rows = in_one_order(round, policy.learner.seed, [part.arms for part in parts], [part.rows for part in parts])
    # Of groups that were split more came than can matter; what is left is the same for any sharding.
    search, _ = search_on(asked, frame)
    hopeful = _hopeful(search, round, parts)
    kept = np.flatnonzero(looked_at(search, asked))
    frame, rows = frame[kept], rows[kept]
    found, _ = excerpt(round, frame)
    sent = sum(part.size for part in parts)
    left = Left(
        asked=asked,
        workers=workers,
        rows=rows,
        codes=found.grouping.codes,
        hopeful=hopeful,
    )
    try:
        _, selection = policy._decide(found, left)
    except Beyond:
        return _on_all_arms(policy, round, sent)
    return pick(frame, rows, found, selection, sent)


def in_one_order(
    round: ShardedRound, seed: int, frames: list[pl.DataFrame], rows: list[IntArray]
) -> tuple[pl.DataFrame, IntArray]:
    """All rows of some frames, and their numbers, group by group and by lot: the same for any sharding."""
    frame, numbers = pl.concat(frames), np.concatenate(rows)
    found, _ = excerpt(round, frame)
    order = np.lexsort((lots(found, seed), found.grouping.codes))
    return frame[order], numbers[order]


def _on_all_arms(policy: CautiousTCGPUCB, round: ShardedRound, sent: int) -> ShardedSelection:
    if len(round) > MOST_GATHERED:
        raise UnsolvableRound(
            "nothing is certified in this round, and to explore or to play on credit the cautious policy needs all of "
            f"its {len(round)} arms, which sharded rounds allow up to {MOST_GATHERED} arms. Let the policy learn from "
            "smaller catalogues first, or give it a prior"
        )
    shards = range(len(round.arms.shards))
    starts = round.arms.starts
    numbers = [np.arange(starts[shard], starts[shard + 1]) for shard in shards]
    frame, rows = in_one_order(round, policy.learner.seed, [round.arms.shard(shard) for shard in shards], numbers)
    found, _ = excerpt(round, frame, rows)
    selection = policy.select(found)
    return ShardedSelection(
        selection=selection,
        round=found,
        rows=rows[selection.arms],
        ids=None if round.arms.id is None else frame[round.arms.id].gather(selection.arms).to_list(),
        digest=round.arms.digest,
        survivors=len(found),
        sent=sent + int(frame.estimated_size()),
        whole=True,
    )


def _hopeful(search: SubsetSearch, round: ShardedRound, parts: list[Certifiable]) -> Mask:
    """(G,) the groups that may keep their promise, by all of their arms."""
    judged = np.zeros(len(round.labels), dtype=np.bool_)
    by_group: dict[int, list[Part]] = {}
    for part in parts:
        judged[part.positions] |= part.hopeful
        for group, known in part.split.items():
            by_group.setdefault(group, []).append(known)
    hoping = search.hoping(1.0 - search.eps)
    return attainable(hoping, judged, {group: merged(known) for group, known in by_group.items()})


def _is_decided_by_one(promise: Promise) -> bool:
    """Whether a group has a good subgroup only if it has one of a single arm, the one that looks best for it."""
    if isinstance(promise.reward, Sum):
        return bool((promise.sense.sign * promise.thresholds <= 0.0).all())
    return isinstance(promise.reward, (Mean, Min, Max))
