"""Equal points are one point for the evidence of a shape, whatever its columns."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from superarm.posteriors import SquaredExponential
from superarm.posteriors.learning import Learning
from superarm.posteriors.learning.problem import theta_of
from superarm.posteriors.model.evidence import Judgement
from superarm.posteriors.model.log import Log
from superarm.posteriors.model.shape import Effects, Shape


@pytest.mark.parametrize(
    ("effects", "distinct"),
    [(Effects(), 5), (Effects(offset=0.4), 10), (Effects(offset=0.4, deviation=0.3), 10), (Effects(fresh=0.5), 20)],
)
def test_the_evidence_of_repeats_is_the_density_of_all_rows(effects, distinct):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 2))
    place, group, t = (grid.ravel() for grid in np.meshgrid(range(5), range(2), range(2)))
    rows = np.repeat(np.arange(20), 3)
    values = rng.normal(1.0, 1.0, (60, 2))
    log = Log(
        contexts=x[place[rows]],
        keys=group[rows].astype(float),
        rounds=t[rows].astype(float),
        values=values,
        present=np.ones((60, 2), dtype=bool),
        noise=np.zeros((60, 2)),
        aside=np.zeros((60, 2), dtype=bool),
        total=60,
    )
    shape = Shape(base=SquaredExponential(lengthscale=0.7), noise=0.5, mean=0.8, effects=effects)
    problem = Judgement.of(log, 1, Learning(), rng)._problem(shape, shape)
    assert len(problem.parts[0].used.points) == distinct
    points = log.points(effects.columns)
    covariance = shape.kernel(2, effects.columns)(points, points) + 0.25 * np.eye(60)
    expected = multivariate_normal(np.full(60, 0.8), covariance).logpdf(values[:, 1])
    assert problem.evidence(theta_of(problem.kernel, problem.noise))[0] == pytest.approx(expected, abs=1e-6)
