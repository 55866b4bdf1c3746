"""Fashion-MNIST from files in its layout: what is read is what was written, and damaged files are refused."""

import gzip
import struct

import numpy as np
import pytest

from superarm.datasets import fashion_mnist
from superarm.datasets.fashion_mnist import VARIABLE, read
from superarm.errors import InvalidArgument, MissingData, UnexpectedData
from superarm.experiments import leakage
from superarm.experiments.studies import study
from superarm.policies.baselines.reference import Uniform

SHAPE = 4, 3


def idx(array):
    """A file as the layout has it: two zeros, 8 for bytes, the sizes, each in four bytes, and the bytes."""
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write(folder, *, train=30, test=12, compressed=True, shape=SHAPE, seed=0):
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    written = {}
    for part, many in (("train", train), ("t10k", test)):
        images = rng.integers(256, size=(many, *shape), dtype=np.uint8)
        labels = rng.integers(10, size=many, dtype=np.uint8)
        written[part] = images, labels
        for name, array in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
            content = idx(array)
            path = folder / (f"{name}.gz" if compressed else name)
            path.write_bytes(gzip.compress(content) if compressed else content)
    return written


@pytest.mark.parametrize("compressed", [True, False])
def test_what_is_read_is_what_was_written(tmp_path, compressed):
    written = write(tmp_path / "f", compressed=compressed)
    found = read(tmp_path / "f")
    assert len(found) == 42
    images = np.concatenate([written["train"][0], written["t10k"][0]])
    assert np.array_equal(found.pixels, images.reshape(42, 12) / 255.0)
    assert np.array_equal(found.labels, np.concatenate([written["train"][1], written["t10k"][1]]))
    assert (found.pixels.dtype, found.labels.dtype) == (np.float64, np.intp)


def test_where_it_is_looked_for(tmp_path, monkeypatch):
    """The argument, then the variable, then Debian's folder; who has none of them is told what to do."""
    for name, many in (("argument", 3), ("variable", 5), ("debian", 7)):
        write(tmp_path / name, train=many, test=1)
    monkeypatch.setattr(fashion_mnist, "DEBIAN", tmp_path / "debian")
    monkeypatch.delenv(VARIABLE, raising=False)
    assert len(read()) == 8
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable"))
    assert len(read()) == 6
    assert len(read(tmp_path / "argument")) == 4
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(MissingData, match=r"nowhere.*apt install dataset-fashion-mnist.*SUPERARM_FASHION_MNIST"):
        read()
    with pytest.raises(UnexpectedData, match="no such folder"):
        read(tmp_path / "nowhere")


NAMES = [f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: b"not compressed",
        lambda raw: raw[:-9],
        lambda raw: raw[:20] + bytes([raw[20] ^ 255]) + raw[21:],
        lambda raw: gzip.compress(gzip.decompress(raw)[:-1]),
        lambda raw: gzip.compress(gzip.decompress(raw) + b"\0"),
        lambda raw: gzip.compress(b"\0\0\x09" + gzip.decompress(raw)[3:]),
        lambda raw: gzip.compress(gzip.decompress(raw)[:6]),
        lambda raw: gzip.compress(b"\0\0\x08\x03" + struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1)),
    ],
    ids=["empty", "plain", "cut", "bit", "short", "long", "kind", "head", "sizes"],
)
def test_damaged_files_are_refused(tmp_path, name, damage):
    write(tmp_path)
    path = tmp_path / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UnexpectedData) as caught:
        read(tmp_path)
    assert caught.value.where == str(path)


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    write(tmp_path)
    for wrong in ({"train": 29}, {"shape": (3, 3)}):
        write(tmp_path / "other", **wrong)
        images = "train-images-idx3-ubyte.gz"
        (tmp_path / images).write_bytes((tmp_path / "other" / images).read_bytes())
        with pytest.raises(UnexpectedData):
            read(tmp_path)
    write(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.full(12, 10, dtype=np.uint8))))
    with pytest.raises(UnexpectedData, match="classes from 0 to 9"):
        read(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(UnexpectedData, match="t10k-labels-idx1-ubyte"):
        read(tmp_path)


def test_a_folder_is_text_or_a_path():
    for wrong in (3, b"here", ""):
        with pytest.raises(InvalidArgument):
            read(wrong)


def test_the_study_of_leakage_on_it(tmp_path, monkeypatch):
    """Forty clients, whose records are those of the folder, none of them twice."""
    write(tmp_path, train=12_000, test=100, shape=(2, 2))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    made = study("leakage", data="fashion-mnist")
    assert made.data == study("leakage", data=str(tmp_path)).data == "Fashion-MNIST, 12100 records"
    world = made.by_run(1, 5)
    assert (len(world.clients), world.alike) == (40, False)
    assert {len(part) for each in world.clients.values() for part in (each.pool, each.held_out)} == {120}
    assert (len(world.judged_by), len(world.report)) == (1000, 1000)
    monkeypatch.setattr(leakage, "RERUNS", 2)
    rows = list(leakage.play(Uniform(seed=0), world, rounds=1, seed=(0, 0)))
    assert len(rows[0]["arms"]) == 10
