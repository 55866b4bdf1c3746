"""The figures of a report: each a few panels, a caption that says exactly what is drawn, and a text alternative.

:func:`figures` makes all that the results allow. Regret of super arms never stands without the group regret beside it:
a policy that breaks promises can earn more than the best super arm that keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import polars as pl

from superarm.experiments import measures
from superarm.experiments.measures import over_runs
from superarm.report import calibration, explorer, panels, theme
from superarm.report.earned import WHY_NO_SHARE
from superarm.report.figure import Figure, alternative, band, runs_of
from superarm.report.numbers import number
from superarm.report.theme import Style
from superarm.report.ticks import decades

SINGLE = 3  # policies that one panel of round-by-round shares holds; more are drawn side by side

SUPER_ARM = "Super-arm regret (signed)"
GROUP = "Group regret"
AT_ZERO = "Bands of a regret that cannot be negative end at 0."


def figures(frame: pl.DataFrame, bounds: pl.DataFrame | None = None) -> tuple[Figure, ...]:
    """All figures of the results, in the order of the page; ``bounds`` as :func:`superarm.report.page.write_report`."""
    frame = theme.checked(frame)
    drawn = (
        explorer.tradeoff(frame),
        *([against_zeta(frame)] if len(measures.by_zeta(frame)) > 1 else []),
        regret(frame),
        reward_ratio(frame),
        satisfied(frame),
        learning(frame),
        regret_parts(frame),
        *([] if bounds is None or bounds.is_empty() else [bound(frame, bounds)]),
        times(frame),
        calibration.coverage(frame),
        calibration.promises(frame),
    )
    return tuple(figure for figure in drawn if figure.panels)  # none where, say, no round touches a group


def regret(frame: pl.DataFrame) -> Figure:
    """Cumulative super-arm and group regret."""
    looks = theme.styles(frame)
    named = _regrets(frame)
    return Figure(
        name="regret",
        title="Cumulative regret",
        caption="Regret summed up to round t. A super arm is the set that is picked in a round, and its regret is the "
        "reward that it misses beside the best one that keeps every promise: below 0 where a policy earned more. "
        "Group regret is by how much broken promises were missed. The two axes have different scales. "
        f"{band(frame)} {AT_ZERO}",
        alternative=alternative("Cumulative regret", named),
        panels=_row(named, looks, "regret", "cumulative"),
        looks=looks,
    )


def reward_ratio(frame: pl.DataFrame) -> Figure:
    """Cumulative reward over the benchmark's."""
    looks = theme.styles(frame)
    curve = measures.pooled_ratio(frame)
    if curve.is_empty():
        return _rewards(frame)
    title = "Reward relative to the clairvoyant"
    panel = panels.curves(curve, looks, name="ratio", title="Cumulative reward / clairvoyant's", y="ratio", height=300)
    return Figure(
        name="reward_ratio",
        title=title,
        caption="Reward up to round t of all runs together, divided by that of the clairvoyant. A policy can "
        "earn more than 1 only by breaking promises. "
        f"{band(frame, lines='all runs together')}",
        alternative=alternative(title, {"ratio": curve}),
        panels=(panel,),
        looks=looks,
        columns=1,
        width=640,
    )


def _rewards(frame: pl.DataFrame) -> Figure:
    """Cumulative reward, where the benchmark's is nothing that one could take a share of."""
    looks = theme.styles(frame)
    curve = over_runs(measures.cumulative(frame, "reward"))
    panel = panels.curves(curve, looks, name="ratio", title="Cumulative reward", y="reward", height=300)
    return Figure(
        name="reward_ratio",
        title="Cumulative reward",
        caption=f"Reward summed up to round t. {WHY_NO_SHARE} {band(frame)}",
        alternative=alternative("Cumulative reward", {"reward": curve}),
        panels=(panel,),
        looks=looks,
        columns=1,
        width=640,
    )


def satisfied(frame: pl.DataFrame) -> Figure:
    """Share of the touched groups that kept their promise, round by round."""
    looks = theme.styles(frame)
    curve = over_runs(measures.satisfied_share(frame))
    together = len(looks) <= SINGLE
    parts = [("Promises kept", curve)]
    if not together:
        parts = [(policy, curve.filter(pl.col("policy") == policy)) for policy in looks]
    drawn = tuple(
        panels.curves(
            part,
            looks,
            name=f"satisfied_{place}",
            title=title,
            y="share",
            domain=(0.0, 1.0),
            alone=not together,
            percent=True,
            height=300 if together else 110,
        )
        for place, (title, part) in enumerate(parts)
        if not part.is_empty()
    )
    return Figure(
        name="satisfied",
        title="Promises kept",
        caption="The share of the promises to groups touched in round t that were kept, by the "
        "expected outcomes; not cumulative. Rounds that touch no group with a promise have no share and are left out. "
        f"{band(frame, apart=not together)} The axis ends at 0 and 100 %: where a band would reach beyond, it "
        "is clipped, not shrunk.",
        alternative=alternative("Share of promises kept", {"share": curve}),
        panels=drawn,
        looks=looks,
        columns=1 if together else 3,
        width=640 if together else 215,
    )


def against_zeta(frame: pl.DataFrame) -> Figure:
    """Final regrets against the trade-off parameter."""
    parts = {SUPER_ARM: finals_by_zeta(frame, "super_arm_regret"), GROUP: finals_by_zeta(frame, "group_regret")}
    said = []
    for title, part in parts.items():
        means = over_runs(part, "zeta").sort("zeta").select("zeta", "mean").iter_rows()
        said.append(f"{title}: " + ", ".join(f"ζ {number(value)}: {number(mean)}" for value, mean in means))
    return Figure(
        name="zeta",
        title="Final regret against ζ",
        caption="Cumulative regret at the last round; that of super arms is signed. Rings are "
        "runs, dots and the line through them the mean, bars ± one sample standard deviation over the runs"
        f"{'' if runs_of(frame) > 1 else ' (none here: there is one run)'}. Between the dots the line is only "
        "a guide.",
        alternative="Final regret against the trade-off parameter. " + "; ".join(said) + ".",
        panels=tuple(
            panels.against_zeta(part, title=title, y="at the last round", floor=_floor(title))
            for title, part in parts.items()
        ),
        looks=theme.styles(frame),
    )


def finals_by_zeta(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """A column of :func:`measures.by_run` of TCGP-UCB with each value of zeta: zeta, run, value."""
    zetas = {policy: zeta for zeta, policy in measures.by_zeta(frame).items()}
    runs = measures.by_run(frame.filter(pl.col("policy").is_in(list(zetas))))
    zeta = pl.col("policy").replace_strict(zetas, default=None, return_dtype=pl.Float64)
    return runs.select("run", zeta=zeta, value=column).sort("zeta", "run")


def learning(frame: pl.DataFrame) -> Figure:
    """Regret a round so far: what has been learnt by round t."""
    looks = theme.styles(frame)
    named = {
        title: over_runs(measures.running_average(frame, column))
        for title, column in ((SUPER_ARM, "super_arm_regret"), (GROUP, "group_regret"))
    }
    return Figure(
        name="learning",
        title="Learning curves",
        caption="Cumulative regret divided by t: the average regret per round so far. It falls towards 0 where regret "
        f"grows slower than t, and levels off above 0 where it grows in proportion to t. The two axes have different "
        f"scales. {band(frame)} {AT_ZERO}",
        alternative=alternative("Average regret per round so far", named),
        panels=_row(named, looks, "learning", "average per round"),
        looks=looks,
    )


def regret_parts(frame: pl.DataFrame) -> Figure:
    """Positive part and signed sum of the super-arm regret, with the group regret."""
    looks = theme.styles(frame)
    positive = over_runs(measures.positive_part(frame))
    named = {"Positive part of super-arm regret": positive, **_regrets(frame)}
    return Figure(
        name="regret_parts",
        title="The positive part of the regret",
        caption="First: the sum of max(0, super-arm regret) up to round t. There a round that earns more than the "
        "clairvoyant, by breaking promises, does not make up for other rounds; in the signed sum it does. The group "
        f"regret shows what such rounds break. Each axis has its own scale. {band(frame)} {AT_ZERO}",
        alternative=alternative("Positive part and signed sum of the super-arm regret, and group regret", named),
        panels=_row(named, looks, "parts", "cumulative"),
        looks=looks,
        columns=3,
        width=240,
    )


def bound(frame: pl.DataFrame, bounds: pl.DataFrame) -> Figure:
    """Cumulative regret beside its bound."""
    looks = theme.styles(frame)
    drawn, said, hidden = [], [], []
    for quantity, column in (("super-arm regret", "super_arm_regret"), ("group regret", "group_regret")):
        curve = beside_bound(frame, bounds.filter(pl.col("quantity") == quantity), column)
        if curve.is_empty():
            continue
        counts = curve.group_by("policy", maintain_order=True).agg(
            pl.len(), drawn=(pl.col("kind") == "regret").sum(), rounds=(pl.col("kind") == "bound").sum()
        )
        gone = [
            f"the {quantity} of {policy} in {rounds - there} of {rounds} rounds"
            for policy, _, there, rounds in counts.iter_rows()
            if there < rounds
        ]
        title = quantity.capitalize() + (", if positive" if gone else "")
        drawn.append(panels.bounded(curve, looks, title=title, y="cumulative"))
        ends = curve.filter(pl.col("t") == pl.col("t").max())
        said += [f"{policy} {quantity}, {kind} {number(v)}" for policy, _, kind, v in ends.iter_rows()]
        hidden += gone
    return Figure(
        name="bound",
        title="Regret and its bound",
        caption="Thick: the cumulative regret (signed for super arms), mean over the runs. Thin: the bound in the "
        "proof of Theorem 1 with the information gain of the first run; the theorem's own, with the largest gain of "
        "any run, is larger. It shows the order of magnitude only: the truths of this study are fixed curves, not "
        "draws from the prior that the theorem assumes. The scale is logarithmic, so rounds whose mean cumulative "
        f"regret is not positive are not drawn{': here ' if hidden else ''}{', '.join(hidden)}. "
        "Only TCGP-UCB with the exact posterior has such a bound.",
        alternative="Regret and bound at the last round: "
        + "; ".join(said)
        + (f". Not positive, and not drawn: {', '.join(hidden)}." if hidden else "."),
        panels=tuple(drawn),
        looks=looks,
    )


def beside_bound(frame: pl.DataFrame, bounds: pl.DataFrame, column: str) -> pl.DataFrame:
    """Mean cumulative regret and mean bound of the policies that have one: policy, t, kind, value; positive ones only.

    A logarithmic axis has no place for a regret that is not positive, so those rounds are left out.
    """
    chosen = frame.filter(pl.col("policy").is_in(bounds["policy"].unique().to_list()))
    values = {
        "regret": measures.cumulative(chosen, column),
        "bound": bounds.select("policy", "run", "t", value="bound"),
    }
    both = pl.concat(
        over_runs(each).select("policy", "t", kind=pl.lit(kind), value="mean") for kind, each in values.items()
    )
    return both.filter((pl.col("value") > 0) & pl.col("value").is_finite()).sort("policy", "kind", "t")


def times(frame: pl.DataFrame) -> Figure:
    """How long a round takes."""
    looks = theme.styles(frame)
    tables = {"Select": measures.times(frame, "select_seconds"), "Update": measures.times(frame, "update_seconds")}
    ends = pl.concat(tables.values())
    powers = [] if ends.is_empty() else decades(ends["p10"].min(), ends["p90"].max())
    said = [
        f"{kind}: " + ", ".join(f"{row['policy']} {number(row['median'])} ms" for row in table.iter_rows(named=True))
        for kind, table in tables.items()
    ]
    return Figure(
        name="times",
        title="Time per round",
        caption="Wall-clock milliseconds of one call, all rounds and runs together, on a log scale: dots are medians, "
        "thick bars reach from the 25th to the 75th percentile, thin lines from the 10th to the 90th. Calls measured "
        "as taking no time are left out. Times depend on the machine.",
        alternative="Median time per round. " + "; ".join(said) + ".",
        panels=tuple(
            panels.intervals(table, looks, powers, title=kind) for kind, table in tables.items() if not table.is_empty()
        ),
        looks=looks,
    )


def _regrets(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Cumulative regret of super arms and groups, by title."""
    return {
        SUPER_ARM: over_runs(measures.cumulative(frame, "super_arm_regret")),
        GROUP: over_runs(measures.cumulative(frame, "group_regret")),
    }


def _row(
    named: Mapping[str, pl.DataFrame], looks: Mapping[str, Style], name: str, y: str
) -> tuple[alt.LayerChart, ...]:
    return tuple(
        panels.curves(
            curve.with_columns(pl.col("low").clip(_floor(title))), looks, name=f"{name}_{place}", title=title, y=y
        )
        for place, (title, curve) in enumerate(named.items())
    )


def _floor(title: str) -> float | None:
    """Every regret but the signed one is at least 0."""
    return None if title == SUPER_ARM else 0.0
