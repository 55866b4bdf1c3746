"""A model that takes its shape from the data, alone and inside policies."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

import superarm as sa
from superarm.errors import InvalidArgument
from superarm.posteriors.learning import Learning
from superarm.posteriors.model import after, updates
from superarm.round import Outcomes
from tests.posteriors.model.streams import Truth, arrived, fresh_model, learnt, stream

PRIOR = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
PRIORS = {"no prior": None, "prior": PRIOR, "exact prior": sa.ExactPosterior(sa.Matern52(), noise_std=0.2)}
POLICIES = {"cautious": sa.CautiousTCGPUCB, "ucb": sa.TCGPUCB, "ts": sa.TCGPTS}
DIFFER = Truth(effect=1.0)


class Reference(Kernel):
    """A squared exponential and a constant for each group, as scikit-learn takes kernels."""

    def __init__(self, shape):
        self.shape = shape

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        base, effects = self.shape.base, self.shape.effects
        k = np.empty((len(X), len(Y)))
        for i, a in enumerate(X):
            for j, b in enumerate(Y):
                scaled = (a[:2] - b[:2]) / np.broadcast_to(base.lengthscale, 2)
                shared = base.variance * np.exp(-0.5 * np.sum(scaled**2))
                same = a[2] == b[2]
                k[i, j] = shared * (1.0 + effects.deviation * same) + effects.offset * same
        return k + self.shape.constant

    def diag(self, X):
        return np.diag(self(X))

    def is_stationary(self):
        return False


def test_with_effects_adopted_it_is_scikit_learns_process():
    data = list(stream(DIFFER, 6))
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
    model, posterior = learnt(*fresh_model(prior), data)
    x = np.concatenate([model.points(round)[arms] for round, arms, _ in data])
    y = np.concatenate([values for _, _, values in data])
    round = arrived(99, np.random.default_rng(5), groups=8)  # two labels are new
    at = model.points(round)
    belief = posterior.predict(at)
    compared = 0
    for j, shape in enumerate(model.shapes):
        if not isinstance(shape.base, sa.SquaredExponential) or shape.effects.fresh:
            continue
        compared += 1
        referee = GaussianProcessRegressor(Reference(shape), alpha=shape.noise**2, optimizer=None)
        mean, std = referee.fit(x, y[:, j] - shape.mean).predict(at, return_std=True)
        np.testing.assert_allclose(belief.mean[:, j], mean + shape.mean, atol=1e-5)
        np.testing.assert_allclose(belief.std[:, j], std, atol=1e-5)
    assert compared


def test_a_new_group_is_less_certain_than_known_ones_and_begins_at_what_all_share():
    model, posterior = learnt(*fresh_model(PRIOR), stream(DIFFER, 12))
    assert model.columns
    contexts = np.full((7, 2), 0.5)
    round = sa.Round(t=50, contexts=contexts, groups=list("abcdefz"), feasible=sa.AtMost(2))
    belief = posterior.predict(model.points(round))
    assert (belief.std[6] > 1.5 * belief.std[:6].max(axis=0)).all()
    assert (belief.mean[:6].min(axis=0) <= belief.mean[6]).all()
    assert (belief.mean[6] <= belief.mean[:6].max(axis=0)).all()


def drawn(kernel, seed, rounds=6):
    """Rounds, arms and outcomes of truths drawn from a process."""
    rng = np.random.default_rng(seed)
    arrivals = [arrived(t, rng) for t in range(1, rounds + 1)]
    x = np.concatenate([round.contexts for round in arrivals])
    truth = np.linalg.cholesky(kernel(x, x) + 1e-9 * np.eye(len(x))) @ rng.normal(size=(len(x), 2))
    for round, values in zip(arrivals, np.split(truth, rounds), strict=True):
        arms = np.sort(rng.choice(len(round), 8, replace=False))
        yield round, arms, values[arms] + rng.normal(0.0, 0.1, (8, 2))


def test_what_was_given_stays_where_it_is_right_and_only_there():
    """What is learnt is always a little better than the truth on the outcomes that it was learnt from."""
    changed = {}
    for truth in (0.5, 0.15):
        found = []
        for seed in range(12):
            model, posterior = learnt(*fresh_model(PRIOR), drawn(sa.SquaredExponential(lengthscale=truth), seed))
            found.append(model.shapes is not None or posterior.kernel != PRIOR.kernel)
        changed[truth] = sum(found)
    assert changed[0.5] <= 3
    assert changed[0.15] == 12


def test_labels_come_and_go():
    rng = np.random.default_rng(0)
    policy = sa.CautiousTCGPUCB(PRIOR)
    for t, labels in enumerate(["aabb", "ccdd", "aabb", "eeff", "abcd", "gggg", "aaab", "hhii"] * 2, start=1):
        contexts = rng.uniform(size=(4, 2))
        round = sa.Round(
            t=t, contexts=contexts, groups=list(labels), constraint=sa.Mean() >= -9.0, feasible=sa.AtMost(4)
        )
        selection = policy.select(round)
        policy.update(round, np.arange(4), rng.normal([ord(label) % 5 for label in labels], 0.1, (2, 4)).T)
        assert np.isfinite(selection.value)
    assert policy.learner.model.columns


@pytest.mark.parametrize("prior", ["no prior", "prior"])
def test_outcomes_far_from_0_and_of_another_scale_are_moved_to(prior):
    truth = Truth(mean=500.0, scale=100.0)
    model, posterior = learnt(*fresh_model(PRIORS[prior]), stream(truth, 8))
    rng = np.random.default_rng(9)
    round = arrived(100, rng)
    arms = np.arange(len(round))
    expected = Truth(mean=500.0, scale=100.0, noise=0.0).outcomes(round, arms, rng)
    belief = posterior.predict(model.points(round))
    error = belief.mean - expected
    assert np.sqrt(np.mean(error**2)) < 0.25 * expected.std()
    assert np.mean(np.abs(error) <= 3.0 * belief.std) > 0.95
    assert any("scale" in line for line in model.story)


@pytest.mark.parametrize(("scale", "mean"), [(1e-6, 0.0), (1e6, 0.0), (1.0, -1e4), (1e3, 1e6)])
def test_without_a_prior_units_do_not_matter(scale, mean):
    plain, moved = Truth(effect=0.5), Truth(effect=0.5, mean=mean, scale=scale)
    beliefs = []
    round = arrived(100, np.random.default_rng(9))
    for truth in (plain, moved):
        model, posterior = learnt(*fresh_model(), stream(truth, 6))
        belief = posterior.predict(model.points(round))
        beliefs.append((belief.mean - truth.mean) / truth.scale)
    assert np.sqrt(np.mean((beliefs[0] - beliefs[1]) ** 2)) < 0.05


def test_what_is_right_is_left_as_it_was_given():
    """While nothing is adopted the posterior is the given one, and its points are contexts."""
    model, posterior = learnt(*fresh_model(PRIOR), stream(Truth(), 1))
    assert model.shapes is None
    assert model.columns == 0
    by_itself = PRIOR
    for round, arms, values in stream(Truth(), 1):
        by_itself = by_itself.condition(round.contexts[arms], values)
    assert posterior.observations == by_itself.observations
    round = arrived(9, np.random.default_rng(0))
    assert model.points(round) is round.contexts


def in_parts(data, rng):
    """Every outcome by itself, arms of a round in any order, its two outcomes in different calls."""
    for round, arms, values in data:
        for i in rng.permutation(2 * len(arms)):
            arm, output = divmod(int(i), 2)
            part = np.full((1, 2), np.nan)
            part[0, output] = values[arm, output]
            yield round, arms[[arm]], part


@pytest.mark.parametrize("prior", ["no prior", "prior"])
def test_parts_count_as_the_decision_that_they_belong_to(prior, monkeypatch):
    refits = []
    data = list(stream(DIFFER, 6))
    inner = updates.refitted

    def counting(model, *arguments):
        refits.append(model.decisions)
        return inner(model, *arguments)

    monkeypatch.setattr(updates, "refitted", counting)
    whole, posterior = learnt(*fresh_model(PRIORS[prior]), data)
    at_once = list(refits)
    refits.clear()
    parts, later = learnt(*fresh_model(PRIORS[prior]), in_parts(data, np.random.default_rng(0)))
    assert whole.decisions == parts.decisions == 6
    assert at_once == [1, 2, 3, 4, 6]
    assert sorted(set(refits)) == at_once
    most = 1 + int(np.log2(2 * max(len(arms) for _, arms, _ in data)))
    assert max(map(refits.count, at_once)) <= most, "once more whenever the outcomes of the decision have doubled"
    points = whole.points(data[-1][0])
    ratio = later.predict(points).std / posterior.predict(points).std
    assert ((ratio > 0.6) & (ratio < 1.7)).all(), "what is believed in the end is nearly the same"
    assert whole.features.count == parts.features.count
    np.testing.assert_array_equal(whole.features.mean, parts.features.mean)
    assert len(whole.log.outcomes(0)) == len(parts.log.outcomes(0))


def test_the_same_decision_comes_back_after_others():
    first, second = stream(DIFFER, 2)
    model, _ = learnt(*fresh_model(PRIOR), [first, second, first, second])
    assert model.decisions == 2


@pytest.mark.parametrize("prior", PRIORS)
def test_the_order_of_arms_changes_no_bit(prior):
    data = list(stream(DIFFER, 6))
    rng = np.random.default_rng(3)
    turned = []
    for round, arms, values in data:
        order = rng.permutation(len(round))
        place = np.argsort(order)
        other = sa.Round(
            t=round.t,
            contexts=round.contexts[order],
            groups=np.asarray(round.groups)[order],
            constraint=sa.Mean() >= 0.0,
            feasible=round.feasible,
        )
        shuffled = rng.permutation(len(arms))
        turned.append((other, place[arms][shuffled], values[shuffled]))
    one, other = (learnt(*fresh_model(PRIORS[prior]), each) for each in (data, turned))
    at = arrived(50, rng)
    np.testing.assert_array_equal(one[1].predict(one[0].points(at)).mean, other[1].predict(other[0].points(at)).mean)
    np.testing.assert_array_equal(one[1].predict(one[0].points(at)).std, other[1].predict(other[0].points(at)).std)


STAGES = [0, 1, 2, 4, 7]


@pytest.mark.parametrize("truth", [DIFFER, Truth(mean=500.0, scale=100.0), Truth()], ids=["differ", "scale", "plain"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", POLICIES)
def test_saved_at_any_stage_and_continued_equals_never_stopped(kind, prior, truth, tmp_path):
    def played(stops):
        policy, rng, trace = POLICIES[kind](PRIORS[prior], seed=4), np.random.default_rng(1), []
        for t in range(1, 9):
            if t - 1 in stops:
                policy.save(tmp_path / "policy")
                policy = sa.load(tmp_path / "policy")
            round = arrived(t, rng, groups=3)
            selection = policy.select(round)
            again = policy.select(round)
            assert selection.arms.tolist() == again.arms.tolist()
            assert selection.value == again.value
            policy.update(round, selection.arms, truth.outcomes(round, selection.arms, rng))
            trace.append((selection.arms.tolist(), selection.value))
        return trace, repr(policy.posterior), repr(policy), str(policy)

    assert played(()) == played(STAGES)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", POLICIES)
def test_select_changes_nothing(kind, prior, tmp_path):
    policy, rng = POLICIES[kind](PRIORS[prior]), np.random.default_rng(0)
    for t in range(1, 5):
        round = arrived(t, rng)
        before = vars(policy.learner).copy()
        policy.select(round)
        policy.select(arrived(t, np.random.default_rng(t)))
        assert all(vars(policy.learner)[name] is value for name, value in before.items())
        arms = np.arange(0, 24, 3)
        policy.update(round, arms, DIFFER.outcomes(round, arms, rng))


@pytest.mark.parametrize("prior", ["no prior", "prior"])
def test_another_number_of_features_is_refused_by_name_and_changes_nothing(prior):
    policy, rng = sa.CautiousTCGPUCB(PRIORS[prior]), np.random.default_rng(0)
    for t in range(1, 4):
        round = arrived(t, rng)
        policy.update(round, np.arange(8), DIFFER.outcomes(round, np.arange(8), rng))
        before = vars(policy.learner).copy(), policy.ledger
        other = arrived(9, rng, dimension=3)
        with pytest.raises(InvalidArgument, match="contexts: expected 2 features, as in earlier rounds, got 3"):
            policy.select(other)
        with pytest.raises(InvalidArgument, match="contexts: expected 2 features, as in earlier rounds, got 3"):
            policy.update(other, [0], [[0.5, 0.5]])
        assert all(vars(policy.learner)[name] is value for name, value in before[0].items())
        assert policy.ledger is before[1]


@pytest.mark.parametrize("prior", ["no prior", "prior"])
@pytest.mark.parametrize("kind", POLICIES)
def test_no_outcome_one_arm_and_no_arm(kind, prior):
    policy = POLICIES[kind](PRIORS[prior])
    rng = np.random.default_rng(0)
    for width in (0, 1, 2):
        policy.select(sa.Round(t=1, contexts=np.empty((0, width)), groups=[], feasible=sa.AtMost(2)))
    nothing = sa.Round(t=1, contexts=np.empty((0, 2)), groups=[], constraint=sa.Mean() >= 0.0, feasible=sa.AtMost(2))
    assert not len(policy.select(nothing).arms)
    policy.update(nothing, [], np.empty((0, 2)))
    round = arrived(2, rng)
    policy.update(round, [0, 1], np.full((2, 2), np.nan))
    assert policy.learner.model.decisions == 0
    assert policy.posterior is PRIORS[prior]
    policy.update(round, [0], [[0.5, np.nan]])
    assert policy.learner.model.decisions == 1
    one = sa.Round(t=3, contexts=[[0.5, 0.5]], groups=["a"], constraint=sa.Mean() >= -50.0, feasible=sa.AtMost(2))
    for value in (0.5, 0.5, 0.4):
        policy.select(one)
        policy.update(one, [0], [[value, np.nan]])
    for width in (0, 1, 2, 5):
        empty = sa.Round(t=4, contexts=np.empty((0, width)), groups=[], feasible=sa.AtMost(2))
        policy.update(empty, policy.select(empty).arms, np.empty((0, 2)))
    assert np.isfinite(policy.select(one).value)


@pytest.mark.filterwarnings("ignore:hyperparameters were learnt up to a limit")
@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-100, 1e30, 1e70])
@pytest.mark.parametrize("prior", ["no prior", "prior"])
def test_outcomes_of_any_size_leave_no_policy_stuck(prior, size, alike):
    policy, rng = sa.TCGPUCB(PRIORS[prior]), np.random.default_rng(0)
    for t in range(1, 8):
        round = arrived(t, rng)
        selection = policy.select(round)
        policy.update(round, np.arange(8), size * (1.0 if alike else rng.uniform(-1.0, 1.0, (8, 2))) * np.ones((8, 2)))
        assert np.isfinite(selection.value)
    assert policy.learner.model.decisions == 7


@pytest.mark.parametrize("size", [1e-308, 1e-160, 1e160, 1e308])
def test_features_of_any_size_leave_no_policy_stuck(size):
    policy, rng = sa.TCGPUCB(), np.random.default_rng(0)
    for t in range(1, 8):
        round = sa.Round(
            t=t, contexts=size * rng.uniform(-1, 1, (12, 2)), groups=np.arange(12) % 3, feasible=sa.AtMost(4)
        )
        selection = policy.select(round)
        policy.update(round, np.arange(8), rng.normal(size=(8, 2)))
        assert np.isfinite(selection.value)


def test_the_schedule_is_the_users():
    model, _ = fresh_model()
    posterior = None
    seen = []
    for round, arms, values in stream(DIFFER, 6):
        observed = Outcomes.of(round, arms, values)
        model, posterior = after(model, posterior, round, observed, Learning(schedule=(4,)), 0)
        seen.append(model.shapes)
    assert seen[0] is seen[1] is seen[2], "the first outcomes set the scale"
    assert seen[3] is not seen[2]
    assert seen[5] is seen[3]


def test_a_posterior_of_ones_own_stays_what_it_is():
    class Own:
        def predict(self, contexts):
            return PRIOR.predict(contexts)

        def condition(self, contexts, values):
            return self

    own = Own()
    policy = sa.TCGPUCB(own)
    [(round, arms, values)] = stream(Truth(), 1)
    policy.update(round, arms, values)
    assert policy.posterior is own
    assert policy.learner.model is None


def test_nothing_to_keep_is_refused():
    for policy in POLICIES.values():
        with pytest.raises(
            InvalidArgument, match="posterior: expected a posterior, because learn=False keeps what you gave"
        ):
            policy(learn=False)


def test_a_policy_prints_what_it_adopted():
    policy = sa.CautiousTCGPUCB()
    assert "no prior, and no outcomes yet" in str(policy)
    for round, arms, values in stream(DIFFER, 6):
        policy.update(round, arms, values)
    printed = str(policy)
    assert printed.startswith("CautiousTCGPUCB\n  decisions with outcomes: 6; rows of outcomes: 60\n")
    assert "every group adds" in printed
    assert "noise" in printed
    assert len(repr(policy)) < 300
    fixed = sa.TCGPUCB(PRIOR, learn=False)
    assert "learn=False" in str(fixed)
    assert repr(PRIOR) in str(fixed)


@pytest.mark.parametrize("until", [0, 4, 99])
def test_a_feature_that_was_0_or_1_may_become_graded(until, tmp_path):
    policy, rng = sa.TCGPUCB(), np.random.default_rng(0)
    for t in range(1, 9):
        x = rng.uniform(size=(12, 2))
        x[:, 1] = np.round(x[:, 1]) if t < until else x[:, 1]
        round = sa.Round(t=t, contexts=x, groups=np.arange(12) % 3, constraint=sa.Mean() >= -1.0, feasible=sa.AtMost(8))
        policy.select(round)
        values = np.column_stack([np.sin(3 * x[:, 0]) + x[:, 1], x[:, 1] - x[:, 0]])
        policy.update(round, np.arange(12), values + rng.normal(0, 0.05, (12, 2)))
    policy.save(tmp_path / "policy")
    assert repr(sa.load(tmp_path / "policy").posterior) == repr(policy.posterior)
    assert str(sa.load(tmp_path / "policy")) == str(policy)
    belief = policy.posterior.predict(policy.learner.model.points(round))
    assert np.abs(belief.mean - values).max() < 0.25
