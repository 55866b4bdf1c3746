import math

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from tests.policies.baselines.replay import FEASIBLE, a_round, greedy, play


class Plain:
    """CC-MAB from its equations, with a dictionary of outcomes by cell."""

    def __init__(self, dimension, horizon, alpha=1.0):
        self.power, self.alpha = 3 * alpha + dimension, alpha
        self.side = next(h for h in range(1, 10**6) if h**self.power >= horizon)
        self.outcomes = {}

    def cell(self, x):
        return tuple(min(math.floor(min(max(p, 0.0), 1.0) * self.side), self.side - 1) for p in x)

    def unexplored(self, x, t):
        return len(self.outcomes.get(self.cell(x), [])) <= t ** (2 * self.alpha / self.power) * math.log(t)

    def mean(self, x):
        seen = self.outcomes[self.cell(x)]
        return sum(seen) / len(seen)

    def learn(self, contexts, outcomes):
        for x, y in zip(contexts, outcomes, strict=True):
            if not math.isnan(y):
                self.outcomes.setdefault(self.cell(x), []).append(y)


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize(
    ("dimension", "settings"),
    [(1, {"horizon": 60}), (2, {"horizon": 500}), (1, {"horizon": 60, "alpha": 0.3}), (3, {"horizon": 1})],
)
def test_the_same_super_arms_as_the_plain_version(dimension, settings, feasible):
    policy, plain = sa.CCMAB(**settings), Plain(dimension, **settings)
    explored = exploited = 0
    for round, selection, outcomes in play(policy, 60, dimension, FEASIBLE[feasible]):
        new = [plain.unexplored(x, round.t) for x in round.contexts]
        # Any value above all means: the plain version needs no more than "first".
        index = [1e3 if first else plain.mean(x) for first, x in zip(new, round.contexts, strict=True)]
        assert sorted(index[arm] for arm in selection.arms) == pytest.approx(greedy(index, round), abs=1e-8)
        ours = policy.indices(round).reward
        np.testing.assert_allclose(ours[~np.array(new)], np.array(index)[~np.array(new)], rtol=1e-12)
        assert ours[new].min(initial=math.inf) > max(0.0, ours[~np.array(new)].max(initial=0.0))
        explored, exploited = explored + any(new), exploited + (not any(new))
        plain.learn(round.contexts[selection.arms], outcomes[:, 0])
    assert explored
    assert policy.cells.count.sum() == sum(map(len, plain.outcomes.values()))
    if settings["horizon"] == 1:
        assert exploited


def test_the_budget_of_the_paper():
    """At most B arms: all under-explored ones if they are fewer, and then the largest means."""
    policy = sa.CCMAB(horizon=81)  # 3 cells in one dimension
    x = np.array([0.1, 0.2, 0.5, 0.55, 0.9, 0.95])[:, None]
    round = sa.Round(t=1, contexts=x, feasible=sa.AtMost(6))
    for t in range(1, 9):
        past = sa.Round(t=t, contexts=x, feasible=sa.AtMost(6))
        policy.update(past, [0, 2, 3], [[0.3, 0.0], [0.6, 0.0], [0.8, 0.0]])
    round = sa.Round(t=9, contexts=x, feasible=sa.AtMost(4))
    # K(9) = 9^(2/4) log 9 = 6.6: of 8, 16 and 0 outcomes only the third cell has too few.
    assert policy.control(9, 1) == pytest.approx(3 * math.log(9))
    assert policy.select(round).arms.tolist() == [2, 3, 4, 5]
    few = sa.Round(t=9, contexts=x, feasible=sa.AtMost(1))
    assert {policy.select(few).arms[0]} <= {4, 5}
    draws = {sa.CCMAB(horizon=81, seed=seed).select(few).arms[0] for seed in range(60)}
    assert draws == set(range(6))  # everything is under-explored: any arm may be drawn


def test_under_explored_arms_are_drawn_from_all_groups():
    groups = [
        len(
            sa.CCMAB(horizon=9)
            .select(
                sa.Round(
                    t=t, contexts=np.arange(200)[:, None] / 200, groups=np.arange(200) % 10, feasible=sa.AtMost(20)
                )
            )
            .groups
        )
        for t in range(1, 31)
    ]
    assert min(groups) >= 6


def test_whole_groups_with_most_under_explored_arms_come_first():
    policy = sa.CCMAB(horizon=16)  # 2 cells in one dimension
    known = sa.Round(t=1, contexts=np.full((5, 1), 0.2), feasible=sa.AtMost(5))
    policy.update(known, np.arange(5), np.full((5, 2), 100.0))
    round = sa.Round(
        t=2,
        contexts=np.array([0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.9, 0.9])[:, None],
        groups=list("aaaabbcc"),
        feasible=sa.WholeGroups(1),
    )
    assert policy.select(round).arms.tolist() == [6, 7]
    two = sa.Round(t=2, contexts=round.contexts, groups=list("aaaabbcc"), feasible=sa.WholeGroups(2))
    assert policy.select(two).arms.tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("h", range(1, 40))
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_whole_roots_are_not_missed(h, dimension):
    assert sa.CCMAB(horizon=h ** (3 + dimension)).cells_per_side(dimension) == h
    assert sa.CCMAB(horizon=h ** (3 + dimension) + 1).cells_per_side(dimension) == h + 1


def test_save_load_and_continue_equals_never_stopped(tmp_path):
    policy = sa.CCMAB(horizon=50, seed=2)
    list(play(policy, 25, 2))
    policy.save(tmp_path / "policy")
    loaded = sa.load(tmp_path / "policy")
    ours, theirs = (play(p, 25, 2, seed=1, first=26) for p in (policy, loaded))
    for (round, selection, _), (_, other, _) in zip(ours, theirs, strict=True):
        assert selection.arms.tolist() == other.arms.tolist()
        assert policy.indices(round).reward.tobytes() == loaded.indices(round).reward.tobytes()


def test_contexts_of_another_dimension_are_refused_and_change_nothing():
    policy = sa.CCMAB(horizon=10)
    list(play(policy, 2))
    cells = policy.cells
    other = a_round(3, np.random.default_rng(0), 2, sa.AtMost(1))
    with pytest.raises(InvalidArgument, match="contexts"):
        policy.select(other)
    with pytest.raises(InvalidArgument, match="contexts"):
        policy.update(other, [0], [[0.0, 0.0]])
    assert policy.cells is cells


@pytest.mark.parametrize("settings", [{"horizon": 0}, {"horizon": None}, {"alpha": 0.0}, {"oracle": 3}, {"seed": "x"}])
def test_bad_settings_are_refused_by_name(settings):
    with pytest.raises(InvalidArgument, match=next(iter(settings))):
        sa.CCMAB(**{"horizon": 10, **settings})
