import json
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from superarm import errors
from superarm.wire import packing
from superarm.wire.packing import FORMAT, HEAD, LENGTH, NAMES, pack, plain, unpack

ARRAYS = arrays.arrays(st.sampled_from(NAMES), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | ARRAYS,
    lambda part: st.lists(part) | st.dictionaries(st.text().filter(lambda key: key != "array"), part),
    max_leaves=8,
)


def equal(one, other):
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            equal(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            equal(mine, theirs)
    else:
        assert one == other
        assert type(one) is type(other)


@given(DOCUMENTS)
def test_what_comes_back_is_equal_to_the_last_bit(document):
    equal(document, unpack(pack(document)))


def test_bytes_are_compressed_where_that_pays():
    random = np.random.default_rng(0).normal(size=10_000)
    assert 80_000 <= len(pack(random)) < 80_100
    assert len(pack(np.zeros(10_000))) < 1000
    equal(np.zeros(10_000), unpack(pack(np.zeros(10_000))))


def test_few_bytes_that_are_digits_are_not_even_tried(monkeypatch):
    monkeypatch.setattr(packing.zlib, "compress", lambda *given: pytest.fail("tried"))
    contexts = np.random.default_rng(0).uniform(size=(4, 60)).round(6)
    document = {"contexts": contexts, "codes": (np.arange(60) % 6).astype(np.uint8)}
    equal(document, unpack(pack(document)))
    monkeypatch.undo()
    assert len(pack({"contexts": contexts.round(1)})) < 1000


def test_what_would_shrink_too_much_is_not_compressed_and_comes_back(monkeypatch):
    document = {"contexts": np.zeros(10**5)}
    monkeypatch.setattr(packing, "FREE", 1000)
    content = pack(document)
    assert len(content) > 8 * 10**5
    assert np.array_equal(unpack(content)["contexts"], document["contexts"])
    monkeypatch.undo()
    assert len(pack(document)) < 8 * 10**3


def test_plain_data_have_lists_for_arrays():
    assert plain({"a": [np.arange(2), None], "b": np.eye(2)}) == {"a": [[0, 1], None], "b": [[1.0, 0.0], [0.0, 1.0]]}


def forged(text, rest=b"", length=None):
    """Bytes with a right checksum and whatever content."""
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    payload = LENGTH.pack(len(text) if length is None else length) + text + rest
    return HEAD.pack(FORMAT, 0, zlib.crc32(payload), len(payload)) + payload


def bomb(size, stated=None):
    small = zlib.compress(bytes(size), 9)
    return HEAD.pack(FORMAT, 1, zlib.crc32(small), size if stated is None else stated) + small


FORGED = {
    "empty": b"",
    "a head alone": HEAD.pack(FORMAT, 0, 0, 0),
    "another format": HEAD.pack(FORMAT + 1, 0, 0, 0),
    "longer text than there is": forged({}, length=2**31),
    "no JSON": forged(b"{"),
    "deep": forged(b"[" * 100_000),
    "huge": forged({"array": ["<f8", [2**62]]}),
    "huge product": forged({"array": ["<f8", [2**40, 2**40]]}),
    "endless number": forged(b'{"array": ["<f8", [' + b"9" * 5000 + b"]]}"),
    "negative": forged({"array": ["<f8", [-1, -1]]}, bytes(8)),
    "a fraction": forged({"array": ["<f8", [1.0]]}, bytes(8)),
    "objects": forged({"array": ["|O", [1]]}, bytes(8)),
    "no type": forged({"array": [7, [1]]}, bytes(8)),
    "an unhashable type": forged({"array": [["<f8"], [1]]}, bytes(8)),
    "no shape": forged({"array": ["<f8"]}, bytes(8)),
    "too few bytes": forged({"array": ["<f8", [2]]}, bytes(8)),
    "bytes left": forged({"array": ["<f8", [1]]}, bytes(9)),
    "neither true nor false": forged({"array": ["|b1", [1]]}, b"\2"),
    "not ASCII": forged('"é"'.encode()),
    "compressed nothing": HEAD.pack(FORMAT, 1, zlib.crc32(b"x"), 5) + b"x",
    "a lie about the size": bomb(10**6, stated=2**60),
    "more than its size allows": bomb(10**8),
    "more than was said": bomb(10**8, stated=1000),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_bytes_are_refused_in_little_memory(name):
    tracemalloc.start()
    try:
        with pytest.raises(errors.UnreadableFile, match=r"^content: "):
            unpack(FORGED[name])
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", [None, "text", 3, [1, 2]])
def test_only_bytes_are_unpacked(content):
    with pytest.raises(errors.InvalidArgument, match="content: expected bytes"):
        unpack(content)
