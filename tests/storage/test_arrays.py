"""Arrays are written once: equal ones, rows of others and triangles come back bit for bit, each in its own memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from superarm import storage
from superarm.errors import UnreadableFile
from tests.storage.shelf import archive, document

VALUES = st.floats(-1, 1) | st.sampled_from([0.0, -0.0, 5e-324])


def same(one, other):
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and one.tobytes() == other.tobytes()
        and one.flags.writeable == other.flags.writeable
        and one.flags.c_contiguous == other.flags.c_contiguous
        and one.flags.f_contiguous == other.flags.f_contiguous
    )


@st.composite
def related(draw):
    """Arrays of which some say again what others say, and some nearly do."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    table = rng.normal(size=(draw(st.integers(1, 60)), draw(st.integers(1, 20))))
    square = rng.normal(size=(draw(st.integers(1, 20)),) * 2)
    minus = np.tril(square)
    minus[np.triu_indices(len(square), 1)] = -0.0
    pool = [
        table,
        table.copy(),
        table[rng.permutation(len(table))],
        table[rng.integers(len(table), size=50)],
        table[:, :-1],
        table[::2],
        table[::-1],
        np.asfortranarray(table),
        np.vstack([table, table + 1.0]),
        -0.0 * table,
        0.0 * table,
        np.tril(square),
        np.triu(square),
        np.tril(square).T,
        square + square.T,
        square @ square.T,
        minus,
        np.eye(len(square)),
        square.astype(np.float32),
        (square > 0).astype(np.int64),
        np.arange(100),
        np.arange(100) > 50,
        np.array(["a", "bc"] * 40),
        np.float64(3.0) * np.ones(()),
        np.empty((0, 5)),
        np.full((70, 4), np.nan),
    ]
    chosen = [
        np.array(pool[i], order="K", copy=True) for i in draw(st.lists(st.integers(0, len(pool) - 1), max_size=12))
    ]
    for array in chosen:
        array.setflags(write=draw(st.booleans()))
    return tuple(chosen)


@given(related())
def test_all_come_back_bit_for_bit(value):
    content = storage.to_bytes(value)
    back = storage.from_bytes(content, "here")
    assert all(map(same, value, back))
    assert storage.to_bytes(back) == content
    for i, one in enumerate(back):
        assert not any(np.shares_memory(one, other) for other in back[:i])


@given(arrays.arrays(np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=VALUES))
def test_zeros_of_either_sign_come_back(array):
    for each in (array, array[: len(array.T), : len(array)], np.tril(array[: len(array.T), : len(array)])):
        value = (np.array(each, order="C"),) * 2
        assert all(map(same, value, storage.from_bytes(storage.to_bytes(value), "here")))


def size(*value):
    return len(storage.to_bytes(value))


def test_nothing_is_written_twice():
    rng = np.random.default_rng(0)
    table, square = rng.normal(size=(1000, 15)), rng.normal(size=(200, 200))
    alone = size(table)
    assert 120_000 < alone < 121_000
    assert size(table, table.copy()) < alone + 200
    assert size(table, table[rng.permutation(1000)]) < alone + 2 * 1000 + 600
    assert size(table[:500], table[500:], np.sort(table, axis=0), table) < 2 * alone + 2 * 1000 + 2000
    for triangle in (np.tril(square), np.triu(square), square + square.T):
        assert size(triangle) < 8 * 200 * 201 / 2 + 700
    assert size(square) > 8 * 200 * 200


TABLE = {
    "0.npy": np.zeros((4, 5)),
    "1.npy": np.zeros(3, dtype=np.uint8),
    "2.npy": np.zeros(100),
    "3.npy": np.zeros(10**5),
}
FIRST = {"array": 0, "writeable": True}
FORGED = {
    "same as none": [{"same": 0, "writeable": True}],
    "same as a later one": [{"same": 1, "writeable": True}, {"array": 2, "writeable": True}],
    "same as before all": [{"array": 2, "writeable": True}, {"same": -1, "writeable": True}],
    "same as a text": [{"array": 2, "writeable": True}, {"same": "0", "writeable": True}],
    "rows of nothing": [{"rows": 1, "width": 5, "writeable": True}],
    "rows of another width": [FIRST, {"rows": 1, "width": 4, "writeable": True}],
    "rows without a width": [FIRST, {"rows": 1, "writeable": True}],
    "rows by fractions": [FIRST, {"rows": 2, "width": 5, "writeable": True}],
    "a triangle of another size": [{"array": 2, "triangle": ["lower", 14], "writeable": True}],
    "a huge triangle": [{"array": 2, "triangle": ["lower", 2**31], "writeable": True}],
    "a negative triangle": [{"array": 2, "triangle": ["lower", -14], "writeable": True}],
    "a triangle of no kind": [{"array": 2, "triangle": ["left", 13], "writeable": True}],
    "a triangle of a table": [{"array": 0, "triangle": ["lower", 4], "writeable": True}],
    "for ever the same": [{"array": 3, "writeable": True}, *[{"same": 0, "writeable": True}] * 1000],
}


def npy(array, path):
    np.save(path, array)
    return path.read_bytes()


@pytest.mark.parametrize("name", FORGED)
def test_forged_nodes_are_refused_in_little_memory(name, tmp_path):
    path, nodes = tmp_path / "forged", FORGED[name]
    mentioned = {f"{node[key]}.npy" for node in nodes for key in ("array", "rows") if key in node}
    content = {member: npy(TABLE[member], tmp_path / member) for member in mentioned}
    archive(path, document({"tuple": nodes}), **content)
    before = path.stat().st_size
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableFile):
            storage.read(path)
        assert tracemalloc.get_traced_memory()[1] < 100 * before + 10**6
    finally:
        tracemalloc.stop()


def test_rows_beyond_those_that_are_there_are_refused(tmp_path):
    path = tmp_path / "forged"
    nodes = [FIRST, {"rows": 1, "width": 5, "writeable": True}]
    for numbers, fits in (([0, 3], True), ([0, 4], False)):
        content = {"0.npy": npy(TABLE["0.npy"], tmp_path / "a.npy")}
        content["1.npy"] = npy(np.array(numbers, dtype=np.uint8), tmp_path / "b.npy")
        archive(path, document({"tuple": nodes}), **content)
        if fits:
            assert storage.read(path)[1].shape == (2, 5)
        else:
            with pytest.raises(UnreadableFile, match="rows that are not there"):
                storage.read(path)
