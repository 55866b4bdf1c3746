"""The tables of the page: results and calibration with a row a policy; problems; targets."""

# ruff: noqa: RUF001  # true signs: dashes, ×, ÷, α

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from superarm.calibration.verdict import Finding, Verdict
from superarm.experiments.claim import TARGETS
from superarm.experiments.claims import evaluate
from superarm.experiments.experiment import BENCHMARK, DataKind
from superarm.experiments.measures import LATE, by_run
from superarm.report.calibration import Honesty
from superarm.report.earned import WHY_NO_SHARE, earned
from superarm.report.markup import claims_table, is_judged, name, part, scrolling, swatch, text
from superarm.report.numbers import number, percent, spread
from superarm.report.theme import Style

# a finding about honesty: its words, icon and class
FINDINGS = {
    Finding.HONEST: ("honest", "✓", "holds"),
    Finding.OVERCONFIDENT: ("overconfident", "✗", "fails"),
    Finding.UNDERCONFIDENT: ("wider than needed", "≈", "remark"),
    Finding.TOO_FEW_TO_TELL: ("too few to tell", "–", "unmeasured"),
}


_Column = tuple[Any, ...]

# The columns of figures: how they are printed, and of what.
_SHARES: dict[str, _Column] = {
    "Reward ÷ clairvoyant’s, mean of runs": (spread, "reward_ratio_mean", "reward_ratio_std"),
    "Reward ÷ clairvoyant’s, pooled": (number, "reward_ratio_pooled"),
}
_SUMS: dict[str, _Column] = {"Reward per run": (spread, "reward_mean", "reward_std")}
_SUMMARY: dict[str, _Column] = {
    "Super-arm regret, signed": (spread, "super_arm_regret_mean", "super_arm_regret_std"),
    "Super-arm regret, positive part": (spread, "positive_regret_mean", "positive_regret_std"),
    "Group regret": (spread, "group_regret_mean", "group_regret_std"),
    "Promises kept, pooled": (percent, "satisfied_pooled"),
    f"Promises kept after round {LATE}, pooled": (percent, "satisfied_late"),
    "Promises kept, mean of runs": (percent, "satisfied_mean"),
}
_CHOICES: dict[str, _Column] = {
    "Promises broken per run": (number, "broken"),
    "Expected to break": (number, "predicted"),
    "Select, median ms": (number, "select_ms"),
    "Update, median ms": (number, "update_ms"),
    "Smallest α, at the index": (number, "alpha_min"),
}
_BRIEF: dict[str, _Column] = {
    "Promises kept": (percent, "satisfied_pooled"),
    "Group regret": _SUMMARY["Group regret"],
    "Time per choice, ms": (number, "select_ms"),
}


def brief(table: pl.DataFrame, looks: Mapping[str, Style]) -> str:
    """What matters most, one row per policy, the most promises kept first."""
    rows = table.sort("satisfied_pooled", descending=True, nulls_last=True, maintain_order=True).iter_rows(named=True)
    shown = earned(table)
    share: dict[str, _Column] = {"Reward": (spread, shown.column, shown.spread)}
    columns = (share if shown.is_share else _SUMS) | _BRIEF
    body = [_row(row["policy"], looks, _printed(row, columns)) for row in rows]
    meant = (
        "is a share of the clairvoyant’s, over all rounds and runs together."
        if shown.is_share
        else f"is summed over a run; the mean over the runs. {WHY_NO_SHARE}"
    )
    caption = (
        f"<p><b>Reward</b> {meant} A promise counts when the policy picks from the group. <b>Group regret</b> is by "
        "how much the broken promises were missed, summed over a run; the mean over the runs. ± is one standard "
        "deviation over the runs. The time is the median.</p>"
    )
    return scrolling("Results by policy", _head(columns), body) + caption


def summary(table: pl.DataFrame, looks: Mapping[str, Style]) -> str:
    """The summary, one row per policy: its results, and how super arms were chosen."""
    words = {"status": "Status of the solver, share of the rounds"}
    if not table["kind"].is_null().all():
        words["kind"] = "Why this choice, share of the rounds"
    columns = (_SHARES if earned(table).is_share else _SUMS) | _SUMMARY
    body, chosen = [], []
    for row in table.iter_rows(named=True):
        texts = (f'<td class="words">{text(row[name] or "–")}</td>' for name in words)
        body.append(_row(row["policy"], looks, _printed(row, columns)))
        chosen.append(_row(row["policy"], looks, _printed(row, _CHOICES), *texts))
    caption = (
        "<p>Some numbers appear twice, computed in two ways. <b>Mean of runs</b>: a ratio for each run, then their "
        "mean ± one sample standard deviation. <b>Pooled</b>: sums over all runs first, then one ratio, as at the top "
        "of the page; a run in which there was little to earn counts for little, in the ratio and in its spread. "
        "Regrets are summed over the rounds of a run. <b>Super-arm regret</b> is the reward missed, beside the "
        "clairvoyant’s. It is negative where a policy earned more by breaking promises; the positive part counts only "
        "rounds with less.</p>"
    )
    how = (
        "<p>Broken promises beside those that the policy expected to break, by the probabilities that it stated; how "
        "choices were made, and how long they took. The solver works on the policy's optimistic estimates (the "
        "index): it says how good a choice is by these, not by the truth. α is the share of the best possible value "
        "that it has proved.</p>"
    )
    figures = scrolling("Summary by policy", _head(columns), body)
    return caption + figures + how + scrolling("Choices and times by policy", _head(_CHOICES, words.values()), chosen)


def calibration(found: Sequence[Honesty], looks: Mapping[str, Style]) -> str:
    """The verdicts on every policy that says what it believes."""
    if not found:
        return (
            "<p>There is nothing to judge here: no policy says what it believes of outcomes or promises, or the "
            "results were written by a version that did not record it.</p>"
        )
    caption = (
        "<p>A policy states intervals for outcomes, and probabilities that promises are kept. This table compares both "
        "with the truth. Output 1 is what is earned, output 2 what groups care about; <b>inside 95&nbsp;%</b> is the "
        "share of picked items whose expected outcome lies in the interval that should contain 95&nbsp;% of them. A "
        "run counts once, however long it is, because a mistake lasts for the whole run. The test calls an honest "
        "policy overconfident with a probability of at most 1 %. It tolerates intervals that are a tenth too narrow, "
        "and 1.2 times as many broken promises as expected. “Too few to tell” means that the runs are too few to see "
        "even a large error: add runs.</p>"
    )
    body = []
    for one in found:
        cells = []
        for verdict in one.intervals or (None, None):
            cells += [_figure(None if verdict is None else percent(verdict.observed)), _finding(verdict)]
        cells += [*map(_figure, _counts(one.promises)), _finding(one.promises)]
        body.append(_row(one.policy, looks, [], *cells))
    head = '<th scope="col">Verdict</th>'
    names = [f"Output {output} inside 95&nbsp;%</th>{head}" for output in (1, 2)] + [
        "Promises broken</th>",
        f"Expected to break</th>{head}",
    ]
    heads = "".join(f'<th scope="col" class="figure">{name}' for name in names)
    return (
        caption + scrolling("Calibration by policy", f"{_OPENING}{heads}</tr></thead>", body) + _by_kind(found, looks)
    )


def _by_kind(found: Sequence[Honesty], looks: Mapping[str, Style]) -> str:
    """The verdicts on promises by kind of round."""
    body = [
        _row(one.policy, looks, [], f"<td>{text(kind.about)}</td>", *map(_figure, _counts(kind)), _finding(kind))
        for one in found
        for kind in one.kinds
    ]
    if not body:
        return ""
    figures = "".join(f'<th scope="col" class="figure">{name}</th>' for name in ("Broken", "Expected to break"))
    head = f'{_OPENING}<th scope="col">Rounds</th>{figures}<th scope="col">Verdict</th></tr></thead>'
    caption = (
        "<p>The same by kind of round: too many broken promises in one kind could be hidden by few in another.</p>"
    )
    return caption + scrolling("Promises by kind of round", head, body)


def _counts(promises: Verdict | None) -> tuple[str | None, str | None]:
    """Broken promises, and predicted ones."""
    return (None, None) if promises is None else (f"{promises.observed:,.0f}", number(promises.expected))


_OPENING = '<table class="summary"><thead><tr><th scope="col">Policy</th>'


def _head(figures: Iterable[str], others: Iterable[str] = ()) -> str:
    """The opening of a table: the policy, then columns of figures, then others."""
    cells = [f'<th scope="col" class="figure">{name}</th>' for name in figures]
    cells += [f'<th scope="col">{name}</th>' for name in others]
    return f"{_OPENING}{''.join(cells)}</tr></thead>"


def _printed(row: Mapping[str, Any], columns: Mapping[str, _Column]) -> list[str]:
    return [form(*(row[name] for name in names)) for form, *names in columns.values()]


def _row(policy: str, looks: Mapping[str, Style], figures: Sequence[str], *more: str) -> str:
    """A policy's row: its name, figures, and cells of other kinds."""
    head = f'<th scope="row">{swatch(looks[policy])}{name(policy)}</th>'
    return f"<tr>{head}{''.join(map(_figure, figures))}{''.join(more)}</tr>"


def _figure(cell: str | None, *, fails: bool = False) -> str:
    return f'<td class="figure{" fails" if fails else ""}">{text("–" if cell is None else cell)}</td>'


def _finding(verdict: Verdict | None) -> str:
    if verdict is None:
        return '<td class="verdict unmeasured">–</td>'
    words, icon, kind = FINDINGS[verdict.finding]
    return f'<td class="verdict {kind}"><span class="icon" aria-hidden="true">{icon}</span>{words}</td>'


KEPT = 0.99  # share of touched groups that should keep their promise
_MEASURES = ("Reward ÷ clairvoyant’s", "Group regret", f"Kept after round {LATE}", "Broken / predicted")


def problems(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> str:
    """The problems of a study, policy beside policy; nothing for a study whose runs are all of one problem."""
    described = manifest.get("environments")
    if not described:
        return ""
    runs = by_run(frame.filter(pl.col("policy") != BENCHMARK)).with_columns(
        failed=(pl.col("satisfied_late") < KEPT).fill_null(False)
    )
    found = {policy: mine for (policy,), mine in runs.group_by("policy", maintain_order=True)}
    body = f"""\
<p>Every run is a problem of its own. A ✗ marks problems in which less than {KEPT:g} of the groups touched after round \
{LATE} kept their promise. Predicted is the number of broken promises that follows from the policy's own \
probabilities. A problem is written as: promise, dimension D, kernel with lengthscale l, mean number of groups G, size \
K (=K: exactly so many; W: whole groups), noise n, and whether groups have caps.</p>
<h3>All problems together</h3>
{_overview(found)}
<h3>Problem by problem</h3>
{_table(found, described)}
{"".join(_failures(policy, mine, described) for policy, mine in found.items())}"""
    return part("problems", "Problem by problem", body)


def _overview(found: Mapping[str, pl.DataFrame]) -> str:
    heads = (f"Kept at least {KEPT:g}", "Reward, mean", "Reward, least", "Group regret, median", _MEASURES[3])
    body = []
    for policy, runs in found.items():
        judged = runs.drop_nulls("satisfied_late")
        rewards: Any = runs["reward_ratio"]  # polars types the least of a column as anything
        regret: Any = runs["group_regret"].median()
        predicted = float(runs["predicted"].sum()) if runs["predicted"].count() else None
        cells = (
            f"{(~judged['failed']).sum()} of {len(judged)}" if len(judged) else None,
            *(number(rewards.mean()), number(rewards.min()), number(regret)),
            _against(int(runs["broken"].sum()), predicted),
        )
        body.append(f'<tr><th scope="row">{name(policy)}</th>{"".join(map(_figure, cells))}</tr>')
    return scrolling("All problems together", _head(heads), body)


def _table(found: Mapping[str, pl.DataFrame], described: Sequence[str]) -> str:
    groups = "".join(f'<th scope="col" colspan="{len(_MEASURES)}">{name(policy)}</th>' for policy in found)
    names = "".join(f'<th scope="col" class="figure">{name}</th>' for name in _MEASURES) * len(found)
    head = f'<tr><th scope="col" rowspan="2">Problem</th>{groups}</tr><tr>{names}</tr>'
    rows = {policy: {row["run"]: row for row in mine.iter_rows(named=True)} for policy, mine in found.items()}
    body = []
    for run, description in enumerate(described):
        cells = "".join(_cells(of_runs.get(run)) for of_runs in rows.values())
        body.append(f'<tr><th scope="row">{text(description)}</th>{cells}</tr>')
    return scrolling("Problem by problem", f'<table class="summary"><thead>{head}</thead>', body)


def _cells(row: Mapping[str, Any] | None) -> str:
    if row is None:  # a run that is not finished
        return _figure(None) * len(_MEASURES)
    kept = f"{'✗ ' if row['failed'] else ''}{number(row['satisfied_late'], 3)}"
    return (
        _figure(number(row["reward_ratio"]))
        + _figure(number(row["group_regret"]))
        + _figure(kept, fails=row["failed"])
        + _figure(_against(row["broken"], row["predicted"]))
    )


def _failures(policy: str, runs: pl.DataFrame, described: Sequence[str]) -> str:
    failed = [described[run] for run in runs.filter("failed")["run"] if 0 <= run < len(described)]
    said = f"<summary>{name(policy)}: below {KEPT:g} in {len(failed)} of {len(runs)} problems</summary>"
    items = "".join(f"<li>{text(description)}</li>" for description in failed)
    return f"<details>{said}<ul>{items}</ul></details>\n" if failed else ""


def _against(broken: int, predicted: float | None) -> str:
    return f"{broken} / {'–' if predicted is None else f'{predicted:.1f}'}"


def targets(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> str:
    """The targets with their verdicts; nothing where none was judged."""
    found = evaluate(frame, TARGETS, synthetic=manifest.get("data_kind") == DataKind.SYNTHETIC)
    if not any(map(is_judged, found)):
        return ""
    title = "Targets of the cautious policy"
    return part("targets", title, claims_table(found, about=title, against="Target"))
