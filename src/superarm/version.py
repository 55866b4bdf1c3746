"""Which superarm this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def _version() -> str:
    try:
        return version("superarm")
    except PackageNotFoundError:  # imported from its source, which says it too
        import tomllib

        project = Path(__file__).parents[2] / "pyproject.toml"
        return str(tomllib.loads(project.read_text("utf-8"))["project"]["version"]) if project.exists() else "unknown"


__version__ = _version()
