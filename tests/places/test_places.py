"""Places: whole files, one owner, and leases that outlive no owner for long."""

import sys
import threading
import time
from pathlib import Path

import pytest

from superarm.errors import InvalidArgument, PlaceUnavailable
from superarm.places.at import place_at
from superarm.places.folder import Folder
from superarm.places.lease import Lease
from tests.places import contract
from tests.waits import until


@pytest.mark.parametrize("duty", contract.EVERYTHING, ids=lambda duty: duty.__name__)
def test_a_folder_keeps_the_contract(duty, tmp_path):
    duty(Folder(tmp_path / "new" / "folder"))


def test_a_folder_is_tidied_of_what_superarm_was_writing(tmp_path):
    for name in (".superarm-0123456789abcdef", ".superarm-notes", "mine"):
        (tmp_path / name).touch()
    Folder(tmp_path).tidy()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".superarm-notes", "mine"]


def test_a_lock_that_says_something_stays(tmp_path):
    (tmp_path / ".superarm-lock").write_text("precious")
    with Folder(tmp_path).alone(print):
        pass
    assert (tmp_path / ".superarm-lock").read_text() == "precious"


def test_paths_and_addresses(monkeypatch):
    assert place_at("out", "results") == Folder(Path("results"))
    place = Folder(Path("x"))
    assert place_at("out", place) is place
    for wrong in (None, 3, "", Folder):
        with pytest.raises(InvalidArgument, match="out: expected a path"):
            place_at("out", wrong)
    for wrong in ("gcs://bucket/study", "https://host/study", "S3://bucket"):  # or a folder would have that name
        with pytest.raises(InvalidArgument, match="out: expected a folder, or an address that begins with s3://"):
            place_at("out", wrong)
    monkeypatch.setitem(sys.modules, "obstore", None)  # as where it is not installed
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    for address in ("s3://bucket/study", "gs://bucket", "az://account/container/x"):
        with pytest.raises(InvalidArgument, match=r"out: .*obstore for a bucket \(in a clone.*'\.\[cluster\]'"):
            place_at("out", address)


class Versions:
    """Objects in memory that are replaced under a condition; they may be out of reach, or forget to answer."""

    def __init__(self):
        self.held, self.count, self.reached, self.answers = {}, 0, True, True
        self.lock = threading.Lock()

    def put_first(self, name, content):
        return self._put(name, content, None)

    def put_next(self, name, content, version):
        return self._put(name, content, version)

    def _put(self, name, content, version):
        with self.lock:
            if not self.reached:
                raise PlaceUnavailable("out of reach")
            if (self.held[name][1] if name in self.held else None) != version:
                return None
            self.count += 1
            self.held[name] = content, self.count
            if not self.answers:
                raise PlaceUnavailable("no answer")
            return self.count

    def read_version(self, name):
        return self.held.get(name)

    def remove(self, name):
        self.held.pop(name, None)


def lease(place, silence=1.0):
    return Lease(place=place, name="lease", silence=silence)


def lost(check):
    """Whether an owner has learnt that it is none any more."""
    try:
        check()
    except BlockingIOError:
        return True
    return False


def test_a_lease_is_held_by_one_and_taken_over_when_its_owner_is_dead():
    place, said = Versions(), []
    with lease(place).held(said.append) as check:
        time.sleep(1.5)  # longer than an owner may be silent
        with pytest.raises(BlockingIOError, match="held by process"), lease(place).held(said.append):
            raise AssertionError
        check()
    assert place.held == {}
    assert len(said) == 1
    place.held["lease"] = b"left by a killed process", "any version"
    began = time.monotonic()
    with lease(place).held(said.append) as check:
        assert time.monotonic() - began >= 1.0
        check()
    assert said[1].startswith("held by somebody; it is taken over unless")
    assert place.held == {}


def test_an_owner_that_was_taken_for_dead_learns_of_it():
    place = Versions()
    with lease(place).held(print) as check:
        place.held["lease"] = b"another", "version"
        until(lambda: lost(check))
    assert place.held["lease"] == (b"another", "version")  # not ours to remove


def test_an_owner_that_reaches_nobody_gives_up_before_it_is_taken_for_dead_and_forgotten():
    place = Versions()
    with lease(place).held(print) as check:
        place.reached = False
        time.sleep(0.4)  # less than an owner may be silent
        check()
        until(lambda: lost(check))


def test_a_lost_answer_loses_no_lease():
    place = Versions()
    with lease(place).held(print) as check:
        place.answers = False
        time.sleep(0.4)  # a change or two, of which it hears nothing
        place.answers = True
        time.sleep(0.8)  # and some of which it hears
        check()
    assert place.held == {}


def test_of_many_that_find_a_dead_owner_one_takes_over():
    place, held, refused = Versions(), [], []
    place.held["lease"] = b"left", "any version"

    def attempt():
        try:
            with lease(place).held(lambda words: None):
                held.append(threading.get_ident())
                until(lambda: len(refused) == 5)
        except BlockingIOError:
            refused.append(threading.get_ident())

    threads = [threading.Thread(target=attempt) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(held), len(refused)) == (1, 5)
