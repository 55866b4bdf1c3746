"""Catalogues: what is written is read, whole or not at all, and told from all others."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import superarm as sa
from superarm.errors import InvalidArgument, UnreadableFile
from superarm.posteriors.model.features import Features
from superarm.sharding.exact_sums import ExactSums


def a_frame(arms=200, groups=9, seed=0, text=False):
    rng = np.random.default_rng(seed)
    shop = rng.integers(groups, size=arms)
    return pl.DataFrame(
        {
            "x": rng.normal(size=arms),
            "y": rng.uniform(size=arms) * 1e-8,
            "shop": [f"shop {s}" for s in shop] if text else shop,
            "sku": np.arange(arms),
            "left": rng.integers(5, size=arms),
        }
    )


NAMES = {"contexts": ["x", "y"], "group": "shop", "id": "sku"}


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize(("shards", "whole"), [(1, True), (3, True), (3, False), (7, False)])
def test_all_rows_are_there_once(tmp_path, shards, whole, text):
    frame = a_frame(text=text)
    written = sa.Catalogue.write(frame, tmp_path / "arms", **NAMES, also=["left"], shards=shards, whole=whole)
    arms = sa.Catalogue.open(tmp_path / "arms")
    assert arms.digest == written.digest
    together = pl.concat([arms.shard(number) for number in range(len(arms.shards))])
    assert together.sort("sku").equals(frame.select(together.columns).sort("sku"))
    assert arms.arms == len(arms) == len(frame)
    assert list(arms.labels) == sorted(frame["shop"].unique().to_list())
    assert arms.grouping.sizes.tolist() == frame.group_by("shop").len().sort("shop")["len"].to_list()
    assert arms.groups_whole == (whole or shards == 1)
    pieces = sum(len(set(arms.shard(number)["shop"])) for number in range(len(arms.shards)))
    assert arms.groups_whole == (pieces == len(arms.labels))
    some = [arms.arms - 1, 0, 17]
    assert arms.rows(some).equals(together[some])


def test_one_frame_or_many_make_the_same_catalogue(tmp_path):
    frame = a_frame()
    one = sa.Catalogue.write(frame, tmp_path / "one", **NAMES, shards=3)
    parts = (pd.DataFrame(frame[start : start + 7].to_dict(as_series=False)) for start in range(0, len(frame), 7))
    many = sa.Catalogue.write(parts, tmp_path / "many", **NAMES, shards=3)
    assert one.digest == many.digest


def test_the_digest_tells_rows_and_their_order(tmp_path):
    frame = a_frame()
    other = frame.with_columns(pl.when(pl.col("sku") == 3).then(pl.col("x") + 1e-16).otherwise(pl.col("x")).alias("x"))
    assert not other.equals(frame)
    frames = {"as": frame, "other": other, "reversed": frame.reverse()}
    written = {name: sa.Catalogue.write(rows, tmp_path / name, **NAMES, shards=2) for name, rows in frames.items()}
    assert len({arms.digest for arms in written.values()}) == 3


def test_features_are_those_of_one_round_and_the_same_for_any_sharding(tmp_path):
    frame = a_frame()
    found = [
        sa.Catalogue.write(frame, tmp_path / f"{shards}{whole}", **NAMES, shards=shards, whole=whole).features
        for shards in (1, 3, 7)
        for whole in (True, False)
    ]
    plain = Features.of(frame.select("x", "y").to_numpy())
    for features in found:
        assert features.count == plain.count
        for name in ("mean", "squares", "low", "high"):
            assert np.array_equal(getattr(features, name), getattr(found[0], name))
            np.testing.assert_allclose(getattr(features, name), getattr(plain, name), rtol=1e-13)


def test_exact_sums_are_rounded_once():
    values = np.array([[1e300, 1.0], [1.0, -1e-300], [-1e300, 2.0**-60], [2.0**-1074, 3.0]])
    sums = ExactSums(2)
    sums.add(values[:1])
    sums.add(values[1:])
    assert sums.over(1).tolist() == [1.0, 4.0 + 2.0**-60]
    assert sums.over(3)[0] == 1.0 / 3.0


def test_a_changed_file_is_noticed(tmp_path):
    arms = sa.Catalogue.write(a_frame(), tmp_path / "arms", **NAMES, shards=2)
    path = tmp_path / "arms" / arms.shards[1].file
    rows = pl.read_parquet(path)
    rows.with_columns(pl.col("x") + 1.0).write_parquet(path)
    with pytest.raises(UnreadableFile, match="its rows are not those that were written"):
        arms.shard(1)
    rows[:1].write_parquet(path)
    with pytest.raises(UnreadableFile, match="fewer rows"):
        arms.rows([arms.arms - 1])
    path.write_bytes(b"nothing")
    with pytest.raises(UnreadableFile, match="cannot be read"):
        arms.shard(1)


def test_a_manifest_that_was_edited_is_noticed(tmp_path):
    sa.Catalogue.write(a_frame(), tmp_path / "arms", **NAMES)
    file = tmp_path / "arms" / "catalogue.json"
    said = json.loads(file.read_text())
    for wrong in ({"shards": []}, {"digest": None}, {"contexts": [1]}):
        file.write_text(json.dumps({**said, **wrong}))
        with pytest.raises(UnreadableFile, match="not as it was written"):
            sa.Catalogue.open(tmp_path / "arms")


def test_of_two_that_write_into_a_folder_one_is_refused(tmp_path):
    def frames():
        yield a_frame(100)
        sa.Catalogue.write(a_frame(50), tmp_path / "arms", **NAMES)  # another is done meanwhile
        yield a_frame(100)

    with pytest.raises(InvalidArgument, match="does not exist yet, or is empty"):
        sa.Catalogue.write(frames(), tmp_path / "arms", **NAMES)
    assert sa.Catalogue.open(tmp_path / "arms").arms == 50
    assert len(sa.Catalogue.open(tmp_path / "arms").shard(0)) == 50


def test_letters_of_patterns_in_a_path_are_letters(tmp_path):
    arms = sa.Catalogue.write(a_frame(), tmp_path / "arms [2026]?*", **NAMES, shards=2)
    assert len(arms.shard(0)) + len(arms.shard(1)) == 200
    assert arms.rows([7]).height == 1
    assert repr(sa.Catalogue.write(a_frame(1), tmp_path / "one", contexts=["x"])).endswith(
        "1 arm in 1 group, 1 shard, groups whole; 1 context column)"
    )


def test_what_is_wrong_leaves_no_folder(tmp_path):
    frame = a_frame()
    for wrong, argument in [
        ({"contexts": ["z"]}, "frames"),
        ({"contexts": "x"}, "contexts"),
        ({"contexts": []}, "contexts"),
        ({"contexts": ["x", "x"]}, "contexts"),
        ({"contexts": ["shop"], "group": None}, "contexts"),
        ({"contexts": ["y"], "group": "x"}, "group"),
        ({"id": 3}, "id"),
        ({"shards": 0}, "shards"),
        ({"whole": 1}, "whole"),
    ]:
        text = a_frame(text=True) if wrong.get("contexts") == ["shop"] else frame
        with pytest.raises(InvalidArgument) as error:
            sa.Catalogue.write(text, tmp_path / "arms", **{**NAMES, **wrong})
        assert error.value.argument == argument
    for rows in (frame.with_columns(pl.lit(float("nan")).alias("x")), frame.with_columns(pl.lit(None).alias("x"))):
        with pytest.raises(InvalidArgument, match="contexts"):
            sa.Catalogue.write(rows, tmp_path / "arms", **NAMES)
    with pytest.raises(InvalidArgument, match="same types"):
        sa.Catalogue.write([frame, a_frame(text=True)], tmp_path / "arms", **NAMES)
    for nothing in ([], frame.head(0), 3, "frames"):
        with pytest.raises(InvalidArgument, match="frames"):
            sa.Catalogue.write(nothing, tmp_path / "arms", **NAMES)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UnreadableFile):
        sa.Catalogue.open(tmp_path / "arms")
    sa.Catalogue.write(frame, tmp_path / "arms", **NAMES)
    with pytest.raises(InvalidArgument, match="folder"):
        sa.Catalogue.write(frame, tmp_path / "arms", **NAMES)


def test_without_groups_there_is_one(tmp_path):
    rows = pd.DataFrame({"x": [1.0, 2.0]})
    arms = sa.Catalogue.write(rows, tmp_path / "arms", contexts=["x"], shards=4)
    assert (arms.labels, arms.groups_whole, len(arms.shards)) == ((0,), True, 1)
    with pytest.raises(InvalidArgument, match="rows"):
        arms.rows([2])
    assert len(arms.rows([])) == 0


def test_the_address_of_a_bucket_is_not_taken_for_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05)
    for call in (
        lambda: sa.Catalogue.write(a_frame(), "s3://bucket/arms", **NAMES),
        lambda: sa.Catalogue.open("s3://bucket/arms"),
        lambda: sa.fit_log(prior, "s3://bucket/*.parquet", contexts=["x"], outcomes=["a", "b"]),
        lambda: sa.Learners.open("gs://bucket/users", np.eye(2), noise_std=0.1),
    ):
        with pytest.raises(InvalidArgument, match="not an address"):
            call()
    assert not list(tmp_path.iterdir())


def test_what_is_said_of_all_arms_is_looked_at_too(tmp_path):
    sa.Catalogue.write(a_frame(), tmp_path / "arms", **NAMES, shards=2)
    groups, manifest = tmp_path / "arms" / "groups.parquet", tmp_path / "arms" / "catalogue.json"
    table, said = pl.read_parquet(groups), json.loads(manifest.read_text("utf-8"))
    for changed in (table.with_columns(pl.col("x") + 1.0), table[1:], table.drop("y")):
        changed.write_parquet(groups)
        with pytest.raises(UnreadableFile, match=r"groups\.parquet: its rows are not those that were written"):
            sa.Catalogue.open(tmp_path / "arms")
    table.write_parquet(groups)
    for wrong in ([], {}, said | {"shards": [{"rows": 3}]}, said | {"features": 3}, {**said, "contexts": None}):
        manifest.write_text(json.dumps(wrong), "utf-8")
        with pytest.raises(UnreadableFile):
            sa.Catalogue.open(tmp_path / "arms")
    del said["groups"]  # as older catalogues were
    manifest.write_text(json.dumps(said), "utf-8")
    assert sa.Catalogue.open(tmp_path / "arms").arms == 200
