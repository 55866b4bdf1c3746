import math
import re
import warnings

import altair as alt
import polars as pl
import pytest

from superarm.experiments.measures import cumulative, over_runs
from superarm.report import figures, panels, theme
from superarm.report.page import export
from tests.report.samples import MANY, POLICIES, ZETAS, bounds, results

NAMES = [
    *("tradeoff", "regret", "reward_ratio", "satisfied", "learning", "regret_parts", "bound", "times"),
    *("coverage", "promises"),
]
ONE_AND_SLOW = [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])]
BELIEVING = ["cautious", "tcgp-ucb", "stcgp-ucb", "oclok-ucb", "cgp-ucb"]


@pytest.fixture(scope="module")
def frame():
    return results(POLICIES)


@pytest.fixture(scope="module")
def drawn(frame):
    return figures.figures(frame, bounds(frame))


def specs(figure):
    return [panel.to_dict() for panel in figure.panels]


def values(spec):
    (data,) = spec["datasets"].values()
    return data


def test_every_figure_is_there_once(drawn):
    assert [figure.name for figure in drawn] == NAMES
    tradeoff = figures.figures(results([*ZETAS, "clairvoyant"], experiment="tradeoff"))
    names = [name for name in NAMES if name not in ("bound", "promises")]
    assert [figure.name for figure in tradeoff] == [names[0], "zeta", *names[1:]]


@pytest.mark.parametrize("name", ONE_AND_SLOW)
def test_exports_are_valid_files(drawn, name):
    files = export(next(figure for figure in drawn if figure.name == name))
    assert files["png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert files["svg"].startswith(b"<svg")
    assert files["pdf"].startswith(b"%PDF")
    assert min(map(len, files.values())) > 5000
    assert b"NaN" not in files["svg"]


def test_super_arm_regret_never_stands_without_group_regret(drawn):
    for figure in drawn:
        titles = [str(spec["title"]).lower() for spec in specs(figure)]
        if any("super-arm regret" in title for title in titles):
            assert "group regret" in titles


def test_a_panel_holds_the_curve_as_it_is_with_bands_that_end_at_zero(frame, drawn):
    regret = next(figure for figure in drawn if figure.name == "regret")
    drawn_values = values(specs(regret)[1])
    curve = over_runs(cumulative(theme.checked(frame), "group_regret"))
    assert len(drawn_values) == curve.height == len(POLICIES) * 30
    for found, row in zip(drawn_values, curve.iter_rows(named=True), strict=True):
        assert (found["policy"], found["t"]) == (row["policy"], row["t"])
        assert [found[key] for key in ("mean", "low", "high")] == pytest.approx(
            [row["mean"], max(0.0, row["low"]), row["high"]], rel=1e-5
        )
    assert curve["low"].min() < 0 < values(specs(regret)[0])[0]["high"] - values(specs(regret)[0])[0]["low"]


def test_the_tooltip_lists_every_policy(drawn):
    rule = specs(drawn[1])[0]["layer"][-1]
    assert [part["title"] for part in rule["encoding"]["tooltip"]] == ["round", *POLICIES]


def test_shares_beyond_the_axis_are_clipped_and_the_caption_says_so(drawn):
    satisfied = next(figure for figure in drawn if figure.name == "satisfied")
    assert len(satisfied.panels) == len(POLICIES)  # side by side, as nine jumping curves hide each other
    highs = []
    for spec in specs(satisfied):
        band = spec["layer"][0]
        assert band["encoding"]["y"]["scale"]["domain"] == [0, 1]
        assert band["mark"]["clip"] is True
        highs += [value.get("high", 0) for value in values(spec)]
    assert max(highs) > 1
    assert "clipped" in satisfied.caption
    few = figures.satisfied(results(["tcgp-ucb", "acc-ucb"]))
    assert len(few.panels) == 1


def test_captions_say_what_lines_and_bands_are(frame):
    assert "mean over 3 runs" in figures.regret(frame).caption
    assert "one run" in figures.regret(results(["tcgp-ucb"], runs=1)).caption
    long = figures.regret(results(["tcgp-ucb"], runs=1, rounds=500))
    assert "Of 500 rounds 200 evenly spaced ones are drawn" in long.caption


def test_alternatives_name_every_policy(drawn):
    some = {"bound": ["tcgp-ucb", "stcgp-ucb"], "coverage": BELIEVING, "promises": ["cautious"]}
    for figure in drawn:
        for policy in some.get(figure.name, POLICIES):
            assert policy in figure.alternative, figure.name


def test_one_run_and_one_policy_and_one_round_are_drawn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for figure in figures.figures(results(["tcgp-ucb"], runs=1, rounds=1)):
            assert export(figure)["svg"].startswith(b"<svg")


def test_one_round_is_drawn_as_dots():
    for figure in figures.figures(results(["cautious", "uniform"], runs=1, rounds=1)):
        if figure.name in ("regret", "reward_ratio", "learning", "promises", "coverage"):
            svg = export(figure)["svg"].decode()
            dots = re.findall(r'aria-label="round t: 1; [^>]* aria-roledescription="point"', svg)
            assert len(dots) >= len(figure.panels), figure.name
        if figure.name == "regret":
            assert "Dots: the one run" in figure.caption
    several = figures.regret(results(["uniform"], runs=2, rounds=2))
    assert "Lines: mean over 2 runs; bands: " in several.caption
    assert not several.panels[0].to_dict()["layer"][1]["mark"]["point"]


def test_results_without_groups_or_times_leave_figures_out():
    frame = results(["tcgp-ucb", "acc-ucb"], runs=2, rounds=3).with_columns(
        groups_touched=pl.lit(0), select_seconds=pl.lit(0.0), update_seconds=pl.lit(0.0), optimal_reward=pl.lit(0.0)
    )
    drawn = figures.figures(frame, bounds(frame).clear())
    assert [figure.name for figure in drawn] == [
        "tradeoff",
        "regret",
        "reward_ratio",
        "learning",
        "regret_parts",
        "coverage",
    ]
    for figure in drawn:
        assert export(figure)["svg"].startswith(b"<svg")


@pytest.mark.slow
def test_charts_are_the_same_every_time(frame, drawn):
    again = figures.figures(frame.sample(fraction=1.0, shuffle=True, seed=3), bounds(frame))
    for first, second in zip(drawn, again, strict=True):
        assert first.chart().to_dict() == second.chart().to_dict()


@pytest.mark.parametrize("name", ONE_AND_SLOW)
def test_charts_fit_the_schema(drawn, name):
    figure = next(figure for figure in drawn if figure.name == name)
    assert isinstance(alt.Chart.from_dict(figure.chart().to_dict(validate=True)), alt.ConcatChart)


def test_a_crowd_shows_bands_only_of_policies_that_are_singled_out():
    few, many = figures.regret(results(POLICIES, rounds=2)), figures.regret(results(MANY, rounds=2))
    for figure, at_first in ((few, "length(isolate) == 0 || indexof"), (many, "indexof")):
        opacity = specs(figure)[0]["layer"][0]["encoding"]["opacity"]
        (shown,) = opacity["condition"]
        assert shown["value"] == 0.13
        assert shown["test"].startswith(at_first)
        assert opacity["value"] < 0.02
    assert "singled out" in many.caption
    assert "singled out" not in few.caption
    apart = figures.satisfied(results(MANY, rounds=2))
    assert (
        "bands: ± one sample standard deviation over the runs; nothing" in apart.caption
    )  # one policy a panel: all are seen


def test_a_regret_that_the_log_scale_cannot_show_is_told(frame):
    shown = figures.bound(frame, bounds(frame))
    lower = frame.with_columns(
        super_arm_regret=pl.when(pl.col("policy") == "tcgp-ucb").then(3.0 - pl.col("t")).otherwise("super_arm_regret")
    )
    hidden = figures.bound(lower, bounds(lower))  # 2, 3, 3, 2, then 0 and less
    assert [panel.title for panel in shown.panels] == ["Super-arm regret", "Group regret"]
    assert [panel.title for panel in hidden.panels] == ["Super-arm regret, if positive", "Group regret"]
    assert "are not drawn: here the super-arm regret of tcgp-ucb in 26 of 30 rounds." in hidden.caption
    assert "tcgp-ucb super-arm regret, regret" not in hidden.alternative.replace("stcgp", "")


def test_names_of_policies_may_hold_anything():
    frame = results(["a.b [c] 'd' \"e\" <f>", "tcgp-ucb"])
    assert b"<svg" in export(figures.regret(frame))["svg"]


def test_thinning_keeps_ends_and_values():
    frame = theme.checked(results(["tcgp-ucb"], runs=1, rounds=1000))
    whole = cumulative(frame, "reward").rename({"value": "mean"})
    thin = panels.thinned(whole)
    assert thin.height == panels.DRAWN
    assert thin["t"][0] == 1
    assert thin["t"][-1] == 1000
    assert set(thin["t"].diff().drop_nulls()) <= {5, 6}
    assert thin.join(whole, on=["policy", "run", "t", "mean"], how="semi").height == thin.height


def test_finals_by_zeta():
    frame = results([*ZETAS, "clairvoyant"], experiment="tradeoff")
    for column in ("super_arm_regret", "group_regret"):
        finals = figures.finals_by_zeta(frame, column)
        assert finals.height == 5 * 3
        for policy in ZETAS:
            found = finals.filter(pl.col("zeta") == float(policy.split("=")[1]))["value"].to_list()
            assert found == pytest.approx([frame.filter(policy=policy, run=run)[column].sum() for run in range(3)])


def test_beside_the_bound_only_what_a_log_scale_can_show(frame):
    negative = frame.with_columns(super_arm_regret=pl.when(pl.col("t") < 5).then(-1.0).otherwise("super_arm_regret"))
    curve = figures.beside_bound(
        negative, bounds(frame).filter(pl.col("quantity") == "super-arm regret"), "super_arm_regret"
    )
    assert set(curve["policy"]) == {"tcgp-ucb", "stcgp-ucb"}
    assert curve["value"].min() > 0
    bound = curve.filter((pl.col("kind") == "bound") & (pl.col("policy") == "tcgp-ucb"))
    assert bound["value"].to_list() == pytest.approx([500 * math.sqrt(t) for t in range(1, 31)])
    assert curve.filter(pl.col("kind") == "regret")["t"].min() >= 5
