import math
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from superarm.report import explorer, theme, ticks
from superarm.report.label_places import PLACES, box_of, distance, overlap, places
from tests.report.samples import MANY, POLICIES, results

few = st.sampled_from([0.0, 1.0, 2.0, 3.0])  # many ties
numbers = few | st.floats(-10, 10) | st.sampled_from([math.nan, math.inf, None])


@settings(deadline=None)
@given(st.lists(st.tuples(numbers, numbers), max_size=12))
def test_pareto_is_what_comparing_all_pairs_finds(pairs):
    found = explorer.pareto([cost for cost, _ in pairs], [gain for _, gain in pairs])
    whole = [pair for pair in pairs if all(value is not None and math.isfinite(value) for value in pair)]
    for pair, kept in zip(pairs, found, strict=True):
        if pair not in whole:
            assert not kept
            continue
        beaten = any(other[0] <= pair[0] and other[1] >= pair[1] and other != pair for other in whole)
        assert kept == (not beaten)


def test_the_benchmark_dominates_nobody():
    table = explorer.points(results(POLICIES))
    marked = dict(table.select("policy", "pareto").iter_rows())
    assert marked["cautious"]
    assert not marked["clairvoyant"]
    rows = {row["policy"]: row for row in table.iter_rows(named=True) if row["policy"] != "clairvoyant"}
    for policy, row in rows.items():
        better = [
            other
            for other in rows.values()
            if other["group_regret_mean"] < row["group_regret_mean"]
            and other["reward_ratio_pooled"] > row["reward_ratio_pooled"]
        ]
        assert not (marked[policy] and better)


def test_a_point_without_regret_is_drawn():
    frame = results(["cautious", "tcgp-ucb", "clairvoyant"]).with_columns(
        group_regret=pl.when(pl.col("policy") == "cautious").then(0.0).otherwise("group_regret")
    )
    (panel,) = explorer.tradeoff(frame).panels
    spec = panel.to_dict()
    scale = spec["layer"][-1]["encoding"]["x"]["scale"]
    assert scale["type"] == "symlog"
    assert scale["domain"][0] == 0 < scale["constant"]  # no regret is below 0
    (rows,) = spec["datasets"].values()
    drawn = {row["policy"]: row for row in rows}
    assert drawn["cautious"]["group_regret_mean"] == 0
    assert drawn["cautious"]["name"] == "cautious"


def test_settings_are_named_at_their_points_and_coloured_by_their_policy():
    (panel,) = explorer.tradeoff(results(MANY, rounds=12)).panels
    (rows,) = panel.to_dict()["datasets"].values()
    drawn = {row["policy"]: row for row in rows}
    assert len(drawn) == len(MANY)
    assert drawn["cautious confidence=0.95"]["base"] == drawn["cautious"]["base"] == "cautious"
    assert drawn["cautious confidence=0.95"]["name"] == "confidence 0.95"


def test_a_name_that_a_user_chose_is_shown_in_its_own_colour():
    chosen = {"cautious": ("cautious", "{}"), "bold": ("cautious", '{"confidence": 0.8}'), "a": ("cautious", "{}")}
    frame = results(list(chosen), rounds=6).with_columns(
        base=pl.col("policy").replace_strict({name: base for name, (base, _) in chosen.items()}),
        settings=pl.col("policy").replace_strict({name: settings for name, (_, settings) in chosen.items()}),
    )
    (panel,) = explorer.tradeoff(frame).panels
    (rows,) = panel.to_dict()["datasets"].values()
    assert {row["policy"]: (row["name"], row["base"]) for row in rows} == {name: (name, name) for name in chosen}
    looks = theme.styles(theme.checked(frame))
    found = theme.config(looks)["range"]
    colours = dict(zip(theme.bases_of(looks), found["ordinal"], strict=True))
    assert colours == dict(zip(looks, found["category"], strict=True))
    assert len({(style.light, style.dash) for style in looks.values()}) == 3


def test_a_straggler_does_not_squeeze_the_others():
    frame = results(["tcgp-ucb", "stcgp-ucb", "cgp-ucb"]).with_columns(
        reward=pl.when(pl.col("policy") == "cgp-ucb").then(0.01).otherwise("reward")
    )
    (panel,) = explorer.tradeoff(frame).panels
    spec = panel.to_dict()
    low, high = spec["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert 0.5 < low < high
    (rows,) = spec["datasets"].values()
    beneath = {row["policy"]: (row["beneath"], row["drawn"]) for row in rows}
    assert beneath["cgp-ucb"] == (True, pytest.approx(low, rel=1e-5))
    assert not beneath["tcgp-ucb"][0]


def test_one_that_breaks_everything_does_not_push_the_others_off_the_axis():
    frame = results(["cautious", "tcgp-ucb", "clairvoyant"]).with_columns(
        reward=pl.col("optimal_reward")
        * pl.col("policy").replace_strict({"tcgp-ucb": 2.2, "cautious": 0.75, "clairvoyant": 1.0})
    )
    (panel,) = explorer.tradeoff(frame).panels
    (rows,) = panel.to_dict()["datasets"].values()
    assert not any(row["beneath"] for row in rows)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), max_size=8))
def test_ticks_hold_zero_and_every_value(values):
    found = ticks.zero_and_decades(values)
    assert found[0] == 0
    assert len(found) >= 3
    assert found == sorted(found)
    assert max(values, default=0.0) <= found[-1]
    for low, high in pairwise(found[1:]):
        assert high == pytest.approx(10 * low)


def test_the_bars_above_points_are_whole():
    frame = results(["tcgp-ucb", "uniform"], rounds=4)
    (panel,) = explorer.tradeoff(frame).panels
    spec = panel.to_dict()
    (rows,) = spec["datasets"].values()
    high = spec["layer"][-1]["encoding"]["y"]["scale"]["domain"][1]
    table = explorer.points(frame)
    assert max(table["earned"] + table["earned_spread"]) < high
    assert max(row["top"] for row in rows) < high


def test_the_caption_tells_only_of_what_is_drawn():
    plain = explorer.tradeoff(results(["tcgp-ucb", "uniform"], rounds=4)).caption
    assert "triangle" not in plain
    assert "settings" not in plain
    assert "apart from the clairvoyant" in plain
    frame = results(["tcgp-ucb", "tcgp-ucb zeta=0.25", "uniform"], rounds=4)
    frame = frame.with_columns(reward=pl.when(pl.col("policy") == "uniform").then(0.01).otherwise("reward"))
    full = explorer.tradeoff(frame).caption
    assert "triangle" in full
    assert "all settings of a policy have the same colour" in full


def test_an_axis_of_few_decades_has_marks_between_them():
    frame = results(["cautious", "uniform"], rounds=4).with_columns(
        group_regret=pl.when(pl.col("policy") == "uniform").then(1.3).otherwise(0.425)
    )
    (panel,) = explorer.tradeoff(frame).panels
    axis = panel.to_dict()["layer"][-1]["encoding"]["x"]["axis"]
    assert axis["values"] == [0, 1, 2, 5]


def test_marks_of_an_axis_are_written_in_one_way():
    assert ticks.written([0.0, 0.001, 1e5]) == ticks.written([1.0]) == "format(datum.value, ',~f')"
    assert ".0e" in ticks.written([1.0, 1e8])
    assert ".0e" in ticks.written([1e-6, 1.0])


def test_a_name_in_a_cluster_stands_a_line_further_off():
    spots = [(495.0, 96.0), (497.0, 95.0), (501.0, 90.0), (523.0, 26.0), (532.0, 50.0), (534.0, 100.0), (565.0, 88.0)]
    names = ["tcgp-ucb", "stcgp-ucb", "tcgp-ucb-learned", "oclok-ucb", "cc-mab", "tcgp-ucb-batch", "acc-ucb"]
    assert None not in places(spots, names, 660, 380, [0, 1, 2, 3, 4, 5, 6])


spots = st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), min_size=1, max_size=15)


@settings(deadline=None)
@given(spots)
def test_names_lie_inside_and_on_nothing(spots):
    names = [f"name {i}" for i in range(len(spots))]
    found = places(spots, names, 300, 200, range(len(spots)))
    boxes = [box_of(spot, name, place) for spot, name, place in zip(spots, names, found, strict=True) if place]
    for i, box in enumerate(boxes):
        assert box[0] >= 0
        assert box[1] >= 0
        assert box[2] <= 300
        assert box[3] <= 200
        assert not any(overlap(box, other) for other in boxes[:i])
        assert not any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in spots)


def test_names_cross_a_line_only_where_they_must():
    spots, names = [(50.0, 50.0)], ["name"]
    above = [(0.0, 35.0, 100.0, 45.0)]
    assert places(spots, names, 100, 100, [0]) == [PLACES[0]]
    assert places(spots, names, 100, 100, [0], above) == [PLACES[1]]
    everywhere = [(0.0, 0.0, 100.0, 100.0)]
    assert places(spots, names, 100, 100, [0], everywhere) == [PLACES[0]]


def test_a_name_is_nearer_to_its_own_point_where_it_can_be():
    spots, names = [(50.0, 50.0), (70.0, 40.0)], ["near", "x"]
    found = places(spots, names, 200, 100, [0, 1])
    assert found[0] not in (None, PLACES[0])  # to the upper right, beneath the other point
    box = box_of(spots[0], names[0], found[0])
    assert distance(box, spots[0]) < distance(box, spots[1])


def test_names_avoid_the_bars_through_points(monkeypatch):
    asked = []
    monkeypatch.setattr(explorer, "places", lambda *args: asked.append(args) or places(*args))
    explorer.tradeoff(results(POLICIES))
    for spots, *_, lines in asked:
        for x, y in spots:
            assert any(left <= x <= right and (top, bottom) == (y - 1, y + 1) for left, top, right, bottom in lines)
            assert any(top <= y <= bottom and (left, right) == (x - 1, x + 1) for left, top, right, bottom in lines)
