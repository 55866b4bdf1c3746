"""What a worker does with one shard for the cautious policy: it sends the arms that certified super arms may need.

The policy searches with indices mu + f z sigma of the second outcome, f from -1 to 2, which are convex combinations of
both ends: who beats an arm in score and at both ends beats it at every f (T4). Wider standard deviations and effects of
groups are in sigma already, so that they change nothing. What the policy looks at beside that, it looks for at the top
of some ranking inside a group: the largest indices, the safest arms, the first in the order of ties, one that teaches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtri

from superarm.arguments import Array, IntArray, Mask
from superarm.oracles.decomposition.canonical import compiled
from superarm.oracles.oracle import additive_scores
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.cautious.certificates.judge import Judge
from superarm.policies.cautious.elsewhere import WIDEST
from superarm.policies.cautious.explore import teaching
from superarm.policies.cautious.more import REFUSALS
from superarm.policies.cautious.opening import FEW
from superarm.policies.cautious.searches import SubsetSearch
from superarm.posteriors.posterior import Belief, CovaryingPosterior
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.sharding.attainable import Part, parts_of
from superarm.sharding.excerpts import excerpt
from superarm.sharding.round import ShardedRound

AT_ONCE = 8192  # arms that are believed of together


@dataclass(frozen=True, kw_only=True, eq=False)
class InParts:
    """A posterior that believes of a few arms at a time; each belief depends on its own arm alone."""

    posterior: CovaryingPosterior

    @property
    def noise_std(self) -> float | tuple[float, float]:
        return self.posterior.noise_std

    def predict(self, contexts: npt.ArrayLike) -> Belief:
        points = np.asarray(contexts)
        parts = [self.posterior.predict(points[at : at + AT_ONCE]) for at in range(0, max(len(points), 1), AT_ONCE)]
        mean, std = (np.concatenate([getattr(part, name) for part in parts]) for name in ("mean", "std"))
        return Belief(mean=mean, std=std)

    def condition(self, contexts: npt.ArrayLike, outcomes: npt.ArrayLike) -> InParts:
        return InParts(posterior=cast(CovaryingPosterior, self.posterior.condition(contexts, outcomes)))

    def covariance(self, contexts: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Array:
        return self.posterior.covariance(contexts, others)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cautious:
    """What all workers are told; ``points``, ``std``, ``rows`` and ``groups`` of arms that others may explain."""

    policy: CautiousTCGPUCB
    round: ShardedRound
    points: Array | None = None  # (k, P)
    std: Array | None = None  # (k,)
    rows: IntArray | None = None  # (k,)
    groups: IntArray | None = None  # (k,) positions


@dataclass(frozen=True, kw_only=True, eq=False)
class Certifiable:
    """The arms of a shard that a certified super arm or a trial may need."""

    arms: pl.DataFrame  # (n,)
    rows: IntArray  # (n,)
    positions: IntArray  # (g,)
    hopeful: Mask  # (g,) which groups may keep their promise with the arms of this shard
    split: dict[int, Part] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes, about."""
        parts = sum(8 * len(part.positive) + 24 for part in self.split.values())
        return int(self.arms.estimated_size()) + self.rows.nbytes + self.positions.nbytes + self.hopeful.nbytes + parts


def certifiable(asked: Cautious, shard: int) -> Certifiable:
    """The arms of one shard that the policy may look at, but to explore."""
    rows = asked.round.arms.shard(shard)
    search, positions = search_on(asked, rows)
    kept = np.flatnonzero(looked_at(search, asked))
    split = asked.round.arms.split[positions]
    of_split = np.flatnonzero(split)
    hoping = search.hoping(1.0 - search.eps)
    return Certifiable(
        arms=rows[kept],
        rows=asked.round.arms.starts[shard] + kept,
        positions=positions,
        hopeful=hoping.attainable,
        split=dict(zip(positions[of_split].tolist(), parts_of(hoping, of_split), strict=True)),
    )


def explaining(asked: Cautious, shard: int) -> tuple[Array, Array]:
    """Of some arms the largest share of variance that an arm of this shard explains: of other groups, and of its own.

    (k,) each; as :mod:`superarm.policies.cautious.opening` has it.
    """
    assert asked.points is not None
    assert asked.std is not None
    assert asked.rows is not None
    assert asked.groups is not None
    rows = asked.round.arms.shard(shard)
    search, positions = search_on(asked, rows)
    codes, std = positions[search.round.grouping.codes], search.belief.std[:, 1]
    first = int(asked.round.arms.starts[shard])
    by_others, by_own = np.zeros(len(asked.rows)), np.zeros(len(asked.rows))
    for start in range(0, len(rows), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        covariance = search.judge.posterior.covariance(asked.points, search.judge.points[some])[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = np.square(covariance) / np.square(asked.std[:, None] * std[some])
        explained = np.nan_to_num(explained, nan=0.0, posinf=0.0)
        explained[asked.rows[:, None] == first + np.arange(len(rows))[some]] = 0.0
        mine = asked.groups[:, None] == codes[some]
        by_others = np.maximum(by_others, np.where(~mine, explained, 0.0).max(axis=1, initial=0.0))
        by_own = np.maximum(by_own, np.where(mine, explained, 0.0).max(axis=1, initial=0.0))
    return by_others, by_own


def search_on(asked: Cautious, rows: pl.DataFrame) -> tuple[SubsetSearch, IntArray]:
    """The search of the policy on some rows, and of each of their groups which one it is of all."""
    part, positions = excerpt(asked.round, rows)
    posterior, points = asked.policy.learner.view(part)
    coming = asked.policy._coming(part, points)
    search = asked.policy._search(part, InParts(posterior=cast(CovaryingPosterior, posterior)), points, coming)
    assert isinstance(search, SubsetSearch)
    return search, positions


def looked_at(search: SubsetSearch, asked: Cautious) -> Mask:
    """(M,) the arms of a part that the policy may look at in a certified round or a trial."""
    round, codes = search.round, search.round.grouping.codes
    mean, std = search.belief.mean[:, 1], search.belief.std[:, 1]
    scores = additive_scores(search.index, round, "a sharded round")
    place = np.empty(len(codes), dtype=np.intp)
    place[search.order] = np.arange(len(codes))
    more = np.minimum(round.caps, round.feasible.totals(len(round))[1]) + REFUSALS
    width = float(ndtri(1.0 - search.eps)) * std
    towards = search.sign * mean
    kept = _unbeaten(search, scores, towards + width, towards - WIDEST * width, place, more)
    safest = towards - std
    if round.safe is not None:
        kept |= _first(codes, np.where(round.safe, -search.index, np.inf), place, more) & round.safe
        safest = np.where(round.safe, np.inf, safest)
    kept |= _first(codes, -search.index, place, more)
    kept |= _first(codes, -scores, place, more)
    kept |= _first(codes, -safest, place, np.full_like(more, FEW))
    kept |= _first(codes, np.zeros(len(codes)), place, np.ones_like(more))
    teaches = _teaching(search, asked)
    return kept | (_first(codes, np.where(teaches, 0.0, 1.0), place, np.ones_like(more)) & teaches)


def _unbeaten(search: SubsetSearch, scores: Array, high: Array, low: Array, place: IntArray, caps: IntArray) -> Mask:
    """(M,) the arms that fewer others of their group, or of their item, beat in score and at both ends."""
    codes = search.round.grouping.codes
    items = np.zeros(len(codes), dtype=np.intp)
    for promise in search.round.promises:
        if isinstance(promise.reward, DixitStiglitz):
            mine = np.isin(codes, promise.groups)
            items[mine] = promise.reward.codes[mine]
    order = np.lexsort((place, -low, -high, -scores, items, codes))
    new = np.ones(len(order) + 1, dtype=np.bool_)
    new[1:-1] = (np.diff(codes[order]) != 0) | (np.diff(items[order]) != 0)
    starts = np.flatnonzero(new)
    marked = np.zeros(len(order), dtype=np.bool_)
    compiled().unbeaten_in_three(starts, high[order], low[order], caps[codes[order[starts[:-1]]]], marked)
    kept = np.zeros(len(order), dtype=np.bool_)
    kept[order] = marked
    return kept


def _first(codes: IntArray, key: Array, place: IntArray, many: IntArray) -> Mask:
    """(M,) of each group so many arms, (G,), of the smallest key, equals in the order of ties."""
    order = np.lexsort((place, key, codes))
    starts = np.searchsorted(codes[order], np.arange(len(many)))
    rank = np.arange(len(order)) - starts[codes[order]]
    kept = np.zeros(len(order), dtype=np.bool_)
    kept[order] = rank < many[codes[order]]
    return kept


def _teaching(search: SubsetSearch, asked: Cautious) -> Mask:
    """(M,) the arms that teach, a few at a time."""
    judge = search.judge
    parts = [np.empty(0, dtype=np.bool_)]
    for start in range(0, len(judge.points), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        one = Judge(
            judge.round, judge.posterior, judge.points[some], judge.belief[np.arange(len(judge.points))[some]],
            judge.eps, widening=judge.widening, passing=judge.passing, limits=judge.limits,
        )  # fmt: skip
        parts.append(teaching(one, asked.policy.must_teach, search.coming))
    return np.concatenate(parts)
