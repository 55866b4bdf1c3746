"""Broken promises beside the number that was predicted."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array, flag, instance, listed
from superarm.calibration.verdict import FALSE_ALARM, Finding, Verdict, capital, counted, counted_frame
from superarm.errors import InvalidArgument, safe_repr
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.round import Outcomes, Round
from superarm.selection import Kind, Selection

if TYPE_CHECKING:
    import polars as pl

TOLERATED_BREAKS = 1.2  # tolerated ratio of broken promises to predicted ones
LEAST_SCALE = 0.25  # so that a single promise that breaks against all odds is not yet a proof
# With fewer of either, three times as many broken promises as predicted could go unnoticed.
FEWEST_UNITS = 6
FEWEST_PREDICTED = 4.0
NOISE = (
    "Promises are about expected outcomes: if these were judged by noisy ones, noise can have decided those near "
    "their thresholds; judge by averages first."
)


def kept(round: Round, arms: Any, outcomes: npt.ArrayLike) -> dict[Hashable, bool]:
    """Whether each touched group kept its promise, by outcomes (k, 2) of the picked arms, in the order of ``arms``.

    With expected outcomes this is the promise itself. Observed outcomes carry noise, which decides promises near their
    thresholds: judge by averages where you can. Groups without a promise are left out, and so are those with a missing
    outcome.
    """
    observed = Outcomes.of(round, arms, outcomes)
    second = np.zeros(len(round))
    second[observed.arms] = np.nan_to_num(observed.values[:, 1])
    missing = set(observed.arms[np.isnan(observed.values[:, 1])].tolist())
    good = GoodSubgroups(round, second)
    return {
        group.label: good.keeps(group)
        for group in good.touched(observed.arms)
        if group.margin is not None and missing.isdisjoint(group.arms)
    }


def promises(selections: Sequence[Selection], kept: Sequence[Mapping[Hashable, bool]]) -> pl.DataFrame:
    """Count broken promises beside those that were predicted to break.

    Parameters
    ----------
    selections
        selections of a policy that states each touched group's ``probability`` of keeping its promise
    kept
        for each round, whether each group kept its promise, by label (see :func:`kept`); leave out groups for which
        this is unknown

    Returns
    -------
    polars.DataFrame
        One row for each round: ``round`` (1, 2, ...), ``promised`` (groups with a probability for which it is known
        whether they kept their promise, without those that you vouch for), ``predicted`` (how many of them were
        expected to break it: the sum of 1 - probability), ``broken``, and ``kind`` (the name of the
        :class:`superarm.Kind` of the round; null if the policy states none).
    """
    import polars as pl

    selections = listed("selections", selections, "a list of selections")
    kept = listed("kept", kept, "a list of mappings from labels to True or False")
    if len(selections) != len(kept):
        raise InvalidArgument("kept", f"one mapping for each of the {len(selections)} selections", len(kept))
    rows = []
    for number, (selection, known) in enumerate(zip(selections, kept, strict=True), start=1):
        instance("selections", selection, Selection, "a list of selections")
        instance("kept", known, Mapping, "a list of mappings from labels to True or False")
        touched = {group.label: None if group.vouched else group.probability for group in selection.groups}
        strangers = [label for label in known if label not in touched]
        if strangers:
            raise InvalidArgument("kept", f"labels of touched groups in round {number}", safe_repr(strangers[0]))
        probabilities = {label: p for label, p in touched.items() if label in known and p is not None}
        rows.append(
            {
                "round": number,
                "promised": len(probabilities),
                "predicted": math.fsum(1.0 - p for p in probabilities.values()),
                "broken": sum(not flag("kept", known[label]) for label in probabilities),
                "kind": None if selection.kind is None else selection.kind.name,
            }
        )
    schema = {"round": pl.Int64, "promised": pl.Int64, "predicted": pl.Float64, "broken": pl.Int64, "kind": pl.String}
    return pl.DataFrame(rows, schema=schema)


def promises_verdict(frame: pl.DataFrame) -> Verdict:
    """The verdict from the counts of :func:`promises`, all rounds together.

    A round counts once, because the groups of a round may break together. Up to 1.2 times the predicted number is
    tolerated; a policy that breaks no more than that is called overconfident with a probability of at most 1 %. Where
    more broke, but in too few rounds to rule out chance, the verdict is that there are too few to tell. Where promises
    are judged by expected outcomes, mistakes also last from round to round: then give one row for each independent run
    instead of one for each round. Probabilities are about expected outcomes, so if more broke than is tolerated, the
    verdict also says that noise in the outcomes can be the reason. If ``frame`` has a column ``kind``, a policy that is
    overconfident in rounds of one kind is called overconfident, whatever the other rounds show (see
    :func:`promises_verdicts`).
    """
    rows = _promised(frame)
    found = judge_promises("promises", rows["predicted"].to_numpy(), rows["broken"].to_numpy())
    return with_noise(together(found, promises_verdicts(frame) if "kind" in frame.columns else ()))


def promises_verdicts(frame: pl.DataFrame) -> tuple[Verdict, ...]:
    """The verdicts of :func:`promises_verdict` by kind of round: certified, trial, exploring, on credit, waiting.

    Exploring rounds predict many broken promises. If few of these break, they could hide certificates that break too
    often. Rounds without a kind are left out.

    >>> import polars as pl, superarm as sa
    >>> log = {"kind": ["CERTIFIED", "EXPLORING"] * 40, "promised": 8, "predicted": [0.04, 3.0] * 40}
    >>> log = pl.DataFrame({**log, "broken": [1, 2] * 40})
    >>> [f"{found.about}: {found.finding.name}" for found in sa.calibration.promises_verdicts(log)]
    ['certified rounds: OVERCONFIDENT', 'exploring rounds: HONEST']
    """
    _promised(frame)  # or an error that says what is wrong with the counts
    found = []
    for kind, mine in _kinds(frame).items():
        rows = _promised(mine)
        found.append(with_noise(judge_promises(of_kind(kind), rows["predicted"].to_numpy(), rows["broken"].to_numpy())))
    return tuple(found)


def in_order(kinds: Iterable[str]) -> list[str]:
    """Kinds of rounds with those first that promise most."""
    known = [kind.name for kind in (Kind.CERTIFIED, Kind.TRIAL, Kind.EXPLORING, Kind.ON_CREDIT, Kind.WAITING)]
    return sorted(kinds, key=lambda kind: (known.index(kind) if kind in known else len(known), kind))


def of_kind(kind: str) -> str:
    """The name of rounds of a kind."""
    return f"{kind.lower().replace('_', ' ')} rounds"


def together(found: Verdict, kinds: Sequence[Verdict]) -> Verdict:
    """The verdict on all rounds with those by kind of round: a mean of evidence is evidence."""
    evidence = float(np.mean([found.evidence, *(verdict.evidence for verdict in kinds)]))
    worst = max(kinds, key=lambda verdict: verdict.evidence, default=found)
    if found.finding is Finding.OVERCONFIDENT or evidence < 1.0 / FALSE_ALARM:
        return found
    of_worst = f"{found.said} In {worst.about}, {worst.expected:,.1f} were predicted to and {worst.observed:,.0f} did."
    return replace(found, finding=Finding.OVERCONFIDENT, evidence=evidence, said=of_worst)


def _promised(frame: pl.DataFrame) -> pl.DataFrame:
    """The counts of rounds with a promise."""
    counts = counted_frame(frame, {"promised": "Int64", "predicted": "Float64", "broken": "Int64"})
    return counts.filter(counts["promised"] > 0)


def _kinds(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each kind of round; those without one are left out."""
    import polars as pl

    if "kind" not in frame.columns or frame["kind"].dtype not in (pl.String, pl.Null):
        raise InvalidArgument("frame", "a column kind with the names of kinds of rounds", "none")
    names = frame["kind"].cast(pl.String)
    return {kind: frame.filter(names == kind) for kind in in_order(names.drop_nulls().unique())}


def with_noise(found: Verdict) -> Verdict:
    """The verdict with a remark on noise, if more broke than is tolerated."""
    many = found.observed > TOLERATED_BREAKS * found.expected or found.finding is Finding.OVERCONFIDENT
    return replace(found, said=f"{found.said} {NOISE}") if many else found


def judge_promises(about: str, predicted: Array, broken: npt.NDArray[Any], unit: str = "round") -> Verdict:
    """The verdict on promises: predicted and broken ones, (n,) each, of the units that count once."""
    fair = TOLERATED_BREAKS * predicted
    evidence = capital(broken, fair, np.maximum(fair, LEAST_SCALE))
    return judge_counts(about, len(predicted), math.fsum(predicted), int(broken.sum()), evidence, unit)


def judge_counts(about: str, units: int, expected: float, came: int, evidence: float, unit: str = "round") -> Verdict:
    """The verdict on sums: how many units, promises expected to break and broken ones, and the capital won."""
    if evidence >= 1.0 / FALSE_ALARM:
        finding = Finding.OVERCONFIDENT
    elif units < FEWEST_UNITS or expected < FEWEST_PREDICTED or came > TOLERATED_BREAKS * expected:
        finding = Finding.TOO_FEW_TO_TELL
    else:
        finding = Finding.HONEST
    return Verdict(
        about=about,
        finding=finding,
        expected=expected,
        observed=float(came),
        units=units,
        evidence=evidence,
        said=f"{expected:,.1f} promises were predicted to break and {came:,} did ({counted(units, unit)}).",
    )
