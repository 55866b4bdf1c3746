"""Whether the policies of a study were honest: coverage and promises by run, verdicts, and what to warn of.

In a study the truth is known, so intervals are those of the expected outcomes, without noise. A mistake about the truth
lasts from round to round, so a run, not a round, counts once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import altair as alt
import polars as pl

from superarm.calibration.broken_promises import in_order, judge_promises, of_kind, together
from superarm.calibration.coverage import LEVEL, judge
from superarm.calibration.verdict import Finding, Verdict
from superarm.experiments import measures
from superarm.report import panels, theme
from superarm.report.figure import Figure, alternative
from superarm.report.numbers import number
from superarm.report.panels import colour, dashes, dots_of, panel, present, round_axis, seen, thinned
from superarm.report.theme import Style
from superarm.report.ticks import up_to, written, zero_and_decades

WINDOW = 10  # rounds that a point of the coverage chart looks back on
OUTPUTS = {1: "covered_1", 2: "covered_2"}
OF_OUTPUTS = {1: "what is earned", 2: "what groups get"}
WHAT_TO_DO = (
    "Learn the hyperparameters from the data (or shorten the lengthscale), and raise noise_std if repeated outcomes "
    "scatter more than it says. docs/calibration.md shows how to check a log of your own."
)


@dataclass(frozen=True, kw_only=True)
class Honesty:
    """The verdicts on one policy: of its intervals for each output, and of its promises if it predicts any.

    Promises are judged together and by ``kinds`` of rounds, so that none hide behind others.
    """

    policy: str
    intervals: tuple[Verdict, ...]
    promises: Verdict | None
    kinds: tuple[Verdict, ...] = ()

    @property
    def hopeful(self) -> tuple[Verdict, ...]:
        """The kinds of rounds in which more promises broke than were predicted to."""
        return tuple(verdict for verdict in self.kinds if verdict.finding is Finding.OVERCONFIDENT)


def honesty(frame: pl.DataFrame) -> tuple[Honesty, ...]:
    """The verdicts on every policy that says what it believes, in the order of the legends."""
    frame = _with_arms(theme.checked(frame))
    predicted = pl.col("predicted_broken")
    counts = {
        "predicted": predicted.sum(),
        "predicting": predicted.count(),
        "broken": _broken().filter(predicted.is_not_null()).sum(),
    }
    runs = frame.group_by("policy", "run", maintain_order=True).agg(
        pl.col(*OUTPUTS.values()).sum(), seen=pl.col("looked_at").sum(), **counts
    )
    # A run counts once for each kind of round that it has.
    kinds = frame.drop_nulls(["kind", "predicted_broken"]).group_by("policy", "kind", "run", maintain_order=True)
    by_kind = kinds.agg(**counts)
    found = []
    for (policy,), mine in runs.group_by("policy", maintain_order=True):
        seen = mine.filter(pl.col("seen") > 0)
        sizes = seen["seen"].cast(pl.Float64).to_numpy()
        intervals = tuple(
            judge(f"{policy}, output {output}", {LEVEL: (seen[column].to_numpy() / sizes, sizes)}, unit="run")
            for output, column in OUTPUTS.items()
            if len(sizes)
        )
        predicting = mine.filter(pl.col("predicting") > 0)
        its_kinds = by_kind.filter(pl.col("policy") == policy)
        verdicts = tuple(
            _promises(of_kind(kind), its_kinds.filter(pl.col("kind") == kind))
            for kind in in_order(its_kinds["kind"].unique())
        )
        promises = together(_promises(policy, predicting), verdicts) if predicting.height else None
        if intervals or promises is not None:
            found.append(Honesty(policy=policy, intervals=intervals, promises=promises, kinds=verdicts))
    return tuple(found)


def _promises(about: str, runs: pl.DataFrame) -> Verdict:
    return judge_promises(about, runs["predicted"].to_numpy(), runs["broken"].to_numpy(), unit="run")


def warnings(found: Iterable[Honesty]) -> list[str]:
    """What a reader must know before trusting the figures: a sentence on intervals, and one on promises."""
    found = tuple(found)
    narrow = [
        f"{one.policy} ({', '.join(f'{100 * v.observed:.0f} % of {OF_OUTPUTS[j]}' for j, v in wrong)})"
        for one in found
        if (wrong := [(j, v) for j, v in enumerate(one.intervals, 1) if v.finding is Finding.OVERCONFIDENT])
    ]
    hopeful = [
        f"{one.policy} ({one.promises.observed:,.0f} broken, {one.promises.expected:,.1f} predicted"
        + "".join(f"; {kind.observed:,.0f} and {kind.expected:,.1f} in {kind.about}" for kind in one.hopeful)
        + ")"
        for one in found
        if one.promises is not None and (one.hopeful or one.promises.finding is Finding.OVERCONFIDENT)
    ]
    said = []
    if narrow:
        said.append(
            f"Intervals that should contain {100 * LEVEL:.0f} % of the truth contain less: {'; '.join(narrow)}."
        )
    if hopeful:
        said.append(f"More promises broke than predicted: {'; '.join(hopeful)}.")
    return said


def in_a_line(found: Iterable[Honesty]) -> str | None:
    """The warnings in one line for a terminal, or None."""
    wrong = []
    for one in found:
        verdicts = (*one.intervals, *one.kinds, *([one.promises] if one.promises else []))
        if any(verdict.finding is Finding.OVERCONFIDENT for verdict in verdicts):
            kinds = ", ".join(kind.about for kind in one.hopeful)
            wrong.append(f"{one.policy} ({kinds})" if kinds else one.policy)
    if not wrong:
        return None
    return f"overconfident: {', '.join(wrong)}; see 'Can the stated probabilities be trusted?' in the report"


def coverage_by_round(frame: pl.DataFrame, output: int) -> pl.DataFrame:
    """The share of expected outcomes inside their intervals over the last rounds, all runs together: policy, t, mean.

    Policies without beliefs are left out, and so are rounds before which nothing was looked at.
    """
    rounds = (
        _with_arms(frame)
        .group_by("policy", "t", maintain_order=True)
        .agg(inside=pl.col(OUTPUTS[output]).sum(), looked_at=pl.col("looked_at").sum())
    )
    recent = pl.col("inside", "looked_at").rolling_sum(WINDOW, min_samples=1).over("policy", order_by="t")
    return (
        rounds.with_columns(recent)
        .filter(pl.col("looked_at") > 0)
        .select("policy", "t", mean=pl.col("inside") / pl.col("looked_at"))
        .with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in ("std", "low", "high"))
    )


def _with_arms(frame: pl.DataFrame) -> pl.DataFrame:
    """How many arms were ``looked_at``: those picked where there was a belief."""
    return frame.with_columns(
        looked_at=pl.when(pl.col("covered_1").is_not_null()).then(pl.col("arms").list.len()).otherwise(0)
    )


def _broken() -> pl.Expr:
    return pl.col("groups_touched") - pl.col("groups_satisfied")


SECTION = "calibration"
NAMES = {1: "Output 1: what is earned", 2: "Output 2: what groups care about"}


def coverage(frame: pl.DataFrame) -> Figure:
    """Coverage of the intervals round by round, for each output."""
    looks = theme.styles(frame)
    named = {NAMES[output]: coverage_by_round(frame, output) for output in NAMES}
    least = min([LEVEL, *(share for curve in named.values() for share in curve["mean"])])
    ends = (math.floor(10 * least) / 10, 1.0)
    drawn = tuple(
        panels.curves(
            curve, looks, name=f"coverage_{place}", title=title, y="inside", domain=ends, percent=True, rule=LEVEL
        )
        for place, (title, curve) in enumerate(named.items())
        if not curve.is_empty()
    )
    meant = f"{100 * LEVEL:.0f} %"
    return Figure(
        name="coverage",
        title="Do the intervals contain the truth as often as they should?",
        caption="The share of picked arms whose expected outcome lies inside the central "
        f"{meant} interval that the policy believed in before it saw the outcome, over all runs and the last "
        f"{WINDOW} rounds. The dotted line is at {meant}: below it, a policy is surer than it should be. Policies "
        "without beliefs are left out. Mistakes last from round to round, so neighbouring points are not independent.",
        alternative=alternative("Share of expected outcomes inside their intervals", named),
        panels=drawn,
        looks=looks,
        section=SECTION,
    )


def promises(frame: pl.DataFrame) -> Figure:
    """Broken promises beside those that were predicted."""
    looks = theme.styles(frame)
    predicting = frame.drop_nulls("predicted_broken").with_columns(broken=_broken())
    drawn: tuple[alt.LayerChart, ...] = ()
    said = ""
    if not predicting.is_empty():
        over_time = pl.concat(
            measures.over_runs(measures.cumulative(predicting, column)).select(
                "policy", "t", pl.col("mean").cast(pl.Float64), kind=pl.lit(kind)
            )
            for kind, column in (("broken", "broken"), ("predicted", "predicted_broken"))
        )
        by_run = measures.by_run(predicting).select("policy", "run", "predicted", pl.col("broken").cast(pl.Float64))
        drawn = (
            broken_over_time(over_time, looks, title="Up to round t, mean of the runs"),
            broken_by_run(by_run, looks, title="Run by run"),
        )
        means = by_run.group_by("policy", maintain_order=True).agg(pl.col("predicted", "broken").mean())
        said = "; ".join(f"{name} {number(few)} predicted, {number(many)} broken" for name, few, many in means.rows())
    return Figure(
        name="promises",
        title="Do promises break as often as predicted?",
        caption="Predicted: the sum, over touched groups, of the policy's own probability that the promise breaks. "
        "Broken: the promises that broke, by the expected outcomes. First: thick lines are broken promises, thin lines "
        "predicted ones. Second: rings are runs, dots their means; on the line both are equal, and above it more broke "
        "than predicted. Its scales are logarithmic, but linear from 0 to their second mark. Policies "
        "that predict nothing are left out.",
        alternative=f"Promises per run. {said}.",
        panels=drawn,
        looks=looks,
        section=SECTION,
    )


def broken_over_time(
    curve: pl.DataFrame, looks: Mapping[str, Style], *, title: str, height: int = 260
) -> alt.LayerChart:
    """Broken promises (thick) and predicted ones (thin) up to round t.

    ``curve`` has policy, t, kind ("broken" or "predicted"), mean.
    """
    there = present(curve, looks)
    tooltip = [
        alt.Tooltip("policy:N"),
        alt.Tooltip("kind:N"),
        alt.Tooltip("t:Q").title("round"),
        alt.Tooltip("mean:Q").title("promises").format(",.4~r"),
    ]
    lines = alt.Chart().encode(
        x=round_axis(curve),
        y=alt.Y("mean:Q").title("promises per run (thick: broken, thin: predicted)").axis(tickCount=5),
        color=colour(looks, there),
        strokeDash=dashes(looks, there),
        opacity=seen(1, 0.1),
        tooltip=tooltip,
    )
    layers = [
        lines.transform_filter("datum.kind == 'broken'").mark_line(strokeWidth=2.4, point=dots_of(curve)),
        lines.transform_filter("datum.kind == 'predicted'").mark_line(strokeWidth=1, point=dots_of(curve, size=20)),
    ]
    return panel(layers, thinned(curve), title, height)


def broken_by_run(table: pl.DataFrame, looks: Mapping[str, Style], *, title: str, height: int = 260) -> alt.LayerChart:
    """Broken against predicted promises: rings for runs, dots for their means, and the line where both are equal.

    ``table`` has policy, run, predicted, broken.
    """
    ticks = zero_and_decades([*table["predicted"], *table["broken"]])
    scale = alt.Scale(type="symlog", constant=ticks[1], domain=[-0.25 * ticks[1], ticks[-1]], nice=False)
    axis = alt.Axis(values=up_to(ticks[-1], ticks), labelExpr=written(ticks), labelOverlap=True, grid=True)
    x = alt.X("predicted:Q").title("predicted per run").scale(scale).axis(axis)
    y = alt.Y("broken:Q").title("broken per run").scale(scale).axis(axis)
    tooltip = [
        alt.Tooltip("policy:N"),
        *(alt.Tooltip(f"{field}:Q").format(",.4~r") for field in ("predicted", "broken")),
    ]
    base = alt.Chart().encode(x=x, y=y, color=colour(looks, ()), tooltip=tooltip)
    means = table.group_by("policy", maintain_order=True).agg(pl.col("predicted", "broken").mean())
    ends = pl.DataFrame({"predicted": [0.0, ticks[-1]], "broken": [0.0, ticks[-1]]})
    kinds = {"run": table.drop("run"), "mean": means, "equal": ends}
    rows = pl.concat([part.with_columns(kind=pl.lit(kind)) for kind, part in kinds.items()], how="diagonal")
    layers = [
        alt.Chart().transform_filter("datum.kind == 'equal'").mark_line(strokeWidth=1, style="front").encode(x=x, y=y),
        base.transform_filter("datum.kind == 'run'")
        .mark_point(size=30, strokeWidth=1.2)
        .encode(opacity=seen(0.55, 0.05)),
        base.transform_filter("datum.kind == 'mean'").mark_point(filled=True, size=90).encode(opacity=seen(1, 0.1)),
    ]
    return panel(layers, rows, title, height)
