"""Off-policy estimates: unbiased by enumeration, intervals by SciPy, coverage by simulation, and refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import superarm as sa
from superarm.calibration import kept
from superarm.errors import InvalidArgument, NoEstimate
from superarm.logs.estimate import _unskewed, mean_and_interval, share_and_interval
from superarm.logs.turns import Turn, promise_terms, reward_terms
from tests.logs import shop_logs
from tests.logs.coverage import held
from tests.logs.worlds import ARMS, MODEL, WORLDS, World, any_of, best, leaning

UNIFORM = WORLDS["uniform"]
numbers = st.floats(-3.0, 3.0, width=32)


def indicator(size, arms):
    found = np.zeros(size)
    found[list(arms)] = 1.0
    return found


@given(
    outcomes=st.lists(st.tuples(numbers, numbers), min_size=5, max_size=5),
    model=st.none() | st.lists(numbers, min_size=5, max_size=5),
    wanted=st.sets(st.integers(0, 4)),
    k=st.integers(1, 4),
)
def test_rewards_are_unbiased_whatever_the_model(outcomes, model, wanted, k):
    """The mean over all sets that a uniform log may hold is the sum over what the policy picks."""
    outcomes = np.array(outcomes)
    round = sa.Round(t=1, contexts=np.zeros((5, 1)), groups=list("aabbb"), feasible=sa.AtMost(k))
    sets = list(itertools.combinations(range(5), k))
    total = np.zeros(2)
    weights = np.zeros(2)
    for arms in map(list, sets):
        entry = sa.LogEntry(round=round, arms=arms, outcomes=outcomes[arms], probabilities=np.full(k, k / 5))
        turn = Turn(entry=entry, arms=np.array(sorted(wanted), dtype=int), chances=indicator(5, wanted), draws=False)
        terms = reward_terms(turn, None if model is None else np.array(model), None)
        total += terms.values
        weights += terms.weights
        np.testing.assert_array_equal(terms.wanted, [len(wanted & {0, 1}), len(wanted & {2, 3, 4})])
    truth = [sum(outcomes[arm, 0] for arm in wanted & group) for group in ({0, 1}, {2, 3, 4})]
    np.testing.assert_allclose(total / len(sets), truth, atol=1e-9)
    np.testing.assert_allclose(weights / len(sets), terms.wanted, atol=1e-9)


@given(p=st.lists(st.floats(0.1, 0.9), min_size=4, max_size=4), wanted=st.sets(st.integers(0, 3)))
def test_kept_promises_are_unbiased(p, wanted):
    """The mean over all sets of a log that draws every arm by itself."""
    p, second = np.array(p), np.array([0.2, 0.4, 0.1, 0.9])
    round = sa.Round(
        t=1, contexts=np.zeros((4, 1)), groups=list("aabb"), constraint=sa.Sum() <= 0.5, feasible=sa.AtMost()
    )
    outcomes = np.column_stack([np.zeros(4), second])
    truth = kept(round, sorted(wanted), outcomes[sorted(wanted)])
    total, weights = np.zeros(2), np.zeros(2)
    for size in range(5):
        for arms in map(list, itertools.combinations(range(4), size)):
            chances = np.where(indicator(4, arms) > 0, p, 1.0 - p)
            parts = {label: chances[i : i + 2].prod() for label, i in (("a", 0), ("b", 2)) if {i, i + 1} & set(arms)}
            entry = sa.LogEntry(
                round=round, arms=arms, outcomes=outcomes[arms], probabilities=p, part_probabilities=parts
            )
            turn = Turn(
                entry=entry, arms=np.array(sorted(wanted), dtype=int), chances=indicator(4, wanted), draws=False
            )
            terms = promise_terms(turn, kept(round, arms, entry.outcomes))
            total += chances.prod() * terms.values
            weights += chances.prod() * terms.weights
    np.testing.assert_allclose(total, [truth.get("a", False), truth.get("b", False)], atol=1e-9)
    np.testing.assert_allclose(weights, ["a" in truth, "b" in truth], atol=1e-9)


def test_the_interval_of_a_mean_is_students():
    values = np.random.default_rng(0).exponential(size=40)
    found = mean_and_interval(values, np.ones(40), level=0.9, method="")
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    np.testing.assert_allclose((found.low, found.high), theirs)
    assert found.effective_rounds == pytest.approx(40.0)


@given(st.floats(-4.0, 4.0), st.floats(-30.0, 30.0), st.integers(20, 10_000))
def test_the_interval_of_skewed_values_is_halls(quantile, skewness, rounds):
    t, a = _unskewed(quantile, skewness, rounds), skewness / (3.0 * math.sqrt(rounds))
    assert t + a * t**2 + a**2 * t**3 / 3.0 + a / 2.0 == pytest.approx(quantile, abs=1e-6)
    assert _unskewed(quantile + 0.01, skewness, rounds) > t


def test_rare_clicks_with_unequal_weights_are_not_missed_from_below():
    rng, clicks = np.random.default_rng(0), 0.02
    logs = rng.lognormal(-0.5, 1.0, (1000, 1000)) * (rng.uniform(size=(1000, 1000)) < clicks)
    halls = [mean_and_interval(values, values, level=0.95, method="", skewed=True) for values in logs]
    students = [mean_and_interval(values, values, level=0.95, method="") for values in logs]
    assert np.mean([each.low <= clicks <= each.high for each in halls]) > 0.925
    assert np.mean([each.low <= clicks <= each.high for each in students]) < 0.9
    mirrored = mean_and_interval(-logs[0], logs[0], level=0.95, method="", skewed=True)
    assert (mirrored.low, mirrored.high) == pytest.approx((-halls[0].high, -halls[0].low))


def test_the_interval_of_a_share_is_wilsons():
    """Its ends are where a share of that size would be just as far away as the quantile says."""
    flags = (np.arange(200) % 5 > 0).astype(float)
    found = share_and_interval(flags, np.ones(200), trials=200.0, level=0.95, method="")
    theirs = stats.binomtest(160, 200).proportion_ci(method="wilson")
    np.testing.assert_allclose((found.low, found.high), theirs, atol=2e-3)  # a quantile of t beside one of z
    certain = share_and_interval(np.ones(30), np.ones(30), trials=30.0, level=0.95, method="")
    assert certain.mean == certain.high == 1.0
    assert 0.8 < certain.low < 0.9


def test_a_policy_on_its_own_log_earned_what_it_earned():
    chooser, rng, log = sa.Uniform(seed=1), np.random.default_rng(0), []
    for t in range(1, 41):
        round = sa.Round(t=t, contexts=rng.uniform(size=(6, 1)), feasible=sa.AtMost(2))
        arms = chooser.select(round).arms
        known = chooser.probabilities(round, arms)
        log.append(sa.LogEntry(round=round, arms=arms, outcomes=rng.normal(size=(2, 2)), probabilities=known))
    found = sa.replay(chooser, log).value(method="inverse propensity")
    assert found.mean == pytest.approx(np.mean([entry.outcomes[:, 0].sum() for entry in log]))
    assert found.effective_rounds == pytest.approx(40.0)


def test_a_policy_learns_the_log_as_it_goes_or_not_at_all():
    log = UNIFORM.log(30, seed=0)
    learnt, by_hand, kept_as_it_was = sa.CUCB(), sa.CUCB(), sa.CUCB()
    replayed = sa.replay(learnt, log)
    for turn in replayed.turns:
        assert turn.arms.tolist() == by_hand.select(turn.entry.round).arms.tolist()
        by_hand.update(turn.entry.round, turn.entry.arms, turn.entry.outcomes)
    sa.replay(kept_as_it_was, log, learn=False)
    assert sa.wire.policy_to_bytes(learnt) == sa.wire.policy_to_bytes(by_hand)
    assert sa.wire.policy_to_bytes(kept_as_it_was) == sa.wire.policy_to_bytes(sa.CUCB())
    shared = [len(set(turn.arms) & set(turn.entry.arms)) for turn in replayed.turns]
    assert replayed.frame()["shared"].to_list() == shared


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_model_of_a_round_has_not_seen_it(seed):
    """Another outcome in the last round changes what that round adds, and nothing before."""
    log = UNIFORM.log(25, seed=seed)
    last = log[-1]
    other = sa.LogEntry(
        round=last.round, arms=last.arms, outcomes=last.outcomes + 5.0, probabilities=last.probabilities
    )
    one, two = (
        sa.replay(UNIFORM.policy, entries)._reward_terms("doubly robust", MODEL, None)
        for entries in (log, sa.Log([*log[:-1], other]))
    )
    for before, after in zip(one[:-1], two[:-1], strict=True):
        np.testing.assert_array_equal(before.values, after.values)
    weights = np.isin(last.arms, UNIFORM.policy.select(last.round)) * ARMS / 4
    assert (two[-1].values - one[-1].values).sum() == pytest.approx(5.0 * weights.sum())


@pytest.mark.filterwarnings("error")
def test_the_default_model_needs_no_prior():
    found = sa.replay(UNIFORM.policy, UNIFORM.log(40, seed=1)).value()
    plain = sa.replay(UNIFORM.policy, UNIFORM.log(40, seed=1)).value(method="inverse propensity")
    assert abs(found.mean - UNIFORM.reward) < 0.5
    assert found.std_error < 0.6 * plain.std_error


def test_clipping_says_what_it_cut():
    world = WORLDS["one of each group"]
    replayed = sa.replay(world.policy, world.log(80, seed=0))
    whole = replayed.value(method="inverse propensity")
    cut = replayed.value(method="inverse propensity", clip=2.0)
    assert whole.cut == 0.0
    assert 0.0 < cut.cut < 1.0
    assert cut.mean < whole.mean
    assert "of the weights cut" in str(cut)
    robust = replayed.value(model=MODEL, clip=2.0)
    assert abs(robust.mean - world.reward) < 0.5 * (world.reward - cut.mean)


def test_groups_add_up():
    world = WORLDS["one of each group"]
    replayed = sa.replay(world.policy, world.log(100, seed=2))
    groups, whole = replayed.by_group(model=MODEL), replayed.value(model=MODEL)
    assert groups["rounds"].to_list() == [100] * 4
    assert groups["reason"].null_count() == 4
    assert groups["reward"].sum() == pytest.approx(whole.mean)
    assert (groups["kept_low"] < groups["kept"]).all()


def refusal(world, log, what="value", **options):
    with pytest.raises(NoEstimate) as caught:
        getattr(sa.replay(world.policy, log), what)(**options)
    return str(caught.value)


def changed(log, **fields):
    return sa.Log(
        [
            sa.LogEntry(
                **{name: getattr(entry, name) for name in ("round", "arms", "outcomes", "probabilities")}
                | {name: make(entry) for name, make in fields.items()}
            )
            for entry in log
        ]
    )


def test_a_log_without_probabilities_tells_nothing():
    assert "no probabilities" in refusal(UNIFORM, changed(UNIFORM.log(60, 0), probabilities=lambda entry: None))


def test_the_log_of_a_deterministic_policy_tells_nothing_of_another():
    certain = changed(UNIFORM.log(60, 0), probabilities=lambda entry: np.ones(4))
    said = refusal(UNIFORM, certain)
    assert "the policy picks arms that the log could never pick" in said
    assert "The log of a deterministic policy cannot" in said


def test_probabilities_that_are_wrong_are_said_to_be_where_all_are_known():
    world = World(sa.AtMost(), best(3), lambda round: np.full(ARMS, 0.4), any_of)
    said = refusal(world, changed(world.log(300, 0), probabilities=lambda entry: np.full(ARMS, 0.8)))
    assert "the recorded probabilities are wrong" in said


def test_an_arm_that_could_never_be_picked_is_named():
    world = World(sa.AtMost(), best(3), lambda round: np.where(round.contexts[:, 0] > 0.8, 0.0, 0.5), any_of)
    assert "which the log could never pick" in refusal(world, world.log(60, 0))


def test_missing_overlap_shows_in_the_weights_where_only_picked_arms_are_told():
    world = World(sa.AtMost(), best(3), lambda round: np.where(round.contexts[:, 0] > 0.8, 0.0, 0.5), any_of, few=True)
    assert "weights average" in refusal(world, world.log(200, 0))


def test_too_few_rounds_of_weight_tell_nothing():
    assert "is worth" in refusal(UNIFORM, UNIFORM.log(12, 0))
    thin = World(sa.AtMost(), best(1), lambda round: np.full(ARMS, 0.02), any_of)
    assert "is worth" in refusal(thin, thin.log(200, 0))


def test_other_rewards_and_missing_outcomes_are_refused():
    other = changed(
        UNIFORM.log(60, 0),
        round=lambda entry: sa.Round(t=1, contexts=entry.round.contexts, feasible=sa.AtMost(4), reward=sa.Mean()),
    )
    assert "only a sum" in refusal(UNIFORM, other)
    lost = changed(UNIFORM.log(60, 0), outcomes=lambda entry: np.full((4, 2), np.nan))
    assert "are missing" in refusal(UNIFORM, lost)


def test_promises_need_the_probability_of_what_was_picked_together():
    said = refusal(UNIFORM, UNIFORM.log(60, 0), "kept")
    assert "may give several arms" in said
    groups = sa.replay(UNIFORM.policy, UNIFORM.log(80, 0)).by_group(model=MODEL)
    assert groups["kept"].null_count() == 4
    assert all("may give several arms" in reason for reason in groups["reason"])


def test_lots_of_unknown_probability_are_refused():
    feasible = sa.AtMost(2, per_group=1)
    world = World(feasible, sa.Uniform(), leaning, any_of)
    rounds = [sa.Round(t=t, contexts=np.eye(4), groups=[0, 0, 1, 2], feasible=feasible) for t in range(1, 31)]
    log = [sa.LogEntry(round=r, arms=[0], outcomes=[[0.1, 0.1]], probabilities=[0.5]) for r in rounds]
    assert "draws at random and does not know" in refusal(world, log)


@pytest.mark.parametrize("wrong", [{"level": 1.0}, {"method": "direct"}, {"clip": 0.0}, {"model": 3}])
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        sa.replay(UNIFORM.policy, UNIFORM.log(30, 0)).value(**wrong)


def covers(counts, what, most=1.0):
    """Whether as many intervals held as those of 0.95 do, but for one case in thousand."""
    shown = counts[what, "logs"] - counts[what, "refused"]
    return stats.binom.ppf(0.001, shown, 0.95) <= counts[what, "held"] <= max(stats.binom.ppf(0.999, shown, 0.95), most)


def test_intervals_hold_the_truth():
    """A part of what tests.logs.coverage looks at; the soak has all."""
    counts = held(WORLDS["one of each group"], range(30))
    for what in ("inverse propensity", "doubly robust", "kept promises"):
        assert counts[what, "refused"] <= 1
        assert covers(counts, what), what


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_intervals_hold_the_truth_in_every_world(name):
    counts = held(WORLDS[name], range(10_000, 10_150))
    for what in ("inverse propensity", "doubly robust"):
        assert counts[what, "refused"] <= 1
        assert covers(counts, what), what
    assert covers(counts, "kept promises", most=math.inf)


@pytest.mark.slow
def test_two_logs_of_one_shop_agree():
    path = shop_logs.wheel()
    if path is None:
        pytest.skip("the wheel of obp 0.4.1 cannot be fetched here: SUPERARM_OBP may name it")
    for policy, found in shop_logs.agreements(path, "men", "doubly robust").items():
        assert found.agree, policy
        assert found.estimate.low <= found.own <= found.estimate.high, policy
    refused = shop_logs.agreements(path, "women", "inverse propensity")["random"]
    assert "is worth" in refused
