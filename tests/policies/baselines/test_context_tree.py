"""The tree of cells against boxes that are listed one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.errors import InvalidArgument
from superarm.policies.baselines.acc_ucb import ContextTree


def grow(dimension, seed, steps=12, grid=None):
    """A tree in which played leaves are split at random, and every context and outcome it has observed."""
    rng = np.random.default_rng(seed)
    tree, observed = ContextTree.root(dimension), []
    for _ in range(steps):
        x = rng.uniform(size=(rng.integers(1, 9), dimension)) if grid is None else rng.choice(grid, (6, dimension))
        y = rng.normal(size=len(x))
        tree, played = tree.observe(x, y)
        tree = tree.divide(played[rng.uniform(size=len(played)) < 0.5])
        observed.append((x, y))
    return tree, *(np.concatenate(part) for part in zip(*observed, strict=True))


def bounds(tree, cell):
    """Lowest corner, (D,), and side of a cell."""
    corner, side, path = np.zeros(tree.dimension), 1.0, []
    while tree.key[cell] >= 0:
        path.append(int(tree.key[cell]))
        cell = path[-1] >> tree.dimension
    for key in reversed(path):
        side /= 2.0
        corner += side * (key >> np.arange(tree.dimension) & 1)
    return corner, side


def leaf_boxes(tree):
    """Every leaf, played or not, as (lowest corner, side), from the split cells."""
    boxes = {(tuple(corner), side) for corner, side in (bounds(tree, c) for c in np.flatnonzero(tree.split))}
    if not boxes:
        return [((0.0,) * tree.dimension, 1.0)]
    return [
        child
        for corner, side in boxes
        for upper in itertools.product((0, 1), repeat=tree.dimension)
        if (child := (tuple(c + u * side / 2 for c, u in zip(corner, upper, strict=True)), side / 2)) not in boxes
    ]


def holds(box, point):
    corner, side = box
    return all(low <= p < low + side or (p == 1.0 and low + side == 1.0) for low, p in zip(corner, point, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(0, 10**6))
def test_the_leaves_partition_the_cube(dimension, seed):
    tree, _, _ = grow(dimension, seed)
    boxes = leaf_boxes(tree)
    assert sum(side**dimension for _, side in boxes) == 1.0
    rng = np.random.default_rng(seed)
    corners = np.array([corner for corner, _ in boxes])
    faces = np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=dimension)))
    points = np.vstack([rng.uniform(size=(40, dimension)), corners, faces])
    leaves = tree.locate(points)
    key_of = {}
    for row, point in enumerate(points):
        (box,) = [box for box in boxes if holds(box, point)]  # one leaf, and no other
        assert box[1] == 2.0 ** -leaves.level[row]
        assert key_of.setdefault(box, leaves.key[row]) == leaves.key[row]
        if leaves.cell[row] >= 0:
            corner, side = bounds(tree, leaves.cell[row])
            assert (tuple(corner), side) == box
        if leaves.parent[row] >= 0:
            corner, side = bounds(tree, leaves.parent[row])
            assert side == 2 * box[1]
            assert holds((tuple(corner), side), point)
    assert len(set(key_of.values())) == len(key_of)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(0, 10**6))
def test_counts_and_sums_add_up(dimension, seed):
    tree, x, y = grow(dimension, seed, grid=[0.0, 0.25, 0.3, 0.5, 0.75, 1.0])
    assert tree.count.sum() == len(y)
    assert tree.total.sum() == pytest.approx(y.sum())
    assert (tree.count[1:] > 0).all()  # cells are numbered when they have an outcome
    for cell in range(len(tree.key)):
        corner, side = bounds(tree, cell)
        assert tree.count[cell] <= sum(holds((tuple(corner), side), point) for point in x)


def test_the_root_is_centred_at_one_half():
    tree, played = ContextTree.root(2).observe(np.array([[0.2, 0.9]]), np.array([1.0]))
    corner, side = bounds(tree, played[0])
    assert (corner + side / 2).tolist() == [0.5, 0.5]


def test_contexts_outside_the_cube_are_clipped_and_one_is_inside():
    tree = ContextTree.root(1)
    for _ in range(5):
        tree, played = tree.observe(np.array([[0.0], [1.0]]), np.zeros(2))
        tree = tree.divide(played)
    far, edge = tree.locate(np.array([[-3.0], [1.5]])), tree.locate(np.array([[0.0], [1.0]]))
    assert far.key.tolist() == edge.key.tolist()
    assert edge.level.tolist() == [5, 5]


def test_depth_beyond_the_digits_of_a_float():
    tree, x = ContextTree.root(1), np.array([[0.3]])
    for level in range(80):
        assert tree.locate(x).level.tolist() == [level]
        tree, played = tree.observe(x, np.ones(1))
        tree = tree.divide(played)
    assert tree.count.tolist() == [1] * 80


def test_many_dimensions_cost_nothing():
    """A split of 2^30 children keeps those with outcomes only."""
    rng = np.random.default_rng(0)
    tree, x = ContextTree.root(30), rng.uniform(size=(50, 30))
    for _ in range(4):
        tree, played = tree.observe(x, np.ones(50))
        tree = tree.divide(played)
    assert tree.count.sum() == 200
    assert len(tree.key) == 1 + 3 * 50
    with pytest.raises(InvalidArgument, match="D from 1 to 40"):
        ContextTree.root(41)


def test_observing_and_dividing_change_no_other_tree():
    tree, _, _ = grow(2, 0)
    before = [tree.key.copy(), tree.count.copy(), tree.split.copy(), tree.total.copy()]
    grown, played = tree.observe(np.random.default_rng(1).uniform(size=(9, 2)), np.ones(9))
    grown.divide(played)
    assert not grown.split[played].any()
    for now, then in zip([tree.key, tree.count, tree.split, tree.total], before, strict=True):
        assert np.array_equal(now, then)
