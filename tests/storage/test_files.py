import io
import json
import math
import os
import time
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument, NotStorable, UnreadableFile
from superarm.storage import read, write
from tests.storage.shelf import READ_ONLY, Colour, Shelf, archive, document, same


class Stranger:
    pass


@pytest.mark.parametrize("failure", ["encode", "array", "json", "replace"])
def test_a_failed_save_leaves_the_old_file_and_no_other(failure, path, monkeypatch):
    write("old", path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError("no space left on device")

    value: Any = (np.ones(3), "new")
    if failure == "encode":
        value = (np.ones(3), lambda x: x)
    elif failure == "array":
        monkeypatch.setattr(np.lib.format, "write_array", fail)
    elif failure == "json":
        monkeypatch.setattr(json, "dumps", fail)
    else:
        monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((NotStorable, OSError)):
        write(value, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    assert read(path) == "old"


def test_saving_replaces_the_file_that_was_there(path):
    write(1, path)
    write(2, path)
    assert read(path) == 2
    assert list(path.parent.iterdir()) == [path]


# What cannot be read ----------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_simply_not_found(path):
    with pytest.raises(FileNotFoundError):
        read(path)


@pytest.fixture
def original():
    return Shelf((np.arange(5.0), READ_ONLY, "text", 0.1, Colour.RED), other=math.inf)


def test_a_truncated_file_is_refused_at_every_length(original, path):
    write(original, path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(UnreadableFile, match="damaged, truncated, or not a superarm file"):
            read(path)


@pytest.mark.parametrize("flip", [0x01, 0xFF])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_flipped_byte_is_refused_or_harmless(flip, original, path):
    write(original, path)
    whole = path.read_bytes()
    wrong = []
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ flip]) + whole[position + 1 :])
        try:
            if not same(read(path), original):
                wrong.append((position, "another value"))
        except UnreadableFile:
            pass
        except Exception as error:  # all are gathered
            wrong.append((position, repr(error)))
    assert wrong == []


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (None, "document.json"),
        ("not json", "Expecting value"),
        pytest.param("[" * 100_000, "damaged", id="deep"),
        ([1, 2], "damaged"),
        (3, "damaged"),
        ({}, "format"),
        (document(1, format="other"), "not a superarm file (format 'other')"),
        (
            document(1, version=3),
            "written in version 3 of the file format; this superarm reads version 2 and those before it",
        ),
        (document({"class": f"{Shelf.__module__}:Shelf", "fields": 3}), "damaged"),
        (document({"class": f"{Shelf.__module__}:Colour", "fields": {}}), "damaged"),
        (document({"enum": f"{Shelf.__module__}:Shelf", "member": "RED"}), "damaged"),
        (document({"float": "much"}), "much"),
        (document({"tuple": 3}), "damaged"),
        (document([1]), "damaged"),
        (document({"bytes": "x"}), "damaged"),
        (document({"date": 5}), "damaged"),
        (document({"datetime": "now"}), "now"),
        (document({"array": 0, "writeable": True}), "0.npy"),
        (document({"unheard": 1}), "damaged"),
    ],
)
def test_a_foreign_file_is_refused_with_the_reason(content, fragment, path):
    archive(path, content)
    with pytest.raises(UnreadableFile) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        ({"class": "shop.parts:Bin", "fields": {}}, ["'Bin' of the module 'shop.parts'", "import that module"]),
        ({"enum": "shop:Size", "member": "S"}, ["'Size' of the module 'shop'", "import that module"]),
        ({"tuple": [{"class": "shop:Bin", "fields": {}}]}, ["'Bin' of the module 'shop'", "import that module"]),
        ({"class": "__main__:Mine", "fields": {}}, ["'Mine' of the script or notebook", "define it before loading"]),
        ({"class": "Nobody", "fields": {}}, ["another version", "no storable class 'Nobody'"]),
        (
            {"class": f"{Shelf.__module__}:Shelf", "fields": {"value": 1}},
            ["another version", "Shelf has the fields ['derived', 'other', 'value'] here, ['value'] in the file"],
        ),
        (
            {"enum": f"{Shelf.__module__}:Colour", "member": "GREEN"},
            ["another version", "Colour has no member 'GREEN' here"],
        ),
    ],
)
def test_a_sound_file_that_does_not_fit_is_not_called_damaged(content, fragments, path):
    archive(path, document(content))
    with pytest.raises(UnreadableFile) as caught:
        read(path)
    for fragment in [str(path), *fragments]:
        assert fragment in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_a_pickled_array_is_never_unpickled(path, tmp_path):
    np.save(tmp_path / "objects.npy", np.array([Stranger], dtype=object), allow_pickle=True)
    archive(path, document({"array": 0, "writeable": True}), **{"0.npy": (tmp_path / "objects.npy").read_bytes()})
    with pytest.raises(UnreadableFile, match="allow_pickle"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"\x80\x04K\x01."])
def test_other_kinds_of_files_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match="not a superarm file"):
        read(path)


def test_what_the_system_refuses_to_read_is_its_own_error(path, tmp_path, monkeypatch):
    with pytest.raises(IsADirectoryError if os.name == "posix" else PermissionError, match=tmp_path.name):
        read(tmp_path)

    def fail(*_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    write(1, path)
    monkeypatch.setattr(io, "open", fail)  # a superuser may read anything
    with pytest.raises(PermissionError, match=path.name):
        read(path)


# What would cost too much to read ---------------------------------------------------------------------------------


def refused(path, fragment):
    """A file is refused, and not much memory was used to find out."""
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableFile, match=fragment):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


ONE_ARRAY = document({"array": 0, "writeable": True})


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_member_is_refused_before_it_is_read(method, path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("document.json", json.dumps(ONE_ARRAY))
        file.writestr("0.npy", bytes(50_000_000), compress_type=method)
    refused(path, "compressed members")


def npy(header: str, content: bytes = b"") -> bytes:
    text = header.encode("latin1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


@pytest.mark.parametrize(
    "shape", [str((10**30,)), str((2**62, 2**62)), str((0, 10**30)), "(-1,)", str((10**9,)), "(3,)", "(2.5,)", "()"]
)
def test_an_array_that_is_not_of_the_size_it_says_is_refused(shape, path):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"
    archive(path, ONE_ARRAY, **{"0.npy": npy(header, bytes(16))})
    refused(path, "damaged")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(path):
    array = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bytes(16))
    archive(path, ONE_ARRAY, **{"0.npy": array})
    assert read(path).tolist() == [0.0, 0.0]
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("0.npy", array)
    refused(path, "a member twice")


def test_an_array_that_is_mentioned_twice_is_refused(path):
    array = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", bytes(16))
    archive(path, document({"tuple": [ONE_ARRAY["value"]] * 2}), **{"0.npy": array})
    refused(path, "0.npy")


def test_a_member_that_nothing_mentions_is_refused(path):
    archive(path, document(1), notes="whatever")
    refused(path, "holds notes, which nothing in it mentions")


@pytest.mark.parametrize("path", [5, None, b"x", object(), ["x"], "", "a\0b"])
def test_a_path_is_text_or_a_path(path):
    for call in (read, lambda path: write(1, path), sa.load, sa.Uniform().save, sa.TCGPUCB(POSTERIOR).save):
        with pytest.raises(InvalidArgument, match="path: expected a path"):
            call(path)


POSTERIOR = sa.ExactPosterior(sa.SquaredExponential(), noise_std=0.1)


# What does not depend on the clock --------------------------------------------------------------------------------


def test_equal_policies_are_equal_bytes(tmp_path, monkeypatch):
    saved = []
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: seconds)
        monkeypatch.setattr(time, "localtime", lambda *_, seconds=seconds: time.gmtime(seconds))
        policy = sa.TCGPUCB(POSTERIOR, seed=3)
        round = sa.Round(t=1, contexts=np.eye(3), feasible=sa.AtMost(2))
        policy.update(round, [0, 1], [[0.1, 0.2], [0.3, np.nan]])
        policy.save(tmp_path / "policy")
        saved.append((tmp_path / "policy").read_bytes())
        policy = sa.load(tmp_path / "policy")
        policy.save(tmp_path / "again")
        saved.append((tmp_path / "again").read_bytes())
    assert len(set(saved)) == 1
