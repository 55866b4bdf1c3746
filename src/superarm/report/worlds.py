"""The studies of wrong worlds and of real data in the report: what was kept beside what was stated, kind by kind."""

# ruff: noqa: RUF001  # true signs: dashes, ÷, ’

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from superarm.environments.wrong import BEYOND
from superarm.experiments import kinds, real
from superarm.experiments.kinds import by_kind
from superarm.report import theme
from superarm.report.figure import Figure
from superarm.report.markup import name, part, scrolling, swatch, text
from superarm.report.numbers import number, percent
from superarm.report.panels import colour, panel, seen

_HEADS = (
    *("Kept", "Stated", "Certified, broken", "Reward ÷ clairvoyant’s", "Runs without a pick"),
    *("Select, mean ms", "Update, mean ms"),
)


@dataclass(frozen=True, kw_only=True)
class Words:
    """How the kinds of a study are called."""

    together: str  # the row for all
    head: str
    title: str
    remark: str
    opening: str


_WORDS = {
    kinds.STUDY: Words(
        together=kinds.TOGETHER,
        head="What is wrong",
        title="Promises kept and stated, by what is wrong",
        remark=" In kinds with an asterisk, no outcome can show what is wrong.",
        opening="Every run is a world of its own, in which something is not as the policies were told.",
    ),
    real.STUDY: Words(
        together=real.TOGETHER,
        head="Set",
        title="Promises kept and stated, set by set",
        remark="",
        opening="Every run is a real table on which nothing was tuned; nobody was told anything of it.",
    ),
}


def figures(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> tuple[Figure, ...]:
    """The chart of the study; none for another."""
    found = _found(frame, manifest)
    if found is None or found["stated"].is_null().all():
        return ()
    return (honesty(found, theme.styles(theme.checked(frame)), _WORDS[manifest["experiment"]]),)


def honesty(found: pl.DataFrame, looks: Mapping[str, theme.Style], words: Words) -> Figure:
    """Kept and stated shares of promises by kind, a panel a policy that states them."""
    stating = found.drop_nulls(["stated", "kept"])
    policies = stating["policy"].unique(maintain_order=True).to_list()
    low = float(min(stating.select(pl.min_horizontal("kept", "stated"))["kept"].to_list(), default=0.0))
    drawn = tuple(_panel(stating.filter(pl.col("policy") == policy), looks, policy, low) for policy in policies)
    alone = "; a kind with one run has no bar, and is too small to tell" if (stating["runs"] == 1).any() else ""
    said = [f"{row['policy']} kept {number(row['kept'])}, stated {number(row['stated'])}" for row in _ends(stating)]
    return Figure(
        name="worlds",
        title=words.title,
        caption="For each kind of world, the share of the touched groups that kept their promise (dot, with ± two "
        "standard errors clustered by run) and the mean probability that the policy stated (tick). A dot left of its "
        f"tick by more than its bar is a policy that was too sure{alone}. Only policies that state probabilities are "
        f"drawn.{words.remark}",
        alternative=f"Shares over {words.together}: {'; '.join(said)}.",
        panels=drawn,
        looks=looks,
        columns=3,
        width=220,
    )


def _panel(mine: pl.DataFrame, looks: Mapping[str, theme.Style], policy: str, low: float) -> alt.LayerChart:
    error = 2 * pl.col("kept_error").fill_null(0.0)
    rows = mine.with_columns(low=(pl.col("kept") - error).clip(low, 1.0), high=(pl.col("kept") + error).clip(low, 1.0))
    scale = alt.Scale(domain=[low, 1.0], nice=False, padding=8)

    def across(field: str) -> alt.X:
        return alt.X(f"{field}:Q").title("share of promises").scale(scale).axis(format=".0%", tickCount=4)

    base = alt.Chart().encode(
        y=alt.Y("kind:N").title(None).sort(None).axis(labelLimit=170, grid=True),
        color=colour(looks, ()),
        opacity=seen(1, 0.15),
        tooltip=[
            alt.Tooltip("kind:N"),
            alt.Tooltip("kept:Q").format(".3f"),
            alt.Tooltip("stated:Q").format(".3f"),
            alt.Tooltip("reward:Q").format(".3f"),
        ],
    )
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(x=across("low"), x2="high:Q"),
        base.mark_point(filled=True, size=50).encode(x=across("kept")),
        base.mark_tick(thickness=2, size=12).encode(x=across("stated")),
    ]
    return panel(layers, rows, policy, 17 * len(rows))


def _ends(found: pl.DataFrame) -> list[dict[str, Any]]:
    """The last row of each policy: all kinds together."""
    return found.group_by("policy", maintain_order=True).last().to_dicts()


def section(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> str:
    """Kept, stated, certified and broken, reward and time of every policy and kind; nothing for another study."""
    found = _found(frame, manifest)
    if found is None:
        return ""
    looks, words = theme.styles(theme.checked(frame)), _WORDS[manifest["experiment"]]
    every = found["kind"].unique(maintain_order=True).to_list()
    tables = []
    for policy in found["policy"].unique(maintain_order=True):
        rows = {row["kind"]: row for row in found.filter(pl.col("policy") == policy).iter_rows(named=True)}
        body = [_row(kind, rows[kind]) for kind in every if kind in rows]
        heads = "".join(f'<th scope="col" class="figure">{head}</th>' for head in ("Runs", *_HEADS))
        head = f'<table class="summary"><thead><tr><th scope="col">{words.head}</th>{heads}</tr></thead>'
        title = f"<h3>{swatch(looks[policy])}{name(policy)}</h3>"
        tables.append(title + scrolling(f"Worlds of {text(policy)}", head, body))
    told = f"""\
<p>{words.opening} Kept: the share of the \
touched groups that kept their promise by the expected outcomes, pooled over runs; stated: the mean probability that \
the policy gave them; certified, broken: of the groups of which it was as sure as it was asked to be, how many broke. \
Reward is the mean of the runs' shares, so that every world counts as much; at the top of the page the rewards of all \
runs are added first, so that worlds with large rewards count for more. What each kind means stands under \
<a href="#settings">Settings and versions</a>.{words.remark} Figures after ± are standard errors clustered by run.</p>
{"".join(tables)}"""
    return part("worlds_by_kind", "Kind by kind", told)


def _row(kind: str, row: Mapping[str, Any]) -> str:
    cells = (
        str(row["runs"]),
        _share(row["kept"], row["kept_error"]),
        percent(row["stated"]),
        _share(row["broken"], row["broken_error"]),
        _plus_minus(number(row["reward"], 3), row["reward_error"], 1.0, 3),
        str(row["idle"]),
        number(row["select_ms"]),
        number(row["update_ms"]),
    )
    figures = "".join(f'<td class="figure">{text(cell)}</td>' for cell in cells)
    return f'<tr><th scope="row">{text(kind)}</th>{figures}</tr>'


def _share(share: float | None, error: float | None) -> str:
    return "–" if share is None else f"{_plus_minus(f'{100 * share:.2f}', error, 100.0, 2)} %"


def _plus_minus(figure: str, error: float | None, scale: float, digits: int) -> str:
    return figure if error is None else f"{figure} ± {scale * error:.{digits}f}"


def _found(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> pl.DataFrame | None:
    """What was measured by kind, where the results are those of the study."""
    described = manifest.get("environments")
    words = _WORDS.get(str(manifest.get("experiment")))
    if words is None or not described:
        return None
    found = by_kind(theme.checked(frame), described, together=words.together)
    if found.is_empty():
        return None
    return found.with_columns(
        kind=pl.col("kind") + pl.when(pl.col("kind").is_in(BEYOND)).then(pl.lit("*")).otherwise(pl.lit(""))
    )
