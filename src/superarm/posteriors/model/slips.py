"""Slips: outcomes so far out that a typing error or a wrong unit is likelier than any truth.

One outcome that is a hundred times too large would set scale and noise for all others. So an outcome is set aside, as
if it had not come, if all of the following holds:

- it lies far from the belief about it, and far beyond all others: several times as far from their median as any
  outcome that counts (heavy tails, or a prior of another scale, do not leave such a gap),
- no other outcome agrees with it: none of an arm with the same context and group is so far out on the same side, and
  no more than two among fifty outcomes in a row are.

Each update judges again all that is set aside. A truth that jumps brings more such outcomes, and then they all count.
Outcomes that came with their noise, and those declared to be 0 or 1, are never set aside. Counts are compared by their
roots, which scatter alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.arguments import Array, IntArray, Mask
from superarm.posteriors.gaussian_process import ExactPosterior, GaussianProcess
from superarm.posteriors.given_noise import with_usual
from superarm.posteriors.model.conditioned import LEAST, Own
from superarm.posteriors.model.log import Log, in_order
from superarm.posteriors.model.model import Model
from superarm.posteriors.model.noise import Kinds, recognised
from superarm.posteriors.model.shape import BINARY, COUNT
from superarm.posteriors.model.story import counts_again, slipped
from superarm.posteriors.posterior import Posterior
from superarm.round import Outcomes, Round

GAP = 3.0  # a slip is this many times as far from the median as any outcome that counts
YOUNG = 20.0  # number of outcomes at which that is doubled: among few, a gap is not rare
STAYS = 2.0  # the same for an outcome that is set aside already
FAR = 8.0  # standard deviations from the belief
FEW = 8  # least number of outcomes that must count, or none is set aside
CROWD, ROW = 3, 50  # CROWD outcomes far out among ROW in a row are no slips
EQUAL = 1e-9  # relative difference from the median up to which outcomes count as equal to it


@dataclass(frozen=True, kw_only=True, eq=False)
class Screened:
    """Outcomes of a round with slips set aside."""

    log: Log  # all rows, those of the round last
    observed: Outcomes  # of the round, in order, NaN where they are slips
    slips: Mask  # (n, 2) outcomes of the log that are set aside from now on
    returned: Mask  # (n, 2) outcomes of the log that were set aside and count again

    def conditioned(self, posterior: Own, columns: int) -> Own:
        """The posterior that has also seen the outcomes that count again."""
        rows = self.returned.any(axis=1)
        values = np.where(self.returned, self.log.values, np.nan)[rows]
        return posterior.condition(self.log.points(columns)[rows], values) if rows.any() else posterior

    def lines(self, decisions: int) -> list[str]:
        """What happened, in words."""
        lines = []
        for output in (0, 1):
            rows = self.slips[:, output]
            found = zip(self.log.values[rows, output].tolist(), self.log.rounds[rows].tolist(), strict=True)
            lines += [slipped(output, decisions, value, t) for value, t in found]
            if self.returned[:, output].any():
                lines.append(counts_again(output, decisions, int(self.returned[:, output].sum())))
        return lines


def screened(model: Model, posterior: Posterior | None, round: Round, observed: Outcomes) -> Screened:
    """The log with the outcomes of a round, and which of all its outcomes are slips."""
    observed = in_order(round, observed)
    log = (model.log or Log.empty(round.contexts.shape[1])).with_rows(
        round, observed.arms, observed.values, observed.noise
    )
    rows = np.flatnonzero(~np.isnan(observed.values).all(axis=1))
    new = np.arange(len(log)) >= len(log) - len(rows)
    needed = np.where(new[:, None], GAP * (1.0 + YOUNG / np.maximum(log.came.sum(axis=0), 1)), np.inf)
    needed[log.aside] = STAYS
    needed[log.noise > 0.0] = np.inf
    aside = _alone(log, needed, model.kinds)
    if aside[new].any():
        needed[new] = np.where(_far(model, posterior, round, observed)[rows], needed[new], np.inf)
        aside = _alone(log, needed, model.kinds)
    if not (aside.any() or log.aside.any()):
        return Screened(log=log, observed=observed, slips=aside, returned=aside)
    values = observed.values.copy()
    values[rows] = np.where(aside[new], np.nan, values[rows])
    observed = Outcomes(arms=observed.arms, values=values, noise=observed.noise)
    slips, returned = aside & ~log.aside, log.aside & ~aside
    return Screened(log=log.with_aside(aside), observed=observed, slips=slips, returned=returned)


def _far(model: Model, posterior: Posterior | None, round: Round, observed: Outcomes) -> Mask:
    """(k, 2) which outcomes lie far from the belief; all, if there is none."""
    if posterior is None:
        return np.ones(observed.values.shape, dtype=np.bool_)
    assert isinstance(posterior, GaussianProcess | ExactPosterior)
    belief = posterior.predict(model.points(round)[observed.arms])
    noise = with_usual(model.noises(observed, belief), posterior.noise_std, observed.values.shape)
    far: Mask = np.abs(observed.values - belief.mean) > FAR * np.hypot(belief.std, noise)
    return far


def _alone(log: Log, needed: Array, kinds: Kinds) -> Mask:
    """(n, 2) which outcomes are slips, given the gap that each needs to be one, (n, 2)."""
    slips = np.zeros_like(log.present)
    for output, kind in enumerate(kinds):
        came = np.flatnonzero(log.came[:, output])
        values, judged = log.values[came, output], np.isfinite(needed[came, output])
        if kind == BINARY or len(came) <= FEW or not judged.any() or _within(values[judged], values[~judged]):
            continue
        if kind == COUNT or recognised(log.outcomes(output), LEAST) == COUNT:
            values = np.sign(values) * np.sqrt(np.abs(values))
        far = far_out(values, needed[came, output])
        if far.any() and not _agree(log, came[far], np.flatnonzero(far), values[far] > np.median(values)):
            slips[came[far], output] = True
    return slips


def _within(values: Array, others: Array) -> bool:
    """Whether values lie between others, so that none of them can be far out: a quick test that mostly suffices."""
    return len(others) > 0 and bool(others.min() <= values.min() and values.max() <= others.max())


def far_out(values: Array, needed: Array) -> Mask:
    """(n,) the values far out: each is ``needed`` times, (n,), as far from the median as any value not among them.

    >>> far_out(np.array([1.0, 2.0, 3.0, 1.5, 2.5, 1.2, 2.2, 1.8, 2.7, 300.0]), np.full(10, 5.0)).nonzero()[0].tolist()
    [9]
    """
    median = np.median(values)
    away = np.abs(values - median)
    order = np.argsort(-away, kind="stable")[: len(values) - FEW + 1]
    sizes = np.minimum.accumulate(away[order] / needed[order])[:-1]
    nearer = away[order[1:]]
    gaps = np.flatnonzero((sizes > nearer) & (nearer > EQUAL * np.abs(median)))
    far = np.zeros(len(values), dtype=np.bool_)
    if len(gaps):
        far[order[: gaps[-1] + 1]] = True
    return far


def _agree(log: Log, rows: IntArray, places: IntArray, above: Mask) -> bool:
    """Whether outcomes far out are too many in a row, or two share context, group and side."""
    if (places[CROWD - 1 :] - places[: len(places) - CROWD + 1] < ROW).any():
        return True
    points = np.column_stack([log.contexts[rows], log.keys[rows], above])
    return len(np.unique(points, axis=0)) < len(points)
