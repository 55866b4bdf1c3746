import pickle

import numpy as np

import superarm as sa


def test_touched_groups_are_a_sequence_like_any_other():
    round = sa.Round(
        t=1,
        contexts=np.zeros((4, 1)),
        groups=list("aabb"),
        constraint={"a": sa.Sum() >= 1.0},
        feasible=sa.AtMost(4),
    )
    good = sa.GoodSubgroups(round, np.array([1.0, 2.0, 3.0, 4.0]))
    groups = sa.Automatic()(np.ones(4), round, good).groups
    assert len(groups) == 2
    assert groups == good.touched(range(4)) == tuple(groups)
    assert groups != good.touched([0])
    assert hash(groups) == hash(tuple(groups))
    assert repr(groups) == repr(tuple(groups))
    assert [group.margin for group in groups] == [2.0, None]
    assert groups[-1] is groups[1] in groups
    assert groups[:1] == (groups[0],)
    assert pickle.loads(pickle.dumps(groups)) == groups
