"""What a worker does with one shard: it judges the arms where they lie, and sends those that can matter."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from superarm.arguments import Array, IntArray, Mask
from superarm.indices import double_ucb
from superarm.oracles.decomposition.gains import gains_of
from superarm.oracles.decomposition.shards import attaining, unbeaten
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.oracle import additive_scores
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.policies.ties import lots
from superarm.posteriors.posterior import Belief
from superarm.round import Round
from superarm.sharding.attainable import Part, parts_of
from superarm.sharding.excerpts import excerpt
from superarm.sharding.round import ShardedRound

AT_ONCE = 8192  # arms that are believed of together: what the posterior needs for more would not fit beside the arms


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """What all workers are told."""

    policy: TCGPUCB
    round: ShardedRound


@dataclass(frozen=True, kw_only=True, eq=False)
class Kept:
    """The arms of a shard that can matter, and what must be known of its groups as wholes."""

    arms: pl.DataFrame  # (n,) their rows of the catalogue
    rows: IntArray  # (n,) the numbers of these
    reward: Array  # (n,) reward index
    satisfying: Array | None  # (n,) satisfying index
    positions: IntArray  # (g,) which groups of the round this shard has
    attainable: Mask  # (g,) which of them have a good subgroup in this shard
    split: dict[int, Part] = field(default_factory=dict)  # of those groups that other shards have, too: by position

    @property
    def size(self) -> int:
        """Bytes, about."""
        numbers = sum(each.nbytes for each in (self.rows, self.reward, self.positions, self.attainable))
        satisfying = 0 if self.satisfying is None else self.satisfying.nbytes
        parts = sum(8 * len(part.positive) + 24 for part in self.split.values())
        return int(self.arms.estimated_size()) + numbers + satisfying + parts


def belief_in_parts(policy: TCGPUCB, round: Round) -> Belief:
    """What the policy believes of every arm, a few at a time; each arm's belief depends on no other arm."""
    posterior, points = policy.learner.view(round)
    parts = [posterior.predict(points[start : start + AT_ONCE]) for start in range(0, len(points), AT_ONCE)]
    mean, std = (np.concatenate([getattr(part, name) for part in parts]) for name in ("mean", "std"))
    return Belief(mean=mean, std=std)


def score(asked: Asked, shard: int) -> Kept:
    """The arms of one shard that some optimum of the round may need."""
    whole_round, policy = asked.round, asked.policy
    rows = whole_round.arms.shard(shard)
    part, positions = excerpt(whole_round, rows)
    indices = double_ucb(belief_in_parts(policy, part), part, beta=policy.learner.beta(part), zeta=policy.zeta)
    order = np.argsort(lots(part, policy.learner.seed), kind="stable")
    split = whole_round.arms.split[positions]
    here = GoodSubgroups(part, indices.satisfying, order)
    good = GoodSubgroups(part, indices.satisfying, order, attainable=here.attainable | split)
    scores = additive_scores(indices.reward, part, "a sharded round")
    kept = can_matter(scores, good, split)
    # Where no group at all has a good subgroup promises are left aside, and the best arms of each are needed.
    free = good.without_promises()
    best = unbeaten(scores, free, gains_of(free), np.minimum(part.caps, whole_round.totals[1]))
    kept[best[~here.attainable[part.grouping.codes[best]]]] = True
    mine = np.flatnonzero(kept)
    of_split = np.flatnonzero(split)
    return Kept(
        arms=rows[mine],
        rows=whole_round.arms.starts[shard] + mine,
        reward=indices.reward[mine],
        satisfying=None if indices.satisfying is None else indices.satisfying[mine],
        positions=positions,
        attainable=here.attainable,
        split=dict(zip(positions[of_split].tolist(), parts_of(here, of_split), strict=True)),
    )


def can_matter(scores: Array, good: GoodSubgroups, split: Mask) -> Mask:
    """(M,) the arms of a part that some optimum may need; groups that are ``split``, (G,), have more elsewhere."""
    round, gains = good.round, gains_of(good)
    codes = round.grouping.codes
    kept = np.zeros(len(scores), dtype=np.bool_)
    most = round.feasible.totals(len(codes))[1]
    kept[attaining(scores, good, gains, np.minimum(round.caps, most), ~split)] = True
    # A group in blocks, or with a list, that is split is judged where all of it is.
    together = gains.power > 0.0
    together[gains.listed] = True
    kept |= (together & split)[codes]
    # Every group is there, even if it can give no arm: whether any has a good subgroup is asked of all.
    absent = np.bincount(codes[kept], minlength=len(split)) == 0
    if absent.any():
        kept[good.order[round.grouping.first_places(good.order)[absent]]] = True
    return kept
