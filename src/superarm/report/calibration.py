"""The figures on calibration: whether intervals hold what they say, and promises break as often as predicted."""

from __future__ import annotations

import altair as alt
import polars as pl

from superarm.calibration.coverage import LEVEL
from superarm.report import captions, curves, honesty, panels, points, theme
from superarm.report.figure import Figure
from superarm.report.summary import number

SECTION = "calibration"
NAMES = {1: "Output 1: what is earned", 2: "Output 2: what groups care about"}


def coverage(frame: pl.DataFrame) -> Figure:
    """Coverage of the intervals round by round, for each output."""
    looks = theme.styles(frame["policy"])
    named = {NAMES[output]: honesty.coverage_by_round(frame, output) for output in NAMES}
    drawn = tuple(
        panels.curves(curve, looks, name=f"coverage_{place}", title=title, y="inside", percent=True, rule=LEVEL)
        for place, (title, curve) in enumerate(named.items())
        if not curve.is_empty()
    )
    meant = f"{100 * LEVEL:.0f} %"
    return Figure(
        name="coverage",
        title="Do intervals hold what they say?",
        caption=f"Of the expected outcomes of the picked arms, the share inside the central {meant} interval of what "
        "the policy believed before it saw their outcomes; arms of all runs and of the last "
        f"{honesty.WINDOW} rounds together. The dashed line is at {meant}: below it, a policy is surer than it should "
        "be. Policies without beliefs are left out. Mistakes last from round to round, so neighbouring points are not "
        "independent.",
        alternative=captions.alternative("Share of expected outcomes inside their intervals", named),
        panels=drawn,
        looks=looks,
        section=SECTION,
    )


def promises(frame: pl.DataFrame) -> Figure:
    """Broken promises beside those that were predicted."""
    looks = theme.styles(frame["policy"])
    told = honesty.predicting(frame)
    drawn: tuple[alt.LayerChart, ...] = ()
    said = ""
    if not told.is_empty():
        sums = {
            kind: curves.cumulative(told, column)
            for kind, column in (("broken", "broke"), ("predicted", "predicted_broken"))
        }
        over_time = pl.concat(
            [curves.over_runs(values).select("policy", "t", "mean", kind=pl.lit(kind)) for kind, values in sums.items()]
        )
        by_run = curves.last_round(sums["broken"]).join(
            curves.last_round(sums["predicted"]).select("policy", "run", predicted="value"), on=["policy", "run"]
        )
        by_run = by_run.select("policy", "run", "predicted", broken="value")
        drawn = (
            points.broken_over_time(over_time, looks, title="Up to round t, mean of the runs"),
            points.broken_by_run(by_run, looks, title="Run by run"),
        )
        means = by_run.group_by("policy", maintain_order=True).agg(pl.col("predicted", "broken").mean())
        said = "; ".join(f"{p} {number(told)} predicted, {number(came)} broken" for p, told, came in means.iter_rows())
    return Figure(
        name="promises",
        title="Do promises break as often as predicted?",
        caption="Predicted: the sum over touched groups of the probability, by the policy's own belief, that the "
        "promise breaks. Broken: those that did, by the expected outcomes. Left: thick lines are broken promises, thin "
        "ones predicted. Right: rings are runs, dots their means; on the line both are equal, above it more broke than "
        "was predicted. The scales on the right are logarithmic but for their first step, which reaches down to 0. "
        "Policies that predict nothing are left out.",
        alternative=f"Promises a run. {said}.",
        panels=drawn,
        looks=looks,
        section=SECTION,
    )
