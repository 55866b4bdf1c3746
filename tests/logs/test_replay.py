"""What a replay keeps, shares and shows."""

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument, NoEstimate
from superarm.logs import replay as replay_module
from tests.logs.worlds import MODEL, WORLDS, Fixed, best

UNIFORM = WORLDS["uniform"]


def test_estimates_of_one_replay_share_their_model(monkeypatch):
    calls, learn = [], replay_module._predictions
    monkeypatch.setattr(replay_module, "_predictions", lambda *given: calls.append(given) or learn(*given))
    replayed = sa.replay(UNIFORM.policy, UNIFORM.log(60, seed=1))
    first = replayed.value(model=MODEL)
    replayed.by_group(model=MODEL)
    assert replayed.value(model=MODEL) == first
    assert len(calls) == 1
    replayed.value(model=sa.GaussianProcess(sa.Matern52(lengthscale=0.5), noise_std=0.1))
    assert len(calls) == 2


def test_a_replay_says_in_a_line_what_it_holds():
    class First:
        def select(self, round):
            return [0]

        def update(self, round, arms, outcomes):
            pass

    log = [
        sa.LogEntry(round=sa.Round(t=t, contexts=np.eye(2), feasible=sa.AtMost(1)), arms=[t % 2], outcomes=[[0.0, 0.0]])
        for t in range(1, 6)
    ]
    assert repr(sa.replay(First(), log)) == "Replay(5 rounds, 5 arms picked, 2 of them in the log)"


def test_a_policy_whose_probabilities_are_none_is_refused():
    class Odd(Fixed):
        def probabilities(self, round, arms):
            return np.full(len(arms), 2.0)

    with pytest.raises(InvalidArgument, match="policy"):
        sa.replay(Odd(best(3).choose), UNIFORM.log(1, 0))


@pytest.mark.parametrize("estimate", ["value", "kept"])
def test_an_empty_log_is_said_to_be_empty(estimate):
    with pytest.raises(NoEstimate, match="the log has no rounds"):
        getattr(sa.replay(UNIFORM.policy, []), estimate)()


@pytest.mark.parametrize(("level", "said"), [(0.95, "(95% interval"), (0.9999, "(99.99% interval")])
def test_a_level_is_shown_as_it_was_asked_for(level, said):
    found = sa.replay(UNIFORM.policy, UNIFORM.log(60, 0)).value(method="inverse propensity", level=level)
    assert said in str(found)
