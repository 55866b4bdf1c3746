"""OPENING: groups that were never or hardly tried are tried early, where that risks least, on an advance if need be.

Exploring ends as soon as anything is certified. From then on the savings pay for one trial in many rounds, so where
groups differ most of them would stay untried for long. One broken promise risked in the first rounds is worth more than
many later: :mod:`~superarm.policies.cautious.account` says how the advance is bounded and repaid.
"""

from __future__ import annotations

import itertools

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.policies.cautious.ledger import Ledger
from superarm.policies.cautious.search import Candidate, Search
from superarm.policies.cautious.untried import Reasons, Why
from superarm.rewards.promise import promised_groups
from superarm.rewards.reward import reward_of

AT_ONCE = 5  # most groups opened in a round: their outcomes make others cheaper
FEW = 10  # most arms of a group that is opened; one alone teaches too little to certify anything
SAFER = 2.0  # factor on the least risk of any part, up to which a larger part is preferred
RISKIEST = 0.6  # largest probability that a group that is opened breaks its promise
DEAR = 0.25  # share of the funds from which on an opening is dear: most get cheaper as others are learnt from
WAIT = 4  # rounds between dear openings, each of which is made alone
PLACES = 0.5  # largest share of the places of a super arm that openings take; one place is always allowed
EXPLAINED = 0.3  # share of an arm's variance that one of another group explains, beyond which the group is not opened
LOOKED_AT = 40  # most groups of a round whose risk is computed


def opening(best: Candidate, search: Search, ledger: Ledger, teaches: Mask) -> tuple[Candidate | None, Reasons]:
    """The best certified super arm with parts of groups that were hardly tried, the least risky first.

    None if there is nothing to open. ``teaches``, (M,), marks the arms whose outcome would teach something. The reasons
    say why groups that were never tried are not opened.
    """
    round, account = search.round, ledger.account
    funds = account.savings + account.advance
    reasons = Reasons(len(round.labels), Why.UNCERTIFIED if account.opening == 0.0 else Why.WORTH_LESS, funds)
    candidates = ledger.labels.untried(round.grouping.hashes)
    unseen = ledger.labels.untried(round.grouping.hashes, 1)
    candidates[best.judged.groups] = False
    if account.opening == 0.0 or not candidates.any():
        return None, reasons
    candidates &= promised_groups(round.promises, len(round.labels))
    for why, passed in (
        (Why.NOTHING_TO_LEARN, np.bincount(round.grouping.codes[teaches], minlength=len(candidates)) > 0),
        (Why.HOPELESS, search.hopeful()),
        (Why.NEW, ledger.labels.came(round.grouping.hashes)),
        (Why.WORTH_LESS, _worthwhile(search, best)),
    ):
        reasons.set(candidates & ~passed, why)
        candidates &= passed
    certified = best.judged.promised & (best.judged.p_broken <= search.eps)
    if not candidates.any() or not certified.any():  # the advance is not spent on rounds without certified groups
        return None, reasons
    groups = _looked_at(search, np.flatnonzero(candidates))
    reasons.set(candidates, Why.LATER)
    places = max(1, int(PLACES * _places(search)))
    parts, p_broken = safest_parts(search, groups, min(FEW, places))
    sizes = np.ones(len(parts)) if round.feasible.whole else np.array([len(part) for part in parts])
    explained = _explained(search, parts)
    chosen: list[int] = []
    spent = taken = 0.0
    for i in np.lexsort((round.grouping.first_places(search.order)[groups], p_broken)).tolist():
        needs = float(p_broken[i])
        cost = needs if needs > search.eps else 0.0
        if needs <= search.eps and not unseen[groups[i]]:
            reasons.set(groups[i], Why.WORTH_LESS)  # it is certified, so the search picks it where it is worth it
        elif explained[i]:
            reasons.set(groups[i], Why.TOLD)
        elif needs > RISKIEST:
            reasons.set(groups[i], Why.TOO_RISKY, needs)
        elif spent + cost > funds:
            reasons.set(groups[i], Why.UNPAID, needs)
        elif cost > DEAR * funds and (chosen or round.t % WAIT):
            reasons.set(groups[i], Why.LATER)
        elif len(chosen) < AT_ONCE and taken + sizes[i] <= places and teaches[parts[i]].any():
            chosen.append(i)
            spent, taken = spent + cost, taken + sizes[i]
    while chosen:
        opened = _with_parts(search, best, [parts[i] for i in chosen])
        if opened is not None:
            return opened, reasons
        reasons.set(groups[chosen.pop()], Why.NO_PLACE)
    return None, reasons


def _places(search: Search) -> int:
    """How many arms, or whole groups, a super arm has."""
    feasible = search.round.feasible
    return feasible.most_groups(search.round.grouping) if feasible.whole else feasible.totals(len(search.round))[1]


def _worthwhile(search: Search, best: Candidate) -> Mask:
    """(G,) which groups have an arm of larger index than the least in the super arm, or than 0 if it has room."""
    grouping, (_, most) = search.round.grouping, search.round.feasible.totals(len(search.round))
    largest = np.full(len(grouping), -np.inf)
    np.maximum.at(largest, grouping.codes, search.index)
    least = float(search.index[best.arms].min()) if len(best.arms) >= most else 0.0
    return (largest > least) & (search.round.caps > 0)


def _looked_at(search: Search, groups: IntArray) -> IntArray:
    """The LOOKED_AT groups with the largest indices."""
    if len(groups) <= LOOKED_AT:
        return groups
    grouping = search.round.grouping
    largest = np.full(len(grouping), -np.inf)
    np.maximum.at(largest, grouping.codes, search.index)
    first = grouping.first_places(search.order)
    return np.sort(groups[np.lexsort((first[groups], -largest[groups]))[:LOOKED_AT]])


def safest_parts(search: Search, groups: IntArray, few: int) -> tuple[list[IntArray], Array]:
    """A part of each group, of at most ``few`` arms, that is unlikely to break its promise, and how likely it is.

    Parts grow by the arm that looks best for the promise; of those with at most SAFER times the least risk the largest
    is taken, as it teaches most.
    """
    round = search.round
    if round.feasible.whole:
        return [round.grouping.members(group) for group in groups.tolist()], search.judge.whole(groups).p_broken
    towards = np.zeros(len(round.labels))
    for promise in round.promises:
        towards[promise.groups] = promise.optimism
    score = towards[round.grouping.codes] * search.belief.mean[:, 1] - search.belief.std[:, 1]
    if round.safe is not None:
        score = np.where(round.safe, np.inf, score)
    ranked = search.order[np.argsort(-score[search.order], kind="stable")]
    sets: list[IntArray] = []
    starts = [0]
    for group in groups.tolist():
        arms = ranked[round.grouping.codes[ranked] == group][: min(few, int(round.caps[group]))]
        sets += [np.sort(arms[:size]) for size in range(1, len(arms) + 1)]
        starts.append(len(sets))
    p_broken = search.judge.each(sets).p_broken
    near = [
        start + int(np.flatnonzero(p_broken[start:end] <= SAFER * p_broken[start:end].min())[-1])
        for start, end in itertools.pairwise(starts)
    ]
    return [sets[i] for i in near], p_broken[near]


def _explained(search: Search, parts: list[IntArray]) -> Mask:
    """Whether arms of other groups say enough about each part: one explains much of the variance of its best-known arm.

    If groups are alike, that arm is explained as soon as others have similar arms. If its group has an effect of its
    own, it is not, once the shared function is known. If no arm of its own group explains more than one of another
    group, the label carries no information, however little both explain.
    """
    judge, std, codes = search.judge, search.belief.std[:, 1], search.round.grouping.codes
    arms = np.array([part[np.argmin(std[part])] for part in parts], dtype=np.intp)
    if search.elsewhere is not None:
        by_others, by_own, several = search.elsewhere.explained(judge.points[arms], std[arms], arms)
        return (by_others > EXPLAINED) | (several & (by_others >= by_own))
    covariance = judge.posterior.covariance(judge.points[arms], judge.points)[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.square(covariance) / np.square(std[arms][:, None] * std)
    shares = np.nan_to_num(shares, nan=0.0, posinf=0.0)
    shares[np.arange(len(arms)), arms] = 0.0
    mine = codes[arms][:, None] == codes
    by_others, by_own = (np.where(which, shares, 0.0).max(axis=1, initial=0.0) for which in (~mine, mine))
    explained: Mask = (by_others > EXPLAINED) | ((mine.sum(axis=1) > 1) & (by_others >= by_own))
    return explained


def _with_parts(search: Search, best: Candidate, parts: list[IntArray]) -> Candidate | None:
    """``best`` with further parts, and with as little as possible left out for them; None if they do not fit."""
    round = search.round
    kept: list[IntArray] | None = best.judged.parts
    if round.feasible.whole:
        room = round.feasible.most_groups(round.grouping) - len(parts)
        by_reward = sorted(best.judged.parts, key=lambda part: -reward_of(round.reward, search.index[part], part))
        kept = by_reward[:room] if room >= 0 else None
    else:
        over = len(best.arms) + sum(map(len, parts)) - _places(search)
        if over > 0:
            kept = _without(search, best.judged.parts, over)
    if kept is None:
        return None
    opened = search.candidate(np.sort(np.concatenate([*kept, *parts])))
    meant = round.grouping.codes[[part[0] for part in parts]]
    sure = np.setdiff1d(opened.judged.groups, meant)
    certified = opened.judged.promised[np.isin(opened.judged.groups, sure)].any()
    failing = np.setdiff1d(opened.judged.failing(search.eps), meant)
    return opened if certified and not len(failing) else None


def _without(search: Search, parts: list[IntArray], over: int) -> list[IntArray] | None:
    """The parts with ``over`` arms fewer, all still certified: least index first, by group or arm by arm."""
    place = np.empty(len(search.order), dtype=np.intp)
    place[search.order] = np.arange(len(search.order))
    ranked = [part[np.lexsort((place[part], -search.index[part]))] for part in parts]
    shorter = [(i, size) for i, part in enumerate(ranked) for size in range(max(len(part) - over, 1), len(part))]
    sets = [np.sort(ranked[i][:size]) for i, size in shorter]
    certified = (search.judge.each(sets).p_broken <= search.eps).tolist() if sets else []
    steps = [step for step, sure in zip(shorter, certified, strict=True) if sure]
    steps += [(i, 0) for i, part in enumerate(ranked) if len(part) <= over]
    kept = [len(part) for part in ranked]
    while over > 0:
        options = [
            (float(search.index[ranked[i][size : kept[i]]].mean()), int(place[ranked[i][0]]), i, size)
            for i, size in steps
            if size < kept[i] <= size + over
        ]
        if not options:
            return None
        _, _, i, size = min(options)
        over -= kept[i] - size
        kept[i] = size
    return [np.sort(part[:size]) for part, size in zip(ranked, kept, strict=True) if size]
