import math

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from tests.policies.baselines.replay import FEASIBLE, a_round, greedy, play


class Cell:
    def __init__(self, low, side, level, parent):
        self.low, self.side, self.level, self.parent = low, side, level, parent
        self.outcomes = []

    def holds(self, x):
        return all(a <= p < a + self.side or p == a + self.side == 1.0 for a, p in zip(self.low, x, strict=True))

    def halves(self):
        lows = [[]]
        for a in self.low:
            lows = [[*low, a + step] for low in lows for step in (0.0, self.side / 2)]
        return [Cell(low, self.side / 2, self.level + 1, self) for low in lows]


class Plain:
    """ACC-UCB from its equations: a list of leaves, searched one by one."""

    def __init__(self, dimension, horizon=None, v1=None, v2=1.0, rho=0.5):
        self.leaves = [Cell([0.0] * dimension, 1.0, 0, None)]
        self.horizon, self.v1, self.v2, self.rho = horizon, math.sqrt(dimension) if v1 is None else v1, v2, rho
        self.children = 2**dimension

    def leaf(self, x):
        (cell,) = [cell for cell in self.leaves if cell.holds([min(max(p, 0.0), 1.0) for p in x])]
        return cell

    def c(self, cell, t):
        horizon = self.horizon if self.horizon is not None else next(2**n for n in range(99) if 2**n > t)
        return math.sqrt(2 * math.log(horizon) / len(cell.outcomes)) if cell.outcomes else math.inf

    def upper(self, cell, t):
        mean = sum(cell.outcomes) / len(cell.outcomes) if cell.outcomes else 0.0
        return mean + self.c(cell, t)

    def index(self, x, t):
        cell = self.leaf(x)
        b = self.upper(cell, t)
        if cell.parent is not None:
            b = min(b, self.upper(cell.parent, t) + self.v1 * self.rho ** (cell.level - 1))
        g = b + self.v1 * self.rho**cell.level
        return g + self.children * (self.v1 / self.v2) * self.v1 * self.rho**cell.level

    def learn(self, contexts, outcomes, t):
        played = []
        for x, y in zip(contexts, outcomes, strict=True):
            if not math.isnan(y):
                played.append(self.leaf(x))
                played[-1].outcomes.append(y)
        for cell in dict.fromkeys(played):
            if self.c(cell, t) <= self.v1 * self.rho**cell.level:
                self.leaves.remove(cell)
                self.leaves += cell.halves()


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize(
    ("dimension", "settings"),
    [
        (1, {"horizon": 60}),
        (1, {}),
        (2, {"horizon": 60, "rho": 0.7}),
        (3, {"v1": 2.0, "v2": 0.5}),
    ],
)
def test_the_same_indices_and_super_arms_as_the_plain_version(dimension, settings, feasible):
    policy, plain = sa.ACCUCB(**settings), Plain(dimension, **settings)
    for round, selection, outcomes in play(policy, 60, dimension, FEASIBLE[feasible]):
        index = [plain.index(x, round.t) for x in round.contexts]
        ours = policy.indices(round).reward
        if math.isinf(index[0]):  # before the first outcome
            assert len(plain.leaves) == 1
            assert len(set(ours.tolist())) == 1
            assert len(selection.arms) == len(greedy(ours, round))
        else:
            np.testing.assert_allclose(ours, index, rtol=1e-12)
            assert sorted(index[arm] for arm in selection.arms) == pytest.approx(greedy(index, round), abs=1e-8)
        plain.learn(round.contexts[selection.arms], outcomes[:, 0], round.t)
    assert len(plain.leaves) > 2
    splits = (len(plain.leaves) - 1) // (2**dimension - 1)
    assert policy.tree.split.sum() == splits


def test_one_dimension_by_hand():
    """As the paper sets it: v1 = 1, v2 = 1, rho = 0.5, N = 2."""
    policy = sa.ACCUCB(horizon=100)
    x = np.array([[0.2], [0.9]])
    round = sa.Round(t=1, contexts=np.repeat(x, 8, axis=0), feasible=sa.AtMost(16))
    policy.update(round, np.arange(16), np.column_stack([np.repeat([0.1, 0.8], 8), np.full(16, np.nan)]))
    root = 0.45 + math.sqrt(2 * math.log(100) / 16)
    new = sa.Round(t=2, contexts=x, feasible=sa.AtMost(1))
    assert policy.indices(new).reward == pytest.approx([root + 1 + 0.5 + 2 * 0.5] * 2)  # both by their parent
    policy.update(new, [1], [[0.8, 0.0]])
    own = 0.8 + math.sqrt(2 * math.log(100) / 1)
    assert own > root + 1  # still by the parent
    for t in range(3, 10):
        policy.update(sa.Round(t=t, contexts=x, feasible=sa.AtMost(1)), [1], [[0.8, 0.0]])
    index = policy.indices(sa.Round(t=10, contexts=x, feasible=sa.AtMost(1))).reward
    assert index == pytest.approx([root + 2.5, 0.8 + math.sqrt(2 * math.log(100) / 8) + 1.5])


def test_it_finds_the_better_arms():
    policy = sa.ACCUCB(horizon=400)
    values = []
    for t in range(1, 401):
        x = np.random.default_rng(t).uniform(size=(60, 1))
        round = sa.Round(t=t, contexts=x, feasible=sa.Exactly(10))
        arms = policy.select(round).arms
        policy.update(round, arms, np.column_stack([x[arms, 0], np.full(10, np.nan)]))
        values.append(x[arms, 0].sum() / np.sort(x[:, 0])[-10:].sum())
    assert np.mean(values[:20]) < 0.7 < 0.85 < np.mean(values[-50:])  # its bounds are wide: the best would be 1


def test_arms_that_tie_are_drawn_from_all_groups():
    groups = []
    for t in range(1, 31):
        round = sa.Round(
            t=t, contexts=np.arange(200)[:, None] / 200, groups=np.arange(200) % 10, feasible=sa.Exactly(20)
        )
        groups.append(len(sa.ACCUCB().select(round).groups))
    assert min(groups) >= 6  # 20 of 200 arms at random leave out 1.2 of 10 groups on average


def test_promises_are_ignored_and_whole_groups_respected():
    rng = np.random.default_rng(0)
    selection = sa.ACCUCB().select(a_round(1, rng, 1, sa.WholeGroups(2)))
    assert len(selection.arms) == 12
    assert all(group.margin is None for group in selection.groups)


def test_the_second_outcome_does_not_matter_and_a_missing_first_is_no_outcome():
    one, other = sa.ACCUCB(), sa.ACCUCB()
    round = a_round(1, np.random.default_rng(0), 1, sa.AtMost(3))
    one.update(round, [0, 1, 2], [[0.5, 7.0], [np.nan, 1.0], [0.2, np.nan]])
    other.update(round, [0, 2], [[0.5, 0.0], [0.2, 0.0]])
    assert one.tree.count.tolist() == other.tree.count.tolist() == [2]
    assert np.array_equal(one.indices(round).reward, other.indices(round).reward)


def test_rounds_beyond_the_horizon():
    policy = sa.ACCUCB(horizon=3)
    assert all(len(selection.arms) == 7 for _, selection, _ in play(policy, 12))


@pytest.mark.parametrize("dimension", [1, 2])
def test_save_load_and_continue_equals_never_stopped(dimension, tmp_path):
    policy = sa.ACCUCB(horizon=50, seed=2)
    list(play(policy, 25, dimension))
    policy.save(tmp_path / "policy")
    loaded = sa.load(tmp_path / "policy")
    ours, theirs = (play(p, 25, dimension, seed=1, first=26) for p in (policy, loaded))
    for (round, selection, _), (_, other, _) in zip(ours, theirs, strict=True):
        assert selection.arms.tolist() == other.arms.tolist()
        assert policy.indices(round).reward.tobytes() == loaded.indices(round).reward.tobytes()
    assert policy.tree.total.tobytes() == loaded.tree.total.tobytes()


def test_contexts_of_another_dimension_are_refused_and_change_nothing():
    policy = sa.ACCUCB()
    list(play(policy, 2))
    tree = policy.tree
    other = a_round(3, np.random.default_rng(0), 2, sa.AtMost(1))
    with pytest.raises(InvalidArgument, match="contexts"):
        policy.select(other)
    with pytest.raises(InvalidArgument, match="contexts"):
        policy.update(other, [0], [[0.0, 0.0]])
    assert policy.tree is tree


@pytest.mark.parametrize(
    "settings",
    [
        {"horizon": 0},
        {"horizon": 2.5},
        {"v1": 0.0},
        {"v1": math.inf},
        {"v2": -1.0},
        {"v2": "one"},
        {"rho": 1.0},
        {"rho": 0.0},
        {"oracle": 3},
        {"seed": -1},
    ],
)
def test_bad_settings_are_refused_by_name(settings):
    with pytest.raises(InvalidArgument, match=next(iter(settings))):
        sa.ACCUCB(**settings)
