"""The model and the number of the last round, in a file that is there whole or not at all."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord

from superarm.errors import UnreadableFile
from superarm.storage import replace_file

NAMES = "superarm.names"  # of the arrays, and the round: the first entry of the file


@dataclass(frozen=True)
class Checkpoint:
    """A file of NumPy's, with the arrays by number and their names as JSON."""

    path: Path

    def write(self, server_round: int, arrays: ArrayRecord) -> None:
        """Keep the model after a round."""
        said = json.dumps({"round": server_round, "names": list(arrays)})
        parts = {f"array {place}": array.numpy() for place, array in enumerate(arrays.values())}
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **{NAMES: np.frombuffer(said.encode(), dtype=np.uint8)}, **parts)
        replace_file(self.path, buffer.getvalue())

    def read(self) -> tuple[int, ArrayRecord] | None:
        """The number of the last round and the model after it; None where nothing was kept yet."""
        if not self.path.exists():
            return None
        try:
            with np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False) as kept:
                said = json.loads(kept[NAMES].tobytes())
                arrays = {str(name): Array(kept[f"array {place}"]) for place, name in enumerate(said["names"])}
                return int(said["round"]), ArrayRecord(arrays)
        except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise UnreadableFile(f"{self.path}: no checkpoint of superarm, or damaged ({error})") from None
