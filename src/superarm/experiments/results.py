"""Results of an experiment: one row per round, policy and run, and where they came from."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PanicException

from superarm.errors import ForeignResults, UnreadableFile
from superarm.experiments.differences import differences
from superarm.experiments.experiment import DataKind, Experiment
from superarm.experiments.machines import HOW_TO_PIN, versions
from superarm.places.at import place_at
from superarm.places.place import Place
from superarm.simulation import PLAYED

Schema = dict[str, pl.DataType | type[pl.DataType]]

IDENTITY: Schema = {"experiment": pl.String, "policy": pl.String, "run": pl.Int64, "t": pl.Int64}  # of a row
# Null where a policy does not state it; results of earlier versions lack these columns.
SAID_BY_SOME: Schema = {
    name: PLAYED[name]
    for name in ("kind", "predicted_broken", "covered_1", "covered_2", "certified", "certified_broken")
}
ALWAYS: Schema = {
    **IDENTITY,
    "arms": PLAYED["arms"],
    "reward": pl.Float64,
    **dict.fromkeys(("optimal_reward", "super_arm_regret", "group_regret", "total_regret"), pl.Float64),
    **{
        name: kind
        for name, kind in PLAYED.items()
        if name not in ("t", "arms", "reward", "group_regret", *SAID_BY_SOME)
    },
}
# The policy's name without its settings, and these as a JSON object; earlier versions had the full name alone.
NAME_PARTS: Schema = {"base": pl.String, "settings": pl.String}
SCHEMA: Schema = {**ALWAYS, **SAID_BY_SOME, **NAME_PARTS}
COLUMNS = tuple(SCHEMA)
TABLE, MANIFEST = "results.parquet", "manifest.json"
PARTS, ROWS = "parts", ".rows"  # the folder of what was played, and the ending of its files
DIGEST = "results_sha256"  # of results.parquet, in the manifest

# Entries of a manifest that a report reads, if they are there.
_MANIFEST: dict[str, tuple[type, ...]] = {
    "experiment": (str,),
    "title": (str,),
    "rounds": (int,),
    "runs": (int,),
    "seed": (int,),
    "policies": (list,),
    "settings": (dict,),
    "data": (str, type(None)),
    "data_kind": (str, type(None)),
    "environments": (list, type(None)),
    "versions": (dict,),
    "commit": (str, type(None)),
    "cpu": (str,),
}
# Conditions on every row; only groups_touched and groups_satisfied may be missing.
_RULES = {
    "experiment": pl.col("experiment").is_not_null(),
    "policy": pl.col("policy").is_not_null(),
    "run": pl.col("run") >= 0,
    "t": pl.col("t") >= 1,
    "arms": pl.col("arms").is_not_null(),
    "groups_touched": pl.col("groups_touched") >= 0,
    "groups_satisfied": pl.col("groups_satisfied").is_between(0, pl.col("groups_touched")),
}
_DECIDES_NO_ROW = (DIGEST, "commit", "cpu")  # times in the table differ in every run
_SETTING = re.compile(r"(?<=\S) (\w+)=(\S+)")  # in the names of earlier versions


@dataclass(frozen=True, kw_only=True)
class Results:
    """A folder's table and manifest."""

    frame: pl.DataFrame
    manifest: dict[str, Any]


def read(folder: Path | str | Place) -> Results:
    """Read a finished folder or bucket, as it was written or not at all."""
    folder = place_at("folder", folder)
    missing = [name for name in (MANIFEST, TABLE) if not folder.has(name)]
    if missing:
        raise ForeignResults(
            f"{folder}: no finished results here ({missing[0]} is missing); run the experiment, or let it finish"
        )
    manifest, content = _manifest(folder), folder.read(TABLE)
    if hashlib.sha256(content).hexdigest() != manifest.get(DIGEST, hashlib.sha256(content).hexdigest()):
        raise _damaged(folder, "not what the run has written")
    try:
        frame = pl.read_parquet(content)  # from bytes: polars would take [ and * in a path for patterns
    except (Exception, PanicException) as error:  # a decoder is not made for damaged input
        raise _damaged(folder, str(error).splitlines()[0] if str(error) else type(error).__name__) from error
    missing = [name for name in ALWAYS if name not in frame.columns]
    if missing:
        raise ForeignResults(f"{folder}: results.parquet lacks the columns {missing}")
    kinds = {name: kind for name, kind in SCHEMA.items() if name in frame.columns}
    for name, kind in kinds.items():
        if not _fits(frame[name], kind):
            raise ForeignResults(f"{folder}: results.parquet holds {frame[name].dtype} as {name}, not {_word(kind)}")
    frame = frame.with_columns(pl.col(name).cast(kind, strict=False) for name, kind in kinds.items())
    for name, rule in _RULES.items():
        if not frame.select(rule.all(ignore_nulls=name not in IDENTITY).fill_null(False)).item():
            raise ForeignResults(f"{folder}: results.parquet has rows whose {name} is missing or impossible")
    return Results(frame=complete(frame), manifest=manifest)


def _damaged(folder: Place, why: str) -> UnreadableFile:
    return UnreadableFile(f"{folder}: damaged results ({why}); delete the folder and run the experiment again")


def _fits(column: pl.Series, kind: pl.DataType | type[pl.DataType]) -> bool:
    """Whether the column is of this kind; whole numbers of any width count, also where numbers are expected."""
    held = column.dtype
    if column.null_count() == len(column):
        return True
    if kind == pl.Float64:
        return held.is_numeric()
    return held.is_integer() if kind == pl.Int64 else held == kind


def _word(kind: pl.DataType | type[pl.DataType]) -> str:
    # By either: a type and its class are equal and have one hash.
    words: dict[Any, str] = {pl.Float64: "numbers", pl.Int64: "whole numbers", pl.String: "text"}
    return words.get(kind, str(kind))


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with every column: those of later versions are null, or derived from the policy's name."""
    lacking = {name: kind for name, kind in SAID_BY_SOME.items() if name not in frame.columns}
    frame = frame.with_columns(pl.lit(None, dtype=kind).alias(name) for name, kind in lacking.items())
    if NAME_PARTS.keys() <= set(frame.columns):
        return frame
    parts = {name: base_and_settings(name) for name in frame["policy"].unique().drop_nulls()}
    return frame.with_columns(
        pl.col("policy").replace_strict({name: part[i] for name, part in parts.items()}, default=None).alias(column)
        for i, column in enumerate(NAME_PARTS)
    )


def base_and_settings(name: str) -> tuple[str, str]:
    """The columns ``base`` and ``settings`` of a policy of which only the full name is known.

    >>> base_and_settings("tcgp-ucb zeta=0.25 learn=true")
    ('tcgp-ucb', '{"zeta": 0.25, "learn": true}')
    """
    return _SETTING.sub("", name), json.dumps({key: _scalar(value) for key, value in _SETTING.findall(name)})


def settings_in(text: str | None) -> dict[str, bool | int | float | str]:
    """The settings in a cell of the column; none if it does not hold settings."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    pairs = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in pairs if isinstance(value, (bool, int, float, str))}


def _scalar(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (bool, int, float)) else text


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
    """A description of the environment of each run, if runs have different ones."""
    if experiment.describe is None:
        return None
    return [experiment.describe(experiment.environment_of(seed, run)) for run in range(experiment.runs)]


def claim(place: Path | Place, experiment: Experiment, seed: int, *, cpu: str | None = None) -> None:
    """Make the place this experiment's, played on a kind of CPU, or refuse one that belongs to another.

    A place in which no unit was finished, for instance because a policy failed in its first rounds, is still free.
    """
    place = place_at("out", place)
    wanted = configuration(experiment, seed)
    if place.has(MANIFEST):
        manifest = _manifest(place)
        if not place.has(TABLE):
            # Rows of two versions in one table could not be attributed to either; nor those of two kinds of CPU.
            wanted["versions"] = versions()
            if cpu is not None and "cpu" in manifest:
                wanted["cpu"] = cpu
        differing = [key for key, value in wanted.items() if manifest.get(key) != value]
        if differing and not (place.has(TABLE) or any(name.endswith(ROWS) for name in place.names(PARTS))):
            _begin(place, wanted, cpu)
        elif differing:
            pin = f"; {HOW_TO_PIN}" if differing == ["cpu"] else ""
            raise ForeignResults(
                f"{place}: holds results of another configuration: {differences(manifest, wanted)}; give another "
                f"folder, or delete this one{pin}"
            )
        return
    if any(place.names()):
        raise ForeignResults(f"{place}: is not empty and holds no manifest; give another folder")
    _begin(place, wanted, cpu)


def _begin(place: Place, wanted: dict[str, Any], cpu: str | None) -> None:
    """Write the manifest of a configuration before anything is played."""
    kind = {} if cpu is None else {"cpu": cpu}
    _write_manifest(place, {**wanted, "versions": versions(), **kind, "commit": _commit()})


def write(place: Place, frame: pl.DataFrame) -> None:
    """Write the table, whole or not at all; before it, its digest into the manifest."""
    content = as_parquet(frame)
    _write_manifest(place, {**_manifest(place), DIGEST: hashlib.sha256(content).hexdigest()})
    place.write(TABLE, content)


def save(place: Place, results: Results) -> None:
    """Write results into a place that is new or empty, or over earlier ones of the same configuration and versions."""
    if place.has(MANIFEST):
        held = _manifest(place)
        if held.get(DIGEST) == results.manifest.get(DIGEST):
            return
        decides = {name: value for name, value in results.manifest.items() if name not in _DECIDES_NO_ROW}
        if any(held.get(name) != value for name, value in decides.items()):
            raise ForeignResults(
                f"{place}: holds other results: {differences(held, decides)}; give another folder, or delete this one"
            )
    elif any(place.names()):
        raise ForeignResults(f"{place}: is not empty and holds no manifest; give another folder")
    _write_manifest(place, results.manifest)
    write(place, results.frame)


def as_parquet(frame: pl.DataFrame) -> bytes:
    """The content of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _write_manifest(place: Place, manifest: dict[str, Any]) -> None:
    text = json.dumps(manifest, indent=2, ensure_ascii=False)
    place.write(MANIFEST, f"{text}\n".encode())


def _manifest(place: Place) -> dict[str, Any]:
    try:
        manifest = json.loads(place.read(MANIFEST).decode("utf-8"))
    except (ValueError, RecursionError):
        manifest = None
    needed = ("experiment", "seed", "data", "versions")
    wrong: list[str] = ["content"]
    if isinstance(manifest, dict):
        wrong = [name for name in needed if name not in manifest]
        wrong += [name for name, kinds in _MANIFEST.items() if name in manifest and type(manifest[name]) not in kinds]
        wrong += [
            name
            for name in ("policies", "environments")
            if name not in wrong and not all(isinstance(item, str) for item in manifest.get(name) or [])
        ]
        wrong += ["seed"] if "seed" not in wrong and manifest["seed"] < 0 else []
    if wrong:
        raise UnreadableFile(
            f"{place}/{MANIFEST}: damaged ({', '.join(wrong)}); give another folder, or delete this one"
        )
    return {"data_kind": _kind_in_words(manifest["data"]), **manifest}


def _kind_in_words(data: str | None) -> DataKind | None:
    """The kind of data from its description, for manifests of earlier versions, which have nothing else."""
    if data is None:
        return None
    if ", not the paper's " in data:
        return DataKind.OTHER
    return DataKind.SYNTHETIC if data.startswith("a synthetic look-alike") else DataKind.PAPERS


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
