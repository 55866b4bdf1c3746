"""An explanation as a picture: what arms are worth, how promises stand, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from superarm import chart_style
from superarm.policies.explanation.arms import PickedArm
from superarm.policies.explanation.groups import ExplainedGroup, Price
from superarm.policies.explanation.runners_up import Reason, RunnerUp
from superarm.policies.explanation.text import arm_text
from superarm.policies.explanation.words import as_json, label_text
from superarm.words import chance, number

if TYPE_CHECKING:
    import altair as alt

WIDTH = 460  # pixels of a panel
STEP = 20  # pixels of a row
# Of Okabe and Ito, which stay apart for colour-blind readers; each also has a shape of its own.
COLOURS = ("#0072b2", "#767676", "#bf8400", "#d55e00", "#6a2fa0", "#56b4e9", "#009e73")
SHAPES = ("circle", "square", "triangle-up", "cross", "diamond", "triangle-right", "triangle-down")
PRICE = "#4d4d4d"  # a colour that no state of an arm has
PICKED = "picked"


def picture(
    title: str,
    arms: Sequence[PickedArm],
    groups: Sequence[ExplainedGroup],
    runners_up: Sequence[RunnerUp],
    most: int,
    *,
    priced: bool,
) -> alt.VConcatChart:
    """Three panels, without prices two; of many arms and groups the first ``most``, as in the text."""
    import altair as alt

    panels = [_arms(arms[:most], runners_up, len(arms))]
    promised = [group for group in groups if group.promise is not None][:most]
    if promised:
        panels.append(_margins(promised))
    prices = [(label_text(group.label), group.price, group.remark) for group in promised]
    # A promise may cost most where it keeps its group from being touched at all.
    missing = {label_text(one.group): one.price for one in runners_up if one.price is not None}
    for group in groups:
        missing.pop(label_text(group.label), None)
    prices += [(f"{label} (not touched)", price, None) for label, price in missing.items()]
    if prices and priced:
        panels.append(_prices(prices))
    whole: alt.VConcatChart = alt.vconcat(*panels).resolve_scale(color="independent", shape="independent")
    whole.title = title
    whole.config = alt.Config.from_dict(chart_style.config(COLOURS))
    return whole


def _arms(arms: Sequence[PickedArm], runners_up: Sequence[RunnerUp], picked: int) -> Any:
    """Mean ± std and index of the first outcome, of picked arms and of runners-up."""
    import altair as alt

    rows: list[dict[str, Any]] = []
    for arm in arms:
        name = f"{arm_text((arm.arm,), None if arm.id is None else (arm.id,))} · {label_text(arm.label)}"
        rows.append(_row(name, PICKED, arm.index[0], arm.mean[0], arm.std[0]))
    for one in runners_up:
        name, known = f"{arm_text(one.arms, one.ids)} · {label_text(one.label)}", (one.mean, one.std)
        mean, std = (None if pair is None else pair[0] for pair in known)
        rows.append(_row(name, _reason_text(one.reason), one.index, mean, std, one.sentence))
    rows = [{**row, "row": f"{place:06d}{row['name']}"} for place, row in enumerate(rows)]
    states = [PICKED, *map(_reason_text, Reason)]
    there = [state for state in states if any(row["state"] == state for row in rows)]
    places = [states.index(state) for state in there]
    y = _y()
    colour = alt.Color(
        "state:N",
        scale=alt.Scale(domain=there, range=[COLOURS[i] for i in places]),
        legend=alt.Legend(title=None, symbolSize=80, symbolOpacity=1),
    )
    shape = alt.Shape("state:N", scale=alt.Scale(domain=there, range=[SHAPES[i] for i in places]), legend=None)
    tips = ["name:N", "state:N", "index:Q", "mean:Q", "std:Q", "why:N"]
    base = alt.Chart(alt.InlineData(values=rows))
    few = f" (the first {len(arms)} of {picked} that were picked)" if len(arms) < picked else ""
    return alt.layer(
        base.mark_rule(strokeWidth=2, opacity=0.5).encode(
            x=_x("low", "first outcome: mean ± std, and index (hollow)"), x2="high:Q", y=y, color=colour
        ),
        base.mark_point(filled=True, size=60, opacity=1.0).encode(
            x="mean:Q", y=y, color=colour, shape=shape, tooltip=tips
        ),
        base.mark_point(filled=False, size=60, opacity=1.0).encode(
            x="index:Q", y=y, color=colour, shape=shape, tooltip=tips
        ),
    ).properties(title=f"Arms: picked, and not picked{few}", width=WIDTH, height=alt.Step(STEP))


def _row(name: str, state: str, index: float, mean: float | None, std: float | None, why: str = "") -> dict[str, Any]:
    low, high = (None, None) if mean is None or std is None else (mean - std, mean + std)
    row = {"name": name, "state": state, "index": index, "mean": mean, "std": std, "low": low, "high": high, "why": why}
    return {key: as_json(value) for key, value in row.items()}


def _reason_text(reason: Reason) -> str:
    return f"not picked: {reason.name.lower().replace('_', ' ')}"


def _margins(groups: Sequence[ExplainedGroup]) -> Any:
    """By how much each group keeps its promise, and how probably."""
    import altair as alt

    rows = [
        {
            "row": f"{place:06d}{label_text(group.label)}",
            "promise": f"{group.promise} {number(group.threshold)}",
            "margin": as_json(group.margin),
            "probability": as_json(group.probability),
            "said": "your word" if group.vouched else chance(group.probability),
        }
        for place, group in enumerate(groups)
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    y = _y()
    tips = ["promise:N", "margin:Q", "probability:Q"]
    return alt.layer(
        base.mark_bar(height=10, color=COLOURS[0]).encode(
            x=_x("margin", "margin, and the probability that the promise is kept"),
            y=y,
            tooltip=tips,
        ),
        alt.Chart(alt.InlineData(values=[{"margin": 0.0}])).mark_rule().encode(x="margin:Q"),
        base.mark_text(align="left", dx=4).encode(x=alt.value(WIDTH), y=y, text="said:N"),
    ).properties(title="Promises of the touched groups", width=WIDTH, height=alt.Step(STEP))


def _prices(prices: Sequence[tuple[str, Price | None, str | None]]) -> Any:
    """What each promise costs; where it may cost more, a line leads there."""
    import altair as alt

    rows = [
        {
            "row": f"{place:06d}{label}",
            "gain": None if price is None else as_json(price.gain),
            "at_most": None if price is None else as_json(price.at_most),
            "said": remark or ("" if price is None else number(price.gain)),
        }
        for place, (label, price, remark) in enumerate(prices)
    ]
    base = alt.Chart(alt.InlineData(values=rows))
    y = _y()
    return alt.layer(
        base.mark_bar(height=10, color=PRICE).encode(
            x=_x("gain", "gained if the promise alone were dropped; line: at most"),
            y=y,
            tooltip=["said:N", "gain:Q", "at_most:Q"],
        ),
        base.mark_rule(strokeWidth=2, opacity=0.5).encode(x="gain:Q", x2="at_most:Q", y=y),
        alt.Chart(alt.InlineData(values=[{"gain": 0.0}])).mark_rule().encode(x="gain:Q"),
        base.mark_text(align="left", dx=4).encode(x=alt.value(WIDTH), y=y, text="said:N"),
    ).properties(title="Prices of the promises", width=WIDTH, height=alt.Step(STEP))


def _x(field: str, title: str) -> Any:
    import altair as alt

    return alt.X(f"{field}:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))


def _y() -> Any:
    """One line for each row, in their order; what comes first in its name keeps equal names apart, and is not shown."""
    import altair as alt

    return alt.Y("row:N", sort=None, title=None, axis=alt.Axis(labelExpr="slice(datum.label, 6)", labelLimit=220))
