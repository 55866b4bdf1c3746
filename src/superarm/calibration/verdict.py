"""Verdicts from counts, by bets that cannot be won in the long run against an honest posterior.

A unit is a set of claims that may err together: a round of a log, whose arms share one posterior, or, judged by the
truth, a whole run, in which an early mistake stays. Nothing is assumed about dependence inside a unit. Each unit is one
bet on how many of its claims fail, at odds that are fair if the claims are honest; the stake is a share of the capital.
Fair bets multiply a capital of 1 to w or more with a probability of at most 1 / w, however long one goes on and
whenever one looks (Ville's inequality), so a large capital speaks against the claims. Several stakes are played side by
side, each with its part of the capital.
"""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from superarm.arguments import Array, typed_frame
from superarm.errors import InvalidArgument

if TYPE_CHECKING:
    import polars as pl

FALSE_ALARM = 0.01  # how often an honest posterior is called dishonest, at most
TOLERATED_STD = 1.1  # a standard deviation that is wrong by this factor is tolerated
VISIBLE = 2.0  # factor of a wrong std that the data must be able to show, or there is too little to tell
_STAKES = np.array([1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.9])  # shares of what can be lost at most


class Finding(enum.Enum):
    """The finding of a verdict; ``finding.value`` says what to do."""

    HONEST = "No sign of overconfidence; intervals that are too wide take longer to show."
    OVERCONFIDENT = (
        "Trust it less than it says: learn the hyperparameters from the data (or shorten the lengthscale), and raise "
        "noise_std if repeated outcomes scatter more than that. Where intervals look honest and promises do not, look "
        "at the groups: a policy that adapts learns how they differ; with learn=False, add one-hot columns."
    )
    UNDERCONFIDENT = (
        "Promises are safe, but reward is given away: learn the hyperparameters from the data, or lower noise_std."
    )
    TOO_FEW_TO_TELL = "Collect more before you trust or distrust it."


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one kind of claim.

    Attributes
    ----------
    about
        which claims were judged
    finding
        honest, overconfident, underconfident, or too few to tell
    expected, observed
        what was claimed and what was observed: shares of outcomes inside the intervals, or numbers of broken promises
    units
        how many rounds (or runs) were judged
    evidence
        the capital won against the claims: an honest posterior lets it reach w with a probability of at most 1 / w
    said
        a sentence with both figures
    """

    about: str
    finding: Finding
    expected: float
    observed: float
    units: int
    evidence: float
    said: str

    def __str__(self) -> str:
        return f"{self.about}: {self.finding.name.lower().replace('_', ' ')}. {self.said} {self.finding.value}"


def counted_frame(frame: Any, types: Mapping[str, str]) -> pl.DataFrame:
    """The counts of a log: finite numbers of at least 0 in columns of these types of polars."""
    import polars as pl

    counts = typed_frame("frame", frame, {name: getattr(pl, kind) for name, kind in types.items()})
    if not counts.select(pl.all_horizontal(pl.all().is_between(0, sys.float_info.max)).all()).item():
        raise InvalidArgument("frame", "finite numbers of at least 0", "other values")
    return counts


def counted(number: int, unit: str) -> str:
    """The number with its word, in the singular or the plural."""
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def scaled(level: float, factor: float) -> float:
    """How often intervals of probability ``level`` hold if true deviations are ``factor`` times the claimed ones.

    >>> round(scaled(0.95, 2.0), 3)
    0.673
    """
    return float(2.0 * ndtr(ndtri(0.5 + 0.5 * level) / factor) - 1.0)


def capital(came: Array, fair: Array | float, scale: Array | float) -> float:
    """The capital won by betting that more comes than is fair, unit by unit.

    Parameters
    ----------
    came
        (n,) what came in each unit, at least 0
    fair
        (n,) or a number: what the claims allow on average
    scale
        (n,) or a number, at least ``fair``: a stake of 1 gains (came - fair) / scale, so it never loses more than all
    """
    return capital_of(bets(came, fair, scale))


def bets(came: Array, fair: Array | float, scale: Array | float) -> Array:
    """The results of the bets of :func:`capital`: a logarithm for each stake, so that further units can be added."""
    gains = (np.asarray(came, dtype=np.float64) - fair) / scale
    found: Array = np.log1p(np.multiply.outer(_STAKES, gains)).sum(axis=1)
    return found


def capital_of(logs: Array) -> float:
    """The capital from these bets, all stakes side by side."""
    highest = float(logs.max(initial=0.0))
    with np.errstate(over="ignore"):
        return float(np.exp(highest) * np.mean(np.exp(logs - highest)))


def too_narrow(shares: Array, level: float) -> float:
    """Evidence that intervals are too narrow by more than is tolerated; ``shares`` (n,) inside, of each unit."""
    misses = 1.0 - scaled(level, TOLERATED_STD)
    return capital(1.0 - shares, misses, misses)


def too_wide(shares: Array, level: float) -> float:
    """Evidence that intervals are too wide by more than is tolerated."""
    inside = scaled(level, 1.0 / TOLERATED_STD)
    return capital(shares, inside, inside)


def enough(shares: Array, sizes: Array, level: float) -> bool:
    """Whether there is enough to see intervals that are half as wide as they should be.

    Units count for more than one yes or no if their shares scatter less than that, but never for more than their
    ``sizes``; one unit of all or nothing is added, because a few units that agree prove little.
    """
    single = level * (1.0 - level)
    units = len(shares)
    if units == 0:
        return False
    scatter = (float(np.square(shares - level).sum()) + single) / (units + 1)
    floor = single * float(np.mean(1.0 / sizes))
    wrong, right = scaled(level, VISIBLE), scaled(level, TOLERATED_STD)
    per_unit = wrong * math.log(wrong / right) + (1.0 - wrong) * math.log((1.0 - wrong) / (1.0 - right))
    return units * single / max(scatter, floor) * per_unit >= math.log(len(_STAKES) / FALSE_ALARM)
