"""How often the posterior's central intervals contain the outcomes, beside the probability that they state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from superarm.arguments import Array, IntArray, as_floats, fraction, instance, listed
from superarm.calibration.verdict import (
    FALSE_ALARM,
    Finding,
    Verdict,
    counted,
    counted_frame,
    enough,
    too_narrow,
    too_wide,
)
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.posteriors.posterior import Belief, Posterior, checked_outcomes
from superarm.selection import Selection

if TYPE_CHECKING:
    import polars as pl

LEVEL = 0.95  # of the intervals that simulations count
PAIRS = "a list of pairs: contexts (k, D) and outcomes (k, 2)"
LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


def covered(belief: Belief, expected: Array, level: float = LEVEL) -> IntArray:
    """(2,) how many of the expected outcomes, (k, 2), lie in the central interval of probability ``level``."""
    belief = _belief(belief, "belief")
    truth = checked_outcomes(expected, len(belief.mean), "expected")
    inside: IntArray = np.count_nonzero(_inside(belief.mean, belief.std, truth, fraction("level", level)), axis=0)
    return inside


def coverage(
    beliefs: Sequence[Selection | Belief],
    outcomes: Sequence[npt.ArrayLike],
    *,
    noise_std: float | Sequence[float],
    levels: Sequence[float] = LEVELS,
) -> pl.DataFrame:
    """Count how many outcomes lay in the predictive intervals of the belief held before they came.

    Parameters
    ----------
    beliefs
        for each round, the selection, or the belief (k, 2) about its picked arms before their outcomes were seen
    outcomes
        for each round, the outcomes (k, 2) in the same order; NaN where none came
    noise_std
        noise of the outcomes, one number or one for each output, such as ``posterior.noise_std``; 0 if ``outcomes`` are
        the expected outcomes themselves
    levels
        probabilities of the central intervals

    Returns
    -------
    polars.DataFrame
        One row for each round, output and level: ``round`` (1, 2, ...), ``output`` (1 or 2), ``level``, ``seen``
        (outcomes that came) and ``covered`` (those inside).

    Examples
    --------
    >>> import numpy as np, superarm as sa
    >>> belief = sa.Belief(mean=np.zeros((3, 2)), std=np.ones((3, 2)))
    >>> log = sa.calibration.coverage([belief], [[[0.1, 9.0], [2.1, 0.0], [0.0, np.nan]]], noise_std=0.0, levels=[0.95])
    >>> log.rows()
    [(1, 1, 0.95, 3, 2), (1, 2, 0.95, 2, 1)]
    """
    levels = _levels(levels)
    noise = _noise(noise_std)
    beliefs = listed("beliefs", beliefs, "a list of selections or Belief objects")
    outcomes = listed("outcomes", outcomes, "a list of arrays (k, 2)")
    if len(beliefs) != len(outcomes):
        raise InvalidArgument("outcomes", f"one array for each of the {len(beliefs)} beliefs", len(outcomes))
    pairs = enumerate(zip(beliefs, outcomes, strict=True), start=1)
    return _frame(_count(number, _belief(held), came, noise, levels) for number, (held, came) in pairs)


def replay(
    prior: Posterior,
    rounds: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    noise_std: float | Sequence[float] | None = None,
    levels: Sequence[float] = LEVELS,
) -> pl.DataFrame:
    """Replay a log: predict each round's outcomes before the posterior sees them, and count like :func:`coverage`.

    Parameters
    ----------
    prior
        any posterior with ``predict`` and ``condition``; it is not changed
    rounds
        past rounds in their order: the contexts of the picked arms, (k, D), and their outcomes, (k, 2)
    noise_std
        noise of the outcomes; by default ``noise_std`` of the posterior
    levels
        probabilities of the central intervals
    """
    instance("prior", prior, Posterior, "an object with predict and condition")
    if noise_std is None and not hasattr(prior, "noise_std"):
        raise InvalidArgument("noise_std", "a number: this posterior states no noise_std", "None")
    levels = _levels(levels)
    posterior = prior
    rows = []
    for number, one in enumerate(listed("rounds", rounds, PAIRS), start=1):
        if not isinstance(one, (tuple, list)) or len(one) != 2:
            raise InvalidArgument("rounds", PAIRS, f"{type_of(one)} for round {number}")
        contexts, outcomes = one
        noise = _noise(getattr(posterior, "noise_std", None) if noise_std is None else noise_std)
        rows.append(_count(number, posterior.predict(contexts), outcomes, noise, levels))
        posterior = posterior.condition(contexts, outcomes)
    return _frame(rows)


def verdicts(frame: pl.DataFrame) -> tuple[Verdict, ...]:
    """Verdicts from the counts of :func:`coverage` or :func:`replay`, one for each output, all levels together.

    The arms of a round share one posterior and err together, so a round counts once, however many arms it has. An
    honest posterior is called dishonest about an output with a probability of at most 2 %: 1 % for each direction. A
    posterior whose std is off by no more than a tenth counts as honest.
    """
    schema = {"output": "Int64", "level": "Float64", "seen": "Int64", "covered": "Int64"}
    frame = counted_frame(frame, schema)
    if not frame["level"].is_between(0.0, 1.0, closed="none").all() or (frame["covered"] > frame["seen"]).any():
        raise InvalidArgument("frame", "levels between 0 and 1, and no more outcomes covered than seen", "other values")
    found = []
    for output in sorted(frame["output"].unique()):
        mine = frame.filter(frame["output"] == output)
        shares = {}
        for level in sorted(mine["level"].unique()):
            rows = mine.filter((mine["level"] == level) & (mine["seen"] > 0))
            seen = rows["seen"].to_numpy().astype(np.float64)
            shares[float(level)] = (rows["covered"].to_numpy() / seen, seen)
        found.append(judge(f"output {output}", shares))
    return tuple(found)


def judge(about: str, shares: dict[float, tuple[Array, Array]], unit: str = "round") -> Verdict:
    """The verdict on intervals of several levels.

    Parameters
    ----------
    about
        whose or which intervals
    shares
        by level: the share inside, (n,), of each unit that counts once, and how many outcomes it has, (n,)
    unit
        what counts once, in a word
    """
    # A mean of evidence is evidence, however the levels depend on each other.
    narrow = float(np.mean([too_narrow(inside, level) for level, (inside, _) in shares.items()]))
    wide = float(np.mean([too_wide(inside, level) for level, (inside, _) in shares.items()]))
    level = LEVEL if LEVEL in shares else max(shares)
    inside, sizes = shares[level]
    if narrow >= 1.0 / FALSE_ALARM:
        finding = Finding.OVERCONFIDENT
    elif wide >= 1.0 / FALSE_ALARM:
        finding = Finding.UNDERCONFIDENT
    else:
        finding = Finding.HONEST if enough(inside, sizes, level) else Finding.TOO_FEW_TO_TELL
    units = len(inside)
    observed = float(inside.mean()) if units else float("nan")
    came = f"held {observed:.1%} of them" if units else "were never tested"
    return Verdict(
        about=about,
        finding=finding,
        expected=level,
        observed=observed,
        units=units,
        evidence=max(narrow, wide),
        said=f"Intervals meant to hold {level:.0%} of the outcomes {came} ({counted(units, unit)}).",
    )


def _frame(rounds: Iterable[list[tuple[Any, ...]]]) -> pl.DataFrame:
    import polars as pl

    schema = {"round": pl.Int64, "output": pl.Int64, "level": pl.Float64, "seen": pl.Int64, "covered": pl.Int64}
    return pl.DataFrame([row for part in rounds for row in part], schema=schema, orient="row")


def _count(
    number: int, belief: Belief, came: npt.ArrayLike, noise: Array, levels: tuple[float, ...]
) -> list[tuple[Any, ...]]:
    outcomes = checked_outcomes(came, len(belief.mean))
    with np.errstate(over="ignore"):  # an interval may be the whole line
        std = np.sqrt(np.square(belief.std) + np.square(noise))
    seen = np.count_nonzero(~np.isnan(outcomes), axis=0)
    rows = []
    for level in levels:
        inside = np.count_nonzero(_inside(belief.mean, std, outcomes, level), axis=0)
        rows += [(number, output + 1, level, int(seen[output]), int(inside[output])) for output in range(2)]
    return rows


def _inside(mean: Array, std: Array, outcomes: Array, level: float) -> npt.NDArray[np.bool_]:
    """Whether each outcome lies in its interval; a missing one does not."""
    slack = 1e-9 * np.maximum(1.0, np.abs(mean))  # rounding, where everything is known
    inside: npt.NDArray[np.bool_] = np.abs(outcomes - mean) <= float(ndtri(0.5 + 0.5 * level)) * std + slack
    return inside


def _belief(held: Selection | Belief, argument: str = "beliefs") -> Belief:
    belief = held.belief if isinstance(held, Selection) else held
    if not isinstance(belief, Belief):
        expected = "Belief objects, or selections of a policy that has beliefs"
        found = "a selection without one" if isinstance(held, Selection) else type_of(held)
        raise InvalidArgument(argument, expected, found)
    return belief


def _levels(levels: Sequence[float]) -> tuple[float, ...]:
    found = as_floats("levels", levels, "numbers between 0 and 1")
    if found.ndim != 1 or not len(found) or not ((found > 0.0) & (found < 1.0)).all():
        raise InvalidArgument("levels", "numbers between 0 and 1", safe_repr(levels))
    return tuple(sorted(set(found.tolist())))


def _noise(noise_std: Any) -> Array:
    expected = "a number >= 0, or one for each output"
    found = as_floats("noise_std", noise_std, expected)
    if found.shape not in ((), (2,)) or not np.isfinite(found).all() or (found < 0.0).any():
        raise InvalidArgument("noise_std", expected, safe_repr(noise_std))
    return np.broadcast_to(found, (2,))
