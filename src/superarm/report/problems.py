"""A table of the runs of a study in which every run is another problem, and what failed where."""

# ruff: noqa: RUF001  # true signs: dashes, ×, ÷

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from superarm.experiments.experiment import BENCHMARK
from superarm.experiments.measures import of, satisfied_after
from superarm.experiments.promises import SETTLED
from superarm.report.markup import scrolling, text
from superarm.report.summary import number
from superarm.report.theme import ordered

KEPT = 0.99  # share of touched groups that should be satisfied

_MEASURES = ("Reward ÷ optimum’s", "Group regret", f"Satisfied after round {SETTLED}", "Broken / predicted")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one policy in one run."""

    reward: float | None  # over the optimum's; None where that is 0
    group_regret: float
    satisfied: float | None  # after the first rounds; None where nothing was touched
    broken: int
    predicted: float | None  # None from a policy that predicts nothing

    @property
    def failed(self) -> bool:
        """Whether too few promises were kept."""
        return self.satisfied is not None and self.satisfied < KEPT


def outcomes(frame: pl.DataFrame, policy: str) -> dict[int, Outcome]:
    """What came of a policy in each run."""
    late = {run: (touched, kept) for run, touched, kept in satisfied_after(frame, policy, SETTLED).iter_rows()}
    found = {}
    for (run,), rows in of(frame, policy).group_by("run", maintain_order=True):
        touched, kept = late[run]
        reward, optimum = (float(rows[name].to_numpy().sum()) for name in ("reward", "optimal_reward"))
        predicted = rows["predicted_broken"]
        found[run] = Outcome(
            reward=reward / optimum if optimum else None,
            group_regret=float(rows["group_regret"].to_numpy().sum()),
            satisfied=kept / touched if touched else None,
            broken=int((rows["groups_touched"] - rows["groups_satisfied"]).sum()),
            predicted=None if predicted.null_count() == len(rows) else float(predicted.sum()),
        )
    return found


def section(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> str:
    """The problems of a study, policy beside policy; nothing for a study whose runs are all of one problem."""
    described = manifest.get("environments")
    if not described or "predicted_broken" not in frame.columns:
        return ""
    policies = [policy for policy in ordered(frame["policy"]) if policy != BENCHMARK]
    found = {policy: outcomes(frame, policy) for policy in policies}
    return f"""<section aria-labelledby="problems">
<h2 id="problems">Problems</h2>
<p>Every run is a problem of its own. A ✗ marks problems in which less than {KEPT:g} of the groups touched after round \
{SETTLED} were satisfied. Predicted are the broken promises that a policy expected by its own probabilities. A problem \
reads: promise, dimension D, kernel with lengthscale l, mean number of groups G, size K (=K: exactly so many; W: whole \
groups), noise n, and whether groups have caps.</p>
<h3>All problems together</h3>
{_overview(found)}
<h3>Problem by problem</h3>
{_table(found, described)}
{"".join(_failures(policy, of_runs, described) for policy, of_runs in found.items())}</section>"""


def _overview(found: Mapping[str, Mapping[int, Outcome]]) -> str:
    heads = (f"Satisfied at least {KEPT:g}", "Reward, mean", "Reward, least", "Group regret, median", _MEASURES[3])
    body = []
    for policy, of_runs in found.items():
        all_of_them = list(of_runs.values())
        judged = [outcome for outcome in all_of_them if outcome.satisfied is not None]
        rewards = [outcome.reward for outcome in all_of_them if outcome.reward is not None]
        predicted = [outcome.predicted for outcome in all_of_them if outcome.predicted is not None]
        cells = (
            f"{sum(not outcome.failed for outcome in judged)} of {len(judged)}" if judged else "–",
            number(float(np.mean(rewards)) if rewards else None),
            number(min(rewards, default=None)),
            number(float(np.median([outcome.group_regret for outcome in all_of_them]))),
            _against(sum(outcome.broken for outcome in all_of_them), sum(predicted) if predicted else None),
        )
        body.append(f'<tr><th scope="row">{text(policy)}</th>{"".join(map(_figure, cells))}</tr>')
    head = "".join(f'<th scope="col" class="figure">{name}</th>' for name in heads)
    table = f'<table class="summary"><thead><tr><th scope="col">Policy</th>{head}</tr></thead>'
    return scrolling("All problems together", table, body)


def _table(found: Mapping[str, Mapping[int, Outcome]], described: Sequence[str]) -> str:
    groups = "".join(f'<th scope="col" colspan="{len(_MEASURES)}">{text(policy)}</th>' for policy in found)
    names = "".join(f'<th scope="col" class="figure">{name}</th>' for name in _MEASURES) * len(found)
    head = f'<tr><th scope="col" rowspan="2">Problem</th>{groups}</tr><tr>{names}</tr>'
    body = []
    for run, description in enumerate(described):
        cells = "".join(_cells(of_runs.get(run)) for of_runs in found.values())
        body.append(f'<tr><th scope="row">{text(description)}</th>{cells}</tr>')
    return scrolling("Problem by problem", f'<table class="summary"><thead>{head}</thead>', body)


def _cells(outcome: Outcome | None) -> str:
    if outcome is None:  # a run that is not finished
        return _figure("–") * len(_MEASURES)
    kept = f"{'✗ ' if outcome.failed else ''}{number(outcome.satisfied, 3)}"
    return (
        _figure(number(outcome.reward))
        + _figure(number(outcome.group_regret))
        + _figure(kept, fails=outcome.failed)
        + _figure(_against(outcome.broken, outcome.predicted))
    )


def _failures(policy: str, of_runs: Mapping[int, Outcome], described: Sequence[str]) -> str:
    failed = [described[run] for run, outcome in of_runs.items() if outcome.failed]
    said = f"<summary>{text(policy)}: below {KEPT:g} in {len(failed)} of {len(of_runs)} problems</summary>"
    items = "".join(f"<li>{text(description)}</li>" for description in failed)
    return f"<details>{said}<ul>{items}</ul></details>\n" if failed else ""


def _against(broken: int, predicted: float | None) -> str:
    return f"{broken} / {'–' if predicted is None else f'{predicted:.1f}'}"


def _figure(cell: str, *, fails: bool = False) -> str:
    return f'<td class="figure{" fails" if fails else ""}">{text(cell)}</td>'
