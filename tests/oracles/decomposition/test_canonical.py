"""Arms that cannot be in the optimum may be left out, or judged in parts, and nothing changes: not even among ties."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from superarm.oracles.decomposition.canonical import survivors
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.decomposition.gains import gains_of
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.rewards.normal_forms import Blocks
from superarm.selection import Status
from tests.referees.enumeration import Problem, Promise, judge, random_problem, to_round

SEEDS = st.integers(0, 2**32)


def problems(seed, most_arms, tied):
    """A round that picks single arms; where ``tied``, of few different scores and gains."""
    rng = random.Random(seed)
    while True:
        problem = random_problem(rng, most_arms)
        if problem.feasible != "whole groups" and problem.groups:
            break
    if tied:
        few = [rng.choice([-1.0, 0.1, 0.25, 1.0]) for _ in range(2)]
        problem = replace(
            problem,
            a=tuple(rng.choice(few) for _ in problem.a),
            b=tuple(rng.choice(few) for _ in problem.b),
        )
    caps = {group: rng.choice([1, 1, 2, 3]) for group in set(problem.groups)}
    return rng, replace(problem, caps=caps if rng.random() < 0.8 else problem.caps)


def only(problem, arms):
    """The round of some of its arms, in the order given."""
    place = {arm: j for j, arm in enumerate(arms)}
    groups = {problem.groups[arm] for arm in arms}
    return replace(
        problem,
        a=tuple(problem.a[arm] for arm in arms),
        b=tuple(problem.b[arm] for arm in arms),
        groups=tuple(problem.groups[arm] for arm in arms),
        items=tuple(problem.items[arm] for arm in arms),
        weights=None if problem.weights is None else tuple(problem.weights[arm] for arm in arms),
        caps=None if problem.caps is None else {group: problem.caps[group] for group in groups},
        promises={group: promise for group, promise in problem.promises.items() if group in groups},
        order=tuple(place[arm] for arm in problem.order if arm in place),
    )


def good_subgroups(problem, attainable=None):
    """Those of the round; ``attainable`` maps groups to what was judged elsewhere."""
    round = to_round(problem)
    if attainable is not None:
        attainable = np.array([attainable[label] for label in round.labels], dtype=np.bool_)
    return GoodSubgroups(round, np.array(problem.b), np.array(problem.order, dtype=np.intp), attainable=attainable)


def answer(problem, attainable=None):
    good = good_subgroups(problem, attainable)
    return Decomposition()(np.array(problem.a), good.round, good)


def unbeaten(problem, attainable=None):
    """The arms that the definition keeps, as a set."""
    good = good_subgroups(problem, attainable)
    round, good = good.round, good.without_promises() if good.is_empty() else good
    scores = np.array(problem.a) * (1.0 if problem.weights is None else np.array(problem.weights))
    gains = gains_of(good)
    place = {arm: i for i, arm in enumerate(problem.order)}
    codes = round.grouping.codes
    most = np.minimum(round.caps, min(round.feasible.totals(len(scores))[1], len(scores) + 1))
    caps = np.where(good.attainable, np.minimum(most, gains.most), 0)
    whole = set(gains.listed.tolist())
    for promised in good.promised:
        if isinstance(promised.form, Blocks):
            whole |= set(promised.promise.groups.tolist())
    usable = [arm for arm in range(len(scores)) if gains.usable[arm] and caps[codes[arm]] > 0]

    def beats(x, y):
        if codes[x] != codes[y] or scores[x] < scores[y] or gains.gain[x] < gains.gain[y]:
            return False
        return (scores[x], gains.gain[x]) != (scores[y], gains.gain[y]) or place[x] < place[y]

    kept = {arm for arm in usable if codes[arm] in whole or sum(beats(x, arm) for x in usable) < caps[codes[arm]]}
    found = survivors(scores, good, gains, most)
    assert set(found.arms.tolist()) == kept
    assert [found.arms[i] for i in np.argsort(found.place)] == [arm for arm in problem.order if arm in kept]
    return kept


def judged(problem):
    """Which groups have a good subgroup, on the whole round."""
    good = good_subgroups(problem)
    return dict(zip(good.round.labels, good.attainable.tolist(), strict=True))


@pytest.mark.parametrize("tied", [False, True])
@settings(max_examples=400, deadline=None)
@given(seed=SEEDS)
def test_leaving_out_beaten_arms_changes_neither_value_nor_arms_nor_status(tied, seed):
    rng, problem = problems(seed, 12, tied)
    attainable = judged(problem)
    kept = unbeaten(problem)
    # That something is attainable must show: one arm of such a group stays, though its cap may be 0.
    kept.update([arm for arm, group in enumerate(problem.groups) if attainable[group]][:1])
    beaten = [arm for arm in range(len(problem.a)) if arm not in kept]
    left = sorted(kept | set(rng.sample(beaten, rng.randint(0, len(beaten)))))
    if not left:
        return
    if rng.random() < 0.5:
        rng.shuffle(left)
    plain, other = answer(problem), answer(only(problem, left), attainable)
    assert sorted(left[arm] for arm in other.arms) == plain.arms.tolist()
    assert other.value == plain.value
    assert other.upper_bound == plain.upper_bound
    assert other.status is plain.status
    verdict = judge(problem)
    assert plain.value == pytest.approx(verdict.value, rel=1e-9, abs=1e-9)
    assert plain.status.name == verdict.status


@pytest.mark.parametrize("tied", [False, True])
@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
@example(seed=24934)
def test_survivors_of_parts_that_survive_together_are_those_of_the_whole(tied, seed):
    rng, problem = problems(seed, 14, tied)
    attainable = judged(problem)
    if not any(attainable.values()):
        problem = replace(problem, promises={})  # left aside in the whole, and so in every part
        attainable = dict.fromkeys(attainable, True)
    shard = [rng.randrange(3) for _ in problem.a]
    some = []
    for number in set(shard):
        mine = [arm for arm in range(len(shard)) if shard[arm] == number]
        some += [mine[arm] for arm in unbeaten(only(problem, mine), attainable)]
    # Groups that are attainable but closed by a cap of 0 leave no arm; the rest alone would look like a hopeless round.
    some = some if any(attainable[problem.groups[arm]] for arm in some) else []
    together = {some[arm] for arm in unbeaten(only(problem, some), attainable)} if some else set()
    assert together == unbeaten(problem)


def test_attainability_of_the_whole_round_keeps_promises_that_its_survivors_alone_would_leave_aside():
    # Together both arms reach 3 and so the group has a good subgroup, but one arm may be picked: the first beats the
    # second, and judged on the first alone no group would have a good subgroup.
    problem = Problem(
        a=(2.0, 1.0), b=(2.0, 1.0), groups=(0, 0), items=(0, 1), weights=None, order=(0, 1),
        feasible="at most", size=1, caps=None, promises={0: Promise("sum", ">=", 3.0)},
    )  # fmt: skip
    whole, first = to_round(problem), to_round(only(problem, [0]))
    plain = Decomposition()(np.array(problem.a), whole, GoodSubgroups(whole, np.array(problem.b)))
    assert (plain.arms.tolist(), plain.status) == ([], Status.OPTIMAL)
    for attainable, arms, status in ((None, [0], Status.NO_GOOD_SUBGROUP), ([True], [], Status.OPTIMAL)):
        good = GoodSubgroups(first, np.array([2.0]), attainable=attainable)
        found = Decomposition()(np.array([2.0]), first, good)
        assert (found.arms.tolist(), found.status) == (arms, status)
