"""What is read of a results folder, and what is refused in one line."""

import json
import shutil
from contextlib import suppress

import numpy as np
import polars as pl
import pytest

from superarm.errors import ForeignResults, SuperarmError, UnreadableFile
from superarm.experiments import results, runner
from superarm.experiments.differences import differences
from tests.experiments import small


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "out"
    study = small.federated(rounds=3, runs=1).with_changes(policies=("uniform", "tcgp-ucb zeta=0.25"))
    runner.run(study, folder=folder, seed=5)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "out")


def change(folder, **manifest):
    path = folder / "manifest.json"
    kept = json.loads(path.read_text(encoding="utf-8")) | manifest
    path.write_text(json.dumps({key: value for key, value in kept.items() if value is not ...}), encoding="utf-8")


def as_earlier(folder, frame):
    """A folder as earlier versions left it: no digest."""
    frame.write_parquet(folder / "results.parquet")
    change(folder, results_sha256=...)


def test_every_flipped_bit_is_noticed(folder):
    path = folder / "results.parquet"
    whole = path.read_bytes()
    for position in np.random.default_rng(0).integers(0, 8 * len(whole), 300):
        harmed = bytearray(whole)
        harmed[position // 8] ^= 1 << (position % 8)
        path.write_bytes(harmed)
        with pytest.raises(UnreadableFile, match=r"damaged results \(not what the run has written\)"):
            results.read(folder)
    path.write_bytes(whole)
    assert len(results.read(folder).frame) == 9


def test_folders_without_a_digest_are_read_and_their_damage_is_no_panic(folder):
    path = folder / "results.parquet"
    times = pl.lit(0.25).alias("select_seconds"), pl.lit(0.125).alias("update_seconds")
    frame = results.read(folder).frame.with_columns(times)  # so the same bits are harmed in every run
    as_earlier(folder, frame)
    assert results.read(folder).frame.equals(frame)
    whole = path.read_bytes()
    for position in np.random.default_rng(1).integers(0, 8 * len(whole), 300):
        harmed = bytearray(whole)
        harmed[position // 8] ^= 1 << (position % 8)
        path.write_bytes(harmed)
        with suppress(SuperarmError):
            results.read(folder)


def test_base_and_settings_are_columns(folder):
    frame = results.read(folder).frame
    parts = {row[0]: (row[1], json.loads(row[2])) for row in frame.select("policy", "base", "settings").iter_rows()}
    assert parts == {
        "uniform": ("uniform", {}),
        "tcgp-ucb zeta=0.25": ("tcgp-ucb", {"zeta": 0.25}),
        "clairvoyant": ("clairvoyant", {}),
    }


def test_names_of_earlier_versions_are_taken_apart_once(folder):
    frame = results.read(folder).frame
    as_earlier(folder, frame.drop("base", "settings"))
    assert results.read(folder).frame.equals(frame)
    assert results.base_and_settings("a x=9 y=on") == ("a", '{"x": 9, "y": "on"}')
    assert results.base_and_settings("a=b") == ("a=b", "{}")  # a name is not all settings
    assert results.settings_in('{"zeta": [1]}') == results.settings_in("[") == results.settings_in(None) == {}


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pl.lit(None, dtype=pl.String).alias("policy"), "rows whose policy is missing or impossible"),
        (pl.lit("a lot").alias("reward"), "holds String as reward, not numbers"),
        (pl.col("t").cast(pl.Float64), "holds Float64 as t, not whole numbers"),
        (pl.lit(-1).alias("run"), "rows whose run is missing or impossible"),
        (pl.lit(10**6).alias("groups_satisfied"), "rows whose groups_satisfied is missing or impossible"),
        (pl.lit(7).alias("arms"), "holds Int32 as arms"),
        (pl.lit(None, dtype=pl.List(pl.Int64)).alias("arms"), "out: .* rows whose arms is missing or impossible"),
        (pl.lit(None).alias("arms"), "out: .* rows whose arms is missing or impossible"),
        (pl.when(pl.col("t") > 1).then("arms").alias("arms"), "out: .* rows whose arms is missing or impossible"),
    ],
)
def test_tables_that_no_run_writes_are_refused(folder, column, said):
    as_earlier(folder, results.read(folder).frame.with_columns(column))
    with pytest.raises(ForeignResults, match=said):
        results.read(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("experiment", 3),
        ("seed", "five"),
        ("seed", True),
        ("seed", -1),
        ("rounds", 2.5),
        ("runs", [1]),
        ("title", None),
        ("policies", "uniform"),
        ("policies", ["uniform", None]),
        ("settings", [1]),
        ("data", 7),
        ("environments", {"a": 1}),
        ("versions", None),
        ("commit", 5),
    ],
)
def test_manifests_of_wrong_types_are_refused_by_name(folder, key, value):
    change(folder, **{key: value})
    with pytest.raises(UnreadableFile, match=rf"manifest\.json: damaged \({key}\)") as error:
        results.read(folder)
    assert "\n" not in str(error.value)


def test_only_what_differs_is_said_and_briefly():
    there = {"rounds": 30, "settings": {"clients": 3, "policy mine": "Mine, content 1", "same": 1}, "data": None}
    here = {"rounds": 40, "settings": {"clients": 4, "policy mine": "Mine, content 2", "same": 1}, "data": "x" * 500}
    *words, last = differences(there, here).split("; ")
    assert words == ["rounds is 30 there and 40 here", "clients is 3 there and 4 here", "policy mine has changed since"]
    assert last == f"data is not given there and {'x' * 57}... here"
