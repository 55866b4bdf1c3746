"""Group effects are given up in both outputs at once, where all outcomes together speak against them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import superarm as sa
from superarm.posteriors.learning import LEARNING
from superarm.posteriors.model.evidence import Judgement
from superarm.posteriors.model.log import Log
from superarm.posteriors.model.shape import Effects, Shape, of_columns
from superarm.posteriors.model.standing import Promised
from superarm.posteriors.model.updates import Found, agreed
from tests.posteriors.model.streams import LABELS, Truth, stream

BASE = sa.SquaredExponential(lengthscale=0.5)
GIVEN = Shape(base=BASE, noise=1.0)
DIFFER = replace(GIVEN, effects=Effects(offset=0.1, deviation=0.05))


def judged(differ, rounds=16, shapes=(DIFFER, DIFFER)):
    """Both outputs with their shapes, on noisy outcomes; groups differ by so much in each."""
    log, noise = Log.empty(2), np.random.default_rng(1)
    effects = noise.normal(size=len(LABELS))
    for round, arms, values in stream(Truth(noise=0.0), rounds):
        group = [LABELS.index(round.labels[code]) for code in round.grouping.codes[arms]]
        own = np.outer(effects[group], differ)
        log = log.with_rows(round, arms, values + own + noise.normal(size=values.shape))
    return [
        Found(
            shape=shape,
            given=GIVEN,
            changed=False,
            judgement=Judgement.of(log, j, LEARNING, np.random.default_rng(0)),
        )
        for j, shape in enumerate(shapes)
    ]


def present(found):
    return [any(each.shape.effects.present) for each in found]


def test_groups_that_are_alike_lose_their_effects_in_both_outputs():
    after = agreed(judged((0.0, 0.0)))
    assert present(after) == [False, False]
    assert all(each.changed and not any(each.given.effects.present) for each in after)


@pytest.mark.parametrize("differ", [(1.0, 0.0), (0.0, 1.0)], ids=repr)
def test_groups_that_differ_in_one_output_keep_the_effects_of_both(differ):
    found = judged(differ)
    assert agreed(found) is found


def test_what_is_gained_is_the_difference_of_two_log_densities():
    """At the hyperparameters found, by the evidence of each problem, less what the prior of hyperparameters costs."""
    found = judged((1.0, 0.0))[0]
    alike, given, gained = found.judgement.without_effects(found.shape, found.given)
    assert not any((*alike.effects.present, *given.effects.present))
    looks = [
        found.judgement._first_look(shape, its, sizes=(1.0,))[1]
        for shape, its in ((alike, given), (found.shape, found.given.having(found.shape, 1.0, 1.0)))
    ]
    assert gained == pytest.approx(looks[0] - looks[1], abs=1e-6)
    assert gained < -3.0


def test_few_outcomes_change_nothing():
    found = judged((0.0, 0.0), rounds=9)
    assert agreed(found) is found


def test_effects_that_stand_for_thresholds_or_columns_stay():
    promised = Promised(keys=np.arange(2.0), shifts=np.zeros(2))
    for tied in (replace(DIFFER, promised=promised), replace(DIFFER, base=of_columns(BASE, (0,)))):
        found = judged((0.0, 0.0), shapes=(DIFFER, tied))
        assert agreed(found) is found


def counted(seed, groups):
    """Rounds of a world of counts in which groups are alike, with outcomes of the first arms of the first groups."""
    world, noise = sa.environments.WrongWorld("poisson", "mean", seed), np.random.default_rng(seed)
    for round in itertools.islice(world.rounds(np.random.default_rng(seed)), 25):
        arms = np.sort(np.concatenate([round.grouping.members(group)[:4] for group in range(groups)]))
        yield round, arms, world.outcomes(round, noise)[arms]


# Chosen because there few counts seem to show effects.
@pytest.mark.parametrize(("seed", "groups"), [(2, 2), (5, 2), (6, 3)])
def test_effects_that_few_counts_seemed_to_show_are_given_up_later(seed, groups, tmp_path):
    """A policy that was saved before that does the same, to the last bit."""
    policy = sa.CautiousTCGPUCB(sa.environments.WrongWorld("poisson").prior)
    policies = [policy]
    for round, arms, outcomes in counted(seed, groups):
        if round.t == 5:
            policy.save(tmp_path / "policy.sa")
            policies.append(sa.load(tmp_path / "policy.sa"))
        for each in policies:
            each.update(round, arms, outcomes)
    model = policy.learner.model
    assert any("every group adds a constant" in line for line in model.story)
    assert any("groups add nothing of their own" in line for line in model.story)
    assert not any(any(shape.effects.present) for shape in model.shapes)
    first, second = (each.learner.belief(round) for each in policies)
    assert first.mean.tobytes() == second.mean.tobytes()
    assert first.std.tobytes() == second.std.tobytes()
    assert str(policies[0]) == str(policies[1])
