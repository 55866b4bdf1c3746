"""A bucket keeps the contract of a place."""

import threading
import time
from dataclasses import replace

import pytest

from superarm.errors import InvalidArgument, PlaceUnavailable
from superarm.places.at import place_at
from superarm.places.objects import Objects
from tests.places import contract
from tests.waits import until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("duty", contract.EVERYTHING, ids=lambda duty: duty.__name__)
def test_a_bucket_keeps_the_contract(duty, s3):
    place = place_at("out", f"{s3()}/a/study/")
    assert isinstance(place, Objects)
    assert not str(place).endswith("/")
    duty(replace(place, silence=2.0))


def test_the_place_of_a_dead_owner_is_taken_over(s3):
    place = replace(place_at("out", f"{s3()}/study"), silence=2.0)
    place.write(".superarm-lease", b'{"host": "far", "process": 7, "count": 3}')
    said = []
    began = time.monotonic()
    with place.alone(said.append) as check:
        check()
        assert time.monotonic() - began >= 2.0
    assert said == ["held by process 7 on far; it is taken over unless anything is heard of it within 2 seconds"]
    assert not place.has(".superarm-lease")


def test_of_several_that_find_a_dead_owner_one_takes_over(s3):
    place, held, refused = replace(place_at("out", f"{s3()}/study"), silence=2.0), [], []
    place.write(".superarm-lease", b"left")

    def attempt():
        try:
            with place.alone(lambda words: None):
                held.append(1)
                until(lambda: len(refused) == 2)
        except BlockingIOError:
            refused.append(1)

    threads = [threading.Thread(target=attempt) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(held), len(refused)) == (1, 2)


def test_what_a_bucket_answers_is_told_in_a_line(s3):
    s3()
    place = place_at("out", "s3://there-is-none/x")
    with pytest.raises(PlaceUnavailable, match=r"^s3://there-is-none/x/: .*404 Not Found[^\n]*$"):
        list(place.names())
    with pytest.raises(FileNotFoundError, match="s3://there-is-none/x/a: not found"):
        place.read("a")
    with pytest.raises(InvalidArgument, match="out: expected the address of a bucket, such as s3://bucket/folder"):
        place_at("out", "s3://")
