"""The posterior of shapes given a log, whatever noise its outcomes have."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from superarm.posteriors.gaussian_process import ExactPosterior, GaussianProcess
from superarm.posteriors.model.log import Log
from superarm.posteriors.model.noise import left_out, noises, recognised, row_noise, scatters_as_counts
from superarm.posteriors.model.shape import COUNT, NORMAL, Shape
from superarm.posteriors.model.standing import AroundThresholds
from superarm.posteriors.outputs import Independent
from superarm.posteriors.posterior import Belief, Posterior

LEAST = 10  # outcomes needed to recognise clicks or counts
AGAIN = 400  # rows up to which uneven noise is computed a second time
TRUST = 4.0  # nats by which outcomes must be more probable with learnt hyperparameters than with those given

Own = GaussianProcess | ExactPosterior
Shapes = tuple[Shape, Shape]


def posterior_of(shapes: Shapes, log: Log, columns: int, belief: Belief | None = None) -> GaussianProcess:
    """The posterior given all rows of the log, which has ``columns`` columns beside the features.

    Uneven noise and the belief determine each other: ``belief`` at these rows is where the iteration starts. Two steps
    are near enough; with many rows one is, because these determine the belief already.
    """
    first, second = shapes
    dimension = log.contexts.shape[1]
    # Always two objects: one would tie the outputs, until they are saved and loaded.
    kernels = first.kernel(dimension, columns), copy(second.kernel(dimension, columns))
    prior = GaussianProcess(
        kernels,
        (first.noise, second.noise),
        mean=_mean(shapes, dimension),
    )
    points, values = log.points(columns), np.where(log.present, log.values, np.nan)
    if belief is None:
        return prior.condition(points, values)
    posterior = prior.condition(points, values, noises(shapes, log.noise, belief))
    if len(log) > AGAIN:
        return posterior
    return prior.condition(points, values, noises(shapes, log.noise, posterior.predict(points)))


def _mean(shapes: Shapes, dimension: int) -> tuple[float, float] | AroundThresholds:
    """Prior mean of both outputs."""
    first, second = shapes
    mean = (first.mean, second.mean)
    return mean if second.promised is None else AroundThresholds(mean=mean, promised=second.promised, column=dimension)


def belief_at(posterior: Posterior | None, log: Log, columns: int) -> Belief:
    """The belief at all rows of the log; without a posterior, the mean and standard deviation of the outcomes."""
    if posterior is not None:
        return posterior.predict(log.points(columns))
    came = [log.outcomes(j) if log.present[:, j].any() else np.zeros(1) for j in (0, 1)]
    mean, std = ([f(values) for values in came] for f in (np.mean, np.std))
    return Belief(mean=np.tile(mean, (len(log), 1)), std=np.tile(std, (len(log), 1)))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a log and the belief about them, computed once and only if it is asked for."""

    posterior: Posterior | None
    log: Log
    columns: int

    @cached_property
    def belief(self) -> Belief:
        """The belief at all rows of the log."""
        return belief_at(self.posterior, self.log, self.columns)


def kind_of(declared: str | None, rows: Rows, output: int, now: Shape | None) -> str:
    """The kind of an output's outcomes: as declared, or as recognised; counts must also scatter as counts.

    ``now`` is its present shape, which says how noisy each outcome is.
    """
    log = rows.log
    kind = declared or recognised(log.outcomes(output), LEAST)
    if declared is not None or kind != COUNT:
        return kind
    if rows.posterior is None or now is None:
        return NORMAL
    belief, came = rows.belief, log.present[:, output]
    values, mean, std = log.outcomes(output), belief.mean[came, output], belief.std[came, output]
    uneven = row_noise(now, log.noise[came, output], mean, std)
    noise = np.full(len(values), now.noise**2) if uneven is None else uneven.variance(now.noise**2)
    return COUNT if scatters_as_counts(values, left_out(values, mean, std, noise), std) else NORMAL


def shapes_of(posterior: Own, given: Shapes) -> Shapes:
    """The given shapes, with the hyperparameters that the posterior has learnt."""
    state = posterior.state
    assert isinstance(state.outputs, Independent)
    (first, second), noise = given, state.noise_std
    return (
        replace(first, base=state.outputs.first, noise=noise[0]),
        replace(second, base=state.outputs.second, noise=noise[1]),
    )


def trusted(learnt: Own) -> Own:
    """The posterior with the hyperparameters that were given, unless the learnt ones are far more probable.

    Where the given ones are right, learnt ones look better by chance alone: by half a chi-square with as many degrees
    of freedom as hyperparameters. Certificates that rest on such chance are broken too often.
    """
    given = learnt.rougher(1.0)
    return learnt if learnt.log_marginal_likelihood() > given.log_marginal_likelihood() + TRUST else given
