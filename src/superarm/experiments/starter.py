"""A study to start from, as a file of the user's own."""

from __future__ import annotations

import json
import shlex
from importlib import resources
from pathlib import Path

from superarm.errors import InvalidArgument
from superarm.experiments.names import checked_study


def write_starter(file: Path) -> Path:
    """Write the study into a new file, which gets the ending that ``superarm run`` needs, and return its path."""
    if file.name in ("", "..") or '"' in file.name:
        raise InvalidArgument("file", "a name for a file, such as study.py", file)
    file = file if file.suffix == ".py" else file.with_name(f"{file.name}.py")
    name = checked_study(file.stem)  # of its results: two files do not share a folder
    text = resources.files(__package__).joinpath("starter.txt").read_text(encoding="utf-8")
    text = text.replace("superarm run study.py", f"superarm run {shlex.quote(file.name)}")
    text = text.replace("results/study", shlex.quote(f"results/{name}"))
    text = text.replace('name="study"', f"name={json.dumps(name, ensure_ascii=False)}")
    try:
        with file.open("x", encoding="utf-8") as written:  # never over another
            written.write(text)
    except FileExistsError:
        raise InvalidArgument("file", "the name of a new file", f"{file}, which exists already") from None
    return file
