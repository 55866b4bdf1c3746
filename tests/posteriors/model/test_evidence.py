"""Shapes judged by evidence."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import superarm as sa
from superarm.posteriors.learning import LEARNING, Learning
from superarm.posteriors.model.evidence import Judgement
from superarm.posteriors.model.log import Log
from superarm.posteriors.model.shape import Effects, Shape
from tests.posteriors.model.streams import Truth, fresh_model, learnt, stream

PRIOR = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
SHAPE = Shape(base=sa.SquaredExponential(lengthscale=0.5), noise=0.1)


def logged(truth, rounds=8, seed=0):
    log = Log.empty(2)
    for round, arms, values in stream(truth, rounds, seed):
        log = log.with_rows(round, arms, values)
    return log


@pytest.mark.parametrize("effects", [Effects(), Effects(offset=0.4), Effects(offset=0.4, fresh=0.2)], ids=repr)
def test_evidence_is_the_log_density_at_what_is_given(effects):
    """SciPy's density of the outcomes; at the values given the prior of hyperparameters costs nothing."""
    log = logged(Truth(effect=0.5), rounds=5)
    shape = Shape(base=SHAPE.base, noise=0.1, mean=0.3, constant=0.7, effects=effects)
    judgement = Judgement.of(log, 0, LEARNING, np.random.default_rng(0))
    problem = judgement._problem(shape, shape)
    columns = effects.columns
    points = log.points(columns)
    covariance = shape.kernel(2, columns)(points, points) + 0.1**2 * np.eye(len(points))
    expected = multivariate_normal(np.full(len(points), 0.3), covariance).logpdf(log.values[:, 0])
    assert problem.evidence(problem.given)[0] == pytest.approx(expected, abs=1e-4)  # a jitter


def test_a_fit_is_never_worse_than_what_it_starts_from():
    log = logged(Truth(effect=0.5))
    judgement = Judgement.of(log, 1, LEARNING, np.random.default_rng(0))
    problem = judgement._problem(SHAPE, SHAPE)
    fitted, evidence = judgement.fitted(SHAPE, SHAPE)
    assert evidence >= problem.evidence(problem.given)[0] - 1e-9
    assert fitted.alike(SHAPE)


def test_the_same_log_is_judged_the_same():
    log = logged(Truth(effect=0.5), rounds=40)
    found = [Judgement.of(log, 0, LEARNING, np.random.default_rng(0)).best(SHAPE, SHAPE)[0] for _ in range(2)]
    assert repr(found[0]) == repr(found[1])


def test_more_smoothness_than_is_believed_needs_more():
    """A kernel that is too smooth is sure of what is not so; one that is too rough is only slow."""
    judgement = Judgement.of(logged(Truth()), 0, LEARNING, np.random.default_rng(0))
    now = Shape(base=sa.Matern52(lengthscale=0.5), noise=0.1)
    rivals = judgement.rivals.smoothness(3.0, now, now, 1.0)
    assert [(type(rival.base), needed) for rival, _, needed in rivals] == [
        (sa.SquaredExponential, 3.0),
        (sa.Matern32, 1.0),
        (sa.Laplacian, 2.0),
    ]


SEEDS = range(12)


def adopted(truth, output, rounds=12, prior=PRIOR):
    model, _ = learnt(*fresh_model(prior), stream(truth, rounds, seed=truth.seed))
    return Effects() if model.shapes is None else model.shapes[output].effects


def test_groups_that_differ_are_told_apart():
    found = [adopted(Truth(seed=seed, effect=0.6), output=0) for seed in SEEDS]
    assert all(effects.offset or effects.deviation for effects in found)


def test_groups_that_do_not_differ_are_hardly_ever_told_apart():
    found = [adopted(Truth(seed=seed), output) for seed in SEEDS for output in (0, 1)]
    assert sum(any(effects.present) for effects in found) <= 2


def test_effects_drawn_anew_are_not_taken_for_effects_that_stay():
    found = [adopted(Truth(seed=seed, effect=0.6, anew=True), output=0) for seed in SEEDS]
    assert sum(effects.fresh > 0.0 for effects in found) >= len(SEEDS) - 1


@pytest.mark.parametrize("again", [True, False])
def test_groups_that_come_back_unpicked_do_come_back(again):
    """In two rounds no group is picked twice: only where none came twice are their effects as good as drawn anew."""
    rng, truth, model, posterior = np.random.default_rng(0), Truth(effect=0.6), *fresh_model()
    for t, came, picked in ((1, "abcdef" if again else "abc", "abc"), (2, "abcdef" if again else "def", "def")):
        groups = np.repeat(list(came), 4)
        x = rng.uniform(size=(len(groups), 2))
        round = sa.Round(t=t, contexts=x, groups=groups, constraint=sa.Mean() >= 0.0, feasible=sa.AtMost(12))
        arms = np.flatnonzero(np.isin(groups, list(picked)))
        model, posterior = learnt(model, posterior, [(round, arms, truth.outcomes(round, arms, rng))])
    assert [shape.effects.fresh > 0.0 for shape in model.shapes] == [not again] * 2


@pytest.mark.parametrize("differ", [True, False])
def test_groups_that_differ_in_one_output_are_presumed_to_differ_in_the_other(differ):
    """Clicks are so noisy that they hardly tell; a reward that is sure of itself would leave groups untried."""
    judgement = Judgement.of(logged(Truth(), rounds=40), 0, LEARNING, np.random.default_rng(0), differ=differ)
    with_offset = Shape(base=SHAPE.base, noise=0.1, effects=Effects(offset=0.1))
    needed = {rival.effects.present: nats for rival, _, nats in judgement.rivals.effects(SHAPE, SHAPE, 1.0)}
    back = {rival.effects.present: nats for rival, _, nats in judgement.rivals.effects(with_offset, with_offset, 1.0)}
    assert needed[True, False, False] == needed[True, True, False] == (-2.0 if differ else 3.0)
    assert back[False, False, False] == (2.0 if differ else 0.0)
    assert needed[False, False, True] == 3.0


@pytest.mark.parametrize("effect", [0.6, 0.0])
def test_what_the_model_says_of_one_output_is_asked_of_the_other(effect, monkeypatch):
    asked, judge = [], Judgement.of

    def noted(log, output, *args, differ=False, **options):
        asked.append(differ)
        return judge(log, output, *args, differ=differ, **options)

    monkeypatch.setattr(Judgement, "of", noted)
    learnt(*fresh_model(PRIOR), stream(Truth(effect=effect), 12, seed=0))
    assert not asked[0]
    assert any(asked) == (effect > 0.0)


@pytest.mark.parametrize("returned", [True, False])
def test_groups_with_functions_of_their_own_keep_them_unless_much_speaks_against_it(returned):
    """Of groups that do not come back nobody can tell whether what they add would stay."""
    judgement = Judgement.of(logged(Truth(effect=0.5)), 0, LEARNING, np.random.default_rng(0), returned=returned)
    now = Shape(base=SHAPE.base, noise=0.1, effects=Effects(offset=0.1, deviation=0.1))
    needed = {rival.effects.present: nats for rival, _, nats in judgement.rivals.effects(now, now, 1.0)}
    assert needed[False, False, False] == needed[True, False, False] == 6.0
    assert needed[False, False, True] == (6.0 if returned else 2.0)


@pytest.mark.parametrize(("prior", "spread", "expected"), [(None, 5.0, 3.0), (None, 2.0, 2.0), (PRIOR, 5.0, 5.0)])
def test_without_a_prior_hyperparameters_stray_less(prior, spread, expected, monkeypatch):
    used, of = set(), Judgement.of

    def noted(log, output, learning, rng, **others):
        used.add(learning.spread)
        return of(log, output, learning, rng, **others)

    monkeypatch.setattr(Judgement, "of", staticmethod(noted))
    learnt(*fresh_model(prior), stream(Truth(), 3), LEARNING if spread == 5.0 else Learning(spread=spread))
    assert used == {expected}
