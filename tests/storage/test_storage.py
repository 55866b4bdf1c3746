import enum
import io
import json
import math
import os
import stat
import subprocess
import sys
import time
import tracemalloc
import zipfile
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import superarm as sa
from superarm.errors import InvalidArgument, NotStorable, UnreadableFile
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.rewards.simple import Sum
from superarm.storage import FORMAT, VERSION, read, storable, write


@storable
@dataclass(frozen=True, eq=False)
class Shelf:
    value: Any
    other: Any = None
    derived: int = field(init=False, default=7)

    @cached_property
    def expensive(self) -> int:
        return 42


@storable
class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


SUM = Sum  # the library's, where a test has its own


class Pair(NamedTuple):
    first: int
    second: int


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
            and one.flags.writeable == other.flags.writeable
        )
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Shelf):
        return same(one.value, other.value) and same(one.other, other.other)
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    return one == other


@pytest.fixture
def path(tmp_path):
    return tmp_path / "saved.superarm"


def round_trip(value, path):
    write(value, path)
    return read(path)


READ_ONLY = np.arange(3.0)
READ_ONLY.setflags(write=False)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -(10**30), 0.1, -0.0, 5e-324, math.inf, -math.inf, math.nan, "", "ü\n\0\ud800",
        b"", b"\0\xff", date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 6), datetime(2026, 1, 2, tzinfo=UTC),
        (), (1, (2.5, None), "x", (b"y", date(1, 1, 1))), Colour.RED, Colour.BLUE,
        np.arange(6).reshape(2, 3), np.array([np.nan, -0.0]), np.zeros((0, 4)), np.array(["a", "bb"]),
        np.array([True]), np.arange(4, dtype=">i2"), np.array([1 + 2j]), np.array([(1, 2.0)], dtype="i4,f8"),
        READ_ONLY, Shelf((np.ones(2), Shelf(3))), Sum(), Decomposition(label_limit=9), Exhaustive(), BestWholeGroups(),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_saved_comes_back_bit_for_bit(value, path):
    assert same(value, round_trip(value, path))


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(Colour)
ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.int32, np.bool_]), hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)
)


@settings(max_examples=50, deadline=None)
@given(st.recursive(PLAIN | ARRAYS, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.builds(Shelf, inner)))
def test_any_nesting_of_plain_values_comes_back(tmp_path_factory, value):
    assert same(value, round_trip(value, tmp_path_factory.getbasetemp() / "nested"))


def test_an_array_without_dimensions_keeps_its_shape(path):
    assert round_trip(np.array(1.5), path).shape == ()


def test_arrays_keep_their_memory_order(path):
    # Sums and products differ in the last bit between orders, and a loaded value must go on like the saved one.
    loaded = round_trip(np.asfortranarray(np.arange(6.0).reshape(2, 3)), path)
    assert loaded.flags.f_contiguous
    assert not loaded.flags.c_contiguous


def test_numpy_scalars_come_back_as_plain_numbers(path):
    loaded = round_trip((np.float64(0.1), np.int32(3), np.bool_(True)), path)
    assert same(loaded, (0.1, 3, True))


def test_fields_that_were_not_arguments_come_back_and_cached_ones_are_computed_anew(path):
    shelf = Shelf(1)
    object.__setattr__(shelf, "derived", 99)
    assert shelf.expensive == 42
    loaded = round_trip(shelf, path)
    assert loaded.derived == 99
    assert "expensive" not in vars(loaded)
    assert loaded.expensive == 42


def test_paths_may_be_text(tmp_path):
    write(3, str(tmp_path / "x"))
    assert read(str(tmp_path / "x")) == 3


def test_a_saved_file_is_as_readable_as_any_other_new_file(path, tmp_path):
    (tmp_path / "ordinary").touch()
    write(1, path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "ordinary").stat().st_mode)


# What cannot be saved ---------------------------------------------------------------------------------------------


class Stranger:
    pass


@pytest.mark.parametrize(
    ("value", "fragment"),
    [
        (lambda x: x, "a builtins.function cannot be saved without pickle"),
        (Shelf((1, lambda x: x)), "value.value[1]: a builtins.function"),
        (Shelf(1, other=Stranger()), "value.other: a"),
        (np.array([object()]), "value: an array of Python objects"),
        (Shelf(np.array(["a", None], dtype=object)), "value.value: an array of Python objects"),
        ([1, 2], "builtins.list"),
        ({"a": 1}, "builtins.dict"),
        ({1}, "builtins.set"),
        (bytearray(b"bytes"), "builtins.bytearray"),
        (timedelta(days=1), "datetime.timedelta"),
        (np.timedelta64(5, "ns"), "numpy.timedelta64"),
        (np.datetime64(5, "s"), "numpy.datetime64"),
        (1j, "builtins.complex"),
        (Stranger, "builtins.type"),
    ],
)
def test_what_is_not_plain_data_is_refused_and_nothing_is_written(value, fragment, path):
    with pytest.raises(NotStorable) as caught:
        write(value, path)
    assert fragment in str(caught.value)
    assert list(path.parent.iterdir()) == []


def test_a_named_tuple_is_not_silently_made_plain(path):
    try:
        loaded = round_trip(Pair(1, 2), path)
    except NotStorable:
        return
    assert type(loaded) is Pair


def test_a_class_of_the_same_name_is_not_taken_for_the_registered_one(path):
    @dataclass
    class Sum:
        pass

    with pytest.raises(NotStorable, match="Sum"):
        write(Sum(), path)


def test_a_users_class_may_have_the_name_of_any_other(path):
    @storable
    @dataclass(frozen=True)
    class Sum:
        value: int = 3

    loaded = round_trip((Sum(), SUM()), path)
    assert loaded == (Sum(), SUM())
    assert [type(each) for each in loaded] == [Sum, SUM]


def test_files_name_the_librarys_own_classes_without_their_module(path):
    write((Colour.RED, SUM()), path)
    saved = json.loads(zipfile.ZipFile(path).read("document.json"))["value"]["tuple"]
    assert saved[0]["enum"] == f"{__name__}:Colour"
    assert saved[1]["class"] == "Sum"


def test_two_classes_of_the_library_may_not_share_a_name():
    with pytest.raises(NotStorable, match=r"Sum: superarm\.rewards\.simple has a storable class of this name already"):
        storable(dataclass(type("Sum", (), {"__module__": "superarm.elsewhere"})))


def test_a_class_defined_again_replaces_the_old_one(path):
    def cell():
        @storable
        @dataclass(frozen=True)
        class Note:
            text: str

        return Note

    old = cell()("a")
    write(old, path)
    new = cell()
    assert type(read(path)) is new
    with pytest.raises(NotStorable, match=r"an earlier .*Note, since defined again; make it anew"):
        write(old, path)
    assert read(path) == new("a")


def test_a_script_loads_what_another_saved_once_it_has_the_class(tmp_path):
    define = (
        "import superarm as sa\nfrom dataclasses import dataclass\nfrom superarm.storage import read, write\n"
        "@sa.storable\n@dataclass\nclass Linear:\n    slope: float\n"
    )
    path = tmp_path / "saved"

    def run(code):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert run(f"{define}write(Linear(2.0), {str(path)!r})").returncode == 0
    assert run(f"{define}print(read({str(path)!r}))").stdout == "Linear(slope=2.0)\n"
    missing = run(f"import superarm\nfrom superarm.storage import read\nread({str(path)!r})").stderr
    assert "holds a 'Linear' of the script or notebook that saved it (module '__main__')" in missing


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
        except Exception as error:
            wrong.append((position, repr(error)))
    assert wrong == []


def archive(path, document=None, **files):
    with zipfile.ZipFile(path, "w") as file:
        if document is not None:
            file.writestr("document.json", document if isinstance(document, str) else json.dumps(document))
        for name, content in files.items():
            file.writestr(name, content)


def document(value, **changes):
    return {"format": FORMAT, "version": VERSION, "value": value} | changes


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
        (document(1, version=2), "written in version 2 of the file format; this superarm reads version 1"),
        (document({"class": f"{__name__}:Shelf", "fields": 3}), "damaged"),
        (document({"class": f"{__name__}:Colour", "fields": {}}), "damaged"),
        (document({"enum": f"{__name__}:Shelf", "member": "RED"}), "damaged"),
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
            {"class": f"{__name__}:Shelf", "fields": {"value": 1}},
            ["another version", "Shelf has the fields ['derived', 'other', 'value'] here, ['value'] in the file"],
        ),
        ({"enum": f"{__name__}:Colour", "member": "GREEN"}, ["another version", "Colour has no member 'GREEN' here"]),
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


def test_arrays_of_another_shape_than_their_class_says_are_refused(path):
    @storable(shapes={"rows": "n m", "names": "n", "both": "n+m * 2"})
    @dataclass
    class Table:
        rows: Any
        names: Any
        both: Any

    whole = Table(np.zeros((2, 3)), ("a", "b"), np.zeros((5, 4, 2)))
    assert round_trip(whole, path).names == whole.names
    for name, wrong in [
        ("rows", np.zeros((2, 4))),
        ("rows", np.zeros(2)),
        ("names", ("a",)),
        ("names", np.zeros((2, 1))),
        ("both", np.zeros((4, 4, 2))),
        ("both", np.zeros((5, 4, 3))),
    ]:
        write(replace(whole, **{name: wrong}), path)
        with pytest.raises(UnreadableFile, match=r"holds a Table whose [a-z]+ has shape"):
            read(path)


# Files of earlier versions ----------------------------------------------------------------------------------------


@storable(upgrade=lambda fields: {"metres": fields["centimetres"] / 100}, formerly=("Length",))
@dataclass(frozen=True)
class Distance:
    metres: float


def test_a_class_reads_the_fields_and_the_name_that_an_earlier_version_wrote(path):
    archive(path, document({"class": f"{__name__}:Length", "fields": {"centimetres": 250.0}}))
    assert read(path) == Distance(2.5)
    assert round_trip(Distance(1.0), path) == Distance(1.0)
    assert f"{__name__}:Distance" in zipfile.ZipFile(path).read("document.json").decode()


def test_an_upgrade_gets_values_and_is_not_asked_about_fields_of_today(path):
    seen = []

    def upgrade(fields):
        seen.append(fields)
        return {"both": (fields["first"], fields["second"])}

    @storable(upgrade=upgrade)
    @dataclass(frozen=True)
    class Both:
        both: tuple[Any, ...]

    name = f"{__name__}:{Both.__qualname__}"
    archive(path, document({"class": name, "fields": {"first": {"tuple": [1, 2]}, "second": {"float": "inf"}}}))
    assert read(path) == Both(((1, 2), math.inf))
    assert seen == [{"first": (1, 2), "second": math.inf}]
    assert round_trip(Both((3,)), path) == Both((3,))
    assert len(seen) == 1


def test_what_an_upgrade_cannot_turn_into_the_fields_of_today_is_refused(path):
    @storable(upgrade=lambda fields: fields)
    @dataclass(frozen=True)
    class Fixed:
        size: int

    archive(path, document({"class": f"{__name__}:{Fixed.__qualname__}", "fields": {"length": 1}}))
    with pytest.raises(UnreadableFile, match="another version: Fixed has the fields"):
        read(path)
