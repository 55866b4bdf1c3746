"""Saving and loading values without pickle: one zip file of JSON and ``.npy`` arrays.

A class joins by the decorator :func:`storable`; it must be a dataclass whose fields hold the whole of
its state as plain data: None, bool, int, float, str, bytes, date, datetime, NumPy arrays, tuples,
enumerations, and other storable values. Loading sets the fields as they were, so the loaded value
equals the saved one bit for bit. Nothing in a file is executed, and only registered classes are ever
built.

A file names superarm's own classes alone, so that they may move between its modules, and all others
with their module, so that every library and script may name its classes as it likes. A class that is
renamed or changes its fields says so in :func:`storable`, and files of earlier versions are read.
"""

from superarm.places.files import TEMPORARY, alone, checked_path, replace_file, sync_folder
from superarm.storage.classes import Fields, storable
from superarm.storage.files import FORMAT, VERSION, from_bytes, read, to_bytes, write

__all__ = [
    "FORMAT",
    "Fields",
    "TEMPORARY",
    "VERSION",
    "alone",
    "checked_path",
    "from_bytes",
    "read",
    "replace_file",
    "storable",
    "sync_folder",
    "to_bytes",
    "write",
]
