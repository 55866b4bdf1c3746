"""From what a call is given as a folder or an address to a place."""

from __future__ import annotations

import os

from superarm.errors import InvalidArgument
from superarm.places.files import checked_path
from superarm.places.folder import Folder
from superarm.places.place import Place

SCHEMES = ("s3://", "gs://", "az://")


def place_at(argument: str, value: str | os.PathLike[str] | Place) -> Place:
    """The folder at a path, or the place at an address that begins with ``s3://``, ``gs://`` or ``az://``.

    >>> place_at("out", "results/federated")
    Folder(path=PosixPath('results/federated'))
    """
    if isinstance(value, str) and value.startswith(SCHEMES):
        from superarm.places.objects import Objects  # which needs an extra

        return Objects.opened(argument, value)
    if isinstance(value, Place) and not isinstance(value, type):
        return value
    if isinstance(value, str) and "://" in value:  # or a slip would become a folder of that name
        raise InvalidArgument(argument, "a folder, or an address that begins with s3://, gs:// or az://", value[:200])
    return Folder(checked_path(argument, value))
