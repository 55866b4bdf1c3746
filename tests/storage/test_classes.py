import json
import math
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from superarm.errors import NotStorable, UnreadableFile
from superarm.rewards.simple import Sum
from superarm.storage import read, storable, write
from tests.storage.shelf import Colour, Shelf, archive, document, round_trip

SUM = Sum  # the library's, where a test has its own


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
    assert saved[0]["enum"] == f"{Shelf.__module__}:Colour"
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
    with pytest.raises(NotStorable, match=r"the class .*Note was defined again since; create the value again"):
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
