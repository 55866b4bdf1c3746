"""Selecting from a sharded round: judge the arms where they lie, gather those that can matter, and solve exactly.

The super arm is the same for any sharding, bit for bit, and as good as that of a plain round with the same arms.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from superarm.arguments import IntArray, instance
from superarm.errors import InvalidArgument, UnsolvableRound, safe_repr, type_of
from superarm.oracles.automatic import Automatic
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.good_subgroups import ENUMERATE_AT_MOST, GoodSubgroups
from superarm.oracles.oracle import additive_scores
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.learner import LearningPolicy, found_by
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.policies.ties import lots
from superarm.rewards.group_reward import is_structured
from superarm.rewards.normal_forms import Blocks, Filter, WeightedSum, Witness
from superarm.rewards.promise import Promise
from superarm.selection import Selection
from superarm.sharding.attainable import Part, attainable, merged
from superarm.sharding.cautious import select_cautiously
from superarm.sharding.excerpts import excerpt
from superarm.sharding.picked import ShardedSelection
from superarm.sharding.round import ShardedRound
from superarm.sharding.scoring import Asked, Kept, can_matter, score
from superarm.slim import Excerpt
from superarm.workers.connect import opened
from superarm.workers.workers import Workers, in_order

MOST_WHOLE = 20_000  # arms of a round that are gathered, all of them, where none can be left out


def select(
    policy: TCGPUCB | CautiousTCGPUCB, round: ShardedRound, *, workers: int | str | Workers = "here"
) -> ShardedSelection:
    """Pick a super arm of a sharded round; changes nothing.

    Value, bound, status and margins are those of a plain round with the same arms, and so are the arms, up to ties
    within 1e-10. A promise that needs all arms (Variance) is refused above 20,000 arms.

    Parameters
    ----------
    policy
        a :class:`~superarm.TCGPUCB` or :class:`~superarm.CautiousTCGPUCB` with an exact oracle. When the cautious one
        explores or plays on credit, it gathers all arms, up to 1,000,000; ``whole`` says so
    round
        the round
    workers
        who scores the arms: a number of processes, a name, or workers, as :func:`superarm.connect` takes them. They
        must be able to read the folder of the catalogue; the super arm does not depend on them
    """
    instance("round", round, ShardedRound, "a superarm.ShardedRound")
    _check_policy(policy)
    if isinstance(policy, CautiousTCGPUCB):
        with opened(workers) as those:
            return select_cautiously(policy, round, those, partial(_picked, policy, round))
    if all(_is_prunable(promise, round) for promise in round.promises):
        asked = Asked(policy=policy, round=round)
        with opened(workers) as those:
            parts = list(in_order(those, score, range(len(round.arms.shards)), those.share(asked)))
        return _solved(policy, round, parts)
    if len(round) > MOST_WHOLE:
        raise UnsolvableRound(
            f"a promise of this round needs all of its {len(round)} arms: sharded rounds take such promises, for "
            f"example on Variance, up to {MOST_WHOLE} arms"
        )
    frame = pl.concat([round.arms.shard(shard) for shard in range(len(round.arms.shards))])
    order = _by_lot(policy, excerpt(round, frame)[0])
    frame = frame[order]
    found, _ = excerpt(round, frame)
    selection = policy.select(found)
    return _picked(policy, round, frame, order, found, selection, int(frame.estimated_size()), True)


def update(policy: LearningPolicy, picked: ShardedSelection, outcomes: Any, noise_std: Any = None) -> None:
    """Learn the outcomes, (k, 2), of a picked super arm, in the order of its rows; NaN where one is missing.

    The policy learns what it would learn from a plain round with all the arms.
    """
    instance("policy", policy, LearningPolicy, "a TCGPUCB or CautiousTCGPUCB")
    instance("picked", picked, ShardedSelection, "what superarm.select returned")
    policy.update(picked.round, picked.arms, outcomes, noise_std)


def _check_policy(policy: Any) -> None:
    if type(policy) not in (TCGPUCB, CautiousTCGPUCB):
        raise InvalidArgument("policy", "a TCGPUCB or CautiousTCGPUCB", type_of(policy))
    if isinstance(policy, TCGPUCB) and policy.batch_aware:
        raise InvalidArgument("policy", "one without batch_aware, which needs all arms together", "batch_aware=True")
    if not isinstance(policy.oracle, (Automatic, Decomposition)):
        expected = "one with the oracle Automatic or Decomposition: others may need arms that are left out"
        raise InvalidArgument("policy", expected, safe_repr(policy.oracle))


def _is_prunable(promise: Promise, round: ShardedRound) -> bool:
    """Whether arms can be left out: by the normal form, or because the groups are few arms each and listed."""
    if (round.arms.grouping.sizes[promise.groups] <= ENUMERATE_AT_MOST).all():
        return True
    if not is_structured(promise.reward):
        return False
    nobody, nothing = np.empty(0, dtype=np.intp), np.empty(0)
    form = promise.reward.normal_form(nothing, nobody, nobody, promise.thresholds, promise.sense)
    return isinstance(form, (Filter, Witness, WeightedSum, Blocks))


def _by_lot(policy: TCGPUCB | CautiousTCGPUCB, found: Excerpt) -> IntArray:
    """Arms group by group, and in each by lot: the same for any sharding."""
    return np.lexsort((lots(found, policy.learner.seed), found.grouping.codes))


def _solved(policy: TCGPUCB, round: ShardedRound, parts: list[Kept]) -> ShardedSelection:
    """Solve the round with the arms that the shards have kept."""
    frame = pl.concat([part.arms for part in parts])
    rows = np.concatenate([part.rows for part in parts])
    reward = np.concatenate([part.reward for part in parts])
    told = [part.satisfying for part in parts if part.satisfying is not None]
    satisfying = np.concatenate(told) if told else None
    order = _by_lot(policy, excerpt(round, frame)[0])  # of which searches for equals depend
    frame, rows, reward = frame[order], rows[order], reward[order]
    satisfying = None if satisfying is None else satisfying[order]
    found, _ = excerpt(round, frame)  # which has an arm of every group
    judged = np.zeros(len(round.labels), dtype=np.bool_)
    by_group: dict[int, list[Part]] = {}
    for part in parts:
        judged[part.positions] |= part.attainable
        for group, known in part.split.items():
            by_group.setdefault(group, []).append(known)
    split = {group: merged(known) for group, known in by_group.items()}
    order = np.argsort(lots(found, policy.learner.seed), kind="stable")
    good = GoodSubgroups(found, satisfying, order)
    possible = attainable(good, judged, split)
    if split and possible.any():
        # What the workers do with groups that are whole is done here with those that were not.
        good = GoodSubgroups(found, satisfying, order, attainable=possible)
        scores = additive_scores(reward, found, "a sharded round")
        others = np.ones(len(judged), dtype=np.bool_)
        others[list(split)] = False
        stays = np.flatnonzero(can_matter(scores, good, others) | others[found.grouping.codes])
        frame, rows, reward = frame[stays], rows[stays], reward[stays]
        satisfying = None if satisfying is None else satisfying[stays]
        found, _ = excerpt(round, frame)
        order = np.argsort(lots(found, policy.learner.seed), kind="stable")
    good = GoodSubgroups(found, satisfying, order, attainable=possible)
    selection = found_by(policy.oracle(reward, found, good))
    sent = sum(part.size for part in parts)
    return _picked(policy, round, frame, rows, found, selection, sent)


def _picked(
    policy: TCGPUCB | CautiousTCGPUCB,
    round: ShardedRound,
    frame: pl.DataFrame,
    rows: IntArray,
    found: Excerpt,
    selection: Selection,
    sent: int,
    whole: bool = False,
) -> ShardedSelection:
    """The selection with its arms renumbered, and the round that a policy learns from."""
    arms = selection.arms
    arms = arms[np.lexsort((lots(found, policy.learner.seed)[arms], found.grouping.codes[arms]))]  # as `_by_lot`
    firsts = round.arms.firsts
    touched = {found.labels[code] for code in found.grouping.codes[arms].tolist()}
    others = np.array([label not in touched for label in round.labels], dtype=np.bool_)
    numbers = np.concatenate([rows[arms], np.full(np.count_nonzero(others), -1)])
    learnt, _ = excerpt(round, pl.concat([frame[arms], firsts.filter(others)]), numbers)
    place = {int(arm): number for number, arm in enumerate(arms)}
    mine = np.arange(len(arms))
    mine.setflags(write=False)
    groups = tuple(replace(group, arms=tuple(sorted(place[arm] for arm in group.arms))) for group in selection.groups)
    belief = selection.belief
    if belief is None:
        posterior, points = policy.learner.view(learnt)
        belief = posterior.predict(points[mine])
    else:
        belief = belief[np.searchsorted(selection.arms, arms)]
    renumbered = replace(selection, arms=mine, groups=groups, belief=belief)
    ids = None if round.arms.id is None else frame[round.arms.id].gather(arms).to_list()
    return ShardedSelection(
        selection=renumbered,
        round=learnt,
        rows=rows[arms],
        ids=ids,
        digest=round.arms.digest,
        survivors=len(found),
        sent=sent,
        whole=whole,
    )
