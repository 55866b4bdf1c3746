"""Truths that change: from one round to the next, or bit by bit."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

import superarm as sa
from superarm.errors import ModelWarning
from superarm.posteriors.model import log as log_module
from superarm.posteriors.model import updates
from superarm.posteriors.model.breaks import LOUDEST, RINGS, Alarm
from superarm.posteriors.posterior import Belief
from superarm.storage.files import to_bytes
from tests.posteriors.model.streams import Truth, arrived, fresh_model, learnt, stream

PRIOR = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
PRIORS = {"no prior": None, "prior": PRIOR}
STILL = Truth()


def truth(x, angle):
    """Two smooth functions that have become two others at an angle of pi / 2."""
    before = np.column_stack([np.sin(4 * x[:, 0]) + x[:, 1], np.cos(3 * x[:, 1]) - x[:, 0]])
    after = np.column_stack([np.cos(4 * x[:, 1]) - x[:, 0], np.sin(3 * x[:, 0]) - 1.5 * x[:, 1]])
    return np.cos(angle) * before + np.sin(angle) * after


def moving(angles, seed=0, picked=10, noise=0.1):
    """Rounds, arms and outcomes of both outputs, of which each is at its angle, (rounds, 2), in a round."""
    rng = np.random.default_rng(seed)
    for t, pair in enumerate(angles, start=1):
        round = arrived(t, rng)
        arms = np.sort(rng.choice(len(round), picked, replace=False))
        values = np.column_stack([truth(round.contexts[arms], angle)[:, j] for j, angle in enumerate(pair)])
        yield round, arms, values + rng.normal(0.0, noise, values.shape)


def broken(rounds, at, outputs=(True, True)):
    """Angles of truths that break before round ``at``."""
    late = np.arange(1, rounds + 1)[:, None] >= at
    return np.where(late & np.array(outputs), np.pi / 2, 0.0)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_a_break_is_seen_at_once_and_what_came_before_is_forgotten(prior):
    data = list(moving(broken(14, 13)))
    model, posterior = learnt(*fresh_model(prior), data[:12])
    assert model.since == (0, 0)
    told = model.story
    model, posterior = learnt(model, posterior, data[12:13])
    assert model.since == (13, 13)
    assert [line for line in model.story if line not in told] == [
        f"after decision 13, outcome {j}: broke at t = 13 ({nats} nats); what came before is forgotten"
        for j, nats in ((1, model.story[-2].split("(")[1].split()[0]), (2, model.story[-1].split("(")[1].split()[0]))
    ]
    (round, arms, values) = data[12]
    assert posterior.observations == len(arms)
    alone = sa.GaussianProcess(posterior.kernel, posterior.noise_std, mean=posterior.state.mean)
    alone = alone.condition(model.points(round)[arms], values)
    at = model.points(data[13][0])
    np.testing.assert_allclose(posterior.predict(at).mean, alone.predict(at).mean, atol=1e-9)
    np.testing.assert_allclose(posterior.predict(at).std, alone.predict(at).std, atol=1e-9)


def test_only_the_output_that_broke_forgets():
    model, posterior = learnt(*fresh_model(PRIOR), moving(broken(13, 13, (False, True))))
    assert model.since == (0, 13)
    assert posterior.state.history.seen(0) == 130
    assert posterior.state.history.seen(1) == 10


def test_outcomes_that_come_late_from_before_a_break_say_nothing():
    data = list(moving(broken(13, 13, (False, True))))
    late = data.pop(11)
    model, posterior = learnt(*fresh_model(PRIOR), data)
    after, with_late = learnt(model, posterior, [late])
    assert with_late.state.history.seen(1) == posterior.state.history.seen(1)
    assert with_late.state.history.seen(0) == posterior.state.history.seen(0) + 10
    assert after.log.total == model.log.total + 10
    both, same = learnt(*learnt(*fresh_model(PRIOR), moving(broken(13, 13))), [late])
    assert both.since == (13, 13)
    assert same.observations == 10


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_a_truth_that_stands_still_is_not_taken_for_one_that_moves(prior):
    for seed in range(3):
        model, _ = learnt(*fresh_model(prior), stream(Truth(seed=seed, effect=0.5 * (seed % 2)), 16))
        assert model.since == (0, 0)
        assert not model.drifts


def test_one_outcome_far_out_is_no_break():
    data = list(stream(STILL, 14))
    data[12][2][3] += 20 * STILL.noise
    model, _ = learnt(*fresh_model(PRIOR), data)
    assert model.since == (0, 0)


def test_a_few_noisy_outcomes_are_no_break():
    """Of a few rows little noise was learnt, and the next ones are far out; a federated round was such a case."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        data = [(arrived(t, rng), np.arange(3), rng.normal(0.1, 0.02, (3, 2))) for t in range(1, 10)]
        model, _ = learnt(*fresh_model(None), data)
        assert model.since == (0, 0)


class Reference(Kernel):
    """A squared exponential times a memory, as scikit-learn takes kernels."""

    def __init__(self, shape):
        self.shape = shape

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        base, k = self.shape.base, np.empty((len(X), len(Y)))
        for i, a in enumerate(X):
            for j, b in enumerate(Y):
                scaled = (a[:2] - b[:2]) / np.broadcast_to(base.lengthscale, 2)
                age = abs(a[3] - b[3]) / self.shape.memory
                fading = np.exp(-0.5 * age**2 if self.shape.even else -age)
                k[i, j] = base.variance * np.exp(-0.5 * np.sum(scaled**2)) * fading
        return k + self.shape.constant

    def diag(self, X):
        return np.diag(self(X))

    def is_stationary(self):
        return False


def turning(rounds, rate=0.03):
    return np.repeat(rate * np.arange(1, rounds + 1)[:, None], 2, axis=1)


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_a_truth_that_turns_is_seen_and_told(prior):
    model, posterior = learnt(*fresh_model(prior), moving(turning(16, 0.05)))
    assert model.drifts
    assert any("the truth changes from round to round" in line for line in model.story)
    assert any("a memory of" in line for line in model.lines())
    rng = np.random.default_rng(9)
    near, far = arrived(25, rng), arrived(500, rng)
    drifts = [j for j, shape in enumerate(model.shapes) if shape.memory]
    now, later = (posterior.predict(model.points(round)).std[:, drifts] for round in (near, far))
    assert (later.mean(axis=0) > 1.5 * now.mean(axis=0)).all(), "what is known now is not known for ever"


def test_with_a_memory_it_is_scikit_learns_process():
    data = list(moving(turning(16, 0.05)))
    model, posterior = learnt(*fresh_model(PRIOR), data)
    x, seen = model.log.points(2), model.log.present
    at = model.points(arrived(25, np.random.default_rng(5)))
    belief, compared = posterior.predict(at), 0
    for j, shape in enumerate(model.shapes):
        if not shape.memory or any(shape.effects.present) or not isinstance(shape.base, sa.SquaredExponential):
            continue
        compared += 1
        referee = GaussianProcessRegressor(Reference(shape), alpha=shape.noise**2, optimizer=None)
        mean, std = referee.fit(x[seen[:, j]], model.log.outcomes(j) - shape.mean).predict(at, return_std=True)
        np.testing.assert_allclose(belief.mean[:, j], mean + shape.mean, atol=1e-5)
        np.testing.assert_allclose(belief.std[:, j], std, atol=1e-5)
    assert compared


def test_beyond_the_most_rows_the_latest_half_is_kept(monkeypatch):
    for module in (log_module, updates):
        monkeypatch.setattr(module, "MOST", 200)
    model, posterior = learnt(*fresh_model(PRIOR), moving(turning(30)))
    assert model.drifts
    assert len(model.log) == 200
    assert 100 <= posterior.observations <= 200
    assert posterior.form.startswith("exact")


def test_a_break_is_seen_where_old_rows_are_no_longer_kept(monkeypatch):
    for module in (log_module, updates):
        monkeypatch.setattr(module, "MOST", 200)
    model, posterior = learnt(*fresh_model(PRIOR), moving(broken(26, 25)))
    assert model.since == (25, 25)
    assert posterior.observations == 20


@pytest.mark.parametrize(("cls", "angles"), [(sa.CautiousTCGPUCB, broken(14, 9)), (sa.TCGPUCB, turning(12, 0.08))])
def test_saved_and_loaded_in_the_midst_it_goes_on_with_the_same_bits(cls, angles, tmp_path):
    one, other = cls(PRIOR, seed=3), cls(PRIOR, seed=3)
    rng = np.random.default_rng(0)
    for t, angle in enumerate(angles, start=1):
        round = arrived(t, rng)
        arms, same = one.select(round).arms, other.select(round).arms
        np.testing.assert_array_equal(arms, same)
        values = np.column_stack([truth(round.contexts, a)[:, j] for j, a in enumerate(angle)])
        seen = (values + rng.normal(0.0, 0.1, values.shape))[arms]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            for policy in (one, other):
                policy.update(round, arms, seen)
        other.save(tmp_path / "policy")
        other = sa.load(tmp_path / "policy")
    a, b = (policy.learner.belief(round) for policy in (one, other))
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_array_equal(a.std, b.std)
    assert one.learner.model.story == other.learner.model.story
    assert one.learner.model.drifts or max(one.learner.model.since), "there was something to keep"


def test_the_order_of_arms_changes_nothing():
    model, posterior = learnt(*fresh_model(PRIOR), moving(broken(14, 13)))
    data = [(round, arms[::-1], values[::-1]) for round, arms, values in moving(broken(14, 13))]
    other, same = learnt(*fresh_model(PRIOR), data)
    at = model.points(arrived(20, np.random.default_rng(1)))
    np.testing.assert_array_equal(posterior.predict(at).mean, same.predict(at).mean)
    assert other.story == model.story


def test_the_alarm_rings_for_residuals_too_large_and_not_for_others():
    rng, alarm, rang = np.random.default_rng(0), Alarm(), 0
    belief = Belief(mean=np.zeros((10, 2)), std=np.full((10, 2), 0.6))
    for _ in range(200):
        alarm = alarm.after(belief, (0.8, 0.8), rng.normal(size=(10, 2)))
        rang += alarm.rings
        alarm = Alarm() if alarm.rings else alarm
    assert rang < 10, "to look costs time"
    for _ in range(8):
        alarm = alarm.after(belief, (0.8, 0.8), rng.normal(0.0, [1.0, 2.0], (10, 2)))
    assert (alarm.rings_for(0), alarm.rings_for(1)) == (False, True)
    vain = alarm.answered(found=False)
    assert vain == Alarm(needed=2 * RINGS)
    for _ in range(9):
        vain = vain.answered(found=False)
    assert vain.needed == LOUDEST
    assert vain.answered(found=True) == Alarm()


def test_missing_outcomes_say_nothing_to_the_alarm():
    belief = Belief(mean=np.zeros((3, 2)), std=np.ones((3, 2)))
    assert Alarm().after(belief, (1.0, 1.0), np.full((3, 2), np.nan)) == Alarm()


def test_a_user_is_told_once():
    policy, told = sa.TCGPUCB(PRIOR), []
    for round, arms, values in moving(broken(16, 13)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            policy.update(round, arms, values)
        told += [(round.t, str(each.message)) for each in caught if each.category is ModelWarning]
    assert [t for t, _ in told] == [13]
    assert "outcome 1: broke at t = 13" in told[0][1]
    assert "outcome 2: broke at t = 13" in told[0][1]
    assert "broke at t = 13" in str(policy)


def test_where_a_warning_is_an_error_nothing_changes():
    policy, data = sa.TCGPUCB(PRIOR), list(moving(broken(13, 13)))
    for round, arms, values in data[:-1]:
        policy.update(round, arms, values)
    before = to_bytes(policy)
    with pytest.raises(ModelWarning):
        policy.update(*data[-1])
    assert to_bytes(policy) == before
