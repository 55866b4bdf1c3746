"""One slip must not ruin a run, and a truth that jumps is no slip."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import superarm as sa
from superarm.posteriors.learning import Learning
from superarm.posteriors.model import Model, slips
from superarm.posteriors.model.slips import FEW, GAP, far_out
from tests.posteriors.model.streams import Truth, arrived, fresh_model, learnt, stream

PRIOR = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=(0.1, 0.1))
PLACES = np.random.default_rng(1).uniform(size=(20, 2))


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.0, 7.0, 40.0, -300.0, 1e6]), min_size=9, max_size=14),
    st.integers(0, 2**14 - 1),
)
def test_far_out_is_the_largest_set_with_a_gap(values, judged):
    """A referee that tries every number of outermost values."""
    values = np.array(values)
    needed = np.where([judged >> i & 1 for i in range(len(values))], GAP, np.inf)
    away = np.abs(values - np.median(values))
    order, found = sorted(range(len(values)), key=lambda i: -away[i]), set()
    for many in range(1, len(values) - FEW + 1):
        among, rest = order[:many], max(away[i] for i in order[many:])
        if rest > 0.0 and all(away[i] > needed[i] * rest for i in among):
            found = set(among)
    assert set(np.flatnonzero(far_out(values, needed)).tolist()) == found


def slipped(data, t, output, value, row=3):
    """The same stream with an outcome in place of another."""
    for round, arms, values in data:
        if round.t == t:
            values = values.copy()
            values[row, output] = value
        yield round, arms, values


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["no prior", "prior"])
@pytest.mark.parametrize(("t", "output", "value"), [(2, 1, 90.0), (5, 0, -120.0), (5, 1, 1e70)])
def test_a_slip_is_as_if_it_had_not_come(prior, t, output, value):
    """Bit for bit, whatever its size: of 10 rounds of which one outcome is missing."""
    model, posterior = learnt(*fresh_model(prior), slipped(stream(Truth(), 10), t, output, value))
    missing, without = learnt(*fresh_model(prior), slipped(stream(Truth(), 10), t, output, np.nan))
    found, expected = posterior.predict(_points(model)), without.predict(_points(missing))
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.std, expected.std)
    assert (model.alarm, model.since) == (missing.alarm, missing.since)
    assert model.log.aside.sum() == 1
    told = [line for line in model.lines() if "set aside" in line]
    assert told == [
        f"after decision {t}, outcome {output + 1}: {value:.4g} of t = {t} lies far beyond all others; "
        "set aside until others agree"
    ]


def _points(model):
    return model.points(arrived(11, np.random.default_rng(3)))


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["no prior", "prior"])
def test_a_truth_that_jumps_counts_at_once(prior, monkeypatch):
    """All outcomes of a round are ten times those before: nothing is done that was not done without slips."""

    def jumps():
        for round, arms, values in stream(Truth(), 12):
            yield round, arms, values if round.t < 8 else 50.0 + 10.0 * values

    model, posterior = learnt(*fresh_model(prior), jumps())
    assert not model.log.aside.any()
    monkeypatch.setattr(slips, "GAP", np.inf)
    other, without = learnt(*fresh_model(prior), jumps())
    np.testing.assert_array_equal(posterior.predict(_points(model)).mean, without.predict(_points(other)).mean)


def single(t, place, group="a"):
    return sa.Round(t=t, contexts=PLACES[[place]], groups=[group], feasible=sa.AtMost(1))


def singles(values):
    """One outcome a round, of places and groups in turn."""
    for t, value in enumerate(values, start=1):
        yield single(t, t % 20, "abcd"[t % 4]), np.array([0]), np.array([[value, 0.1 * (t % 3)]])


def test_the_third_of_few_outcomes_far_out_says_that_they_count():
    usual = np.random.default_rng(0).normal(0.0, 1.0, 30).tolist()
    two, _ = learnt(*fresh_model(), singles([*usual, 100.0, *usual[:5], 130.0]))
    assert two.log.values[two.log.aside].tolist() == [100.0, 130.0]
    three, posterior = learnt(*fresh_model(), singles([*usual, 100.0, *usual[:5], 130.0, 110.0]))
    assert not three.log.aside.any()
    assert "outcome 1: others agree, so 2 outcomes that were set aside count again" in "; ".join(three.story)
    assert posterior.state.history.observations == 38
    apart, _ = learnt(*fresh_model(), singles([*usual, 100.0, *usual, 130.0, *usual, 110.0]))
    assert apart.log.aside.sum() == 3, "slips that lie far apart are slips"


def test_what_counts_again_is_learnt_where_nothing_else_is():
    """Where no hyperparameters are learnt, the posterior is that of all outcomes in whatever order."""
    usual = np.random.default_rng(0).normal(0.0, 1.0, 30).tolist()
    data = list(singles([*usual, 100.0, *usual[:5], 130.0, 110.0]))
    model, posterior = learnt(*fresh_model(PRIOR), data, Learning(schedule=()))
    contexts = np.concatenate([round.contexts for round, _, _ in data])
    together = PRIOR.condition(contexts, np.concatenate([values for _, _, values in data]))
    assert sum("set aside" in line for line in model.story) == 3
    np.testing.assert_allclose(posterior.predict(PLACES).mean, together.predict(PLACES).mean, rtol=1e-6)


@pytest.mark.parametrize(("many", "aside"), [(12, 0), (100, 1)])
def test_a_gap_among_few_is_nothing_rare(many, aside):
    """Six times as far out as all others: among twelve it counts; among a hundred it does not, and stays aside."""
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5, variance=0.01), noise_std=0.3)
    for later in ([], [2.5, 1.0]):
        data = singles([*np.linspace(-1.0, 1.0, many), 6.0, *later])
        model, _ = learnt(*fresh_model(prior), data, Learning(schedule=()))
        assert model.log.aside.sum() == aside


def test_what_was_thought_possible_counts():
    """Outcomes of one place say little of those of another, and the prior said so."""
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.1, variance=400.0), noise_std=0.1)
    for value, aside in ((60.0, 0), (600.0, 1)):
        usual = [(single(t, 0), [0], [[0.1 * (t % 5), 0.0]]) for t in range(1, 30)]
        model, _ = learnt(*fresh_model(prior), [*usual, (single(30, 1), [0], [[value, 0.0]])], Learning(schedule=()))
        assert model.log.aside.sum() == aside


@pytest.mark.parametrize(("second", "aside"), [(90.0, 0), (-90.0, 2)])
def test_an_outcome_that_comes_again_counts(second, aside):
    """An arm that is a hundred times as good as all others is as good in the second trial."""
    usual = np.random.default_rng(0).normal(0.0, 1.0, 30).tolist()
    model, _ = learnt(*fresh_model(), [*singles([*usual, 100.0]), (single(40, 11, "d"), [0], [[second, 0.0]])])
    assert (model.log.contexts[-1] == model.log.contexts[-2]).all()
    assert model.log.aside.sum() == aside


@pytest.mark.filterwarnings("ignore:.*set aside:superarm.errors.ModelWarning")
@pytest.mark.parametrize(
    ("kinds", "values", "noise", "aside"),
    [
        ((None, None), [100.0], None, 1),
        ((None, None), [100.0], 0.5, 0),  # whoever tells the noise knows the outcome
        (("binary", "normal"), [1.0], None, 0),
        (("count", "normal"), [16.0], None, 0),
        (("count", "normal"), [900.0], None, 1),
        ((None, None), [16.0], None, 0),
    ],
)
def test_what_is_never_set_aside(kinds, values, noise, aside):
    """Told noises, clicks, and counts that are not out of the way."""
    rng = np.random.default_rng(0)
    usual = np.zeros(40) if kinds[0] == "binary" else rng.poisson(0.4, 40)
    policy = sa.TCGPUCB(PRIOR, outcomes=kinds)
    for round, arms, outcome in singles(usual):
        policy.update(round, arms, outcome)
    policy.update(single(50, 3), [0], [[values[0], 0.0]], noise)
    assert policy.learner.model.log.aside.sum() == aside


@pytest.mark.filterwarnings("ignore:.*set aside:superarm.errors.ModelWarning")
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["no prior", "prior"])
def test_a_policy_goes_on_as_if_a_slip_had_not_come(prior, tmp_path):
    """The watch, too; and it is the same when it was saved, and in whatever order arms are listed."""
    policies = [sa.CautiousTCGPUCB(prior) for _ in range(3)]
    for round, arms, values in stream(Truth(), 8):
        turn, missing = np.random.default_rng(round.t).permutation(len(arms)), values.copy()
        if round.t == 4:
            values[3, 1], missing[3, 1] = -400.0, np.nan
        policies[0].update(round, arms, values)
        policies[1].update(round, arms, missing)
        policies[2].update(round, arms[turn], values[turn])
        if round.t in (4, 6):
            policies[2].save(tmp_path / f"{round.t}")
            policies[2] = sa.load(tmp_path / f"{round.t}")
    one, other, saved = policies
    points = _points(one.learner.model)
    np.testing.assert_array_equal(one.posterior.predict(points).mean, other.posterior.predict(points).mean)
    np.testing.assert_array_equal(one.posterior.predict(points).mean, saved.posterior.predict(points).mean)
    np.testing.assert_allclose(one.watch.evidence, other.watch.evidence, atol=1e-9)
    np.testing.assert_allclose(one.watch.evidence, saved.watch.evidence, atol=1e-9)
    assert "outcome 2: -400 of t = 4 lies far beyond all others" in str(one)
    assert str(one) == str(saved)


def test_what_is_set_aside_goes_with_what_is_forgotten():
    """A break forgets the slips before it."""
    model, _ = learnt(*fresh_model(), slipped(stream(Truth(), 6), 5, 1, 1e3))
    assert not model.log.since(1, 6).aside.any()
    assert model.log.since(0, 6).aside.sum() == 1
    assert len(model.log.since(1, 6).since(0, 6)) == 10
    assert isinstance(model, Model)


def test_a_slip_is_told_at_once_and_once():
    """A typing error is worth knowing of on the day that it is made."""
    policy = sa.TCGPUCB()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for round, arms, values in stream(Truth(), 5):
            policy.update(round, arms, values)
    rounds = list(slipped(stream(Truth(), 7), 6, 1, 300.0))
    with pytest.warns(UserWarning, match=r"outcome 2: 300 of t = 6 lies far beyond all others; set aside"):
        policy.update(*rounds[5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.update(*rounds[6])


@pytest.mark.parametrize("place", [0, 2099])
def test_a_slip_in_a_round_of_more_rows_than_are_kept_is_found(place):
    """All rows of the round teach the posterior, so all are judged."""
    policy, rng = sa.TCGPUCB(), np.random.default_rng(0)
    for t, arms in ((1, 30), (2, 30), (3, 2100)):
        round = sa.Round(t=t, contexts=np.sort(rng.uniform(size=(arms, 1)), axis=0), feasible=sa.AtMost(arms))
        values = np.hstack([round.contexts, 1.0 - round.contexts]) + rng.normal(0.0, 0.1, (arms, 2))
        if t < 3:
            policy.update(round, range(arms), values)
    values[place, 1] = 1e5
    with pytest.warns(UserWarning, match="outcome 2: 1e\\+05 of t = 3 lies far beyond all others"):
        policy.update(round, range(2100), values)
    asked = sa.Round(t=4, contexts=[[0.0], [0.5], [1.0]], feasible=sa.AtMost(1))
    np.testing.assert_allclose(policy.learner.belief(asked).mean[:, 1], [1.0, 0.5, 0.0], atol=0.1)
