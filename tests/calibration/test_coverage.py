import math
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import superarm as sa
from superarm.calibration import Finding
from superarm.errors import InvalidArgument

NOISE = 0.1
KERNEL = sa.SquaredExponential(lengthscale=0.2)
PRIOR = sa.ExactPosterior(KERNEL, noise_std=NOISE)


def log_of(seed, *, rounds=60, arms=6, noise=NOISE):
    """Truths drawn from the prior, and what a learner would have noted of them."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(rounds * arms, 1))
    truth = PRIOR.sample(x, 1, seed=seed)[0]
    y = truth + rng.normal(0, noise, truth.shape)
    return [(x[i : i + arms], y[i : i + arms]) for i in range(0, len(x), arms)]


class Halved:
    """A posterior that claims half of its std."""

    def __init__(self, inner):
        self.inner = inner
        self.noise_std = tuple(0.5 * std for std in inner.noise_std)

    def predict(self, contexts):
        belief = self.inner.predict(contexts)
        return sa.Belief(mean=belief.mean, std=0.5 * belief.std)

    def condition(self, contexts, outcomes):
        return Halved(self.inner.condition(contexts, outcomes))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    noise=st.sampled_from([0.0, 0.3, (0.1, 2.0)]),
)
def test_counts_are_those_of_plain_python(seed, sizes, noise):
    rng = np.random.default_rng(seed)
    beliefs = [sa.Belief(mean=rng.normal(size=(k, 2)), std=rng.uniform(0, 2, (k, 2))) for k in sizes]
    outcomes = [np.where(rng.uniform(size=(k, 2)) < 0.2, np.nan, rng.normal(0, 2, (k, 2))) for k in sizes]
    frame = sa.calibration.coverage(beliefs, outcomes, noise_std=noise)
    assert frame.height == len(sizes) * 2 * len(sa.calibration.LEVELS)
    for row in frame.iter_rows(named=True):
        belief, came = beliefs[row["round"] - 1], outcomes[row["round"] - 1]
        j = row["output"] - 1
        z = NormalDist().inv_cdf((1 + row["level"]) / 2)
        seen = inside = 0
        for k in range(len(came)):
            if not math.isnan(came[k, j]):
                seen += 1
                std = math.hypot(belief.std[k, j], np.broadcast_to(noise, 2)[j])
                inside += abs(came[k, j] - belief.mean[k, j]) <= z * std
        assert (row["seen"], row["covered"]) == (seen, inside)


def test_a_selection_brings_its_belief():
    policy = sa.TCGPUCB(PRIOR)
    round = sa.Round(t=1, contexts=np.linspace(0, 1, 5)[:, None], feasible=sa.AtMost(2))
    selection = policy.select(round)
    one = sa.calibration.coverage([selection], [np.zeros((2, 2))], noise_std=NOISE)
    other = sa.calibration.coverage([selection.belief], [np.zeros((2, 2))], noise_std=NOISE)
    assert one.equals(other)
    blind = sa.Uniform().select(round)
    with pytest.raises(InvalidArgument, match=r"beliefs: .*a selection without one"):
        sa.calibration.coverage([blind], [np.zeros((2, 2))], noise_std=NOISE)


def test_a_replay_predicts_before_it_sees():
    log = log_of(0, rounds=5)
    by_hand, posterior = [], PRIOR
    for contexts, outcomes in log:
        by_hand.append(posterior.predict(contexts))
        posterior = posterior.condition(contexts, outcomes)
    expected = sa.calibration.coverage(by_hand, [outcomes for _, outcomes in log], noise_std=NOISE)
    assert sa.calibration.replay(PRIOR, log).equals(expected)
    assert sa.calibration.replay(PRIOR, iter(log), noise_std=NOISE).equals(expected)


@pytest.mark.parametrize("seed", range(5))
def test_an_honest_posterior_passes(seed):
    for verdict in sa.calibration.verdicts(sa.calibration.replay(PRIOR, log_of(seed))):
        assert verdict.finding is Finding.HONEST, str(verdict)


@pytest.mark.parametrize(
    "prior",
    [
        Halved(PRIOR),
        sa.ExactPosterior(KERNEL, noise_std=NOISE / 3),
        sa.ExactPosterior(sa.SquaredExponential(lengthscale=2.0), noise_std=NOISE),
    ],
    ids=["std halved", "noise too small", "lengthscale ten times too long"],
)
@pytest.mark.parametrize("seed", range(3))
def test_overconfidence_is_called_out(prior, seed):
    for verdict in sa.calibration.verdicts(sa.calibration.replay(prior, log_of(seed))):
        assert verdict.finding is Finding.OVERCONFIDENT, str(verdict)
        assert verdict.observed < verdict.expected
        assert "overconfident" in str(verdict)
        assert "noise_std" in str(verdict)


def test_too_much_noise_is_called_out_in_its_direction():
    prior = sa.ExactPosterior(KERNEL, noise_std=3 * NOISE)
    for verdict in sa.calibration.verdicts(sa.calibration.replay(prior, log_of(1, rounds=150))):
        assert verdict.finding is Finding.UNDERCONFIDENT, str(verdict)


def test_a_wrong_output_does_not_spoil_the_other():
    log = [(x, y + np.array([0.0, 5.0]) * (-1) ** i) for i, (x, y) in enumerate(log_of(2))]
    first, second = sa.calibration.verdicts(sa.calibration.replay(PRIOR, log))
    assert (first.finding, second.finding) == (Finding.HONEST, Finding.OVERCONFIDENT)


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_few_rounds_are_too_few_however_many_arms(rounds):
    frame = sa.calibration.replay(PRIOR, log_of(3, rounds=rounds, arms=40) if rounds else [])
    for verdict in sa.calibration.verdicts(frame):
        assert verdict.finding is Finding.TOO_FEW_TO_TELL
        assert "too few" in str(verdict)


def test_arms_that_err_together_prove_nothing():
    """Forty copies of one outcome in each of eight rounds are eight outcomes, not 320."""
    rng = np.random.default_rng(0)
    called = 0
    for _ in range(300):
        drawn = rng.normal(size=(8, 1, 2))
        beliefs = [sa.Belief(mean=np.zeros((40, 2)), std=np.ones((40, 2)))] * 8
        frame = sa.calibration.coverage(beliefs, list(np.repeat(drawn, 40, axis=1)), noise_std=0.0)
        called += sum(v.finding is Finding.OVERCONFIDENT for v in sa.calibration.verdicts(frame))
    assert called <= 12  # of 600, at 1 % each at most


def test_outcomes_that_never_came_are_no_misses():
    log = log_of(4)
    gaps = [
        (x, np.where(np.random.default_rng(i).uniform(size=y.shape) < 0.5, np.nan, y)) for i, (x, y) in enumerate(log)
    ]
    gaps[0] = (gaps[0][0], np.full_like(gaps[0][1], np.nan))
    frame = sa.calibration.replay(PRIOR, gaps)
    assert frame.filter(pl.col("round") == 1)["seen"].sum() == 0
    for verdict in sa.calibration.verdicts(frame):
        assert verdict.finding is Finding.HONEST
        assert verdict.units == len(log) - 1


def test_bad_input_is_named():
    belief = sa.Belief(mean=np.zeros((2, 2)), std=np.ones((2, 2)))
    ask = sa.calibration.coverage
    with pytest.raises(InvalidArgument, match=r"outcomes: .*shape"):
        ask([belief], [np.zeros((3, 2))], noise_std=0.1)
    with pytest.raises(InvalidArgument, match=r"outcomes: .*each of the 1 beliefs"):
        ask([belief], [], noise_std=0.1)
    with pytest.raises(InvalidArgument, match="levels"):
        ask([belief], [np.zeros((2, 2))], noise_std=0.1, levels=[0.5, 1.0])
    for bad in (-0.1, [0.1], np.nan, "x"):
        with pytest.raises(InvalidArgument, match="noise_std"):
            ask([belief], [np.zeros((2, 2))], noise_std=bad)
    with pytest.raises(InvalidArgument, match="prior"):
        sa.calibration.replay(object(), [])

    class Silent:
        def predict(self, contexts): ...

        def condition(self, contexts, outcomes): ...

    with pytest.raises(InvalidArgument, match=r"noise_std: .*states no noise_std"):
        sa.calibration.replay(Silent(), [])
