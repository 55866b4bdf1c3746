"""Where data sets are kept between runs, and files that are there whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl

from superarm.storage import replace_file

PathLike = str | os.PathLike[str]


def cache_folder(cache: PathLike | None = None) -> Path:
    """``cache`` if given, else the environment variable SUPERARM_CACHE, else the place that the platform has for it."""
    chosen = cache or os.environ.get("SUPERARM_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "superarm" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "superarm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "superarm"


def load_frame(path: Path, key: dict[str, Any]) -> pl.DataFrame | None:
    """The frame kept at ``path``, or None unless it is there, unharmed, and was made for this ``key``."""
    try:
        kept = json.loads(_key_file(path).read_text())
        content = path.read_bytes()
    except (OSError, ValueError):
        return None
    # The digest comes first: a decoder is not made for damaged input.
    if kept != {**key, "sha256": hashlib.sha256(content).hexdigest()}:
        return None
    return pl.read_parquet(io.BytesIO(content))


def keep_frame(path: Path, key: dict[str, Any], frame: pl.DataFrame) -> None:
    """Keep the frame for :func:`load_frame`; a cache that cannot be written is no reason to fail."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    content = buffer.getvalue()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
        replace_file(_key_file(path), json.dumps({**key, "sha256": hashlib.sha256(content).hexdigest()}).encode())
    except OSError:
        return


def _key_file(path: Path) -> Path:
    return path.with_suffix(".json")
