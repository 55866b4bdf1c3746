"""What every kind of place must do."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from superarm.errors import InvalidArgument
from superarm.places.place import Place


def keeps_whole_files_by_name(place):
    assert isinstance(place, Place)
    assert list(place.names()) == []
    assert list(place.names("parts")) == []
    place.write("manifest.json", b"{}")
    place.write("parts/1.rows", b"one")
    place.write("parts/1.rows", b"another one, and longer")
    place.write("parts/2 ü [x]*.rows", b"")
    place.write("partsy", b"a similar name")
    assert place.read("parts/1.rows") == b"another one, and longer"
    assert place.read("parts/2 ü [x]*.rows") == b""
    assert place.has("manifest.json")
    assert not place.has("parts")
    assert not place.has("none")
    assert sorted(place.names()) == ["manifest.json", "parts/1.rows", "parts/2 ü [x]*.rows", "partsy"]
    assert sorted(place.names("parts")) == ["parts/1.rows", "parts/2 ü [x]*.rows"]
    with pytest.raises(FileNotFoundError):
        place.read("parts/3.rows")
    place.remove("parts")
    place.remove("parts")
    place.remove("manifest.json")
    assert list(place.names()) == ["partsy"]
    assert pickle.loads(pickle.dumps(place)).read("partsy") == b"a similar name"


def creates_a_file_once(place):
    with ThreadPoolExecutor(8) as several:
        made = list(several.map(lambda number: place.create("here/it", b"%d" % number), range(8)))
    assert sum(made) == 1
    assert place.read("here/it") == b"%d" % made.index(True)
    assert list(place.names()) == ["here/it"]


def is_owned_by_one_at_a_time(place):
    waits = []
    place.write("manifest.json", b"{}")
    with place.alone(waits.append) as check:
        check()
        with pytest.raises(BlockingIOError), place.alone(waits.append):
            raise AssertionError("two owners")
        assert list(place.names()) == ["manifest.json"]
        check()
    waits.clear()
    with place.alone(waits.append):
        pass
    assert waits == []
    assert list(place.names()) == ["manifest.json"]


def refuses_names_that_lead_elsewhere(place):
    for name in ("", "/etc/passwd", "../x", "a//b", "a/./b", "a/..", "a\\b", "a\0"):
        for wrong in (place.read, place.has, place.remove):
            with pytest.raises(InvalidArgument, match="name: expected names with / between them"):
                wrong(name)
        with pytest.raises(InvalidArgument):
            place.write(name, b"")


EVERYTHING = [
    keeps_whole_files_by_name,
    creates_a_file_once,
    is_owned_by_one_at_a_time,
    refuses_names_that_lead_elsewhere,
]
