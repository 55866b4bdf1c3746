"""The tables of the page with one row a policy: summary, trade-off, calibration."""

# ruff: noqa: RUF001  # true signs: dashes, α

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from superarm.calibration.verdict import Finding, Verdict
from superarm.experiments.promises import SETTLED
from superarm.report.honesty import Honesty
from superarm.report.markup import scrolling, swatch, text
from superarm.report.summary import number, percent, spread
from superarm.report.theme import Style

# a finding about honesty: its words, icon and class
FINDINGS = {
    Finding.HONEST: ("honest", "✓", "holds"),
    Finding.OVERCONFIDENT: ("overconfident", "✗", "fails"),
    Finding.UNDERCONFIDENT: ("wider than needed", "≈", "remark"),
    Finding.TOO_FEW_TO_TELL: ("too few to tell", "–", "unmeasured"),
}


def summary(table: pl.DataFrame, looks: Mapping[str, Style]) -> str:
    """The summary, one row a policy: what came of it, and how it was chosen."""
    heads = [
        "Reward ÷ benchmark’s, mean of runs",
        "Reward ÷ benchmark’s, pooled",
        "Super-arm regret, signed",
        "Super-arm regret, positive part",
        "Group regret",
        "Satisfied groups, pooled",
        f"Satisfied after round {SETTLED}, pooled",
        "Satisfied groups, mean of runs",
    ]
    costs = ["Select, median ms", "Update, median ms", "Smallest α, at the index"]
    kinds = not table["kind"].is_null().all()
    words = ["Solver status, at the index", *(["Ground of the choice"] if kinds else [])]
    body, chosen = [], []
    for row in table.iter_rows(named=True):
        regrets = (
            spread(row[f"{name}_mean"], row[f"{name}_std"])
            for name in ("super_arm_regret", "positive_regret", "group_regret")
        )
        cells = [
            spread(row["reward_ratio_mean"], row["reward_ratio_std"]),
            number(row["reward_ratio_pooled"]),
            *regrets,
            *(percent(row[name]) for name in ("satisfied_pooled", "satisfied_late", "satisfied_mean")),
        ]
        body.append(_row(row["policy"], looks, cells))
        taken = [number(row[name]) for name in ("select_ms", "update_ms", "alpha_min")]
        texts = [row["status"], *([row["kind"] or "–"] if kinds else [])]
        chosen.append(_row(row["policy"], looks, taken) + "".join(f'<td class="words">{text(t)}</td>' for t in texts))
    caption = (
        "<p>Regrets are summed over all rounds of a run. Means ± one sample standard deviation over the runs; pooled: "
        "summed over all runs first, so that a run in which there was little to earn or to promise counts for "
        "little. A policy that breaks promises can earn more than the benchmark, which keeps them: read reward and "
        "super-arm regret together with the group regret.</p>"
    )
    how = (
        "<p>How super arms were chosen, and in what time. The solver speaks of the index that the policy gave it, not "
        "of the truth.</p>"
    )
    return (
        caption
        + scrolling("Summary by policy", _head([(name, True) for name in heads]), _closed(body))
        + how
        + scrolling(
            "Choices and times by policy",
            _head([*((name, True) for name in costs), *((name, False) for name in words)]),
            _closed(chosen),
        )
    )


def tradeoff(points: pl.DataFrame, looks: Mapping[str, Style]) -> str:
    """The figures of the trade-off explorer, the least group regret first."""
    heads = [
        "Reward ÷ benchmark’s, pooled",
        "Group regret",
        "Satisfied groups, pooled",
        f"Satisfied after round {SETTLED}",
        "Broken promises a run",
        "Predicted a run",
        "Select, median ms",
    ]
    body = []
    for row in points.sort("group_regret_mean", maintain_order=True).iter_rows(named=True):
        cells = [
            spread(row["reward_ratio_pooled"], row["reward_ratio_spread"]),
            spread(row["group_regret_mean"], row["group_regret_std"]),
            *(percent(row[name]) for name in ("satisfied_pooled", "satisfied_late")),
            *(number(row[name]) for name in ("broken", "predicted", "select_ms")),
        ]
        mark = '<td class="holds">✓ not dominated</td>' if row["pareto"] else '<td class="unmeasured">–</td>'
        body.append(_row(row["policy"], looks, cells) + mark)
    return scrolling(
        "Trade-off by policy", _head([*((name, True) for name in heads), ("Pareto", False)]), _closed(body)
    )


def calibration(found: Sequence[Honesty], looks: Mapping[str, Style]) -> str:
    """The verdicts on every policy that says what it believes."""
    if not found:
        return (
            "<p>There is nothing to judge here: no policy says what it believes of outcomes or promises, or the "
            "results were written by a version that did not record it.</p>"
        )
    caption = (
        "<p>Mistakes about the truth last, so a run counts once, however long it is. An honest policy is called "
        "overconfident with a probability of at most 1 % for each verdict. Intervals a tenth too narrow, and 1.2 times "
        "as many broken promises as predicted, are let pass. “Too few to tell” means that even a large error could go "
        "unseen, or that more promises broke than are let pass, in too few runs to rule out chance: add runs.</p>"
    )
    heads = [
        *(part for output in (1, 2) for part in ((f"Output {output} inside 95&nbsp;%", True), ("Verdict", False))),
        *(("Broken", True), ("Predicted", True), ("Verdict", False)),
    ]
    body = []
    for one in found:
        cells = []
        for verdict in one.intervals or (None, None):
            cells += [_figure(None if verdict is None else percent(verdict.observed)), _finding(verdict)]
        promises = one.promises
        counts = (None, None) if promises is None else (f"{promises.observed:,.0f}", number(promises.expected))
        cells += [*map(_figure, counts), _finding(promises)]
        body.append(_row(one.policy, looks, []) + "".join(cells))
    return caption + scrolling("Calibration by policy", _head(heads), _closed(body))


_FIGURE = ' class="figure"'


def _head(heads: Sequence[tuple[str, bool]]) -> str:
    """The opening of a table: the policy, then columns by name, each of figures or not."""
    cells = "".join(f'<th scope="col"{_FIGURE if figures else ""}>{name}</th>' for name, figures in heads)
    return f'<table class="summary"><thead><tr><th scope="col">Policy</th>{cells}</tr></thead>'


def _row(policy: str, looks: Mapping[str, Style], cells: Sequence[str]) -> str:
    """A policy's row, left open for more cells."""
    head = f'<tr><th scope="row">{swatch(looks[policy])}{text(policy)}</th>'
    return head + "".join(map(_figure, cells))


def _figure(cell: str | None) -> str:
    return f"<td{_FIGURE}>{text('–' if cell is None else cell)}</td>"


def _closed(rows: Sequence[str]) -> list[str]:
    return [f"{row}</tr>" for row in rows]


def _finding(verdict: Verdict | None) -> str:
    if verdict is None:
        return '<td class="verdict unmeasured">–</td>'
    words, icon, kind = FINDINGS[verdict.finding]
    return f'<td class="verdict {kind}"><span class="icon" aria-hidden="true">{icon}</span>{words}</td>'
