"""A part of a bucket in S3, Google Cloud Storage or Azure, and whatever speaks like one of them, by obstore.

Keys and endpoints come from the environment, as ``AWS_ACCESS_KEY_ID`` or ``AWS_ENDPOINT_URL``. A PUT is whole or has
not been, and may demand that there is no such object yet, or that it is still the one that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from superarm.errors import InvalidArgument, PlaceUnavailable
from superarm.places.files import TEMPORARY
from superarm.places.lease import Lease
from superarm.places.place import Check, checked_name, whole
from superarm.words import to_install

LEASE = f"{TEMPORARY}lease"
SILENCE = 30.0  # seconds without a change after which an owner counts as dead


@dataclass(frozen=True)
class Objects:
    """The objects whose keys begin with a prefix."""

    address: str
    silence: float = SILENCE

    @classmethod
    def opened(cls, argument: str, address: str) -> Objects:
        """The place at an address, once it is clear that it is one and that obstore is there."""
        try:
            _store(address)
        except ImportError as error:
            expected = f"a folder, or obstore for a bucket ({to_install('cluster')})"
            raise InvalidArgument(argument, expected, str(error)) from None
        except (ValueError, _obstore().exceptions.BaseError) as error:  # of what is no address
            raise InvalidArgument(
                argument, "the address of a bucket, such as s3://bucket/folder", _words(error)
            ) from None
        return cls(address.rstrip("/"))

    def __str__(self) -> str:
        return self.address

    def read(self, name: str) -> bytes:
        with _plain_errors(self, name):
            return self._content(name)[0]

    def has(self, name: str) -> bool:
        with _plain_errors(self, name):
            try:
                _obstore().head(_store(self.address), checked_name(name))
            except FileNotFoundError:
                return False
            return True

    def write(self, name: str, content: bytes) -> None:
        with _plain_errors(self, name):
            self._put(name, content, "overwrite")

    def create(self, name: str, content: bytes) -> bool:
        return self.put_first(name, content) is not None

    def names(self, below: str = "") -> Iterator[str]:
        with _plain_errors(self, below):
            # The prefix of a list is one of whole folders.
            listed = _obstore().list(_store(self.address), prefix=checked_name(below) if below else None)
            for batch in listed:
                yield from filter(whole, (found["path"] for found in batch))

    def remove(self, below: str) -> None:
        with _plain_errors(self, below):
            found = [*self.names(below), checked_name(below)]
            _obstore().delete(_store(self.address), found)

    def tidy(self) -> None:
        """Nothing to remove: objects are never partly written."""

    @contextmanager
    def alone(self, say: Callable[[str], None]) -> Iterator[Check]:
        with Lease(place=self, name=LEASE, silence=self.silence).held(say) as check:
            yield check

    # What a lease is made of.

    def put_first(self, name: str, content: bytes) -> Any:
        """Create an object; its version, or None where there is one."""
        with _plain_errors(self, name):
            try:
                return self._put(name, content, "create")
            except _obstore().exceptions.AlreadyExistsError:
                return None

    def put_next(self, name: str, content: bytes, version: Any) -> Any:
        """Replace an object that has this version; its new version, or None where it has another or is gone."""
        with _plain_errors(self, name):
            try:
                return self._put(name, content, version)
            except (_obstore().exceptions.PreconditionError, FileNotFoundError):
                return None

    def read_version(self, name: str) -> tuple[bytes, Any] | None:
        """The content and version of an object, or None where there is none."""
        with _plain_errors(self, name):
            try:
                return self._content(name)
            except FileNotFoundError:
                return None

    def _content(self, name: str) -> tuple[bytes, Any]:
        found = _obstore().get(_store(self.address), checked_name(name))
        return bytes(found.bytes()), _version(found.meta)

    def _put(self, name: str, content: bytes, mode: Any) -> Any:
        # In one request, whatever the size: conditions hold for whole objects.
        stored = _obstore().put(_store(self.address), checked_name(name), content, mode=mode, use_multipart=False)
        return _version(stored)


def _version(of: Any) -> dict[str, str]:
    return {key: of[key] for key in ("e_tag", "version") if of[key] is not None}


def _obstore() -> Any:
    import obstore  # an extra
    import obstore.exceptions

    return obstore


@cache
def _store(address: str) -> Any:
    """The connection of this process, made once."""
    from obstore.store import from_url

    return from_url(address)


@contextmanager
def _plain_errors(place: Objects, name: str) -> Iterator[None]:
    """Turn errors of obstore into those of superarm; a missing object stays a :class:`FileNotFoundError`."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"{place}/{name}: not found") from None
    except _obstore().exceptions.BaseError as error:
        raise PlaceUnavailable(f"{place}/{name}: {_words(error)}") from error


def _words(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
