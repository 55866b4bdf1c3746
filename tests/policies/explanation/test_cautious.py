"""Explanations of the cautious policy: its own answers without a promise, enumerated moves, and its kinds in words."""

import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.policies.cautious.certificates.judge import Judge
from superarm.policies.explanation.runners_up import Reason
from superarm.rewards.reward import reward_of
from tests.policies.cautious.small import CONSTRAINTS, EPS, FEASIBLE, KERNEL, PRIOR, Small, played
from tests.policies.explanation.told import fits, moved, single_moves, subsets, units, without

DRAWN = 0.006  # how far two estimates of a probability by draws may be apart near EPS


def decisions(constraint, feasible, seed, rounds=4, *, warm=25):
    """Rounds of a small world with the policy before each, which knows some outcomes already."""
    world = Small(constraint, feasible, seed)
    rng = np.random.default_rng((seed, 9))
    ids = rng.integers(40, size=warm)
    posterior = PRIOR.condition(world.pool[ids], world.truth[ids] + rng.normal(0, 0.1, (warm, 2)))
    policy = sa.CautiousTCGPUCB(posterior, learn=False)
    for round, selection, before, _ in played(world, policy, rounds, seed):
        assert policy.posterior is before
        yield policy, round, selection


def judge_of(policy, round):
    belief = policy.posterior.predict(round.contexts)
    index = belief.mean[:, 0] + 2.0 * belief.std[:, 0]
    return index, Judge(round, policy.posterior, round.contexts, belief, EPS)


@pytest.mark.parametrize("feasible", FEASIBLE.values(), ids=FEASIBLE)
@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
def test_prices_and_replacements(constraint, feasible):
    drawn = not isinstance(constraint.reward, sa.Sum | sa.Mean | sa.Count)
    slack = DRAWN if drawn else 1e-9
    for policy, round, selection in decisions(constraint, feasible, 1, 2):
        told = policy.explain(round, selection, most=20)
        assert told.same
        assert told.value == selection.value
        index, judge = judge_of(policy, round)
        for group in told.groups:
            instead = policy.select(without(round, group.label))
            assert group.price.arms == tuple(instead.arms.tolist())
            assert group.price.gain == reward_of(round.reward, index[instead.arms], instead.arms) - selection.value
            assert group.price.at_most is None or group.price.at_most >= group.price.gain
        before = judge(selection.arms)
        mine, others = units(round, selection.arms)
        for out in mine:
            arm = next(arm for arm in told.arms if arm.arm == out[0])
            surely, maybe = [], []
            for into in others:
                arms = moved(selection.arms, out, into)
                if not fits(round, arms):
                    continue
                after = judge(arms)
                allowed = np.array([max(EPS, before.of(int(group))) for group in after.groups])
                changed = np.isin(after.groups, round.grouping.codes[[out[0], into[0]]])
                value = reward_of(round.reward, index[arms], arms)
                if (after.p_broken <= allowed - slack)[changed].all() or not changed.any():
                    surely.append(value)
                if (after.p_broken <= allowed + slack)[changed].all():
                    maybe.append(value)
            if arm.replacement is None:
                assert not surely
            else:
                value = selection.value - arm.replacement.loss
                assert any(value == pytest.approx(one) for one in maybe)
                assert value >= max(surely, default=-np.inf) - 1e-9


def test_whole_groups_are_priced_by_every_certified_super_arm():
    """There the search is exact, so its price is that of brute force, of groups that are touched and that are not."""
    gains = []
    for seed in range(4):
        for policy, round, selection in decisions(sa.Mean() >= 0.1, sa.WholeGroups(1), seed, 3, warm=60):
            if selection.kind is not sa.Kind.CERTIFIED:
                continue
            told = policy.explain(round, selection)
            index, judge = judge_of(policy, round)
            certified = judge.whole(np.arange(len(round.labels))).p_broken <= EPS
            prices = [(group.label, group.price) for group in told.groups]
            prices += [(one.group, one.price) for one in told.runners_up if one.price is not None]
            for label, price in prices:
                free = certified.copy()
                free[round.grouping.position(label)] = True
                values = [
                    index[np.isin(round.grouping.codes, chosen)].sum()
                    for chosen in subsets(np.flatnonzero(free).tolist())
                    if len(chosen) <= 1
                ]
                assert selection.value + price.gain == pytest.approx(max(values))
                assert price.exact
                gains.append(price.gain)
    assert min(gains) == 0.0
    assert max(gains) > 0.1


def test_reasons_are_those_of_the_definition():
    found = set()
    feasibles = (*FEASIBLE.values(), sa.AtMost(4, per_group=1))
    names = ("sum <=", "sum >=", "mean >=", "mean <=")
    for seed, feasible, name, warm in itertools.product(range(2), feasibles, names, (3, 10, 25)):
        for policy, round, selection in decisions(CONSTRAINTS[name], feasible, seed, 2, warm=warm):
            index, judge = judge_of(policy, round)
            arms, least = selection.arms, round.feasible.totals(len(round))[0]
            before = judge(arms)
            for one in policy.explain(round, selection, most=20).runners_up:
                found.add(one.reason)
                into = np.array(one.arms)
                moves = [
                    (index[new].sum(), new)
                    for new in single_moves(round, arms, into)
                    if fits(round, new, caps=False)
                    and (min(len(new), least), index[new].sum() - 1e-9) > (min(len(arms), least), index[arms].sum())
                ]
                allowed = [(value, new) for value, new in moves if fits(round, new)]
                if not allowed:
                    assert one.reason is (Reason.CAP if moves else Reason.INDEX)
                    continue
                broken = []
                for value, new in allowed:
                    after = judge(new)
                    pairs = zip(after.groups.tolist(), after.p_broken.tolist(), strict=True)
                    broken.append((value, {g: p for g, p in pairs if p > max(EPS, before.of(g)) + 1e-12}))
                if not all(risks for _, risks in broken):
                    assert one.reason is Reason.NOT_SOUGHT
                    continue
                best = max(value for value, _ in broken)
                group = round.grouping.position(one.group)
                risks = [risks[group] for value, risks in broken if value > best - 1e-9 and group in risks]
                assert risks
                assert one.reason in {Reason.PROMISE if risk >= 0.5 else Reason.NOT_CERTIFIED for risk in risks}
                assert any(f"probability {risk:.4f}" in one.sentence or risk > 0.9999 for risk in risks)
    assert found == set(Reason) - {Reason.WAITING}  # nothing is out


def a_round(constraint, **rest):
    given = {"t": 1, "contexts": np.linspace(0, 1, 12)[:, None], "groups": np.arange(12) % 3} | rest
    return sa.Round(constraint=constraint, **{"feasible": sa.AtMost(5)} | given)


def certain(n=60, level=0.2, noise=0.05):
    """A posterior that knows a constant well."""
    x = np.linspace(0, 1, n)[:, None]
    return sa.ExactPosterior(KERNEL, noise).condition(x, np.full((n, 2), level))


def why(policy, round):
    selection = policy.select(round)
    told = policy.explain(round, selection)
    assert told.kind is selection.kind
    assert told.why in " ".join(str(told).split())
    return selection.kind.name, told.why


def test_start_up_is_told_with_what_is_missing():
    kind, said = why(sa.CautiousTCGPUCB(), a_round(sa.Mean() <= 0.5))
    assert kind == "EXPLORING"
    assert said.startswith("Start-up: 0 of 16 second outcomes are known.")


def test_exploring_later():
    kind, said = why(sa.CautiousTCGPUCB(PRIOR, learn=False), a_round(sa.Mean() <= 0.5))
    assert kind == "EXPLORING"
    assert said.startswith("No super arm worth having keeps every promise with probability 0.99 yet.")
    assert "Start-up" not in said


def test_on_credit():
    policy = sa.CautiousTCGPUCB(sa.ExactPosterior(KERNEL, noise_std=20.0), learn=False)
    kind, said = why(policy, a_round(sa.Mean() <= 0.5))
    assert kind == "ON_CREDIT"
    assert "exploring would teach nothing" in said


def test_certified():
    kind, said = why(sa.CautiousTCGPUCB(certain(), learn=False), a_round(sa.Mean() <= 0.9))
    assert (kind, said) == ("CERTIFIED", "Every touched group keeps its promise with probability 0.99 or more.")


def test_nothing_picked_and_nothing_promised():
    policy = sa.CautiousTCGPUCB(certain(level=-0.5), learn=False)
    kind, said = why(policy, a_round(sa.Mean() <= 0.9))
    assert kind == "CERTIFIED"
    assert said.startswith("Nothing is picked")
    _, said = why(sa.CautiousTCGPUCB(certain(), learn=False), a_round(None))
    assert said == "No touched group has a promise."


def test_safe_arms_are_told_apart():
    safe = np.arange(12) % 3 == 0
    policy = sa.CautiousTCGPUCB()
    round = a_round(sa.Mean() <= 0.5, safe=safe)
    selection = policy.select(round)
    told = policy.explain(round, selection)
    assert "by your word" in told.why
    vouched = [group for group in told.groups if group.vouched]
    assert [group.label for group in vouched] == [0]
    assert all(arm.safe == safe[arm.arm] for arm in told.arms)
    assert "your word" in str(told)
    assert "(safe)" in str(told)
    # In the place of a safe arm another safe arm may stand, which puts nothing at risk.
    for arm in told.arms:
        if arm.label == 0 and arm.replacement is not None and arm.replacement.label == 0:
            assert safe[list(arm.replacement.arms)].all()


def test_trials_name_the_groups_and_their_risks():
    from tests.policies.cautious.test_opening import a_policy, opened
    from tests.policies.cautious.test_opening import a_round as a_round_of_shops

    round, policy = a_round_of_shops(), a_policy()
    kind, said = why(policy, round)
    assert kind == "TRIAL"
    risks = opened(policy.select(round))
    for label, risk in risks.items():
        assert f"{label} (breaks with probability {risk:.4f})" in said
    cost = sum(risks.values())
    assert f"  on trial: {', '.join(map(str, sorted(risks)))}" in str(policy.select(round)).splitlines()
    assert (
        f"The trial costs {cost:.4g} expected broken promises; the policy has saved 0 and may borrow up to 1." in said
    )


def waiting():
    """A round in which the outcomes of two decisions must come first, and what is picked then."""
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    for t, name in ((1, "one"), (2, "two")):
        out = a_round(sa.Mean() <= 0.5, t=t)
        policy.decided(name, out, policy.select(out))
    round = a_round(sa.Mean() <= 0.5, t=3)
    return policy, round, policy.select(round)


def test_what_waits_is_not_told_to_break_a_promise():
    policy, round, selection = waiting()
    assert (selection.kind, len(selection.arms)) == (sa.Kind.WAITING, 0)
    told = policy.explain(round, selection)
    assert {one.reason for one in told.runners_up} == {Reason.WAITING}
    assert {(one.group, one.price) for one in told.runners_up} == {(None, None)}
    assert "outcomes of earlier decisions (one, two) must come first" in str(told)
    assert "costs" not in str(told)


def test_the_selection_and_its_explanation_wait_for_the_same():
    policy, round, selection = waiting()
    assert "WAITING for one, two," in str(selection)
    assert "(one, two)" in policy.explain(round, selection).why


def test_after_an_update_nothing_of_then_stands_beside_what_is_believed_now():
    policy = sa.CautiousTCGPUCB(certain(), learn=False)
    round = a_round(sa.Mean() <= 0.9)
    selection = policy.select(round)
    before = policy.explain(round, selection)
    assert (before.same, before.upper_bound) == (True, selection.upper_bound)
    assert "known then: 0 updates" in str(before)
    policy.update(round, selection.arms, np.full((len(selection.arms), 2), 0.3))
    after = policy.explain(round, selection)
    assert not after.same
    assert after.value > selection.upper_bound  # the bound is of what was believed then
    assert after.upper_bound == np.inf
    head = str(after).splitlines()[0]
    assert f"value {after.value:.4g} as believed now" in head
    assert "at most" not in head
    assert "OPTIMAL" not in head
    assert after.why == f"When it was picked: {sa.Kind.CERTIFIED.value}"
    assert "known now: 1 update," in str(after)


def test_prices_mean_nothing_while_a_round_explores():
    policy = sa.CautiousTCGPUCB(PRIOR, learn=False)
    round = a_round(sa.Mean() <= 0.5)
    told = policy.explain(round, policy.select(round))
    assert told.kind is sa.Kind.EXPLORING
    assert told.groups
    assert all("means nothing while the round explores" in _line(told, group.label) for group in told.groups)
    assert "costs" not in str(told)
    assert "Prices of the promises" not in [panel.title for panel in told.plot().vconcat]


def _line(told, label):
    lines = str(told).splitlines()
    start = lines.index("touched groups, least margin first")
    return next(line for line in lines[start:] if line.split()[0] == str(label))


def test_a_group_that_is_smaller_than_its_cap_is_no_cap():
    policy = sa.CautiousTCGPUCB(certain(), learn=False)
    round = a_round(sa.Mean() <= 0.9, groups=[0] * 8 + [1] * 2 + [2] * 2, feasible=sa.AtMost(per_group=3))
    told = policy.explain(round, policy.select(round))
    assert "3 of at most 3" in _line(told, 0)
    assert "2 of its 2" in _line(told, 1)
