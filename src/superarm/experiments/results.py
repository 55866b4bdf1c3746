"""Results of an experiment: one row per round, policy and run, and where they came from."""

from __future__ import annotations

import io
import json
import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

import superarm
from superarm.errors import ForeignResults, UnreadableFile
from superarm.experiments.experiment import DataKind, Experiment, run_entropy, seed_of
from superarm.simulation import PLAYED
from superarm.storage import TEMPORARY, replace_file

ALWAYS = (
    "experiment",
    "policy",
    "run",
    "t",
    "arms",
    "reward",
    "optimal_reward",
    "super_arm_regret",
    "group_regret",
    "total_regret",
    "groups_touched",
    "groups_satisfied",
    "status",
    "alpha",
    "select_seconds",
    "update_seconds",
)
# Null where a policy does not say; results of earlier versions lack them.
SAID_BY_SOME: dict[str, pl.DataType | type[pl.DataType]] = {
    name: PLAYED[name] for name in ("kind", "predicted_broken", "covered_1", "covered_2")
}
COLUMNS = (*ALWAYS, *SAID_BY_SOME)
PACKAGES = ("numpy", "scipy", "numba", "polars")


@dataclass(frozen=True, kw_only=True)
class Results:
    """A folder's table and manifest."""

    frame: pl.DataFrame
    manifest: dict[str, Any]


def read(folder: Path) -> Results:
    """Read a finished folder."""
    missing = [name for name in ("manifest.json", "results.parquet") if not (folder / name).exists()]
    if missing:
        raise ForeignResults(
            f"{folder}: no finished results here ({missing[0]} is missing); run the experiment, or let it finish"
        )
    manifest = _manifest(folder)
    try:
        # From bytes: polars would take [ and * in a path for patterns.
        frame = pl.read_parquet((folder / "results.parquet").read_bytes())
    except (ValueError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(
            f"{folder}: damaged results ({error}); delete the file and run the experiment again"
        ) from error
    missing = [name for name in ALWAYS if name not in frame.columns]
    if missing:
        raise ForeignResults(f"{folder}: results.parquet lacks the columns {missing}")
    return Results(frame=with_what_some_say(frame), manifest=manifest)


def with_what_some_say(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with every column of ``SAID_BY_SOME``, null where it was lacking."""
    lacking = {name: kind for name, kind in SAID_BY_SOME.items() if name not in frame.columns}
    return frame.with_columns(pl.lit(None, dtype=kind).alias(name) for name, kind in lacking.items())


def configuration(experiment: Experiment, seed: int) -> dict[str, Any]:
    """Everything that decides the rows: equal configurations give equal results."""
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "rounds": experiment.rounds,
        "runs": experiment.runs,
        "seed": seed,
        "policies": list(experiment.policies),
        "zeta": experiment.zeta,
        "settings": json.loads(json.dumps(experiment.settings)),
        "data": experiment.data,
        "data_kind": experiment.data_kind,
        "environments": _environments(experiment, seed),
    }


def _environments(experiment: Experiment, seed: int) -> list[str] | None:
    """What each run is played on, where runs differ in that."""
    if experiment.describe is None:
        return None
    seeds = (seed_of(run_entropy(seed, run), "environment") for run in range(experiment.runs))
    return [experiment.describe(experiment.environment(each)) for each in seeds]


def claim_folder(folder: Path, experiment: Experiment, seed: int) -> None:
    """Make the folder this experiment's, or refuse one that belongs to another."""
    wanted = configuration(experiment, seed)
    packages = {"superarm": superarm.__version__, **{name: version(name) for name in PACKAGES}}
    versions = {"python": platform.python_version(), **packages}
    path = folder / "manifest.json"
    if path.exists():
        manifest = _manifest(folder)
        if not (folder / "results.parquet").exists() and manifest["versions"] != versions:
            # Rows of two versions in one table would be nobody's results.
            wanted = {**wanted, "versions": versions}
        differing = [key for key, value in wanted.items() if manifest.get(key) != value]
        if differing:
            key = differing[0]
            raise ForeignResults(
                f"{folder}: holds results of another configuration ({', '.join(differing)} differ: {key} is "
                f"{manifest.get(key)!r} there and {wanted[key]!r} here); give another --out, or delete the folder"
            )
        return
    if any(not entry.name.startswith(TEMPORARY) for entry in folder.iterdir()):
        raise ForeignResults(f"{folder}: is not empty and holds no manifest; give another --out")
    text = json.dumps({**wanted, "versions": versions, "commit": _commit()}, indent=2, ensure_ascii=False)
    replace_file(path, f"{text}\n".encode())


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or not {"experiment", "seed", "data", "versions"} <= manifest.keys():
        raise UnreadableFile(f"{folder / 'manifest.json'}: damaged; give another --out, or delete the folder")
    return {"data_kind": _kind_in_words(manifest["data"]), **manifest}


def _kind_in_words(data: str | None) -> DataKind | None:
    """The kind of data that the words of a manifest mean, for those of earlier versions that have only the words."""
    if data is None:
        return None
    if ", not the paper's " in data:
        return DataKind.OTHER
    return DataKind.SYNTHETIC if data.startswith("a synthetic look-alike") else DataKind.PAPERS


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Write a table, whole or not at all."""
    replace_file(path, as_parquet(frame))


def as_parquet(frame: pl.DataFrame) -> bytes:
    """The content of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _commit() -> str | None:
    """The commit of the code, where it runs from a checkout."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True, timeout=10
        )
        tracked = subprocess.run(
            ["git", "ls-files", "--error-unmatch", __file__], cwd=here, capture_output=True, check=False, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() if tracked.returncode == 0 else None
