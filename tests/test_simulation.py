from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import superarm as sa
from superarm.environments.federated import Federated
from superarm.policies.baselines.reference import Clairvoyant, Uniform
from superarm.regret import optimum
from superarm.simulation import simulate, stream, with_regret

SMALL = Federated(clients=6, requests=20, most_requests=3)
PRIOR = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05)


def test_one_row_per_round_and_the_policy_has_learnt():
    policy = sa.TCGPUCB(PRIOR)
    trace = simulate(policy, SMALL, rounds=8, seed=3)
    assert trace["t"].to_list() == list(range(1, 9))
    assert policy.posterior.observations == trace["arms"].list.len().sum()
    assert (trace["super_arm_regret"] == trace["optimal_reward"] - trace["reward"]).all()


def test_equal_seeds_give_equal_traces_and_others_do_not():
    def trace(seed):
        return simulate(sa.TCGPUCB(PRIOR), SMALL, rounds=5, seed=seed).drop("select_seconds", "update_seconds")

    assert trace(1).equals(trace(1))
    assert not trace(1).equals(trace(2))


def test_all_policies_meet_the_same_arrivals_and_the_same_noise():
    met, shown = [], []

    class Watching:
        def __init__(self, picks):
            self.picks = picks

        def select(self, round):
            met.append(round.contexts.tobytes() + round.promises[0].thresholds.tobytes())
            arms = np.arange(min(self.picks, len(round)))
            return sa.Selection.of(arms, round=round, index=np.zeros(len(round)), good=sa.GoodSubgroups(round, None))

        def update(self, round, arms, outcomes):
            shown.append(outcomes[0].tobytes())

    class Free(Federated):
        def rounds(self, rng):
            return (replace(round, feasible=sa.AtMost(5)) for round in super().rounds(rng))

    for picks in (1, 5):
        simulate(Watching(picks), Free(clients=6, requests=20, most_requests=3), rounds=4, seed=9)
    assert met[:4] == met[4:]
    assert shown[:4] == shown[4:]  # arm 0 gives both the same noisy outcome


def test_streams_are_named_and_apart():
    assert stream(1, "noise").random() == stream(1, "noise").random()
    assert stream(1, "noise").random() != stream(1, "arrivals").random()
    assert stream((1, 0), "noise").random() != stream((1, 1), "noise").random()


def test_arrivals_and_noise_are_drawn_apart():
    drawn = {"arrivals": [], "noise": []}

    class Telling:
        def rounds(self, rng):
            for t in (1, 2):
                drawn["arrivals"].append(rng.random())
                yield sa.Round(t=t, contexts=np.zeros((2, 1)), feasible=sa.AtMost(1))

        def expected_outcomes(self, round):
            return np.ones((len(round), 2))

        def outcomes(self, round, rng):
            drawn["noise"].append(rng.random())
            return np.ones((len(round), 2))

    simulate(Uniform(), Telling(), rounds=2, seed=4)
    for name, numbers in drawn.items():
        alone = stream(4, name)
        assert numbers == [alone.random(), alone.random()]


def test_what_an_oracle_does_not_guarantee_is_no_regret():
    played = pl.DataFrame(
        {
            "status": ["OPTIMAL", "WITHIN_GAP", "LIMIT", "LIMIT"],
            "alpha": [1.0, 0.9, 0.5, None],
            "reward": [2.0, 2.0, 2.0, 2.0],
            "optimal_reward": [4.0, 4.0, 4.0, 4.0],
            "group_regret": [0.0, 1.0, 0.0, 0.0],
        }
    )
    found = with_regret(played, 0.25)
    assert found["super_arm_regret"].to_list() == pytest.approx([2.0, 1.6, 0.0, 2.0])
    assert found["total_regret"].to_list() == pytest.approx([1.5, 0.25 + 0.75 * 1.6, 0.0, 1.5])


def test_the_clairvoyant_has_no_regret():
    trace = simulate(Clairvoyant(SMALL), SMALL, rounds=10)
    assert (trace["super_arm_regret"].abs() < 1e-9).all()
    assert (trace["group_regret"] == 0.0).all()
    assert (trace["groups_touched"] == trace["groups_satisfied"]).all()


def test_nobody_beats_the_clairvoyant_and_keeps_every_promise():
    trace = simulate(Uniform(), SMALL, rounds=20)
    honest = trace.filter(trace["groups_touched"] == trace["groups_satisfied"])
    assert (honest["super_arm_regret"] >= -1e-9).all()


def test_an_environment_that_ends_ends_the_run():
    class Short:
        def rounds(self, rng):
            yield sa.Round(t=1, contexts=np.zeros((2, 1)), feasible=sa.AtMost(1))

        def expected_outcomes(self, round):
            return np.ones((len(round), 2))

        def outcomes(self, round, rng):
            return np.ones((len(round), 2))

    assert len(simulate(sa.OCLOKUCB(PRIOR), Short(), rounds=50)) == 1


class Late:
    """An environment whose outcomes of round t come after round t + 2 was decided."""

    delay = 2

    def rounds(self, rng):
        return (sa.Round(t=t, contexts=np.full((2, 1), t), feasible=sa.AtMost(1)) for t in range(1, 100))

    def expected_outcomes(self, round):
        return np.full((len(round), 2), float(round.t))

    def outcomes(self, round, rng):
        return self.expected_outcomes(round)


def test_outcomes_come_as_late_as_the_environment_says_and_all_of_them_in_the_end():
    told = []

    class Noting(Uniform):
        def select(self, round):
            told.append(("select", round.t))
            return super().select(round)

        def update(self, round, arms, outcomes):
            told.append(("update", round.t))
            assert (np.asarray(outcomes) == round.t).all()

    simulate(Noting(), Late(), rounds=5)
    first = [("select", 1), ("select", 2), ("select", 3), ("update", 1), ("select", 4), ("update", 2)]
    assert told == [*first, ("select", 5), ("update", 3), ("update", 4), ("update", 5)]
    environment = Late()
    environment.delay = -1
    with pytest.raises(ValueError, match=r"environment.delay: expected a whole number >= 0, got -1"):
        simulate(Uniform(), environment, rounds=1)


def test_certified_groups_are_counted_and_those_of_them_that_break():
    """A posterior that is certain of what is not true certifies every group, and all that it picks from break."""
    world = sa.environments.WrongWorld("right", "mean", seed=1)
    certain = sa.ExactPosterior(sa.SquaredExponential(variance=1e-6), 0.2, mean=100.0)
    trace = simulate(sa.CautiousTCGPUCB(certain, learn=False, opening=0), world, rounds=6)
    assert (trace["kind"] == "CERTIFIED").all()
    assert trace["certified"].to_list() == trace["groups_touched"].to_list()
    broken = trace["groups_touched"] - trace["groups_satisfied"]
    assert trace["certified_broken"].to_list() == broken.to_list()
    assert trace["certified_broken"].sum() > 0
    shy = simulate(sa.CautiousTCGPUCB(world.prior, learn=False, opening=0), world, rounds=6)
    assert shy["certified"][0] < shy["groups_touched"][0]  # it explores
    assert simulate(Uniform(), world, rounds=1)["certified"].to_list() == [None]


def test_bad_arguments():
    with pytest.raises(ValueError, match="rounds: expected a whole number >= 0, got -1"):
        simulate(sa.OCLOKUCB(PRIOR), SMALL, rounds=-1)
    with pytest.raises(ValueError, match="environment: expected an object with rounds"):
        simulate(sa.OCLOKUCB(PRIOR), object(), rounds=1)


def test_any_kind_of_seed_gives_the_regret_of_the_rounds_played():
    for seed in (None, np.random.default_rng(1), 7):
        trace = simulate(Clairvoyant(SMALL), SMALL, rounds=3, seed=seed)
        assert (trace["super_arm_regret"].abs() < 1e-9).all()
    with pytest.raises(ValueError, match="seed"):
        simulate(Clairvoyant(SMALL), SMALL, rounds=1, seed=-1)
    with pytest.raises(ValueError, match="zeta: expected a number from 0 to 1, got 7"):
        simulate(Clairvoyant(SMALL), SMALL, rounds=1, zeta=7)


def test_rounds_that_can_be_read_once_and_repeat_their_number():
    class Log:
        def __init__(self):
            self.kept = iter([sa.Round(t=1, contexts=np.zeros((2, 1)), feasible=sa.AtMost(1)) for _ in range(3)])

        def rounds(self, rng):
            return self.kept

        def expected_outcomes(self, round):
            return np.ones((len(round), 2))

        def outcomes(self, round, rng):
            return np.ones((len(round), 2))

    trace = simulate(sa.OCLOKUCB(PRIOR), Log(), rounds=9)
    assert trace["optimal_reward"].to_list() == [1.0, 1.0, 1.0]


class Fixed:
    def __init__(self, answer):
        self.answer = answer

    def select(self, round):
        return self.answer

    def update(self, round, arms, outcomes):
        pass


def test_a_policy_may_name_its_arms_alone():
    class Whole(Fixed):
        def select(self, round):
            return sa.Selection.of(
                self.answer, round=round, index=np.zeros(len(round)), good=sa.GoodSubgroups(round, None)
            )

    timed = ["select_seconds", "update_seconds"]
    plain = simulate(Fixed([1, 0]), SMALL, rounds=3).drop(timed)
    assert plain["arms"].to_list() == [[0, 1]] * 3
    assert_frame_equal(plain, simulate(Whole([0, 1]), SMALL, rounds=3).drop(timed))


@pytest.mark.parametrize("answer", [None, "none", [0, 0], [-1], [10**6], [0.5], {"arms": 1}])
def test_what_names_no_arms_is_refused(answer):
    with pytest.raises(ValueError, match="policy: expected a policy whose select returns a Selection or arms: "):
        simulate(Fixed(answer), SMALL, rounds=1)


def test_arms_that_the_round_does_not_allow_are_refused():
    class Two(sa.environments.Federated):
        def rounds(self, rng):
            for round in super().rounds(rng):
                yield replace(round, feasible=sa.AtMost(2))

    with pytest.raises(
        ValueError, match=r"policy: expected arms that AtMost\(k=2, per_group=None\) allows, got \[0, 1, 2\]"
    ):
        simulate(Fixed([0, 1, 2]), Two(), rounds=1)


@pytest.mark.parametrize(("arms", "said"), [(2, r"arms that AtMost\(k=1, .*got \[0, 1"), (9, "from 0 to 1, got ")])
def test_a_selection_of_another_round_is_refused(arms, said):
    class Elsewhere(Fixed):
        def select(self, round):
            return sa.Uniform().select(sa.Round(t=1, contexts=np.zeros((arms, 1)), feasible=sa.AtMost(arms)))

    with pytest.raises(ValueError, match=said):
        simulate(Elsewhere(None), Late(), rounds=1)


@pytest.mark.parametrize("policy", ["tcgp-ucb", None, sa.CUCB, object()])
def test_what_is_no_policy_is_refused(policy):
    with pytest.raises(ValueError, match="policy: expected an object with select and update, got "):
        simulate(policy, SMALL, rounds=1)


def test_the_class_of_an_environment_is_none():
    with pytest.raises(ValueError, match="environment: expected an object with rounds"):
        simulate(sa.CUCB(), Federated, rounds=1)


def test_an_optimum_that_is_not_proved_is_said(monkeypatch):
    searched = []

    def hurried(round, expected):
        found = optimum(round, expected)
        searched.append(found)
        return replace(found, status=sa.Status.LIMIT) if len(searched) == 2 else found

    monkeypatch.setattr("superarm.simulation.optimum", hurried)
    with pytest.warns(UserWarning, match="the optimum of 1 of 3 rounds is not proved"):
        trace = simulate(sa.CUCB(), SMALL, rounds=3)
    assert trace["optimal_status"].to_list() == ["OPTIMAL", "LIMIT", "OPTIMAL"]
    assert trace["optimal_reward"].to_list() == [found.value for found in searched]


@pytest.mark.filterwarnings("error")
def test_a_proved_optimum_needs_no_word():
    assert set(simulate(sa.CUCB(), SMALL, rounds=3)["optimal_status"]) == {"OPTIMAL"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rounds": lambda self, rng: None}, "environment.rounds: expected rounds, one after the other, got None"),
        ({"rounds": lambda self, rng: iter([1])}, "environment.rounds: expected superarm.Round objects, got 1"),
        ({"outcomes": lambda self, round, rng: np.zeros(len(round))}, r"environment.outcomes: .* got shape \("),
        ({"outcomes": lambda self, round, rng: np.zeros((1, 2))}, r"environment.outcomes: .* got shape \(1, 2\)"),
        ({"outcomes": lambda self, round, rng: np.zeros((len(round) + 1, 2))}, "environment.outcomes: .* one row per"),
        ({"outcomes": lambda self, round, rng: None}, "environment.outcomes: .* one row per arm of the round"),
    ],
)
def test_an_environment_that_gives_something_else_is_named(changed, said):
    class Wild:
        def select(self, round):
            return [0]

        def update(self, round, arms, outcomes):
            pass

    environment = type("Other", (Federated,), changed)(clients=6, requests=20, most_requests=3)
    with pytest.raises(sa.errors.InvalidArgument, match=said):
        simulate(Wild(), environment, rounds=2)


def test_outcomes_may_be_lists_in_which_something_is_missing():
    class Listing(Federated):
        def outcomes(self, round, rng):
            return [[None, 1.0]] * len(round)

    class Noting:
        def select(self, round):
            return [0, 1]

        def update(self, round, arms, outcomes):
            met.append(outcomes)

    met = []
    simulate(Noting(), Listing(clients=6, requests=20, most_requests=3), rounds=1)
    np.testing.assert_array_equal(met, [[[np.nan, 1.0]] * 2])
